// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/concurrent_block_pool.hpp>

#include <support/block_pool_conformance.hpp>
#include <support/child.hpp>
#include <support/error_recorder.hpp>
#include <support/options.hpp>
#include <support/overflows.hpp>
#include <support/threads.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <optional>
#include <ratio>
#include <set>
#include <thread>
#include <type_traits>
#include <vector>

#if defined(__unix__)
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace mp = memory_pool;
using mp::error;
using namespace std::chrono_literals;
using test::bounded_to;
using test::in_a_thread;
using test::in_threads;

namespace test
{
using every_shared_policy = testing::Types<mp::basic_concurrent_block_pool<mp::default_policy>,
                                           mp::basic_concurrent_block_pool<mp::counting_policy>,
                                           mp::basic_concurrent_block_pool<mp::checking_policy>>;
INSTANTIATE_TYPED_TEST_SUITE_P(every_shared_policy, block_pool_conformance, every_shared_policy, );
} // namespace test

namespace
{
using pool_that_counts = mp::basic_concurrent_block_pool<mp::counting_policy>;
using pool_that_checks = mp::basic_concurrent_block_pool<mp::checking_policy>;

/// A block in use holds the number of whoever has it, all over. Says whether it still does.
class marked_block
{
public:
    static constexpr std::size_t size = 64;

    marked_block(void* block, std::uint64_t owner) : words_(static_cast<std::uint64_t*>(block)), owner_(owner)
    {
        std::fill(words_, words_ + size / sizeof(std::uint64_t), owner_);
    }

    bool is_intact() const
    {
        return std::all_of(words_, words_ + size / sizeof(std::uint64_t),
                           [this](std::uint64_t word) { return word == owner_; });
    }

    void* block() const { return words_; }

private:
    std::uint64_t* words_;
    std::uint64_t owner_;
};

/// How a pool finds the cache of a thread, and does its handshakes with it.
enum class way
{
    with_process_barrier,
    without_process_barrier,
    beyond_the_first_pools, ///< With one, but the slots are in pages.
};

/// Everything that must be the same whichever way it is.
class concurrent_block_pool_test : public testing::TestWithParam<way>
{
protected:
    void SetUp() override
    {
        mp::os::detail::process_barrier_is_hidden = GetParam() == way::without_process_barrier;
        if (GetParam() == way::beyond_the_first_pools)
            while (first_pools_.size() != mp::core::slots_in_a_page)
                first_pools_.emplace_back(sizeof(void*));
    }
    void TearDown() override { mp::os::detail::process_barrier_is_hidden = false; }

    test::accounting_upstream upstream_;

private:
    std::list<mp::concurrent_block_pool> first_pools_;
};

INSTANTIATE_TEST_SUITE_P(in_each_way, concurrent_block_pool_test,
                         testing::Values(way::with_process_barrier, way::without_process_barrier,
                                         way::beyond_the_first_pools),
                         [](const auto& parameter) {
                             switch (parameter.param) {
                             case way::with_process_barrier: return "with_process_barrier";
                             case way::without_process_barrier: return "without_process_barrier";
                             default: return "beyond_the_first_pools";
                             }
                         });

TEST_P(concurrent_block_pool_test, gives_each_block_to_one_thread_at_a_time)
{
    mp::concurrent_block_pool pool(marked_block::size, {}, &upstream_);
    std::atomic<std::size_t> damaged{0};
    in_threads(4, [&](std::size_t thread) {
        std::vector<marked_block> mine;
        for (std::uint64_t i = 0; i != 20'000; ++i) {
            mine.emplace_back(pool.allocate(), thread << 32 | i);
            if (i % 3 == 0 || mine.size() > 500) {
                std::swap(mine[(i * 7) % mine.size()], mine.back());
                damaged += mine.back().is_intact() ? 0 : 1;
                pool.deallocate(mine.back().block());
                mine.pop_back();
            }
        }
        for (const marked_block& block : mine) {
            damaged += block.is_intact() ? 0 : 1;
            pool.deallocate(block.block());
        }
    });
    EXPECT_EQ(damaged, 0u);
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.is_valid());
}

TEST_P(concurrent_block_pool_test, hands_out_exactly_max_capacity_whatever_threads_hold)
{
    for (const std::size_t limit : {1u, 3u, 100u, 1000u}) {
        mp::concurrent_block_pool pool(32, bounded_to(limit), &upstream_);
        for (int round = 0; round != 5; ++round) {
            std::vector<std::vector<void*>> taken(8);
            in_threads(taken.size(), [&](std::size_t thread) {
                while (void* const block = pool.try_allocate())
                    taken[thread].push_back(block);
            });
            std::set<void*> all;
            std::size_t count = 0;
            for (const std::vector<void*>& some : taken) {
                count += some.size();
                all.insert(some.begin(), some.end());
            }
            EXPECT_EQ(count, limit);
            EXPECT_EQ(all.size(), limit);
            EXPECT_EQ(pool.in_use(), limit);
            EXPECT_EQ(pool.try_allocate(), nullptr);
            EXPECT_THROW((void)pool.allocate(), mp::pool_exhausted);
            in_threads(taken.size(), [&](std::size_t thread) {
                for (void* const block : taken[(thread + 1) % taken.size()])
                    pool.deallocate(block);
            });
            EXPECT_EQ(pool.available(), limit);
            EXPECT_TRUE(pool.is_valid());
        }
    }
}

TEST_P(concurrent_block_pool_test, takes_the_last_blocks_out_of_a_thread_that_does_nothing)
{
    mp::concurrent_block_pool pool(32, bounded_to(200), &upstream_);
    std::atomic<bool> holds{false};
    std::atomic<bool> is_over{false};
    std::thread idle([&] {
        std::vector<void*> blocks(200);
        pool.allocate_bulk(blocks.data(), blocks.size());
        pool.deallocate_bulk(blocks.data(), blocks.size());
        holds = true;
        while (!is_over)
            std::this_thread::yield();
        pool.deallocate(pool.try_allocate()); // finds its cache empty, and lives with it
    });
    while (!holds)
        std::this_thread::yield();
    std::vector<void*> blocks(200);
    EXPECT_EQ(pool.allocate_bulk(blocks.data(), blocks.size()), 200u);
    EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), 200u);
    is_over = true;
    idle.join();
    pool.deallocate_bulk(blocks.data(), blocks.size());
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.is_valid());
}

