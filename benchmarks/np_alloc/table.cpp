// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Each thread allocates up to a random number of blocks, frees them all, and starts over.
#include "workload.hpp"

#include <cstddef>
#include <vector>

namespace
{
struct settings
{
    std::size_t blocks; ///< For each thread.
    std::size_t live;
    std::size_t least;
    std::size_t most;
};

void fill_and_empty(const settings& its, const workload::marks& marks, workload::random& random, workload::tally& done)
{
    std::vector<workload::block> table(its.live);
    while (done.operations < its.blocks) {
        const std::size_t filled = random.between(1, its.live);
        for (std::size_t i = 0; i != filled; ++i)
            table[i] = marks.allocate(random.between(its.least, its.most), random());
        for (std::size_t i = 0; i != filled; ++i) {
            marks.free(table[i]);
            done.count(table[i]);
        }
    }
}
} // namespace

int main(int argc, char** argv)
{
    workload::arguments arguments(argc, argv, "table: threads fill a table with blocks, empty it, and start over.");
    const std::size_t threads = arguments.number("threads", 1, "at once");
    const settings its{arguments.number("blocks", 1000000, "that a thread allocates, or some more"),
                       arguments.number("live", 10000, "blocks at most that a thread has at once"),
                       arguments.number("least", 100, "bytes of a block"),
                       arguments.number("most", 8100, "bytes of a block")};
    const std::size_t seed = arguments.number("seed", 1, "of the random numbers");
    const workload::marks marks(arguments, 4096);
    arguments.end();
    const workload::tally done =
        workload::in_threads(threads, seed, [&](std::size_t, workload::random& random, workload::tally& its_own) {
            fill_and_empty(its, marks, random, its_own);
        });
    done.print("table");
}
