// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/concurrent_object_pool.hpp>

#include <support/threads.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace mp = memory_pool;

namespace
{
/// Knows how many of its kind are alive, in all threads, and throws on request.
class counted
{
public:
    static inline std::atomic<int> alive{0};

    explicit counted(std::string text, bool throws = false) : text_(std::move(text))
    {
        if (throws)
            throw std::runtime_error("constructor");
        ++alive;
    }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    ~counted() { --alive; }

    const std::string& text() const { return text_; }

private:
    std::string text_;
};

std::string text_of(std::size_t thread, int number)
{
    return "a text that is too long to fit into the string itself: " + std::to_string(thread) + ' ' +
           std::to_string(number);
}

TEST(concurrent_object_pool, makes_and_destroys_objects_in_any_thread)
{
    test::accounting_upstream upstream;
    {
        mp::concurrent_object_pool<counted> pool({}, &upstream);
        std::vector<std::vector<counted*>> objects(4);
        test::in_threads(4, [&](std::size_t thread) {
            for (int i = 0; i != 1000; ++i)
                objects[thread].push_back(pool.create(text_of(thread, i)));
        });
        EXPECT_EQ(counted::alive, 4000);
        EXPECT_EQ(pool.in_use(), 4000u);
        test::in_threads(4, [&](std::size_t thread) {
            const std::size_t maker = (thread + 1) % 4;
            for (int i = 0; i != 1000; ++i) {
                EXPECT_EQ(objects[maker][static_cast<std::size_t>(i)]->text(), text_of(maker, i));
                pool.destroy(objects[maker][static_cast<std::size_t>(i)]);
            }
        });
        EXPECT_EQ(counted::alive, 0);
        EXPECT_EQ(pool.in_use(), 0u);
        EXPECT_TRUE(pool.is_valid());
        EXPECT_GT(pool.trim(), 0u);
    }
    EXPECT_EQ(upstream.live_pieces(), 0u);
}

TEST(concurrent_object_pool, loses_nothing_when_constructors_throw)
{
    mp::pool_options options;
    options.max_capacity = 50;
    mp::concurrent_object_pool<counted> pool(options);
    test::in_threads(4, [&](std::size_t thread) {
        for (int i = 0; i != 500; ++i) {
            try {
                const auto object = pool.make_unique(text_of(thread, i), i % 3 == 0);
                EXPECT_NE(i % 3, 0);
            } catch (const std::runtime_error&) {
                EXPECT_EQ(i % 3, 0);
            }
        }
    });
    EXPECT_EQ(pool.available(), 50u);
    EXPECT_EQ(counted::alive, 0);
    EXPECT_TRUE(pool.is_valid());
}

TEST(concurrent_object_pool, destroys_what_is_alive_when_it_ends)
{
    {
        mp::concurrent_object_pool<counted> pool;
        test::in_threads(3, [&](std::size_t thread) {
            for (int i = 0; i != 100; ++i)
                if (counted* const object = pool.create(text_of(thread, i)); i % 2 == 0)
                    pool.destroy(object);
        });
        std::size_t visited = 0;
        pool.for_each([&](const counted& object) {
            ++visited;
            EXPECT_FALSE(object.text().empty());
        });
        EXPECT_EQ(visited, 150u);
    }
    EXPECT_EQ(counted::alive, 0);
}

TEST(concurrent_object_pool, has_owners_that_may_end_in_another_thread)
{
    mp::concurrent_object_pool<counted> pool;
    auto owner = pool.make_unique("handed on");
    test::in_a_thread([owner = std::move(owner)]() mutable { owner.reset(); });
    EXPECT_EQ(counted::alive, 0);
    EXPECT_EQ(pool.in_use(), 0u);
}

TEST(concurrent_object_pool, aligns_objects_as_their_type_asks)
{
    struct alignas(256) wide
    {
        char bytes[256];
    };
    mp::concurrent_object_pool<wide> pool;
    for (int i = 0; i != 100; ++i)
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool.create()) % 256, 0u);
}
} // namespace
