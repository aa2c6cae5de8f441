// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Many short-lived threads: each allocates some blocks, frees most of them, and leaves the others to the next thread.
#include "workload.hpp"

#include <cstddef>
#include <vector>

int main(int argc, char** argv)
{
    workload::arguments arguments(argc, argv, "thread_churn: short-lived threads.");
    const std::size_t lines = arguments.number("threads", 4, "at once");
    const std::size_t lives = arguments.number("lives", 4000, "threads, one after the other, in each place");
    const std::size_t blocks = arguments.number("blocks", 200, "that each thread allocates");
    const std::size_t left_over = arguments.number("left", 20, "of them that it leaves to the next thread");
    const std::size_t least = arguments.number("least", 16, "bytes of a block");
    const std::size_t most = arguments.number("most", 4096, "bytes of a block");
    const std::size_t seed = arguments.number("seed", 1, "of the random numbers");
    const workload::marks marks(arguments, 256);
    arguments.end();

    const workload::tally done =
        workload::in_threads(lines, seed, [&](std::size_t, workload::random& random, workload::tally& thread_tally) {
            std::vector<workload::block> held(blocks);
            std::size_t alive = 0;
            const auto reduce_to = [&](std::size_t count) {
                while (alive > count) {
                    const workload::block& last = held[--alive];
                    marks.free(last);
                    thread_tally.count(last);
                }
            };
            for (std::size_t life = lives; life != 0; --life)
                test::in_a_thread([&] {
                    reduce_to(0);
                    for (; alive != blocks; ++alive)
                        held[alive] = marks.allocate(random.size_between(least, most), random());
                    reduce_to(left_over);
                });
            reduce_to(0);
        });
    done.print("thread_churn");
}
