// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/concurrent_block_pool.hpp>

#include <support/child.hpp>
#include <support/concurrent_block_pool_ways.hpp>
#include <support/error_recorder.hpp>
#include <support/options.hpp>
#include <support/threads.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <memory_resource>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#if defined(__unix__)
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace mp = memory_pool;
using namespace std::chrono_literals;
using test::bounded_to;
using test::in_a_thread;
using test::pool_that_checks;
using test::pool_that_counts;

namespace {
class concurrent_block_pool_lifetime : public test::in_each_way
{
};

INSTANTIATE_TEST_SUITE_P(in_each_way, concurrent_block_pool_lifetime, test::every_way(), test::name_of_way);

TEST_P(concurrent_block_pool_lifetime, flushes_the_caches_of_any_number_of_threads)
{
    constexpr std::size_t count = 150;
    mp::concurrent_block_pool pool(32, {}, &upstream_);
    std::atomic<std::size_t> ready{0};
    std::atomic<bool> is_over{false};
    std::thread others([&] {
        test::in_threads(count, [&](std::size_t) {
            pool.deallocate(pool.allocate());
            for (++ready; !is_over;)
                std::this_thread::sleep_for(1ms);
        });
    });
    while (ready != count)
        std::this_thread::yield();
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_GT(pool.trim(), 0u);
    EXPECT_EQ(pool.capacity(), 0u);
    EXPECT_TRUE(pool.verify());
    is_over = true;
    others.join();
}

TEST(concurrent_block_pool, works_beyond_the_number_of_pool_ids_of_a_process)
{
    std::vector<std::unique_ptr<mp::concurrent_block_pool>> pools(mp::detail::core::max_pools + 2);
    for (auto& each : pools)
        each = std::make_unique<mp::concurrent_block_pool>(32);
    mp::concurrent_block_pool& last = *pools.back();
    void* const block = last.allocate();
    in_a_thread([&last] { last.deallocate(last.allocate()); });
    EXPECT_EQ(last.in_use(), 1u);
    last.deallocate(block);
    EXPECT_TRUE(last.verify());
}

TEST_P(concurrent_block_pool_lifetime, loses_no_block_at_ten_thousand_thread_exits)
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
    EXPECT_TRUE(pool.verify());
    EXPECT_LE(upstream_.live_chunks(), 10u) << "each thread reuses the memory of the previous one";
}

TEST_P(concurrent_block_pool_lifetime, lets_a_new_thread_begin_with_any_operation)
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
    EXPECT_TRUE(pool.verify());
}

TEST_P(concurrent_block_pool_lifetime, lets_threads_and_pools_end_in_any_order)
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
            pool.reset(); // Before the threads end, while their caches hold blocks.
            may_end = true;
        } else {
            may_end = true; // Concurrently with the threads.
            pool.reset();
        }
        for (std::thread& thread : threads)
            thread.join();
        EXPECT_EQ(upstream_.live_chunks(), 0u);
    }
}

TEST_P(concurrent_block_pool_lifetime, works_during_thread_exit)
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
            thread_local late_user before; // Constructed before the thread cache, so destroyed after it.
            before.block = pool->allocate();
            thread_local late_user after;
            after.block = pool->allocate();
        });
    EXPECT_EQ(pool->available(), 50u);
    EXPECT_TRUE(pool->verify());
}

#if defined(__unix__)
#if !MEMORY_POOL_TSAN // ThreadSanitizer no longer exists in the last round.
TEST_P(concurrent_block_pool_lifetime, works_in_every_round_of_thread_specific_destructors)
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
                                         ++calls; // Sets the value again, so that another round follows.
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
    EXPECT_LE(pool->in_use(), 1u) << "the destructor of a value set in the last round is not called";
    EXPECT_TRUE(pool->verify());
}
#endif
#endif

using concurrent_block_pool_death_test = testing::Test;

