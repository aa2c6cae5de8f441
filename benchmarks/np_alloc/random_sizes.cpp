// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Each thread has a table of blocks, and repeatedly replaces a random block by one of another size.
#include "workload.hpp"

#include <cstddef>
#include <vector>

namespace {
struct settings
{
    std::size_t steps; ///< For each thread.
    std::size_t live;
    std::size_t min_bytes;
    std::size_t max_bytes;
};

void replace_at_random(const settings& run_settings, const workload::marks& marks, workload::random& random,
                       workload::tally& done)
{
    const auto fresh = [&] {
        return marks.allocate(random.size_between(run_settings.min_bytes, run_settings.max_bytes), random());
    };
    std::vector<workload::block> alive(run_settings.live);
    for (workload::block& each : alive)
        each = fresh();
    for (std::size_t left = run_settings.steps; left != 0; --left) {
        workload::block& victim = alive[random.below(alive.size())];
        marks.free(victim);
        done.count(victim);
        victim = fresh();
    }
    for (const workload::block& each : alive) {
        marks.free(each);
        done.count(each);
    }
}
} // namespace

int main(int argc, char** argv)
{
    workload::arguments arguments(argc, argv, "random_sizes: blocks chosen at random are replaced by others.");
    const std::size_t threads = arguments.number("threads", 1, "at once");
    const settings run_settings{arguments.number("steps", 3000000, "that a thread takes"),
                                arguments.number("live", 10000, "blocks that a thread has"),
                                arguments.number("least", 8, "bytes of a block"),
                                arguments.number("most", 16384, "bytes of a block")};
    const std::size_t seed = arguments.number("seed", 1, "of the random numbers");
    const workload::marks marks(arguments, 256);
    arguments.end();
    const workload::tally done =
        workload::in_threads(threads, seed, [&](std::size_t, workload::random& random, workload::tally& thread_tally) {
            replace_at_random(run_settings, marks, random, thread_tally);
        });
    done.print("random_sizes");
}
