// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The profile of the process, without pools; profiling_policy_test.cpp tests it with them.
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
/// The profile is that of all tests of the program: each one has blocks, and names, of its own.
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

    /// Returns: the sum over all call stacks of the pool with that name.
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

TEST_F(pool_profile, is_one_for_the_process)
{
    core::pool_profile* of_another = nullptr;
    test::in_a_thread([&of_another] { of_another = &core::pool_profile::get(); });
    EXPECT_EQ(of_another, &core::pool_profile::get());
}

TEST_F(pool_profile, keeps_what_was_allocated_and_forgets_what_is_freed)
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
    EXPECT_EQ(values_of("off").allocated_blocks, before + 1) << "on again, from the next block on";
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

TEST_F(pool_profile, cuts_names_that_are_too_long_for_reports)
{
    const std::string name(127, 'n');
    allocate_all((name + "end").c_str());
    EXPECT_EQ(values_of(name + "end").blocks_in_use, 0U);
    EXPECT_EQ(values_of(name).blocks_in_use, 10U);
}

TEST_F(pool_profile, takes_samples_in_use_among_given_blocks)
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
        EXPECT_EQ(values.blocks_in_use, count != 0 ? count - 1 : 0) << "not what earlier calls were for";
        EXPECT_EQ(values.bytes_in_use, values.blocks_in_use * block_size);
    }
    EXPECT_EQ(values_of("in use").blocks_in_use, 9U);
}

TEST_F(pool_profile, loses_no_sample_of_threads_at_the_same_time)
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
            core::pool_profile::freed(&of_thread[i]); // Some may have been allocated after they were freed.
    const core::profile_values values = values_of("threads");
    EXPECT_EQ(values.allocated_blocks - before.allocated_blocks, threads * 1000);
    EXPECT_EQ(values.blocks_in_use, threads * 100);
    for (const auto& of_thread : many)
        for (const char& each : of_thread)
            core::pool_profile::freed(&each);
    EXPECT_EQ(values_of("threads").blocks_in_use, 0U);
}
} // namespace