TEST_P(concurrent_block_pool_test, keeps_two_threads_working_while_a_third_runs_it_dry)
{
    constexpr std::size_t limit = 64;
    mp::concurrent_block_pool pool(marked_block::size, bounded_to(limit), &upstream_);
    std::atomic<std::size_t> damaged{0};
    in_threads(3, [&](std::size_t thread) {
        std::vector<marked_block> mine;
        for (std::uint64_t i = 0; i != 3'000; ++i) {
            while (mine.size() < (thread == 0 ? limit : 5))
                if (void* const block = pool.try_allocate())
                    mine.emplace_back(block, thread << 32 | i);
                else
                    break;
            for (const marked_block& block : mine) {
                damaged += block.is_intact() ? 0 : 1;
                pool.deallocate(block.block());
            }
            mine.clear();
        }
    });
    EXPECT_EQ(damaged, 0u);
    EXPECT_EQ(pool.available(), limit);
    EXPECT_TRUE(pool.is_valid());
}

TEST_P(concurrent_block_pool_test, trims_what_lies_in_the_caches_of_other_threads)
{
    mp::concurrent_block_pool pool(64, {}, &upstream_);
    std::atomic<int> ready{0};
    std::atomic<bool> is_over{false};
    std::vector<std::thread> threads;
    for (int i = 0; i != 3; ++i)
        threads.emplace_back([&] {
            std::vector<void*> blocks(1000);
            pool.allocate_bulk(blocks.data(), blocks.size());
            pool.deallocate_bulk(blocks.data(), blocks.size());
            ++ready;
            while (!is_over)
                std::this_thread::yield();
            pool.deallocate(pool.allocate());
        });
    while (ready != 3)
        std::this_thread::yield();
    EXPECT_GT(pool.capacity(), 0u);
    EXPECT_GT(pool.trim(), 3'000u * 64 / 2);
    EXPECT_EQ(pool.capacity(), 0u);
    EXPECT_EQ(upstream_.live_bytes(), pool.bytes_reserved());
    is_over = true;
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.is_valid());
}

TEST_P(concurrent_block_pool_test, may_be_trimmed_at_any_time)
{
    mp::concurrent_block_pool pool(marked_block::size, {}, &upstream_);
    std::atomic<std::size_t> damaged{0};
    std::atomic<int> working{3};
    in_threads(4, [&](std::size_t thread) {
        if (thread == 3) {
            while (working != 0)
                pool.trim();
            return;
        }
        for (std::uint64_t i = 0; i != 200; ++i) {
            std::vector<marked_block> mine;
            for (std::uint64_t j = 0; j != 300; ++j)
                mine.emplace_back(pool.allocate(), thread << 32 | i << 16 | j);
            for (const marked_block& block : mine) {
                damaged += block.is_intact() ? 0 : 1;
                pool.deallocate(block.block());
            }
        }
        --working;
    });
    EXPECT_EQ(damaged, 0u);
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.is_valid());
    pool.trim();
    EXPECT_EQ(pool.capacity(), 0u);
}

TEST_P(concurrent_block_pool_test, lets_one_thread_use_any_number_of_pools_in_turn)
{
    std::vector<std::unique_ptr<mp::concurrent_block_pool>> pools;
    for (int i = 0; i != 200; ++i) // more than have a slot in thread-local storage itself
        pools.push_back(std::make_unique<mp::concurrent_block_pool>(32, bounded_to(64), &upstream_));
    const auto use_all = [&] {
        for (int round = 0; round != 20; ++round) {
            std::vector<void*> blocks;
            blocks.reserve(pools.size());
            for (const auto& pool : pools)
                blocks.push_back(pool->allocate());
            for (std::size_t i = 0; i != pools.size(); ++i)
                pools[i]->deallocate(blocks[i]);
        }
    };
    use_all();
    in_a_thread(use_all);
    for (const auto& pool : pools) {
        EXPECT_EQ(pool->available(), 64u);
        std::vector<void*> blocks(64);
        EXPECT_EQ(pool->allocate_bulk(blocks.data(), 64), 64u) << "all there is";
    }
    pools.erase(pools.begin(), pools.begin() + 100);
    for (int i = 0; i != 100; ++i) // whose numbers are used again
        pools.push_back(std::make_unique<mp::concurrent_block_pool>(48, bounded_to(10), &upstream_));
    for (std::size_t i = 100; i != 200; ++i) {
        void* const block = pools[i]->allocate();
        EXPECT_TRUE(pools[i]->owns(block));
        pools[i]->deallocate(block);
        EXPECT_TRUE(pools[i]->is_valid());
    }
    pools.clear();
    EXPECT_EQ(upstream_.live_chunks(), 0u);
}

TEST_P(concurrent_block_pool_test, works_when_there_are_more_pools_than_numbers)
{
    std::vector<std::unique_ptr<mp::concurrent_block_pool>> pools;
    for (std::size_t i = 0; i != mp::core::most_pools_with_slots + 3; ++i)
        pools.push_back(std::make_unique<mp::concurrent_block_pool>(32, bounded_to(2)));
    for (const std::size_t i : {std::size_t{0}, pools.size() - 1}) {
        void* const a = pools[i]->allocate();
        void* const b = pools[i]->allocate();
        EXPECT_EQ(pools[i]->try_allocate(), nullptr);
        pools[i]->deallocate(a);
        pools[i]->deallocate(b);
        EXPECT_EQ(pools[i]->in_use(), 0u);
        EXPECT_TRUE(pools[i]->is_valid());
    }
}

