// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Several arrays that grow by realloc, in turn, as vectors and strings do while a program reads its input.
#include "workload.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <vector>

namespace {
/// Effects: grows the array by a half, and checks that it keeps its contents.
void grow(workload::block& array, const workload::marks& marks)
{
    workload::block grown = array;
    grown.memory = workload::hide(std::realloc(array.memory, array.bytes + array.bytes / 2));
    if (grown.memory == nullptr)
        workload::fail("there is no memory");
    marks.check(grown);
    grown.bytes += array.bytes / 2;
    marks.write(grown);
    array = grown;
}
} // namespace

int main(int argc, char** argv)
{
    workload::arguments arguments(argc, argv, "growing_vectors: arrays that grow by realloc, several at a time.");
    const std::size_t threads = arguments.number("threads", 1, "at once");
    const std::size_t arrays = arguments.number("arrays", 8000, "that each thread makes");
    const std::size_t live = arguments.number("live", 16, "arrays that grow at a time, in each thread");
    const std::size_t most = std::max<std::size_t>(arguments.number("most", 4194304, "bytes of an array"), 16);
    const std::size_t seed = arguments.number("seed", 1, "of the random numbers");
    const workload::marks marks(arguments, 4096);
    arguments.end();

    const workload::tally done =
        workload::in_threads(threads, seed, [&](std::size_t, workload::random& random, workload::tally& thread_tally) {
            struct growing
            {
                workload::block array;
                std::size_t wanted = 0;
            };
            std::vector<growing> alive(live);
            const auto start = [&] { return growing{marks.allocate(16, random()), random.size_between(16, most)}; };
            const auto end = [&](const growing& ended) {
                marks.free(ended.array);
                thread_tally.count(ended.array);
            };
            for (growing& each : alive)
                each = start();
            while (thread_tally.operations < arrays) {
                growing& chosen = alive[random.below(live)];
                if (chosen.array.bytes < chosen.wanted) {
                    grow(chosen.array, marks);
                } else {
                    end(chosen);
                    chosen = start();
                }
            }
            for (const growing& each : alive)
                end(each);
        });
    done.print("growing_vectors");
}
