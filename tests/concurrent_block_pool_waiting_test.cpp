// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/concurrent_block_pool.hpp>

#include <support/concurrent_block_pool_ways.hpp>
#include <support/error_recorder.hpp>
#include <support/options.hpp>
#include <support/threads.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <ratio>
#include <thread>
#include <vector>

#if defined(__unix__)
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace mp = memory_pool;
using mp::error_kind;
using namespace std::chrono_literals;
using test::bounded_to;
using test::in_threads;
using test::pool_that_checks;
using test::pool_that_counts;

namespace {
class concurrent_block_pool_waiting : public test::in_each_way
{
};

INSTANTIATE_TEST_SUITE_P(in_each_way, concurrent_block_pool_waiting, test::every_way(), test::name_of_way);

TEST_P(concurrent_block_pool_waiting, waits_for_a_block_until_the_timeout)
{
    mp::concurrent_block_pool pool(32, bounded_to(2), &upstream_);
    void* const a = pool.allocate();
    void* const b = pool.allocate_wait();
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(pool.try_allocate_for(20ms), nullptr);
    EXPECT_GE(std::chrono::steady_clock::now() - start, 20ms);
    EXPECT_EQ(pool.try_allocate_until(std::chrono::system_clock::now() - 1s), nullptr);
    EXPECT_EQ(pool.try_allocate_until(std::chrono::system_clock::now() + 5ms), nullptr);
    EXPECT_EQ(pool.try_allocate_for(-1s), nullptr);
    EXPECT_EQ(pool.waiting(), 0u) << "threads that timed out leave no waiter behind";

    void* got = nullptr;
    std::thread waiter([&] { got = pool.try_allocate_for(std::chrono::hours::max()); });
    while (pool.waiting() != 1)
        std::this_thread::yield();
    pool.deallocate(a);
    waiter.join();
    EXPECT_EQ(got, a);
    pool.deallocate(got);
    pool.deallocate(b);
    EXPECT_EQ(pool.available(), 2u);
    EXPECT_TRUE(pool.verify());
}

/// Advances by two at each call of now().
struct hasty_clock
{
    using duration = std::chrono::duration<std::uint32_t, std::milli>;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<hasty_clock>;
    [[maybe_unused]] static constexpr bool is_steady = true; // Required of a clock.

    static time_point now() noexcept { return time_point(duration(looks += 2)); }

    static inline std::uint32_t looks = 0;
};

/// Its representation covers a hundred days.
struct fine_clock
{
    using duration = std::chrono::duration<std::int64_t, std::pico>;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<fine_clock>;
    [[maybe_unused]] static constexpr bool is_steady = true; // Required of a clock.