TEST_P(concurrent_block_pool_test, loses_nothing_when_threads_end_ten_thousand_of_them)
{
    mp::concurrent_block_pool pool(32, bounded_to(100), &upstream_);
    void* passed_on = nullptr;
    for (int i = 0; i != 10'000; ++i)
        in_a_thread([&] {
            void* const block = pool.allocate();
            pool.deallocate(passed_on);
            passed_on = block;
        });
    EXPECT_EQ(pool.in_use(), 1u);
    pool.deallocate(passed_on);
    EXPECT_EQ(pool.available(), 100u);
    EXPECT_TRUE(pool.is_valid());
    EXPECT_LE(upstream_.live_chunks(), 10u) << "what one thread had is for the next";
}

TEST_P(concurrent_block_pool_test, may_be_used_by_a_new_thread_for_anything_first)
{
    mp::concurrent_block_pool pool(32, {}, &upstream_);
    std::vector<void*> blocks(300);
    pool.allocate_bulk(blocks.data(), blocks.size());
    std::size_t next = 0;
    in_a_thread([&] { pool.deallocate(blocks[next++]); });
    in_a_thread([&] { pool.deallocate(nullptr); });
    in_a_thread([&] { pool.trim(); });
    in_a_thread([&] { EXPECT_TRUE(pool.owns(blocks[200])); });
    in_a_thread([&] { EXPECT_EQ(pool.in_use(), 299u); });
    in_a_thread([&] { pool.reserve(2 * pool.capacity()); });
    in_a_thread([&] { pool.for_each([](void*) {}); });
    in_a_thread([&] { pool.deallocate(pool.allocate_wait()); });
    in_a_thread([&] {
        while (next != blocks.size())
            pool.deallocate(blocks[next++]);
    });
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.is_valid());
}

TEST_P(concurrent_block_pool_test, does_not_grow_when_one_thread_only_gives_back_what_others_take)
{
    constexpr std::size_t batch = 500;
    mp::concurrent_block_pool pool(32, {}, &upstream_);
    std::vector<void*> handed_over;
    std::mutex mutex;
    std::atomic<int> working{4};
    in_threads(5, [&](std::size_t thread) {
        if (thread != 4) {
            for (int i = 0; i != 100; ++i) {
                std::vector<void*> blocks(batch);
                pool.allocate_bulk(blocks.data(), blocks.size());
                while (true) { // a queue with room for one batch of each
                    const std::lock_guard lock(mutex);
                    if (handed_over.size() >= 4 * batch)
                        continue;
                    handed_over.insert(handed_over.end(), blocks.begin(), blocks.end());
                    break;
                }
            }
            --working;
            return;
        }
        while (true) {
            const bool is_over = working == 0;
            std::vector<void*> mine;
            {
                const std::lock_guard lock(mutex);
                mine.swap(handed_over);
            }
            pool.deallocate_bulk(mine.data(), mine.size());
            if (is_over && mine.empty())
                return;
            std::this_thread::yield();
        }
    });
    EXPECT_EQ(pool.in_use(), 0u);
    // In use at one time: what the queue holds, and a batch in the hands of each thread, that of the last up to 4 more.
    EXPECT_LE(pool.capacity(), batch * 2 * (4 + 4 + 5 + 4)) << "the last chunk may have doubled it";
    EXPECT_TRUE(pool.is_valid());
}

TEST_P(concurrent_block_pool_test, lets_threads_and_pools_end_in_any_order)
{
    for (int round = 0; round != 30; ++round) {
        std::optional<mp::concurrent_block_pool> pool(std::in_place, 32, mp::pool_options{}, &upstream_);
        std::atomic<int> used{0};
        std::atomic<bool> may_end{false};
        std::vector<std::thread> threads;
        for (int i = 0; i != 4; ++i)
            threads.emplace_back([&] {
                pool->deallocate(pool->allocate());
                ++used;
                while (!may_end)
                    std::this_thread::yield();
            });
        while (used != 4)
            std::this_thread::yield();
        if (round % 3 == 0) {
            pool.reset(); // before the threads, with their caches loaded
            may_end = true;
        } else {
            may_end = true; // at the same time as the threads
            pool.reset();
        }
        for (std::thread& thread : threads)
            thread.join();
        EXPECT_EQ(upstream_.live_chunks(), 0u);
    }
}

TEST_P(concurrent_block_pool_test, serves_a_thread_that_is_ending)
{
    static mp::concurrent_block_pool* pool = nullptr;
    struct late_user
    {
        void* block = nullptr;
        ~late_user()
        {
            pool->deallocate(block);
            void* const another = pool->allocate();
            pool->deallocate(another);
            pool->deallocate(pool->try_allocate_for(1ms));
        }
    };
    mp::concurrent_block_pool mine(32, bounded_to(50), &upstream_);
    pool = &mine;
    for (int i = 0; i != 50; ++i)
        in_a_thread([] {
            thread_local late_user before; // ends after what the pool has for this thread, as it was there first
            before.block = pool->allocate();
            thread_local late_user after;
            after.block = pool->allocate();
        });
    EXPECT_EQ(pool->available(), 50u);
    EXPECT_TRUE(pool->is_valid());
}

TEST_P(concurrent_block_pool_test, gives_threads_blocks_of_their_own_lines)
{
    mp::concurrent_block_pool pool(8, {}, &upstream_);
    std::vector<std::set<std::uintptr_t>> lines(4);
    in_threads(4, [&](std::size_t thread) {
        for (int i = 0; i != 1000; ++i)
            lines[thread].insert(reinterpret_cast<std::uintptr_t>(pool.allocate()) / mp::cache_line_size);
    });
    for (std::size_t a = 0; a != lines.size(); ++a)
        for (std::size_t b = 0; b != a; ++b)
            for (const std::uintptr_t line : lines[a])
                ASSERT_EQ(lines[b].count(line), 0u) << "two threads write to one line";
}

TEST_P(concurrent_block_pool_test, waits_for_a_block_and_gives_up_in_time)
{
    mp::concurrent_block_pool pool(32, bounded_to(2), &upstream_);
    void* const a = pool.allocate();
    void* const b = pool.allocate_wait();
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(pool.try_allocate_for(20ms), nullptr);
    EXPECT_GE(std::chrono::steady_clock::now() - start, 20ms);
    EXPECT_EQ(pool.try_allocate_until(std::chrono::system_clock::now() - 1s), nullptr);
    EXPECT_EQ(pool.try_allocate_for(-1s), nullptr);
    EXPECT_EQ(pool.waiting(), 0u) << "those who gave up left nothing behind";

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
    EXPECT_TRUE(pool.is_valid());
}

/// Goes on by two each time that somebody looks.
struct hasty_clock
{
    using duration = std::chrono::duration<std::uint32_t, std::milli>;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<hasty_clock>;
    [[maybe_unused]] static constexpr bool is_steady = true; // A clock has to have it.

