// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A program for write_profile_test.py, which expects these allocations and functions.   profiled_pools MEAN PATH
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/object_pool.hpp>
#include <memory_pool/profiling_policy.hpp>
#include <memory_pool/report.hpp>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace mp = memory_pool;

namespace {
using order = std::array<char, 64>;

mp::object_pool<order, mp::profiling_policy<>> orders(mp::pool_options{}.with_name("orders"));
mp::basic_concurrent_block_pool<mp::profiling_policy<>> jobs(400, mp::pool_options{}.with_name("jobs"));
} // namespace

// Not static, so that tools find their names. None ends with a tail call.
extern "C" {
int steps = 0;

__attribute__((noinline)) void read_orders() // 3,200,000 bytes in use
{
    for (int i = 0; i != 50'000; ++i)
        (void)orders.create();
    ++steps;
}

__attribute__((noinline)) void plan_jobs() // 4,000,000 bytes in use, by another thread
{
    for (int i = 0; i != 10'000; ++i)
        (void)jobs.allocate();
    ++steps;
}

__attribute__((noinline)) void run_jobs() // 8,000,000 bytes allocated
{
    for (int i = 0; i != 20'000; ++i)
        jobs.deallocate(jobs.allocate());
    ++steps;
}
}

int main(int count, char** arguments)
{
    if (count != 3)
        return 2;
    if (std::strcmp(arguments[1], "-") != 0)
        mp::set_profile_bytes(std::strtoul(arguments[1], nullptr, 10));
    read_orders();
    std::thread(&plan_jobs).join();
    run_jobs();
    return steps == 3 && mp::dump_profile(arguments[2]) ? 0 : 1;
}
