// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Threads in a ring: each frees the blocks of the previous thread, and allocates blocks for the next.
#include "channel.hpp"

#include <cstddef>
#include <deque>

int main(int argc, char** argv)
{
    workload::arguments arguments(argc, argv, "ring: each thread frees the blocks of the previous one.");
    const std::size_t threads = arguments.number("threads", 4, "in the ring");
    const std::size_t batches = arguments.number("batches", 45000, "of 64 blocks, from each thread to the next");
    const std::size_t ahead = arguments.number("ahead", 16, "batches that a thread allocates before its first free");
    const std::size_t least = arguments.number("least", 16, "bytes of a block");
    const std::size_t most = arguments.number("most", 1024, "bytes of a block");
    const std::size_t seed = arguments.number("seed", 1, "of the random numbers");
    const workload::marks marks(arguments, 256);
    arguments.end();

    // Each channel has room for all blocks in flight, so no thread waits for room, and the ring cannot deadlock.
    std::deque<workload::channel> channels;
    for (std::size_t i = 0; i != threads; ++i)
        channels.emplace_back(threads * ahead);
    const workload::tally done = workload::in_threads(
        threads, seed, [&](std::size_t me, workload::random& random, workload::tally& thread_tally) {
            workload::channel& to_next = channels[me];
            workload::channel& to_me = channels[(me + threads - 1) % threads];
            for (std::size_t sent = 0; sent != batches + ahead; ++sent) {
                if (sent >= ahead)
                    workload::free_batch(marks, to_me.take(), thread_tally);
                if (sent < batches)
                    to_next.put(workload::allocate_batch(marks, random, least, most));
            }
        });
    done.print("ring");
}