    static time_point now() noexcept { return time_point(duration(looks += 2)); }

    static inline std::uint32_t looks = 0;
};

/// Its type holds a hundred days.
struct fine_clock
{
    using duration = std::chrono::duration<std::int64_t, std::pico>;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<fine_clock>;
    [[maybe_unused]] static constexpr bool is_steady = true; // A clock has to have it.

    static time_point now() noexcept { return {}; }
};

TEST_P(concurrent_block_pool_test, gives_up_when_the_clock_has_passed_the_deadline_since_it_was_looked_at)
{
    mp::concurrent_block_pool pool(32, bounded_to(1), &upstream_);
    void* const block = pool.allocate();
    EXPECT_EQ(pool.try_allocate_until(hasty_clock::now() + hasty_clock::duration(3)), nullptr);
    pool.deallocate(block);
}

TEST_P(concurrent_block_pool_test, waits_as_long_as_any_type_can_say)
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

TEST_P(concurrent_block_pool_test, serves_those_who_wait_in_the_order_they_came)
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
        EXPECT_EQ(pool.try_allocate(), nullptr) << "nobody passes those who wait";
    }
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(got, blocks);
    pool.deallocate_bulk(got.data(), got.size());
    EXPECT_TRUE(pool.is_valid());
}

TEST_P(concurrent_block_pool_test, loses_no_wake_up)
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
    EXPECT_TRUE(pool.is_valid());
}

TEST_P(concurrent_block_pool_test, lets_those_who_wait_for_upstream_have_what_grows)
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
    // Whoever comes next makes the pool grow, and has to let the first in the queue go first.
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
    EXPECT_TRUE(pool.is_valid());
}

TEST_P(concurrent_block_pool_test, visits_what_is_in_use_while_other_threads_work)
{
    mp::concurrent_block_pool pool(32, {}, &upstream_);
    std::vector<void*> kept(500);
    pool.allocate_bulk(kept.data(), kept.size());
    std::atomic<bool> is_over{false};
    std::thread other([&] {
        while (!is_over)
            pool.deallocate(pool.allocate());
    });
    for (int round = 0; round != 20; ++round) {
        std::set<void*> visited;
        pool.for_each([&](void* block) { EXPECT_TRUE(visited.insert(block).second); });
        for (void* const block : kept)
            ASSERT_EQ(visited.count(block), 1u);
    }
    is_over = true;
    other.join();
    pool.deallocate_bulk(kept.data(), kept.size());
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.is_valid());
}

TEST_P(concurrent_block_pool_test, works_without_caches_when_upstream_has_no_memory_for_them)
{
    mp::pool_options options;
    options.initial_capacity = 300;
    mp::concurrent_block_pool pool(32, options, &upstream_);
    upstream_.fail_always();
    in_threads(3, [&](std::size_t) {
        std::vector<void*> blocks(100);
        for (int round = 0; round != 10; ++round) {
            for (void*& block : blocks)
                block = pool.allocate();
            pool.deallocate_bulk(blocks.data(), blocks.size());
        }
    });
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.is_valid());
    upstream_.never_fail();
    pool.deallocate(pool.allocate());
    EXPECT_TRUE(pool.is_valid());
}

#if defined(__unix__)
#if !MEMORY_POOL_TSAN // which is gone itself in the last round
TEST_P(concurrent_block_pool_test, serves_the_destructors_of_thread_specific_data_in_every_round)
{
    static mp::concurrent_block_pool* pool = nullptr;
    static std::array<pthread_key_t, 40> keys;
    static std::atomic<int> calls{0};
    mp::concurrent_block_pool mine(32, bounded_to(60), &upstream_);
    pool = &mine;
    calls = 0;
    for (pthread_key_t& key : keys)
        ASSERT_EQ(pthread_key_create(&key,
                                     [](void* block) {
                                         pool->deallocate(block);
                                         ++calls; // and set one again, so that another round follows
                                         if (pthread_getspecific(keys[0]) == nullptr)
                                             pthread_setspecific(keys[0], pool->allocate());
                                     }),
                  0);
    in_a_thread([] {
        for (const pthread_key_t key : keys)
            pthread_setspecific(key, pool->allocate());
    });
    for (const pthread_key_t key : keys)
        pthread_key_delete(key);
    EXPECT_GT(calls, 40);
    EXPECT_LE(pool->in_use(), 1u) << "but what was set in the last round, for which nobody is called";
    EXPECT_TRUE(pool->is_valid());
}

#endif

#if defined(__GLIBCXX__) // In libc++, waiting is noexcept, so cancellation ends the program there.
TEST_P(concurrent_block_pool_test, lets_a_thread_be_cancelled_while_it_waits)
{
    static mp::concurrent_block_pool* pool = nullptr;
    mp::concurrent_block_pool mine(32, bounded_to(1), &upstream_);
    pool = &mine;
    void* const block = pool->allocate();
    pthread_t thread{};
    ASSERT_EQ(pthread_create(
                  &thread, nullptr,
                  [](void*) -> void* {
                      pool->deallocate(pool->allocate_wait());
                      return nullptr;
                  },
                  nullptr),
              0);
    while (pool->waiting() != 1)
        std::this_thread::yield();
    pthread_cancel(thread);
    pthread_join(thread, nullptr);
    EXPECT_EQ(pool->waiting(), 0u);
    pool->deallocate(block);
    EXPECT_EQ(pool->available(), 1u);
    EXPECT_TRUE(pool->is_valid());
}

template <class Pool>
void cancels_a_thread_and_then_gives_it_what_it_waits_for(test::accounting_upstream& upstream)
{
    static Pool* pool = nullptr;
    Pool mine(32, bounded_to(1), &upstream);
    pool = &mine;
    for (int round = 0; round != 20; ++round) {
        void* const block = pool->allocate();
        pthread_t thread{};
        ASSERT_EQ(pthread_create(
                      &thread, nullptr,
                      [](void*) -> void* {
                          pool->deallocate(pool->allocate_wait());
                          return nullptr;
                      },
                      nullptr),
                  0);
        while (pool->waiting() != 1)
            std::this_thread::yield();
        pthread_cancel(thread);
        pool->deallocate(block); // It takes the thread longer to wake up.
        pthread_join(thread, nullptr);
        EXPECT_EQ(pool->waiting(), 0u);
        EXPECT_EQ(pool->available(), 1u);
        EXPECT_TRUE(pool->is_valid());
    }
}

