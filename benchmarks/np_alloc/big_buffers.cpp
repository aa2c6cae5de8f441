// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// A few large buffers, which are replaced at random. Every page of a buffer is touched.
#include "workload.hpp"

#include <cstddef>
#include <vector>

int main(int argc, char** argv)
{
    workload::arguments arguments(argc, argv, "big_buffers: a few large buffers, replaced at random by others.");
    const std::size_t threads = arguments.number("threads", 1, "at once");
    const std::size_t buffers = arguments.number("buffers", 1200, "that each thread allocates");
    const std::size_t live = arguments.number("live", 4, "buffers of each thread");
    const std::size_t least = arguments.number("least", 1024, "kilobytes of a buffer");
    const std::size_t most = arguments.number("most", 25600, "kilobytes of a buffer");
    const std::size_t seed = arguments.number("seed", 1, "of the random numbers");
    const workload::marks marks(arguments, 4096);
    arguments.end();

    const workload::tally done =
        workload::in_threads(threads, seed, [&](std::size_t, workload::random& random, workload::tally& thread_tally) {
            std::vector<workload::block> alive(live);
            const auto free_buffer = [&](const workload::block& buffer) {
                if (buffer.memory == nullptr)
                    return;
                marks.free(buffer);
                thread_tally.count(buffer);
            };
            for (std::size_t left = buffers; left != 0; --left) {
                workload::block& victim = alive[random.below(live)];
                free_buffer(victim);
                victim = marks.allocate(random.between(least, most) * 1024, random());
            }
            for (const workload::block& each : alive)
                free_buffer(each);
        });
    done.print("big_buffers");
}
