// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Threads in a ring: each gives back what it gets from the one before, and allocates for the next.
#include "channel.hpp"

#include <cstddef>
#include <deque>

int main(int argc, char** argv)
{
    workload::arguments arguments(argc, argv, "ring: each thread gives back what the one before it has allocated.");
    const std::size_t threads = arguments.number("threads", 4, "in the ring");
    const std::size_t batches = arguments.number("batches", 45000, "of 64 blocks, from each thread to the next");
    const std::size_t ahead = arguments.number("ahead", 16, "batches that a thread is ahead of what it has given back");
    const std::size_t least = arguments.number("least", 16, "bytes of a block");
    const std::size_t most = arguments.number("most", 1024, "bytes of a block");
    const std::size_t seed = arguments.number("seed", 1, "of the random numbers");
    const workload::marks marks(arguments, 256);
    arguments.end();

    // All blocks in transit fit in between any two threads, so no thread waits for room, and the ring cannot deadlock.
    std::deque<workload::channel> channels;
    for (std::size_t i = 0; i != threads; ++i)
        channels.emplace_back(threads * ahead);
    const workload::tally done =
        workload::in_threads(threads, seed, [&](std::size_t me, workload::random& random, workload::tally& its_own) {
            workload::channel& to_next = channels[me];
            workload::channel& to_me = channels[(me + threads - 1) % threads];
            for (std::size_t sent = 0; sent != batches + ahead; ++sent) {
                if (sent >= ahead)
                    workload::free_batch(marks, to_me.take(), its_own);
                if (sent < batches)
                    to_next.put(workload::allocate_batch(marks, random, least, most));
            }
        });
    done.print("ring");
}