TEST_F(concurrent_block_pool_death_test, works_until_the_process_has_exited)
{
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    const auto end_a_busy_process = [] {
        static mp::concurrent_block_pool destroyed_late(32); // Destroyed before its last users.
        static auto& never_destroyed = *new mp::concurrent_block_pool(32);
        struct user
        {
            void* block = destroyed_late.allocate();
            ~user()
            {
                destroyed_late.deallocate(block);
                destroyed_late.deallocate(destroyed_late.allocate());
                never_destroyed.deallocate(never_destroyed.allocate());
                std::fputs(destroyed_late.verify() ? "static destructor served" : "broken", stderr);
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

#if TESTS_MAY_FORK
TEST_P(concurrent_block_pool_lifetime, can_be_used_in_the_child_of_a_multithreaded_program)
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
            // The blocks that lost threads held are lost; all others must be available.
            const std::size_t lost = bounded.in_use() - 1;
            std::size_t taken = 0;
            while (bounded.try_allocate() != nullptr)
                ++taken;
            bool works = lost <= 150 && taken == 300 - 1 - lost;
            bounded.deallocate(mine);
            works = works && bounded.try_allocate() == mine && bounded.verify();
            for (int i = 0; i != 1000; ++i)
                growing.deallocate(growing.allocate());
            in_a_thread([&] { growing.deallocate(growing.allocate()); });
            growing.trim();
            works = works && growing.verify();
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
    EXPECT_TRUE(bounded.verify());
    EXPECT_TRUE(growing.verify());
}

TEST(concurrent_block_pool, leaves_the_stacks_of_lost_threads_untouched_in_a_child_process)
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
        for (int i = 0; i != 4; ++i) // One of these threads gets the stack of the lost thread.
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
            _exit(mine.verify() ? 0 : 1);
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
    EXPECT_TRUE(mine.verify());
}

TEST(concurrent_block_pool, may_be_gone_when_a_thread_of_a_child_ends_that_used_it)
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
            if (alive->in_use() != 0 || !alive->verify())
                _exit(1);
            // The child exits when this thread ends.
        });
        dead->~basic_block_pool();
    });
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

/// Stops the thread that reports a misuse in the error handler, without a lock, until the end of the test.
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

TEST(counting_shared_policy, keeps_the_peak_in_a_child_forked_before_a_block_was_counted)
{
    pool_that_counts pool(64, bounded_to(4));
    auto* const mine = static_cast<char*>(pool.allocate());
    pool.deallocate(mine + 8);
    const thread_that_stops_at_a_report other([&pool] {
        while (pool.try_allocate() != nullptr) // Flushing the caches detects the misuse.
            continue;
    });
    test::expect_in_child([&pool] {
        while (pool.try_allocate() != nullptr)
            continue;
        const mp::pool_statistics statistics = pool.statistics();
        return statistics.in_use == 4 && statistics.peak_in_use == 4 && pool.verify();
    });
}

TEST(checking_shared_policy, reports_nothing_in_a_child_forked_during_an_allocation)
{
    auto pool = std::make_unique<pool_that_checks>(24, bounded_to(1));
    auto* const block = static_cast<unsigned char*>(pool->allocate());
    pool->deallocate(block);
    *block = 0;
    const thread_that_stops_at_a_report other([&pool] { pool->deallocate(pool->allocate()); });
    test::expect_in_child([&pool] {
        const test::error_recorder recorder;
        const bool is_valid = pool->verify();
        pool.reset();
        return is_valid && recorder.kinds().empty();
    });
}

/// Takes a millisecond for each call, while the calling pool holds its lock.
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

/// Allocates from another pool: the caller holds the lock of one pool, and needs the lock of the other.
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

TEST(concurrent_block_pool, survives_a_fork_at_any_moment_of_concurrent_use)
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
                works = works && pool->verify();
            }
            return works;
        });
    is_over = true;
    for (std::thread& thread : threads)
        thread.join();
    for (mp::concurrent_block_pool* const pool : pools)
        EXPECT_TRUE(pool->verify());
}

/// Blocks the caller, which holds the lock of the pool, until another thread of the program lets it continue.
class upstream_that_waits final : public std::pmr::memory_resource
{
public:
    std::atomic<bool> is_called{false};
    std::atomic<bool> may_go_on{false};

private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        is_called = true;
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

TEST(concurrent_block_pool, survives_a_fork_while_upstream_waits_for_a_thread_with_another_pool)
{
    upstream_that_waits upstream;
    mp::concurrent_block_pool waiting(32, {}, &upstream);
    mp::concurrent_block_pool needed(32);
    std::thread other([&] { waiting.deallocate(waiting.allocate()); });
    while (!upstream.is_called)
        std::this_thread::yield();
    std::thread third([&] {
        std::this_thread::sleep_for(20ms); // By now, the fork has usually begun; otherwise, this run tests nothing.
        (void)needed.in_use();
        upstream.may_go_on = true;
    });
    test::expect_in_child([&] { return waiting.verify() && needed.verify(); });
    third.join();
    other.join();
}

TEST(concurrent_block_pool, can_be_used_in_the_fork_handlers_of_a_program)
{
    static mp::concurrent_block_pool& pool = *new mp::concurrent_block_pool(32);
    const auto use = [] { pool.deallocate(pool.allocate()); };
    ASSERT_EQ(pthread_atfork(use, use, use), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0)
        _exit(pool.verify() ? 0 : 1);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}
#endif
} // namespace