TEST_P(concurrent_block_pool_test, takes_a_block_back_that_comes_to_a_thread_that_is_being_cancelled)
{
    cancels_a_thread_and_then_gives_it_what_it_waits_for<mp::concurrent_block_pool>(upstream_);
    cancels_a_thread_and_then_gives_it_what_it_waits_for<mp::basic_concurrent_block_pool<mp::checking_policy>>(
        upstream_);
}
#endif
#endif

using concurrent_block_pool_death_test = testing::Test;

TEST_F(concurrent_block_pool_death_test, works_until_the_process_is_gone)
{
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    const auto end_a_busy_process = [] {
        static mp::concurrent_block_pool destroyed_late(32); // before those who use it at the end
        static auto& never_destroyed = *new mp::concurrent_block_pool(32);
        struct user
        {
            void* block = destroyed_late.allocate();
            ~user()
            {
                destroyed_late.deallocate(block);
                destroyed_late.deallocate(destroyed_late.allocate());
                never_destroyed.deallocate(never_destroyed.allocate());
                std::fputs(destroyed_late.is_valid() ? "static destructor served" : "broken", stderr);
            }
        };
        static const user static_user;
        std::atexit([] { destroyed_late.deallocate(destroyed_late.allocate()); });
        std::atomic<bool> is_at_work{false};
        std::thread([&] {
            for (;; is_at_work = true)
                never_destroyed.deallocate(never_destroyed.allocate());
        }).detach();
        while (!is_at_work)
            std::this_thread::yield();
        static_cast<void>(static_user);
        std::exit(0);
    };
    EXPECT_EXIT(end_a_busy_process(), testing::ExitedWithCode(0), "static destructor served");
}

TEST(concurrent_block_pool, reports_a_block_of_another_pool_without_reading_near_it)
{
    const test::error_recorder recorder;
    mp::pool_options large;
    large.initial_capacity = 100'000; // from the system itself, where nothing else may be near
    mp::concurrent_block_pool other(32, large);
    void* const foreign = other.allocate();
    mp::concurrent_block_pool pool(32);
    void* const own = pool.allocate();
    pool.deallocate(foreign);
    pool.trim();
    EXPECT_EQ(recorder.kinds(), test::kinds{error::foreign_pointer});
    pool.deallocate(own);
    EXPECT_TRUE(pool.is_valid());
}

TEST(concurrent_block_pool, reports_many_findings_at_once_with_no_lock_held)
{
    static mp::concurrent_block_pool* asked = nullptr;
    static std::size_t reports = 0;
    mp::concurrent_block_pool pool(32);
    asked = &pool;
    reports = 0;
    const mp::error_handler before = mp::set_error_handler([](const mp::error_report&) {
        ++reports;
        (void)asked->in_use();
    });
    std::array<void*, 40> blocks{};
    pool.allocate_bulk(blocks.data(), blocks.size());
    pool.deallocate_bulk(blocks.data(), blocks.size());
    pool.deallocate_bulk(blocks.data(), blocks.size());
    pool.trim();
    EXPECT_EQ(reports, 17u) << "sixteen, and one that says how many more";
    EXPECT_TRUE(pool.is_valid());
    mp::set_error_handler(before);
}

TEST(concurrent_block_pool, reports_what_it_finds_before_it_waits)
{
    static std::atomic<int> reports{0};
    reports = 0;
    const mp::error_handler before = mp::set_error_handler([](const mp::error_report&) { ++reports; });
    mp::concurrent_block_pool pool(64, bounded_to(1));
    auto* const block = static_cast<char*>(pool.allocate());
    pool.deallocate(block + 8);
    std::thread waiter([&] { pool.deallocate(pool.allocate_wait()); });
    while (reports == 0)
        std::this_thread::yield();
    pool.deallocate(block);
    waiter.join();
    EXPECT_EQ(reports, 1);
    EXPECT_TRUE(pool.is_valid());
    mp::set_error_handler(before);
}

TEST(concurrent_block_pool, does_not_wait_when_nothing_is_out_that_could_come_back)
{
    test::accounting_upstream upstream;
    mp::concurrent_block_pool pool(32, {}, &upstream);
    upstream.fail_always();
    EXPECT_THROW((void)pool.allocate_wait(), std::bad_alloc);
    EXPECT_EQ(pool.waiting(), 0u);
    upstream.never_fail();
    pool.deallocate(pool.allocate_wait());
    EXPECT_TRUE(pool.is_valid());
}

TEST(counting_shared_policy, counts_a_wait_that_upstream_makes_vain_as_one_failure)
{
    test::accounting_upstream upstream;
    pool_that_counts pool(32, {}, &upstream);
    upstream.fail_always();
    EXPECT_EQ(pool.try_allocate_for(1h), nullptr) << "nothing is out that could come back";
    EXPECT_EQ(pool.statistics().failed, 1u);
    EXPECT_EQ(pool.try_allocate_until(std::chrono::steady_clock::now() + 1h), nullptr);
    EXPECT_EQ(pool.statistics().failed, 2u);
    EXPECT_THROW((void)pool.allocate_wait(), std::bad_alloc);
    EXPECT_EQ(pool.statistics().failed, 3u);
    upstream.never_fail();
    pool.deallocate(pool.try_allocate_for(1h));
    EXPECT_EQ(pool.statistics().failed, 3u);
    EXPECT_TRUE(pool.is_valid());
}

