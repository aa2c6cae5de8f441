// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// A program on a littered heap: it frees many small blocks in random order, and keeps some blocks between them. Then it
// allocates the same number again, a few at a time.
#include "workload.hpp"

#include <cstddef>
#include <utility>
#include <vector>

int main(int argc, char** argv)
{
    workload::arguments arguments(argc, argv, "littered_heap: small blocks, on a heap where many others were freed.");
    const std::size_t threads = arguments.number("threads", 1, "at once");
    const std::size_t litter = arguments.number("litter", 2000000, "blocks of each thread in the beginning");
    const std::size_t left = arguments.number("left", 20, "one block in this number stays until the end");
    const std::size_t steps = arguments.number("steps", 2000000, "blocks that each thread allocates afterwards");
    const std::size_t live = arguments.number("live", 50000, "of these, in each thread");
    const std::size_t least = arguments.number("least", 16, "bytes of a block");
    const std::size_t most = arguments.number("most", 512, "bytes of a block");
    const std::size_t seed = arguments.number("seed", 1, "of the random numbers");
    const workload::marks marks(arguments, 4096);
    arguments.end();

    const workload::tally done =
        workload::in_threads(threads, seed, [&](std::size_t, workload::random& random, workload::tally& thread_tally) {
            const auto allocate = [&] { return marks.allocate(random.size_between(least, most), random()); };
            const auto free_block = [&](const workload::block& block) {
                marks.free(block);
                thread_tally.count(block);
            };
            std::vector<workload::block> littered(litter);
            for (workload::block& each : littered)
                each = allocate();
            for (std::size_t i = litter; i > litter / left; --i) {
                std::swap(littered[random.below(i)], littered[i - 1]);
                free_block(littered[i - 1]);
            }
            littered.resize(litter / left);
            std::vector<workload::block> alive(live);
            for (std::size_t i = 0; i != steps; ++i) {
                workload::block& victim = alive[random.below(live)];
                if (victim.memory != nullptr)
                    free_block(victim);
                victim = allocate();
            }
            for (const workload::block& each : alive)
                if (each.memory != nullptr)
                    free_block(each);
            for (const workload::block& each : littered)
                free_block(each);
        });
    done.print("littered_heap");
}
