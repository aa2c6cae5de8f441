// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Resident memory after a peak: threads fill blocks, free all of them in random order, and then make no calls. Prints
// the resident memory at the peak and after the wait, in kilobytes.
#include "resident.hpp"
#include "workload.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {
/// Waits for all threads.
void meet(std::atomic<std::size_t>& arrived, std::size_t threads)
{
    for (arrived.fetch_add(1); arrived.load() != threads;)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
}
} // namespace

int main(int argc, char** argv)
{
    workload::arguments arguments(argc, argv, "after_peak: resident memory after all blocks are freed.");
    const std::size_t threads = arguments.number("threads", 1, "at once, which stay until the end");
    const std::size_t bytes = arguments.number("bytes", 400000000, "of all blocks");
    const std::size_t least = arguments.number("least", 16, "bytes of a block");
    const std::size_t most = arguments.number("most", 4096, "bytes of a block");
    const std::size_t wait = arguments.number("wait", 2000, "milliseconds without a call");
    const std::size_t seed = arguments.number("seed", 1, "of the random numbers");
    const workload::marks marks(arguments, 4096);
    arguments.end();

    std::atomic<std::size_t> peak{0};
    std::atomic<std::size_t> after{0};
    std::atomic<std::size_t> filled{0};
    std::atomic<std::size_t> freed{0};
    const workload::tally total =
        workload::in_threads(threads, seed, [&](std::size_t number, workload::random& random, workload::tally& done) {
            {
                std::vector<workload::block> blocks;
                blocks.reserve(2 * bytes / threads / (least + most));
                for (std::size_t left = bytes / threads; left > most;) {
                    blocks.push_back(marks.allocate(random.size_between(least, most), random()));
                    left -= blocks.back().bytes;
                }
                meet(filled, threads);
                if (number == 0)
                    peak = workload::resident_kilobytes();
                for (std::size_t i = blocks.size(); i > 1; --i)
                    std::swap(blocks[random.below(i)], blocks[i - 1]);
                for (const workload::block& each : blocks) {
                    marks.free(each);
                    done.count(each);
                }
            }
            meet(freed, threads);
            std::this_thread::sleep_for(std::chrono::milliseconds(wait));
            if (number == 0)
                after = workload::resident_kilobytes();
        });
    total.print("after_peak", "max_taken=" + std::to_string(peak) + " taken_after=" + std::to_string(after));
}