    static time_point now() noexcept { return {}; }
};

TEST_P(concurrent_block_pool_waiting, times_out_if_the_deadline_passes_before_the_wait)
{
    mp::concurrent_block_pool pool(32, bounded_to(1), &upstream_);
    void* const block = pool.allocate();
    EXPECT_EQ(pool.try_allocate_until(hasty_clock::now() + hasty_clock::duration(3)), nullptr);
    pool.deallocate(block);
}

TEST_P(concurrent_block_pool_waiting, supports_the_maximum_of_every_duration_type)
{
    using days = std::chrono::duration<std::int64_t, std::ratio<86'400>>;
    using years = std::chrono::duration<int, std::ratio<31'556'952>>;
    using clock = std::chrono::system_clock;
    mp::concurrent_block_pool pool(32, bounded_to(1), &upstream_);
    const auto is_served = [&pool](auto&& ask) {
        void* const block = pool.allocate();
        void* got = nullptr;
        std::atomic<bool> has_given_up{false};
        std::thread waiter([&] {
            got = ask();
            has_given_up = true;
        });
        while (pool.waiting() != 1 && !has_given_up)
            std::this_thread::yield();
        pool.deallocate(block);
        waiter.join();
        pool.deallocate(got);
        return got == block;
    };
    EXPECT_TRUE(is_served([&] { return pool.try_allocate_for(days::max()); }));
    EXPECT_TRUE(is_served([&] { return pool.try_allocate_for(years::max()); }));
    EXPECT_TRUE(is_served([&] { return pool.try_allocate_for(std::chrono::nanoseconds::max()); }));
    EXPECT_TRUE(is_served([&] { return pool.try_allocate_for(std::chrono::duration<double>(1e300)); }));
    EXPECT_TRUE(is_served([&] { return pool.try_allocate_until(clock::time_point::max()); }));
    EXPECT_TRUE(is_served([&] { return pool.try_allocate_until(std::chrono::steady_clock::time_point::max()); }));
    EXPECT_TRUE(
        is_served([&] { return pool.try_allocate_until(std::chrono::time_point<clock, std::chrono::hours>::max()); }));
    EXPECT_TRUE(is_served([&] { return pool.try_allocate_until(std::chrono::time_point<clock, days>::max()); }));
    EXPECT_TRUE(
        is_served([&] { return pool.try_allocate_until(std::chrono::time_point<fine_clock, days>(days(200))); }));

    void* const block = pool.allocate();
    EXPECT_EQ(pool.try_allocate_for(days::min()), nullptr);
    EXPECT_EQ(pool.try_allocate_for(std::chrono::nanoseconds::min()), nullptr);
    EXPECT_EQ(pool.try_allocate_until(std::chrono::time_point<clock, days>::min()), nullptr);
    EXPECT_EQ(pool.try_allocate_until(clock::time_point::min()), nullptr);
    pool.deallocate(block);
}

TEST_P(concurrent_block_pool_waiting, serves_waiting_threads_in_fifo_order)
{
    mp::concurrent_block_pool pool(32, bounded_to(8), &upstream_);
    std::vector<void*> blocks(8);
    pool.allocate_bulk(blocks.data(), blocks.size());
    std::vector<void*> got(8);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i != 8; ++i) {
        threads.emplace_back([&, i] { got[i] = pool.allocate_wait(); });
        while (pool.waiting() != i + 1)
            std::this_thread::yield();
    }
    for (void* const block : blocks) {
        pool.deallocate(block);
        EXPECT_EQ(pool.try_allocate(), nullptr) << "no caller overtakes the waiting threads";
    }
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(got, blocks);
    pool.deallocate_bulk(got.data(), got.size());
    EXPECT_TRUE(pool.verify());
}

TEST_P(concurrent_block_pool_waiting, loses_no_wake_up)
{
    mp::concurrent_block_pool pool(32, bounded_to(3), &upstream_);
    std::atomic<std::size_t> served{0};
    in_threads(8, [&](std::size_t thread) {
        for (int i = 0; i != 300; ++i) {
            void* const block =
                (thread + static_cast<std::size_t>(i)) % 4 == 0 ? pool.try_allocate_for(50us) : pool.allocate_wait();
            if (block == nullptr)
                continue;
            ++served;
            if (i % 16 == 0)
                std::this_thread::yield();
            pool.deallocate(block);
        }
    });
    EXPECT_GE(served, 8u * 300 * 3 / 4);
    EXPECT_EQ(pool.waiting(), 0u);
    EXPECT_EQ(pool.available(), 3u);
    EXPECT_TRUE(pool.verify());
}

TEST_P(concurrent_block_pool_waiting, gives_new_blocks_to_threads_that_wait_for_upstream)
{
    mp::concurrent_block_pool pool(32, {}, &upstream_);
    void* const first = pool.allocate();
    std::vector<void*> rest;
    upstream_.fail_always();
    while (void* const block = pool.try_allocate())
        rest.push_back(block);
    void* got = nullptr;
    std::thread waiter([&] { got = pool.allocate_wait(); });
    while (pool.waiting() != 1)
        std::this_thread::yield();
    EXPECT_EQ(pool.try_allocate(), nullptr);
    // The next caller grows the pool, and must serve the first waiter first.
    upstream_.never_fail();
    void* const mine = pool.allocate();
    waiter.join();
    EXPECT_NE(got, nullptr);
    EXPECT_NE(mine, nullptr);
    EXPECT_NE(got, mine);
    pool.deallocate(first);
    pool.deallocate(mine);
    pool.deallocate(got);
    pool.deallocate_bulk(rest.data(), rest.size());
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.verify());
}

