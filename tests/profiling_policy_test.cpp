// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/profiling_policy.hpp>

#include <memory_pool/block_pool.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/concurrent_handle_pool.hpp>
#include <memory_pool/concurrent_object_pool.hpp>
#include <memory_pool/handle_pool.hpp>
#include <memory_pool/object_pool.hpp>
#include <memory_pool/shared_pool.hpp>

#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace mp = memory_pool;
namespace core = memory_pool::detail::core;

namespace {
using profiled = mp::profiling_policy<>;
using counted = mp::profiling_policy<mp::counting_policy>;
using checked = mp::profiling_policy<mp::checking_policy>;

/// Returns: the sums of the profile over all call stacks of pools of that name.
core::profile_values values_of(std::string_view pool)
{
    core::pool_profile::taken taken;
    EXPECT_TRUE(core::pool_profile::get().take(taken));
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

/// Sets the mean during its lifetime, with deterministic random numbers.
struct mean_for_now
{
    explicit mean_for_now(std::size_t mean)
    {
        core::this_sampling_thread.sampler = core::byte_sampler(5);
        mp::set_profile_bytes(mean);
    }
    ~mean_for_now() { mp::set_profile_bytes(before); }

    mean_for_now(const mean_for_now&) = delete;
    mean_for_now& operator=(const mean_for_now&) = delete;

    std::size_t before = mp::profile_bytes();
};

mp::pool_options named(const char* name)
{
    return mp::pool_options{}.with_name(name);
}

template <class Pool>
class profiling_policy : public testing::Test
{
};

using pools = testing::Types<mp::basic_block_pool<profiled>, mp::basic_block_pool<counted>,
                             mp::basic_block_pool<checked>, mp::basic_concurrent_block_pool<profiled>,
                             mp::basic_concurrent_block_pool<counted>, mp::basic_concurrent_block_pool<checked>>;
TYPED_TEST_SUITE(profiling_policy, pools, );

TYPED_TEST(profiling_policy, samples_each_block_if_the_mean_is_1)
{
    const mean_for_now mean(1);
    const char* const name = "each block";
    const core::profile_values before = values_of(name);
    TypeParam pool(48, named(name));
    std::array<void*, 10> blocks{};
    for (void*& block : blocks)
        block = pool.allocate();
    core::profile_values values = values_of(name);
    EXPECT_EQ(values.allocated_blocks - before.allocated_blocks, 10U);
    EXPECT_EQ(values.blocks_in_use, 10U);
    EXPECT_EQ(values.bytes_in_use, 480U);
    pool.deallocate(blocks[3]);
    EXPECT_EQ(values_of(name).blocks_in_use, 9U);
    pool.deallocate(nullptr);
    for (std::size_t i = 0; i != blocks.size(); ++i)
        if (i != 3)
            pool.deallocate(blocks[i]);
    values = values_of(name);
    EXPECT_EQ(values.blocks_in_use, 0U);
    EXPECT_EQ(values.allocated_bytes - before.allocated_bytes, 480U) << "the total remains";
}

TYPED_TEST(profiling_policy, samples_nothing_when_disabled)
{
    const mean_for_now mean(0);
    TypeParam pool(48, named("off"));
    for (int i = 0; i != 100'000; ++i)
        pool.deallocate(pool.allocate());
    (void)pool.allocate();
    EXPECT_EQ(values_of("off").allocated_blocks, 0U);
}

TYPED_TEST(profiling_policy, forgets_blocks_that_clear_and_release_free)
{
    const mean_for_now mean(1);
    const char* const name = "all others";
    {
        TypeParam pool(48, named(name));
        const auto use = [&] {
            std::array<void*, 1000> blocks{};
            ASSERT_EQ(pool.allocate_bulk(blocks.data(), blocks.size()), blocks.size());
            pool.deallocate_bulk(blocks.data(), 300);
            EXPECT_EQ(values_of(name).blocks_in_use, 700U);
        };
        use();
        pool.clear();
        EXPECT_EQ(values_of(name).blocks_in_use, 0U);
        use();
        pool.release();
        EXPECT_EQ(values_of(name).blocks_in_use, 0U);
        use();
    }
    EXPECT_EQ(values_of(name).blocks_in_use, 0U) << "the pool is destroyed";
}

TYPED_TEST(profiling_policy, is_accurate_within_five_percent)
{
    constexpr std::size_t mean_bytes = 1000;
    const mean_for_now mean(mean_bytes);
    const char* const name = "estimates";
    const core::profile_values before = values_of(name);
    for (const std::size_t size : {16U, 100U, 1000U, 4000U}) {
        const core::profile_values start = values_of(name);
        const std::size_t count =
            5000 * std::max(mean_bytes, size) / size; // At least 3,160 samples, 5,000 for most sizes.
        TypeParam pool(size, named(name));
        std::vector<void*> blocks(count + count / 2);
        for (void*& block : blocks)
            block = pool.allocate();
        for (std::size_t i = 2; i < blocks.size(); i += 3)
            pool.deallocate(blocks[i]);
        const core::profile_values now = values_of(name);
        const auto share = [](std::uint64_t estimate, std::size_t truth) {
            return static_cast<double>(estimate) / static_cast<double>(truth);
        };
        EXPECT_NEAR(share(now.allocated_bytes - start.allocated_bytes, blocks.size() * size), 1, 0.05) << size;
        EXPECT_NEAR(share(now.blocks_in_use - start.blocks_in_use, count), 1, 0.05) << size;
    }
    EXPECT_EQ(values_of(name).blocks_in_use, before.blocks_in_use);
}

TEST(profiling_policy_of_objects, samples_objects_of_each_kind_of_pool)
{
    const mean_for_now mean(1);
    struct object
    {
        std::array<char, 40> bytes;
    };
    {
        mp::object_pool<object, profiled> local(named("objects"));
        mp::concurrent_object_pool<object, profiled> shared(named("objects"));
        mp::handle_pool<object, profiled> handles(named("objects"));
        mp::concurrent_handle_pool<object, profiled> shared_handles(named("objects"));
        (void)local.create();
        (void)shared.create();
        (void)handles.create();
        (void)shared_handles.create();
        EXPECT_EQ(values_of("objects").blocks_in_use, 4U);
    }
    EXPECT_EQ(values_of("objects").blocks_in_use, 0U);
    std::shared_ptr<object> last;
    {
        mp::basic_shared_pool<object, mp::basic_concurrent_block_pool<profiled>> pool(named("survivors"));
        last = pool.make();
    }
    EXPECT_EQ(values_of("survivors").blocks_in_use, 1U) << "the object outlives the pool";
    last.reset();
    EXPECT_EQ(values_of("survivors").blocks_in_use, 0U);
}

TEST(profiling_policy_of_threads, counts_blocks_that_other_threads_free)
{
    const mean_for_now mean(100);
    mp::basic_concurrent_block_pool<profiled> pool(64, named("threads"));
    std::array<std::array<void*, 1000>, 4> blocks{};
    test::in_threads(4, [&](std::size_t thread) {
        for (int times = 0; times != 20; ++times) {
            for (void*& block : blocks[thread])
                block = pool.allocate();
            if (times != 19)
                for (void* const block : blocks[thread])
                    pool.deallocate(block);
            (void)values_of("threads");
        }
    });
    test::in_threads(4, [&](std::size_t thread) {
        for (void* const block : blocks[(thread + 1) % 4])
            pool.deallocate(block);
    });
    const core::profile_values values = values_of("threads");
    EXPECT_EQ(values.blocks_in_use, 0U);
    EXPECT_NEAR(static_cast<double>(values.allocated_blocks), 80'000, 4000);
}

TEST(profiling_policy_of_threads, applies_a_new_mean_in_other_threads_within_64_kib)
{
    const mean_for_now mean(0);
    mp::basic_concurrent_block_pool<profiled> pool(64, named("begins"));
    test::in_threads(1, [&](std::size_t) {
        pool.deallocate(pool.allocate());
        core::mean_of_pool_profile.store(1, std::memory_order_relaxed); // As if by another thread.
        for (int i = 0; i != 2000; ++i)
            pool.deallocate(pool.allocate());
    });
    const std::uint64_t sampled = values_of("begins").allocated_blocks;
    EXPECT_GE(sampled, 2000U - 1025U);
    EXPECT_LT(sampled, 2000U);
}

#if !defined(_WIN32)
TEST(profiling_policy_of_processes, continues_in_the_child_of_a_fork)
{
    const mean_for_now mean(1);
    mp::basic_concurrent_block_pool<profiled> pool(64, named("forks"));
    void* const block = pool.allocate();
    std::atomic<bool> ends{false};
    test::in_threads(3, [&](std::size_t thread) {
        if (thread != 0) {
            while (!ends)
                pool.deallocate(pool.allocate());
            return;
        }
        for (int times = 0; times != 20; ++times) {
            const pid_t child = fork();
            if (child == 0) {
                pool.deallocate(pool.allocate());
                _exit(values_of("forks").blocks_in_use >= 1 ? 0 : 1);
            }
            int status = -1;
            EXPECT_EQ(waitpid(child, &status, 0), child);
            EXPECT_EQ(status, 0);
        }
        ends = true;
    });
    pool.deallocate(block);
    EXPECT_EQ(values_of("forks").blocks_in_use, 0U);
}

/// Sets an environment variable during its lifetime.
struct variable_for_now
{
    variable_for_now(const char* variable, const char* value) : name(variable)
    {
        (void)setenv(name, value, 1); // NOLINT(concurrency-mt-unsafe): no other thread runs
    }
    ~variable_for_now() { (void)unsetenv(name); } // NOLINT(concurrency-mt-unsafe): no other thread runs

    variable_for_now(const variable_for_now&) = delete;
    variable_for_now& operator=(const variable_for_now&) = delete;

    const char* name;
};

/// Returns: the stderr output of a pool that is destroyed with two objects in use.
template <class Pool>
std::string said_with_two_left(const char* name)
{
    testing::internal::CaptureStderr();
    {
        Pool pool(named(name));
        (void)pool.create();
        (void)pool.create();
    }
    return testing::internal::GetCapturedStderr();
}

struct with_destructor
{
    ~with_destructor() { bytes[0] = 0; }

    std::array<char, 40> bytes{};
};

template <class Pool>
class profiling_policy_at_the_end : public testing::Test
{
};

using object_pools =
    testing::Types<mp::object_pool<std::array<char, 40>, profiled>, mp::object_pool<with_destructor, profiled>,
                   mp::concurrent_object_pool<with_destructor, profiled>, mp::handle_pool<with_destructor, profiled>,
                   mp::concurrent_handle_pool<with_destructor, profiled>,
                   mp::handle_pool<std::array<char, 40>, profiled>>;
TYPED_TEST_SUITE(profiling_policy_at_the_end, object_pools, );

TYPED_TEST(profiling_policy_at_the_end, lists_blocks_in_use_if_the_environment_requests_it)
{
    const mean_for_now mean(1);
    const variable_for_now leaks("NP_LEAKS", "1");
    const std::string text = said_with_two_left<TypeParam>("left");
    EXPECT_EQ(text.find("memory_pool: pool 'left': in use, by call site:\n  "), 0U) << text;
    // 80 bytes, except with handles, which are stored next to their objects.
    EXPECT_NE(text.find("  in all  2 blocks  8"), std::string::npos) << text;
    EXPECT_EQ(text.find("in all"), text.rfind("in all")) << "it occurs once";
    EXPECT_EQ(values_of("left").blocks_in_use, 0U);
}

TYPED_TEST(profiling_policy_at_the_end, is_silent_otherwise)
{
    const mean_for_now mean(1);
    EXPECT_EQ(said_with_two_left<TypeParam>("left"), "");
    const variable_for_now leaks("NP_LEAKS", "0");
    EXPECT_EQ(said_with_two_left<TypeParam>("left"), "");
}

TEST(profiling_policy_at_the_end, is_silent_without_blocks_in_use)
{
    const mean_for_now mean(1);
    const variable_for_now leaks("NP_LEAKS", "1");
    testing::internal::CaptureStderr();
    {
        mp::object_pool<int, profiled> pool;
        pool.destroy(pool.create(1));
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(profiling_policy_at_the_end, marks_sampled_values_as_estimates)
{
    const mean_for_now mean(512);
    const variable_for_now leaks("NP_LEAKS", "1");
    const std::string text = said_with_two_left<mp::object_pool<int, profiled>>("left");
    EXPECT_NE(text.find("estimated from samples, one per 512 bytes on average:\n"), std::string::npos) << text;
}

template <class Blocks>
std::string said_with_survivor()
{
    std::shared_ptr<int> last;
    std::shared_ptr<int> returned;
    testing::internal::CaptureStderr();
    {
        mp::basic_shared_pool<int, Blocks> pool(named("survivors"));
        last = pool.make(1);
        returned = pool.make(2);
        returned.reset();
    }
    return testing::internal::GetCapturedStderr();
}

TEST(profiling_policy_at_the_end, lists_leaked_objects_if_the_policy_reports_leaks)
{
    const mean_for_now mean(1);
    using reported = mp::profiling_policy<mp::leak_reporting_policy<>>;
    for (const std::string& text : {said_with_survivor<mp::basic_block_pool<reported>>(),
                                    said_with_survivor<mp::basic_concurrent_block_pool<reported>>()}) {
        EXPECT_EQ(text.find("memory_pool: pool 'survivors': in use, by call site:\n"), 0U) << text;
        EXPECT_NE(text.find("  1 block  "), std::string::npos) << text;
        EXPECT_NE(text.find("memory_pool: leak: 1 object of "), std::string::npos) << text;
    }
    const variable_for_now leaks("NP_LEAKS", "1");
    EXPECT_EQ(said_with_survivor<mp::basic_block_pool<profiled>>(), "") << "leaks are allowed";
}

[[noreturn]] void end_with_one_left()
{
    mp::set_profile_bytes(1);
    static auto* const pool = new mp::object_pool<int, profiled>(named("left"));
    (void)pool->create(1);
    delete pool;
    std::exit(0); // NOLINT(concurrency-mt-unsafe): no other thread runs
}

TEST(profiling_policy_at_the_end_DeathTest, sets_the_exit_status_from_the_environment)
{
    const variable_for_now status("NP_LEAKS_EXIT", "99");
    EXPECT_EXIT(end_with_one_left(), testing::ExitedWithCode(99), "pool 'left': in use, by call site");
}

TEST(profiling_policy_at_the_end_DeathTest, keeps_the_exit_status_otherwise)
{
    const variable_for_now leaks("NP_LEAKS", "1");
    EXPECT_EXIT(end_with_one_left(), testing::ExitedWithCode(0), "pool 'left': in use, by call site");
    const variable_for_now status("NP_LEAKS_EXIT", "256");
    EXPECT_EXIT(end_with_one_left(), testing::ExitedWithCode(0), "in use");
}
#endif
} // namespace
