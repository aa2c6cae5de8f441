// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// A few large buffers, each page of which is touched, replaced by others at random.
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
        workload::in_threads(threads, seed, [&](std::size_t, workload::random& random, workload::tally& its_own) {
            std::vector<workload::block> alive(live);
            const auto give_back = [&](const workload::block& buffer) {
                if (buffer.memory == nullptr)
                    return;
                marks.free(buffer);
                its_own.count(buffer);
            };
            for (std::size_t left = buffers; left != 0; --left) {
                workload::block& victim = alive[random.below(live)];
                give_back(victim);
                victim = marks.allocate(random.between(least, most) * 1024, random());
            }
            for (const workload::block& each : alive)
                give_back(each);
        });
    done.print("big_buffers");
}