TEST(concurrent_block_pool, reports_a_foreign_pointer_while_a_thread_waits_and_does_not_hand_it_on)
{
    const test::error_recorder recorder;
    pool_that_counts pool(64, bounded_to(1));
    mp::concurrent_block_pool other(64);
    auto* const block = static_cast<char*>(pool.allocate());
    void* const foreign = other.allocate();
    void* got = nullptr;
    std::thread waiter([&] { got = pool.allocate_wait(); });
    while (pool.waiting() != 1)
        std::this_thread::yield();
    pool.deallocate(foreign);
    pool.deallocate(block + 8);
    EXPECT_EQ(recorder.kinds(), (test::kinds{error::foreign_pointer, error::misaligned_pointer}));
    EXPECT_EQ(pool.waiting(), 1u);
    pool.deallocate(block);
    waiter.join();
    EXPECT_EQ(got, block);
    pool.deallocate(got);
    EXPECT_EQ(pool.statistics().deallocations, 2u);
    EXPECT_TRUE(pool.is_valid());
    other.deallocate(foreign);
    EXPECT_TRUE(other.is_valid());
}

TEST(concurrent_block_pool, gives_everything_but_caches_back_when_it_is_released)
{
    test::accounting_upstream upstream;
    mp::concurrent_block_pool pool(16, {}, &upstream);
    std::vector<void*> blocks(100'000);
    for (int round = 0; round != 2; ++round) {
        pool.allocate_bulk(blocks.data(), blocks.size());
        pool.deallocate_bulk(blocks.data(), blocks.size());
        pool.release();
        EXPECT_LE(upstream.live_bytes(), sizeof(mp::core::thread_cache));
        EXPECT_EQ(upstream.live_bytes(), pool.bytes_reserved());
    }
    EXPECT_TRUE(pool.is_valid());
}

TEST(counting_shared_policy, is_right_again_once_misuse_was_found_out)
{
    const test::error_recorder recorder;
    pool_that_counts pool(32, bounded_to(40));
    void* const block = pool.allocate();
    void* const other = pool.allocate();
    for (void* const each : {block, block, other, other})
        pool.deallocate(each);
    pool.trim();
    pool.deallocate(pool.allocate());
    EXPECT_EQ(pool.statistics().peak_in_use, 2u);
    EXPECT_EQ(pool.statistics().in_use, 0u);
    EXPECT_TRUE(pool.is_valid());
}

TEST(counting_shared_policy, knows_the_peak_again_once_misuse_was_found_out)
{
    const test::error_recorder recorder;
    pool_that_counts pool(32, bounded_to(40));
    void* const block = pool.allocate();
    void* const other = pool.allocate();
    pool.deallocate(block);
    pool.deallocate(block);
    std::vector<void*> rest(40);
    EXPECT_EQ(pool.allocate_bulk(rest.data(), 20), 20u);
    pool.deallocate(other);
    pool.deallocate(other);
    pool.deallocate_bulk(rest.data(), 20);
    pool.trim();
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_EQ(pool.allocate_bulk(rest.data(), rest.size()), 40u);
    EXPECT_EQ(pool.statistics().in_use, 40u);
    EXPECT_EQ(pool.statistics().peak_in_use, 40u);
}

TEST(counting_shared_policy, counts_exactly_what_all_threads_do)
{
    pool_that_counts pool(32, bounded_to(1000));
    in_threads(4, [&](std::size_t) {
        std::array<void*, 200> blocks{};
        for (int round = 0; round != 50; ++round) {
            pool.allocate_bulk(blocks.data(), blocks.size());
            pool.deallocate_bulk(blocks.data(), blocks.size());
        }
    });
    std::vector<void*> all(1000);
    pool.allocate_bulk(all.data(), all.size());
    EXPECT_EQ(pool.try_allocate(), nullptr);
    EXPECT_THROW((void)pool.allocate(), mp::pool_exhausted);
    EXPECT_EQ(pool.try_allocate_for(1us), nullptr);
    mp::pool_statistics statistics = pool.statistics();
    EXPECT_EQ(statistics.allocations, 4u * 50 * 200 + 1000);
    EXPECT_EQ(statistics.deallocations, 4u * 50 * 200);
    EXPECT_EQ(statistics.failed, 3u);
    EXPECT_EQ(statistics.in_use, 1000u);
    EXPECT_EQ(statistics.peak_in_use, 1000u);
    EXPECT_EQ(statistics.bytes_reserved, pool.bytes_reserved());
    pool.clear();
    statistics = pool.statistics();
    EXPECT_EQ(statistics.deallocations, statistics.allocations);
    EXPECT_EQ(statistics.in_use, 0u);
    EXPECT_TRUE(pool.is_valid());
}

TEST(checking_shared_policy, reports_misuse_from_any_thread)
{
    test::error_recorder recorder;
    pool_that_checks pool(24);
    void* const block = pool.allocate();
    in_a_thread([&] { pool.deallocate(block); });
    in_a_thread([&] { pool.deallocate(block); });
    pool.deallocate(&pool);
    char* const other = static_cast<char*>(pool.allocate());
    pool.deallocate(other + 8);
    mp::base::permit_access(other + 24, 1);
    const char kept = other[24];
    other[24] = 'x';
    in_a_thread([&] { pool.deallocate(other); });
    mp::base::permit_access(other + 24, 1); // which looking at it has taken back
    other[24] = kept;
    pool.deallocate(other);
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.is_valid());
    EXPECT_EQ(recorder.kinds(),
              (test::kinds{error::double_free, error::foreign_pointer, error::misaligned_pointer, error::overflow}));
}

TEST(checking_shared_policy, reports_each_overflow_once)
{
    test::expect_one_report_of_each_overflow<pool_that_checks>();
}

pool_that_checks* pool_to_ask = nullptr;
std::size_t in_use_when_told = 0;

TEST(checking_shared_policy, leaves_the_slots_at_fixed_places_to_pools_that_have_caches)
{
    std::list<pool_that_checks> checking;
    while (checking.size() != mp::core::slots_in_a_page)
        checking.emplace_back(sizeof(void*));
    mp::concurrent_block_pool caching(sizeof(void*));
    in_a_thread([&] {
        caching.deallocate(caching.allocate());
        for (const mp::core::cache_slot* const page : mp::core::this_thread_table.pages)
            EXPECT_EQ(page, nullptr) << "none was needed";
    });
}

TEST(checking_shared_policy, hands_blocks_to_threads_that_wait_and_takes_them_back)
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
    mp::base::permit_access(block, 1);
    const unsigned char kept = *block;
    *block = 0;
    EXPECT_EQ(pool.try_allocate_for(1h), block);
    EXPECT_EQ(recorder.kinds(), (test::kinds{error::double_free, error::write_after_free}));
    *block = kept;
    pool.deallocate(block);
    EXPECT_TRUE(pool.is_valid());
}

