// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Blocks of random sizes and alignments, replaced at random, from aligned_alloc and operator new in turn.
#include "workload.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

namespace {
struct aligned_block
{
    workload::block block;
    std::size_t alignment = 0;
    bool is_of_new = false;
};

aligned_block allocate(const workload::marks& marks, workload::random& random, std::size_t max_bytes,
                       std::size_t max_alignment)
{
    aligned_block made;
    made.is_of_new = random.below(2) == 0;
    made.alignment = 16;
    while (made.alignment < max_alignment && random.below(2) == 0)
        made.alignment *= 2;
    // aligned_alloc requires a multiple of the alignment.
    const std::size_t bytes =
        (random.size_between(1, max_bytes) + made.alignment - 1) / made.alignment * made.alignment;
    void* const memory = made.is_of_new ? ::operator new(bytes, std::align_val_t(made.alignment), std::nothrow)
                                        : std::aligned_alloc(made.alignment, bytes);
    made.block = marks.adopt(memory, bytes, random());
    if (reinterpret_cast<std::uintptr_t>(made.block.memory) % made.alignment != 0)
        workload::fail("a block is not aligned");
    return made;
}

void free_block(const workload::marks& marks, const aligned_block& ended, workload::tally& done)
{
    marks.check(ended.block);
    if (ended.is_of_new)
        ::operator delete(ended.block.memory, std::align_val_t(ended.alignment));
    else
        std::free(ended.block.memory);
    done.count(ended.block);
}
} // namespace

int main(int argc, char** argv)
{
    workload::arguments arguments(argc, argv, "aligned: blocks of random alignments, replaced at random.");
    const std::size_t threads = arguments.number("threads", 1, "at once");
    const std::size_t steps = arguments.number("steps", 4000000, "that each thread takes");
    const std::size_t live = arguments.number("live", 2000, "blocks that a thread has");
    const std::size_t most = arguments.number("most", 4096, "bytes of a block, before they are rounded up");
    const std::size_t alignment = arguments.number("alignment", 4096, "the largest");
    const std::size_t seed = arguments.number("seed", 1, "of the random numbers");
    const workload::marks marks(arguments, 256);
    arguments.end();

    const workload::tally done =
        workload::in_threads(threads, seed, [&](std::size_t, workload::random& random, workload::tally& thread_tally) {
            std::vector<aligned_block> alive(live);
            for (aligned_block& each : alive)
                each = allocate(marks, random, most, alignment);
            for (std::size_t left = steps; left != 0; --left) {
                aligned_block& victim = alive[random.below(live)];
                free_block(marks, victim, thread_tally);
                victim = allocate(marks, random, most, alignment);
            }
            for (const aligned_block& each : alive)
                free_block(marks, each, thread_tally);
        });
    done.print("aligned");
}