#if defined(__GLIBCXX__) // In libc++, wait functions are noexcept, so cancellation ends the program.
/// Effects: starts a thread that waits for a block of an exhausted pool, then frees it. Returns once the thread waits.
template <class Pool>
pthread_t start_waiting(Pool& exhausted)
{
    const auto wait_for_block = [](void* address) -> void* {
        Pool& pool = *static_cast<Pool*>(address);
        pool.deallocate(pool.allocate_wait());
        return nullptr;
    };
    pthread_t thread{};
    EXPECT_EQ(pthread_create(&thread, nullptr, wait_for_block, &exhausted), 0);
    while (exhausted.waiting() != 1)
        std::this_thread::yield();
    return thread;
}

TEST_P(concurrent_block_pool_waiting, supports_the_cancellation_of_a_waiting_thread)
{
    mp::concurrent_block_pool pool(32, bounded_to(1), &upstream_);
    void* const block = pool.allocate();
    const pthread_t thread = start_waiting(pool);
    pthread_cancel(thread);
    pthread_join(thread, nullptr);
    EXPECT_EQ(pool.waiting(), 0u);
    pool.deallocate(block);
    EXPECT_EQ(pool.available(), 1u);
    EXPECT_TRUE(pool.verify());
}

template <class Pool>
void cancel_a_thread_and_then_free_a_block(test::accounting_upstream& upstream)
{
    Pool pool(32, bounded_to(1), &upstream);
    for (int round = 0; round != 20; ++round) {
        void* const block = pool.allocate();
        const pthread_t thread = start_waiting(pool);
        pthread_cancel(thread);
        pool.deallocate(block); // The thread takes longer to wake up.
        pthread_join(thread, nullptr);
        EXPECT_EQ(pool.waiting(), 0u);
        EXPECT_EQ(pool.available(), 1u);
        EXPECT_TRUE(pool.verify());
    }
}

TEST_P(concurrent_block_pool_waiting, recovers_a_block_handed_to_a_cancelled_thread)
{
    cancel_a_thread_and_then_free_a_block<mp::concurrent_block_pool>(upstream_);
    cancel_a_thread_and_then_free_a_block<mp::basic_concurrent_block_pool<mp::checking_policy>>(upstream_);
}
#endif

TEST(concurrent_block_pool, does_not_wait_when_no_block_is_in_use)
{
    test::accounting_upstream upstream;
    mp::concurrent_block_pool pool(32, {}, &upstream);
    upstream.fail_always();
    EXPECT_THROW((void)pool.allocate_wait(), std::bad_alloc);
    EXPECT_EQ(pool.waiting(), 0u);
    upstream.never_fail();
    pool.deallocate(pool.allocate_wait());
    EXPECT_TRUE(pool.verify());
}

TEST(counting_shared_policy, counts_a_wait_that_upstream_fails_as_one_failure)
{
    test::accounting_upstream upstream;
    pool_that_counts pool(32, {}, &upstream);
    upstream.fail_always();
    EXPECT_EQ(pool.try_allocate_for(1h), nullptr) << "no block is in use, so none can be freed";
    EXPECT_EQ(pool.statistics().failures, 1u);
    EXPECT_EQ(pool.try_allocate_until(std::chrono::steady_clock::now() + 1h), nullptr);
    EXPECT_EQ(pool.statistics().failures, 2u);
    EXPECT_THROW((void)pool.allocate_wait(), std::bad_alloc);
    EXPECT_EQ(pool.statistics().failures, 3u);
    upstream.never_fail();
    pool.deallocate(pool.try_allocate_for(1h));
    EXPECT_EQ(pool.statistics().failures, 3u);
    EXPECT_TRUE(pool.verify());
}

TEST(checking_shared_policy, checks_blocks_that_are_handed_to_waiting_threads)
{
    const test::error_recorder recorder;
    pool_that_checks pool(24, bounded_to(1));
    auto* const block = static_cast<unsigned char*>(pool.allocate());
    std::thread waiter([&] {
        void* const mine = pool.allocate_wait();
        pool.deallocate(mine);
        pool.deallocate(mine);
    });
    while (pool.waiting() != 1)
        std::this_thread::yield();
    pool.deallocate(block);
    waiter.join();
    mp::detail::base::permit_access(block, 1);
    const unsigned char kept = *block;
    *block = 0;
    EXPECT_EQ(pool.try_allocate_for(1h), block);
    EXPECT_EQ(recorder.kinds(), (test::kinds{error_kind::double_free, error_kind::write_after_free}));
    *block = kept;
    pool.deallocate(block);
    EXPECT_TRUE(pool.verify());
}
} // namespace
