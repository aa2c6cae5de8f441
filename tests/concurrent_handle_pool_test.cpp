// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// basic_handle_pool_test.cpp tests the interface that it shares with handle_pool.
#include <memory_pool/concurrent_handle_pool.hpp>

#include <support/child.hpp>
#include <support/handle_stress.hpp>
#include <support/sanitizers.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace mp = memory_pool;
using namespace std::chrono_literals;

namespace {
/// Counts its live objects, in all threads.
class counted
{
public:
    static inline std::atomic<int> alive{0};

    explicit counted(std::string text = "") : text_(std::move(text)) { ++alive; }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    ~counted() { --alive; }

    const std::string& text() const { return text_; }

private:
    std::string text_;
};

using pool_type = mp::concurrent_handle_pool<counted>;

TEST(concurrent_handle_pool, visit_returns_whether_the_object_was_alive)
{
    pool_type pool;
    const auto handle = pool.create("text");
    std::string seen;
    EXPECT_TRUE(pool.visit(handle, [&](counted& object) { seen = object.text(); }));
    EXPECT_EQ(seen, "text");
    EXPECT_TRUE(pool.destroy(handle));
    EXPECT_FALSE(pool.visit(handle, [&](counted&) { FAIL() << "the object is destroyed"; }));
    EXPECT_FALSE(pool.visit({}, [&](counted&) { FAIL() << "the null handle"; }));
}

TEST(concurrent_handle_pool, visit_returns_a_copy_of_the_result)
{
    pool_type pool;
    const auto handle = pool.create("text");
    const auto length = pool.visit(handle, [](counted& object) { return object.text().size(); });
    static_assert(std::is_same_v<decltype(length), const std::optional<std::size_t>>);
    EXPECT_EQ(length, 4u);
    const auto copy = pool.visit(handle, &counted::text); // By a pointer to a member, which yields a reference.
    static_assert(std::is_same_v<decltype(copy), const std::optional<std::string>>);
    EXPECT_EQ(copy, "text");
    const auto no = pool.visit(handle, [](counted&) { return false; });
    EXPECT_TRUE(no.has_value() && !*no);
    EXPECT_TRUE(pool.destroy(handle));
    EXPECT_EQ(pool.visit(handle, &counted::text), std::nullopt);
}

TEST(concurrent_handle_pool, defers_the_destruction_of_a_visited_object_to_its_last_visitor)
{
    pool_type pool;
    const auto handle = pool.create("text");
    EXPECT_TRUE(pool.visit(handle, [&](counted& object) {
        EXPECT_TRUE(pool.visit(handle, [&](counted&) {
            EXPECT_TRUE(pool.destroy(handle));
            EXPECT_FALSE(pool.destroy(handle)) << "the handle becomes stale at once";
            EXPECT_FALSE(pool.contains(handle));
            EXPECT_FALSE(pool.visit(handle, [](counted&) {}));
        }));
        EXPECT_EQ(counted::alive, 1) << "this thread still visits it";
        EXPECT_EQ(object.text(), "text");
        EXPECT_EQ(pool.size(), 1u);
        EXPECT_NE(pool.create("another"), handle);
    }));
    EXPECT_EQ(counted::alive, 1);
    pool.clear();
    EXPECT_EQ(counted::alive, 0);
    EXPECT_TRUE(pool.verify());
}

TEST(concurrent_handle_pool, ends_a_visit_at_an_exception)
{
    pool_type pool;
    const auto handle = pool.create("text");
    EXPECT_THROW(pool.visit(handle, [](counted&) { throw std::runtime_error("visit"); }), std::runtime_error);
    EXPECT_THROW(pool.visit(handle,
                            [&](counted&) -> int {
                                EXPECT_TRUE(pool.destroy(handle));
                                throw std::runtime_error("visit");
                            }),
                 std::runtime_error);
    EXPECT_EQ(counted::alive, 0);
    EXPECT_TRUE(pool.verify());
}

TEST(concurrent_handle_pool, keeps_an_object_alive_during_a_visit)
{
    pool_type pool;
    const auto handle = pool.create("text");
    std::atomic<bool> is_visiting{false};
    std::atomic<bool> is_destroyed{false};
    std::thread visitor([&] {
        EXPECT_TRUE(pool.visit(handle, [&](counted& object) {
            is_visiting = true;
            while (!is_destroyed)
                std::this_thread::yield();
            EXPECT_EQ(object.text(), "text");
            EXPECT_EQ(counted::alive, 1);
        }));
        EXPECT_EQ(counted::alive, 0);
    });
    while (!is_visiting)
        std::this_thread::yield();
    EXPECT_TRUE(pool.destroy(handle)) << "destroy does not wait";
    is_destroyed = true;
    visitor.join();
    EXPECT_EQ(pool.size(), 0u);
}

TEST(concurrent_handle_pool, destroy_returns_true_in_one_thread_only)
{
    mp::concurrent_handle_pool<counted> pool;
    for (int round = 0; round != 200; ++round) {
        const auto handle = pool.create("text");
        std::atomic<int> successes{0};
        test::in_threads(2, [&](std::size_t) { successes += pool.destroy(handle) ? 1 : 0; });
        ASSERT_EQ(successes, 1);
    }
    EXPECT_EQ(counted::alive, 0);
}

TEST(concurrent_handle_pool, lets_threads_destroy_the_objects_of_others)
{
    mp::concurrent_handle_pool<counted> pool;
    constexpr std::size_t threads = 4;
    std::vector<std::vector<pool_type::handle>> handles(threads);
    test::in_threads(threads, [&](std::size_t thread) {
        for (int i = 0; i != 2000; ++i)
            handles[thread].push_back(pool.create(std::to_string(i)));
    });
    EXPECT_EQ(pool.size(), threads * 2000);
    test::in_threads(threads, [&](std::size_t thread) {
        for (const auto each : handles[(thread + 1) % threads])
            EXPECT_TRUE(pool.destroy(each));
    });
    EXPECT_EQ(pool.size(), 0u);
    EXPECT_TRUE(pool.verify());
    EXPECT_EQ(counted::alive, 0);
}

TEST(concurrent_handle_pool, waits_for_a_free_slot)
{
    mp::pool_options options;
    options.max_capacity = 1;
    pool_type pool(options);
    const auto first = pool.create_wait("first");
    EXPECT_TRUE(pool.try_create_for(1ms, "too late").is_null());
    EXPECT_TRUE(pool.try_create_until(std::chrono::steady_clock::now() - 1s, "too late").is_null());
    std::thread waiter([&] { EXPECT_TRUE(pool.destroy(pool.create_wait("waited"))); });
    EXPECT_TRUE(pool.destroy(first));
    waiter.join();
    EXPECT_EQ(counted::alive, 0);
}

template <class Policy>
class concurrent_handle_pool_stress : public testing::Test
{
};
using every_policy = testing::Types<mp::default_policy, mp::counting_policy, mp::checking_policy>;
TYPED_TEST_SUITE(concurrent_handle_pool_stress, every_policy, );

TYPED_TEST(concurrent_handle_pool_stress, never_passes_a_destroyed_object_to_a_visitor)
{
    constexpr int operations = MEMORY_POOL_TSAN || MEMORY_POOL_ASAN ? 30'000 : 200'000;
    using stressed = mp::concurrent_handle_pool<test::checksummed, TypeParam>;
    {
        stressed pool;
        test::handle_stress<stressed> stress(pool);
        test::in_threads(4, [&](std::size_t thread) {
            int left = operations;
            stress.work(thread, [&] { return left-- != 0; });
        });
        EXPECT_TRUE(stress.is_right());
        EXPECT_GT(stress.created(), 1000u);
        EXPECT_GT(stress.visited(), 1000u);
        EXPECT_GT(stress.missed(), 100u);
    }
    EXPECT_EQ(test::checksummed::alive, 0u);
}

#if TESTS_MAY_FORK
TEST(concurrent_handle_pool, works_in_a_child_and_keeps_objects_visited_by_lost_threads_until_clear)
{
    auto pool = std::make_unique<pool_type>();
    const auto mine = pool->create("mine");
    const auto visited = pool->create("visited");
    std::atomic<bool> is_visiting{false};
    std::atomic<bool> is_over{false};
    std::thread visitor([&] {
        EXPECT_TRUE(pool->destroy(pool->create("so that the pool knows the thread")));
        (void)pool->visit(visited, [&](counted&) {
            is_visiting = true;
            while (!is_over)
                std::this_thread::yield();
        });
    });
    while (!is_visiting)
        std::this_thread::yield();
    test::expect_in_child([&] {
        bool works = pool->destroy(mine) && pool->destroy(visited) && pool->get(visited) == nullptr;
        works = works && counted::alive == 1 && pool->size() == 1;
        const auto another = pool->create("another");
        works = works && pool->visit(another, &counted::text) == "another";
        pool->clear(); // Destroys nothing, as any object may be partly constructed.
        works = works && counted::alive == 2 && pool->size() == 0 && pool->verify() && pool->get(another) == nullptr;
        (void)pool->create("last");
        pool.reset();
        return works && counted::alive == 2;
    });
    is_over = true;
    visitor.join();
    EXPECT_TRUE(pool->destroy(visited) && pool->destroy(mine));
    EXPECT_EQ(counted::alive, 0);
}
#endif
} // namespace