TEST(checking_shared_policy, lets_the_error_handler_use_the_pool)
{
    const mp::error_handler before =
        mp::set_error_handler([](const mp::error_report&) { in_use_when_told = pool_to_ask->in_use(); });
    pool_that_checks pool(24);
    pool_to_ask = &pool;
    void* const block = pool.allocate();
    void* const other = pool.allocate();
    pool.deallocate(block);
    pool.deallocate(block);
    EXPECT_EQ(in_use_when_told, 1u);
    pool.deallocate(other);
    mp::set_error_handler(before);
}

TEST(concurrent_block_pool, reports_a_double_free_when_the_batch_reaches_the_slabs)
{
    const test::error_recorder recorder;
    mp::basic_concurrent_block_pool<mp::counting_policy> pool(32, bounded_to(40));
    void* const block = pool.allocate();
    pool.deallocate(block);
    pool.deallocate(block);
    pool.trim();
    EXPECT_EQ(recorder.kinds(), test::kinds{error::double_free});
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_EQ(pool.statistics().deallocations, 1u);
    EXPECT_TRUE(pool.is_valid());
}

#if TESTS_MAY_FORK
TEST_P(concurrent_block_pool_test, can_be_used_in_the_child_of_a_program_with_threads)
{
    mp::concurrent_block_pool bounded(32, bounded_to(300), &upstream_);
    mp::concurrent_block_pool growing(48);
    std::atomic<bool> is_over{false};
    std::vector<std::thread> threads;
    void* const mine = bounded.allocate();
    for (int i = 0; i != 3; ++i)
        threads.emplace_back([&] {
            std::array<void*, 50> blocks{};
            while (!is_over) {
                for (mp::concurrent_block_pool* const pool : {&bounded, &growing}) {
                    for (void*& block : blocks)
                        block = pool->try_allocate();
                    for (void* const block : blocks)
                        pool->deallocate(block);
                }
            }
        });
    for (int round = 0; round != 20; ++round) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            // The other threads are gone with what they had in their hands; all else must be there.
            const std::size_t lost = bounded.in_use() - 1;
            std::size_t taken = 0;
            while (bounded.try_allocate() != nullptr)
                ++taken;
            bool works = lost <= 150 && taken == 300 - 1 - lost;
            bounded.deallocate(mine);
            works = works && bounded.try_allocate() == mine && bounded.is_valid();
            for (int i = 0; i != 1000; ++i)
                growing.deallocate(growing.allocate());
            in_a_thread([&] { growing.deallocate(growing.allocate()); });
            growing.trim();
            works = works && growing.is_valid();
            _exit(works ? 0 : 1);
        }
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
    }
    is_over = true;
    for (std::thread& thread : threads)
        thread.join();
    bounded.deallocate(mine);
    EXPECT_EQ(bounded.available(), 300u);
    EXPECT_TRUE(bounded.is_valid());
    EXPECT_TRUE(growing.is_valid());
}

