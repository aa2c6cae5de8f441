// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Tests of concurrent_block_pool that must hold for every way to find the cache of a thread.
#pragma once

#include <memory_pool/concurrent_block_pool.hpp>

#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <list>
#include <string>

namespace test {
namespace mp = memory_pool;

using pool_that_counts = mp::basic_concurrent_block_pool<mp::counting_policy>;
using pool_that_checks = mp::basic_concurrent_block_pool<mp::checking_policy>;

/// Determines how a pool finds the cache of a thread, and synchronizes with it.
enum class way
{
    with_process_barrier,
    without_process_barrier,
    beyond_the_first_pools, ///< With a barrier; slots are in pages of their own.
};

/// The fixture of tests that run for each way.
class in_each_way : public testing::TestWithParam<way>
{
protected:
    void SetUp() override
    {
        mp::detail::os::platform::process_barrier_is_hidden = GetParam() == way::without_process_barrier;
        if (GetParam() == way::beyond_the_first_pools)
            while (first_pools_.size() != mp::detail::core::slots_in_a_page)
                first_pools_.emplace_back(sizeof(void*));
    }
    void TearDown() override { mp::detail::os::platform::process_barrier_is_hidden = false; }

    accounting_upstream upstream_;

private:
    std::list<mp::concurrent_block_pool> first_pools_;
};

inline std::string name_of_way(const testing::TestParamInfo<way>& parameter)
{
    switch (parameter.param) {
    case way::with_process_barrier: return "with_process_barrier";
    case way::without_process_barrier: return "without_process_barrier";
    default: return "beyond_the_first_pools";
    }
}

inline auto every_way()
{
    return testing::Values(way::with_process_barrier, way::without_process_barrier, way::beyond_the_first_pools);
}
} // namespace test
