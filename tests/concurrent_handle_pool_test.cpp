// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// basic_handle_pool_test.cpp tests what it has in common with handle_pool.
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
/// Knows how many of its kind are alive, in all threads.
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

TEST(concurrent_handle_pool, says_whether_the_visited_object_was_alive)
{
    pool_type pool;
    const auto handle = pool.create("text");
    std::string seen;
    EXPECT_TRUE(pool.visit(handle, [&](counted& object) { seen = object.text(); }));
    EXPECT_EQ(seen, "text");
    EXPECT_TRUE(pool.destroy(handle));
    EXPECT_FALSE(pool.visit(handle, [&](counted&) { FAIL() << "it is gone"; }));
    EXPECT_FALSE(pool.visit({}, [&](counted&) { FAIL() << "the null handle"; }));
}

TEST(concurrent_handle_pool, returns_a_copy_of_what_a_visit_returns)
{
    pool_type pool;
    const auto handle = pool.create("text");
    const auto length = pool.visit(handle, [](counted& object) { return object.text().size(); });
    static_assert(std::is_same_v<decltype(length), const std::optional<std::size_t>>);
    EXPECT_EQ(length, 4u);
    const auto copy = pool.visit(handle, &counted::text); // a reference, and a pointer to a member
    static_assert(std::is_same_v<decltype(copy), const std::optional<std::string>>);
    EXPECT_EQ(copy, "text");
    const auto no = pool.visit(handle, [](counted&) { return false; });
    EXPECT_TRUE(no.has_value() && !*no);
    EXPECT_TRUE(pool.destroy(handle));
    EXPECT_EQ(pool.visit(handle, &counted::text), std::nullopt);
}

TEST(concurrent_handle_pool, has_the_last_visitor_destroy_an_object_that_is_destroyed_during_the_visit)
{
    pool_type pool;
    const auto handle = pool.create("text");
    EXPECT_TRUE(pool.visit(handle, [&](counted& object) {
        EXPECT_TRUE(pool.visit(handle, [&](counted&) {
            EXPECT_TRUE(pool.destroy(handle));
            EXPECT_FALSE(pool.destroy(handle)) << "it is stale at once";
            EXPECT_FALSE(pool.contains(handle));
            EXPECT_FALSE(pool.visit(handle, [](counted&) {}));
        }));
        EXPECT_EQ(counted::alive, 1) << "this one still visits it";
        EXPECT_EQ(object.text(), "text");
        EXPECT_EQ(pool.size(), 1u);
        EXPECT_NE(pool.create("another"), handle);
    }));
    EXPECT_EQ(counted::alive, 1);
    pool.clear();
    EXPECT_EQ(counted::alive, 0);
    EXPECT_TRUE(pool.verify());
}

TEST(concurrent_handle_pool, ends_a_visit_by_an_exception)
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

TEST(concurrent_handle_pool, keeps_an_object_that_another_thread_destroys_until_the_visit_ends)
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
    EXPECT_TRUE(pool.destroy(handle)) << "it does not wait";
    is_destroyed = true;
    visitor.join();
    EXPECT_EQ(pool.size(), 0u);
}

TEST(concurrent_handle_pool, returns_true_to_one_of_the_threads_that_destroy_an_object)
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

TEST(concurrent_handle_pool, has_threads_create_and_destroy_objects_of_each_other)
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

TEST(concurrent_handle_pool, has_a_thread_wait_for_room)
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

TYPED_TEST(concurrent_handle_pool_stress, never_shows_a_visitor_an_object_that_is_destroyed)
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
TEST(concurrent_handle_pool, works_on_in_a_child_and_leaves_what_other_threads_were_visiting_to_clear)
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
        pool->clear(); // destroys nothing, as any object may have been half made
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