TEST(concurrent_block_pool, lets_a_child_forget_pools_on_the_stacks_of_threads_that_are_not_there)
{
    std::atomic<bool> is_made{false};
    std::atomic<bool> is_over{false};
    mp::concurrent_block_pool mine(32);
    void* const block = mine.allocate();
    std::thread other([&] {
        mp::concurrent_block_pool on_its_stack(32);
        on_its_stack.deallocate(on_its_stack.allocate());
        is_made = true;
        while (!is_over)
            std::this_thread::yield();
    });
    while (!is_made)
        std::this_thread::yield();
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        bool stack_is_untouched = true;
        for (int i = 0; i != 4; ++i) // one of them gets the stack of the thread that is gone
            in_a_thread([&] {
                std::array<std::uint64_t, 4096> bytes{};
                mp::concurrent_block_pool next(32);
                next.deallocate(next.allocate());
                for (volatile const std::uint64_t& word : bytes)
                    stack_is_untouched = stack_is_untouched && word == 0;
            });
        mine.deallocate(block);
        const pid_t grandchild = fork();
        if (grandchild == 0)
            _exit(mine.is_valid() ? 0 : 1);
        int status = 0;
        waitpid(grandchild, &status, 0);
        _exit(stack_is_untouched && mine.in_use() == 0 && status == 0 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
    is_over = true;
    other.join();
    mine.deallocate(block);
    EXPECT_TRUE(mine.is_valid());
}

TEST(concurrent_block_pool, may_be_dead_when_a_thread_ends_in_a_child_that_used_a_pool_of_one_that_is_not_there)
{
    alignas(mp::concurrent_block_pool) std::array<std::byte, sizeof(mp::concurrent_block_pool)> stack{};
    auto* const dead = reinterpret_cast<mp::concurrent_block_pool*>(stack.data());
    std::unique_ptr<mp::concurrent_block_pool> alive;
    int status = 0;
    in_a_thread([&] {
        ::new (static_cast<void*>(dead)) mp::concurrent_block_pool(32);
        alive = std::make_unique<mp::concurrent_block_pool>(48);
        in_a_thread([&] {
            for (mp::concurrent_block_pool* const pool : {dead, alive.get()})
                pool->deallocate(pool->allocate());
            const pid_t child = fork();
            if (child != 0) {
                waitpid(child, &status, 0);
                return;
            }
            stack.fill(std::byte{0xFF});
            alive->deallocate(alive->allocate());
            if (alive->in_use() != 0 || !alive->is_valid())
                _exit(1);
            // The end of this thread is the end of the child.
        });
        dead->~basic_block_pool();
    });
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

/// Has the thread that reports a misuse stop there, with no lock held, until the test is over.
class thread_that_stops_at_a_report
{
public:
    template <class Action>
    explicit thread_that_stops_at_a_report(Action action) : before_(mp::set_error_handler(&stop))
    {
        is_there = false;
        is_over = false;
        thread_ = std::thread(std::move(action));
        while (!is_there)
            std::this_thread::yield();
    }
    thread_that_stops_at_a_report(const thread_that_stops_at_a_report&) = delete;
    thread_that_stops_at_a_report& operator=(const thread_that_stops_at_a_report&) = delete;
    ~thread_that_stops_at_a_report()
    {
        is_over = true;
        thread_.join();
        mp::set_error_handler(before_);
    }

private:
    static void stop(const mp::error_report&)
    {
        is_there = true;
        while (!is_over)
            std::this_thread::yield();
    }

    static inline std::atomic<bool> is_there{false};
    static inline std::atomic<bool> is_over{false};

    mp::error_handler before_;
    std::thread thread_;
};

TEST(counting_shared_policy, knows_the_peak_in_a_child_forked_while_a_thread_had_a_block_that_it_had_not_counted_yet)
{
    pool_that_counts pool(64, bounded_to(4));
    auto* const mine = static_cast<char*>(pool.allocate());
    pool.deallocate(mine + 8);
    const thread_that_stops_at_a_report other([&pool] {
        while (pool.try_allocate() != nullptr) // What is wrong is found when the caches are emptied.
            continue;
    });
    test::expect_in_child([&pool] {
        while (pool.try_allocate() != nullptr)
            continue;
        const mp::pool_statistics statistics = pool.statistics();
        return statistics.in_use == 4 && statistics.peak_in_use == 4 && pool.is_valid();
    });
}

TEST(checking_shared_policy, finds_nothing_wrong_in_a_child_forked_while_a_thread_was_being_given_a_block)
{
    auto pool = std::make_unique<pool_that_checks>(24, bounded_to(1));
    auto* const block = static_cast<unsigned char*>(pool->allocate());
    pool->deallocate(block);
    *block = 0;
    const thread_that_stops_at_a_report other([&pool] { pool->deallocate(pool->allocate()); });
    test::expect_in_child([&pool] {
        const test::error_recorder recorder;
        const bool is_valid = pool->is_valid();
        pool.reset();
        return is_valid && recorder.kinds().empty();
    });
}

/// Takes a millisecond for each call, in which the pool that calls has its lock.
class slow_upstream final : public std::pmr::memory_resource
{
    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        std::this_thread::sleep_for(1ms);
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void* chunk, std::size_t bytes, std::size_t alignment) override
    {
        std::this_thread::sleep_for(1ms);
        std::pmr::new_delete_resource()->deallocate(chunk, bytes, alignment);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

/// Serves one pool with the blocks of another: whoever asks has the lock of one, and needs that of the other.
class upstream_of_blocks final : public std::pmr::memory_resource
{
public:
    static constexpr std::size_t largest = std::size_t{16} * 1024;

    explicit upstream_of_blocks(std::pmr::memory_resource* upstream) : blocks_(largest, aligned(), upstream) {}

private:
    static mp::pool_options aligned()
    {
        mp::pool_options options;
        options.alignment = largest;
        return options;
    }
    static bool fits(std::size_t bytes, std::size_t alignment) { return bytes <= largest && alignment <= largest; }

    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        return fits(bytes, alignment) ? blocks_.allocate()
                                      : std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void* chunk, std::size_t bytes, std::size_t alignment) override
    {
        if (fits(bytes, alignment)) {
            blocks_.deallocate(chunk);
            blocks_.trim();
        } else {
            std::pmr::new_delete_resource()->deallocate(chunk, bytes, alignment);
        }
    }
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

    mp::concurrent_block_pool blocks_;
};

TEST(concurrent_block_pool, lets_a_program_fork_whose_pools_are_busy_at_every_moment)
{
    slow_upstream slow;
    upstream_of_blocks nested(&slow);
    mp::concurrent_block_pool first(64, {}, &slow);
    mp::concurrent_block_pool second(64, {}, &slow);
    mp::concurrent_block_pool third(64, {}, &nested);
    const std::array<mp::concurrent_block_pool*, 3> pools{&first, &second, &third};
    std::atomic<bool> is_over{false};
    std::atomic<int> at_work{0};
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i != 6; ++i)
        threads.emplace_back([&, i] {
            for (mp::concurrent_block_pool* const pool = pools[i % pools.size()]; !is_over; pool->trim()) {
                pool->deallocate(pool->allocate());
                ++at_work;
            }
        });
    while (at_work < 20)
        std::this_thread::yield();
    for (int round = 0; round != 5; ++round)
        test::expect_in_child([&pools] {
            bool works = true;
            for (mp::concurrent_block_pool* const pool : pools) {
                pool->deallocate(pool->allocate());
                pool->trim();
                works = works && pool->is_valid();
            }
            return works;
        });
    is_over = true;
    for (std::thread& thread : threads)
        thread.join();
    for (mp::concurrent_block_pool* const pool : pools)
        EXPECT_TRUE(pool->is_valid());
}

/// Has whoever asks wait for another thread of the program, with the lock of the pool.
class upstream_that_waits final : public std::pmr::memory_resource
{
public:
    std::atomic<bool> is_asked{false};
    std::atomic<bool> may_go_on{false};

private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        is_asked = true;
        while (!may_go_on)
            std::this_thread::yield();
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void* chunk, std::size_t bytes, std::size_t alignment) override
    {
        std::pmr::new_delete_resource()->deallocate(chunk, bytes, alignment);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

TEST(concurrent_block_pool, lets_a_program_fork_whose_upstream_waits_for_a_thread_that_uses_another_pool)
{
    upstream_that_waits upstream;
    mp::concurrent_block_pool waiting(32, {}, &upstream);
    mp::concurrent_block_pool needed(32);
    std::thread other([&] { waiting.deallocate(waiting.allocate()); });
    while (!upstream.is_asked)
        std::this_thread::yield();
    std::thread third([&] {
        std::this_thread::sleep_for(20ms); // By now, the fork has begun, or there is nothing to see.
        (void)needed.in_use();
        upstream.may_go_on = true;
    });
    test::expect_in_child([&] { return waiting.is_valid() && needed.is_valid(); });
    third.join();
    other.join();
}

TEST(concurrent_block_pool, may_be_used_by_what_a_program_does_around_a_fork)
{
    static mp::concurrent_block_pool& pool = *new mp::concurrent_block_pool(32);
    const auto use = [] { pool.deallocate(pool.allocate()); };
    ASSERT_EQ(pthread_atfork(use, use, use), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0)
        _exit(pool.is_valid() ? 0 : 1);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}
#endif
} // namespace
