// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Blocks of one size: allocates and frees 1 block at a time, then 10, 100 and 1,000; the arguments change this range.
#include "workload.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {
/// Effects: allocates and frees `pairs` blocks, in batches that fill `held`.
void run(std::vector<workload::block>& held, std::size_t pairs, std::size_t bytes, const workload::marks& marks,
         workload::tally& done)
{
    for (std::size_t left = pairs / held.size(); left != 0; --left) {
        for (workload::block& each : held)
            each = marks.allocate(bytes, reinterpret_cast<std::uintptr_t>(&each) ^ left);
        for (const workload::block& each : held) {
            marks.free(each);
            done.count(left);
        }
    }
}
} // namespace

int main(int argc, char** argv)
{
    workload::arguments arguments(argc, argv, "pairs: blocks of one size, freed in ever larger groups.");
    const std::size_t threads = arguments.number("threads", 1, "at once");
    const std::size_t pairs = arguments.number("pairs", 10000000, "of each kind, in each thread");
    const std::size_t bytes = arguments.number("bytes", 64, "of a block");
    const std::size_t least = arguments.number("least", 1, "blocks at a time in the beginning");
    const std::size_t most = arguments.number("most", 1000, "blocks at a time, ten times as many in each kind");
    const workload::marks marks(arguments, 4096);
    arguments.end();
    const workload::tally done =
        workload::in_threads(threads, 0, [&](std::size_t, workload::random&, workload::tally& thread_tally) {
            for (std::size_t batch = least; batch <= most; batch *= 10) {
                std::vector<workload::block> held(batch);
                run(held, pairs, bytes, marks, thread_tally);
            }
        });
    done.print("pairs");
}
