// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// In each pair of threads, one allocates blocks and the other frees them.
#include "channel.hpp"

#include <cstddef>
#include <deque>

int main(int argc, char** argv)
{
    workload::arguments arguments(argc, argv, "producer_consumer: one thread allocates, another frees.");
    const std::size_t couples = arguments.number("couples", 1, "of threads");
    const std::size_t batches = arguments.number("batches", 60000, "of 64 blocks, of each couple");
    const std::size_t room = arguments.number("room", 64, "batches in flight in a couple");
    const std::size_t least = arguments.number("least", 16, "bytes of a block");
    const std::size_t most = arguments.number("most", 1024, "bytes of a block");
    const std::size_t seed = arguments.number("seed", 1, "of the random numbers");
    const workload::marks marks(arguments, 256);
    arguments.end();

    std::deque<workload::channel> channels; // Channels do not move.
    for (std::size_t i = 0; i != couples; ++i)
        channels.emplace_back(room);
    const workload::tally done = workload::in_threads(
        2 * couples, seed, [&](std::size_t me, workload::random& random, workload::tally& thread_tally) {
            workload::channel& mine = channels[me / 2];
            for (std::size_t left = batches; left != 0; --left) {
                if (me % 2 == 0)
                    mine.put(workload::allocate_batch(marks, random, least, most));
                else
                    workload::free_batch(marks, mine.take(), thread_tally);
            }
        });
    done.print("producer_consumer");
}
