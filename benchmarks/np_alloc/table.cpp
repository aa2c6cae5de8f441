// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Each thread allocates a random number of blocks, frees them all, and starts over.
#include "tables.hpp"
#include "workload.hpp"

#include <cstddef>

int main(int argc, char** argv)
{
    workload::arguments arguments(argc, argv, "table: threads fill a table with blocks, empty it, and start over.");
    const std::size_t threads = arguments.number("threads", 1, "at once");
    const workload::table_settings limits{arguments.number("blocks", 1000000, "that a thread allocates, or some more"),
                                          arguments.number("live", 10000, "blocks at most that a thread has at once"),
                                          arguments.number("least", 100, "bytes of a block"),
                                          arguments.number("most", 8100, "bytes of a block")};
    const std::size_t seed = arguments.number("seed", 1, "of the random numbers");
    const workload::marks marks(arguments, 4096);
    arguments.end();
    workload::fill_and_empty_in_threads(threads, seed, limits, marks).print("table");
}
