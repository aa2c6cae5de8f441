// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Tests the profile of the process without pools; profiling_policy_test.cpp tests it with pools.
#include <memory_pool/core/blocks/pool_profile.hpp>

#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace core = memory_pool::detail::core;

namespace {
/// All tests of the program share the profile, so each test uses blocks and pool names of its own.
class pool_profile : public testing::Test
{
protected:
    static constexpr std::size_t block_size = 40;

    pool_profile() { core::pool_profile::set_mean(1); }
    ~pool_profile() override
    {
        for (const auto& each : blocks_)
            core::pool_profile::freed(&each);
        core::pool_profile::set_mean(mean_before_);
    }

    /// Returns the sum over all call stacks of the pool with that name.
    static core::profile_values sum_of(const core::pool_profile::taken& taken, std::string_view pool)
    {
        core::profile_values sum;
        for (const core::profile_sample& each : taken) {
            if (each.pool != pool)
                continue;
            sum.allocated_blocks += each.values.allocated_blocks;
            sum.allocated_bytes += each.values.allocated_bytes;
            sum.blocks_in_use += each.values.blocks_in_use;
            sum.bytes_in_use += each.values.bytes_in_use;
        }
        return sum;
    }

    static core::profile_values values_of(std::string_view pool)
    {
        core::pool_profile::taken taken;
        EXPECT_TRUE(core::pool_profile::get().take(taken));
        return sum_of(taken, pool);
    }

    void allocate_all(const char* pool)
    {
        for (const auto& each : blocks_)
            core::pool_profile::allocated(pool, &each, block_size);
    }

    const std::size_t mean_before_ = core::mean_of_pool_profile;
    std::array<std::array<char, block_size>, 10> blocks_{};
};

TEST_F(pool_profile, is_shared_by_all_threads)
{
    core::pool_profile* of_another = nullptr;
    test::in_a_thread([&of_another] { of_another = &core::pool_profile::get(); });
    EXPECT_EQ(of_another, &core::pool_profile::get());
}

TEST_F(pool_profile, counts_allocated_blocks_and_blocks_in_use)
{
    const core::profile_values before = values_of("kept");
    allocate_all("kept");
    core::pool_profile::freed(&blocks_[3]);
    core::pool_profile::freed(&blocks_[3]);
    core::pool_profile::freed(nullptr);
    core::pool_profile::freed(this);
    const core::profile_values values = values_of("kept");
    EXPECT_EQ(values.allocated_blocks - before.allocated_blocks, 10U);
    EXPECT_EQ(values.allocated_bytes - before.allocated_bytes, 10 * block_size);
    EXPECT_EQ(values.blocks_in_use, 9U);
    EXPECT_EQ(values.bytes_in_use, 9 * block_size);
}

TEST_F(pool_profile, samples_nothing_with_a_mean_of_0)
{
    const std::uint64_t before = values_of("off").allocated_blocks;
    core::pool_profile::set_mean(0);
    allocate_all("off");
    EXPECT_EQ(values_of("off").allocated_blocks, before);
    core::pool_profile::set_mean(1);
    core::pool_profile::allocated("off", blocks_.data(), block_size);
    EXPECT_EQ(values_of("off").allocated_blocks, before + 1) << "samples again";
}

TEST_F(pool_profile, samples_nothing_while_a_call_stack_is_taken)
{
    const std::uint64_t before = values_of("while sampling").allocated_blocks;
    core::this_sampling_thread.is_sampling = true;
    allocate_all("while sampling");
    core::this_sampling_thread.is_sampling = false;
    EXPECT_EQ(values_of("while sampling").allocated_blocks, before);
    allocate_all("while sampling");
    EXPECT_FALSE(core::this_sampling_thread.is_sampling);
    EXPECT_EQ(values_of("while sampling").allocated_blocks, before + 10);
}

TEST_F(pool_profile, truncates_long_pool_names)
{
    const std::string name(127, 'n');
    allocate_all((name + "end").c_str());
    EXPECT_EQ(values_of(name + "end").blocks_in_use, 0U);
    EXPECT_EQ(values_of(name).blocks_in_use, 10U);
}

TEST_F(pool_profile, selects_the_samples_of_given_blocks)
{
    allocate_all("in use");
    core::pool_profile::freed(&blocks_[1]);
    for (const std::size_t count : {std::size_t{4}, std::size_t{2}, std::size_t{0}}) {
        core::pool_profile::taken taken;
        EXPECT_TRUE(core::pool_profile::get().take_in_use(taken, [&](auto&& visit) {
            for (std::size_t i = 0; i != count; ++i)
                visit(&blocks_[i]);
            visit(this);
        }));
        const core::profile_values values = sum_of(taken, "in use");
        EXPECT_EQ(values.blocks_in_use, count != 0 ? count - 1 : 0) << "blocks of earlier calls are not selected";
        EXPECT_EQ(values.bytes_in_use, values.blocks_in_use * block_size);
    }
    EXPECT_EQ(values_of("in use").blocks_in_use, 9U);
}

TEST_F(pool_profile, loses_no_sample_of_concurrent_threads)
{
    constexpr std::size_t threads = 4;
    static std::array<std::array<char, 1000>, threads> many{};
    const core::profile_values before = values_of("threads");
    test::in_threads(threads, [](std::size_t thread) {
        for (const char& each : many[thread])
            core::pool_profile::allocated("threads", &each, block_size);
        for (std::size_t i = 0; i != 500; ++i)
            core::pool_profile::freed(&many[(thread + 1) % threads][i]);
        for (std::size_t i = 500; i != 900; ++i)
            core::pool_profile::freed(&many[thread][i]);
    });
    for (const auto& of_thread : many)
        for (std::size_t i = 0; i != 500; ++i)
            core::pool_profile::freed(&of_thread[i]); // The other thread may have freed it too early.
    const core::profile_values values = values_of("threads");
    EXPECT_EQ(values.allocated_blocks - before.allocated_blocks, threads * 1000);
    EXPECT_EQ(values.blocks_in_use, threads * 100);
    for (const auto& of_thread : many)
        for (const char& each : of_thread)
            core::pool_profile::freed(&each);
    EXPECT_EQ(values_of("threads").blocks_in_use, 0U);
}
} // namespace
