// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The six tables of the race in one process, one after the other, in any order. Memory that some threads leave behind
// must not slow down later threads that need other sizes.
#include "tables.hpp"
#include "workload.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <string>
#include <vector>

namespace {
struct table
{
    const char* name;
    bool is_of_many; ///< Run by many threads, with fewer blocks each.
    std::size_t min_bytes;
    std::size_t max_bytes;
    std::size_t blocks; ///< For each thread.
};

/// The tables of race.py, with the threads and blocks of its rows.
constexpr std::array<table, 6> tables{{
    {"random_many", true, 100, 8100, 10000},
    {"random_one", false, 100, 8100, 1000000},
    {"small_many", true, 50, 300, 100000},
    {"small_one", false, 50, 300, 8000000},
    {"big_many", true, 5000, 7500, 10000},
    {"big_one", false, 5000, 7500, 300000},
}};

struct settings
{
    std::size_t threads;
    std::size_t live_of_many;
    std::size_t live_of_one;
    std::size_t divisor;
    std::size_t seed;
};

workload::tally run(const table& selected, const settings& all, const workload::marks& marks)
{
    const workload::table_settings work{1 + selected.blocks / all.divisor,
                                        selected.is_of_many ? all.live_of_many : all.live_of_one, selected.min_bytes,
                                        selected.max_bytes};
    return workload::fill_and_empty_in_threads(selected.is_of_many ? all.threads : 1, all.seed, work, marks);
}

/// Returns: the tables selected by the digits of `order`, 1 to 6.
std::vector<const table*> tables_in(std::size_t order)
{
    std::vector<const table*> chosen;
    for (const char digit : std::to_string(order)) {
        if (digit < '1' || digit > '6')
            workload::fail("order: each digit must be the number of a table, from 1 to 6");
        chosen.push_back(&tables[static_cast<std::size_t>(digit - '1')]);
    }
    return chosen;
}

/// Measures wall clock and CPU time since construction.
class stopwatch
{
public:
    /// Returns: both times in microseconds, in the output format of workloads.
    std::string times(const std::string& name) const
    {
        const auto by_clock =
            std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin_).count();
        const auto of_processor = (std::clock() - used_before_) / (CLOCKS_PER_SEC / 1000000);
        return " " + name + "_us=" + std::to_string(by_clock) + " " + name +
               "_processor_us=" + std::to_string(of_processor);
    }

private:
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    std::clock_t used_before_ = std::clock();
};
} // namespace

int main(int argc, char** argv)
{
    workload::arguments arguments(argc, argv,
                                  "six_tables: the tables of the race in one process, one after the other.");
    const std::size_t order =
        arguments.number("order", 123456, "digits: 1, 3, 5 random, small, big sizes in many threads; 2, 4, 6 in one");
    const settings all{arguments.number("threads", 50, "at once, where they are many"),
                       arguments.number("live", 2000, "blocks at most that each of many threads has at once"),
                       arguments.number("live_of_one", 10000, "blocks at most that a single thread has at once"),
                       arguments.number("divisor", 1, "by which the work of each table is divided"),
                       arguments.number("seed", 1, "of the random numbers")};
    const workload::marks marks(arguments, 4096);
    arguments.end();
    workload::tally done;
    std::string times;
    for (const table* const each : tables_in(order)) {
        const stopwatch watch;
        done += run(*each, all, marks);
        times += watch.times(each->name);
    }
    done.print("six_tables", times.substr(1));
}
