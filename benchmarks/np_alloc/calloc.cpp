// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Zeroed blocks of random sizes. The program checks that every byte is zero, and then writes it.
#include "workload.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {
bool is_zero(const std::byte* memory, std::size_t bytes)
{
    // If the first byte is zero, and each byte equals the one before it, then all are zero.
    return memory[0] == std::byte{0} && std::memcmp(memory, memory + 1, bytes - 1) == 0;
}

workload::block allocate(const workload::marks& marks, workload::random& random, std::size_t most)
{
    constexpr std::size_t element = 8;
    const std::size_t count = random.size_between(1, std::max<std::size_t>(most / element, 1));
    std::byte* const memory = workload::hide(std::calloc(count, element));
    if (memory != nullptr && !is_zero(memory, count * element))
        workload::fail("a block of calloc is not zero");
    return marks.adopt(memory, count * element, random());
}
} // namespace

int main(int argc, char** argv)
{
    workload::arguments arguments(argc, argv, "calloc: zeroed blocks, replaced at random.");
    const std::size_t threads = arguments.number("threads", 1, "at once");
    const std::size_t steps = arguments.number("steps", 600000, "that each thread takes");
    const std::size_t live = arguments.number("live", 500, "blocks that a thread has");
    const std::size_t most = arguments.number("most", 65536, "bytes of a block");
    const std::size_t seed = arguments.number("seed", 1, "of the random numbers");
    const workload::marks marks(arguments, 64);
    arguments.end();

    const workload::tally done =
        workload::in_threads(threads, seed, [&](std::size_t, workload::random& random, workload::tally& thread_tally) {
            std::vector<workload::block> alive(live);
            for (workload::block& each : alive)
                each = allocate(marks, random, most);
            const auto free_block = [&](const workload::block& ended) {
                marks.free(ended);
                thread_tally.count(ended);
            };
            for (std::size_t left = steps; left != 0; --left) {
                workload::block& victim = alive[random.below(live)];
                free_block(victim);
                victim = allocate(marks, random, most);
            }
            for (const workload::block& each : alive)
                free_block(each);
        });
    done.print("calloc");
}
