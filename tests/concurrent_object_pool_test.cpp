// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/concurrent_object_pool.hpp>

#include <support/child.hpp>
#include <support/threads.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace mp = memory_pool;
using namespace std::chrono_literals;

namespace {
/// Counts its live objects, in all threads, and throws on request.
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

TEST(concurrent_object_pool, lets_threads_destroy_objects_that_others_created_in_bulk)
{
    mp::pool_options options;
    options.max_capacity = 400;
    mp::concurrent_object_pool<counted> pool(options);
    test::in_threads(4, [&](std::size_t thread) {
        std::vector<counted*> mine(100);
        for (int i = 0; i != 500; ++i) {
            const std::size_t count = thread % 2 == 0 ? 100 : 60; // At times exactly as many as fit.
            const std::size_t made = pool.try_create_bulk(mine.data(), count, text_of(thread, i));
            if (made == 0)
                continue;
            ASSERT_EQ(mine[made - 1]->text(), text_of(thread, i));
            pool.destroy_bulk(mine.data(), made / 2);
            pool.destroy_bulk(mine.data() + made / 2, made - made / 2);
        }
    });
    EXPECT_EQ(counted::alive, 0);
    EXPECT_EQ(pool.in_use(), 0u);
    std::vector<counted*> all(400);
    EXPECT_EQ(pool.create_bulk(all.data(), 400, text_of(0, 0)), 400u) << "including blocks in other caches";
    EXPECT_EQ(pool.try_create_bulk(all.data(), 1, text_of(0, 0)), 0u);
    pool.clear();
    EXPECT_EQ(counted::alive, 0);
    EXPECT_TRUE(pool.verify());
}

TEST(concurrent_object_pool, create_for_waits_for_a_free_block_and_constructs_the_object)
{
    mp::pool_options options;
    options.max_capacity = 1;
    mp::concurrent_object_pool<counted> pool(options);
    counted* const first = pool.create_wait("first");
    EXPECT_EQ(pool.try_create_for(1ms, "too late"), nullptr);
    EXPECT_EQ(pool.try_create_until(std::chrono::system_clock::now() - 1s, "too late"), nullptr);
    EXPECT_EQ(counted::alive, 1);
    std::vector<std::string> made;
    std::thread waiter([&] {
        for (int i = 0; i != 3; ++i) {
            counted* const object = i == 0 ? pool.create_wait("waited")
                                    : i == 1
                                        ? pool.try_create_for(1h, "waited for an hour")
                                        : pool.try_create_until(std::chrono::system_clock::now() + 1h, "until then");
            made.push_back(object->text());
            pool.destroy(object);
        }
    });
    pool.destroy(first);
    waiter.join();
    EXPECT_EQ(made, (std::vector<std::string>{"waited", "waited for an hour", "until then"}));
    EXPECT_EQ(counted::alive, 0);
    EXPECT_EQ(pool.available(), 1u);
}

TEST(concurrent_object_pool, loses_no_block_when_a_constructor_throws_after_a_wait)
{
    mp::pool_options options;
    options.max_capacity = 1;
    mp::concurrent_object_pool<counted> pool(options);
    EXPECT_THROW((void)pool.create_wait("", true), std::runtime_error);
    EXPECT_THROW((void)pool.try_create_for(1s, "", true), std::runtime_error);
    EXPECT_THROW((void)pool.try_create_until(std::chrono::steady_clock::now() + 1s, "", true), std::runtime_error);
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_EQ(counted::alive, 0);
    pool.destroy(pool.create_wait("there is room"));
}

TEST(concurrent_object_pool, creates_and_destroys_objects_in_any_thread)
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
        EXPECT_TRUE(pool.verify());
        EXPECT_GT(pool.trim(), 0u);
    }
    EXPECT_EQ(upstream.live_chunks(), 0u);
}

TEST(concurrent_object_pool, loses_no_block_when_constructors_throw)
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
    EXPECT_TRUE(pool.verify());
}

TEST(concurrent_object_pool, destroys_live_objects_in_its_destructor)
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

TEST(concurrent_object_pool, has_unique_pointers_that_may_be_reset_in_another_thread)
{
    mp::concurrent_object_pool<counted> pool;
    auto owner = pool.make_unique("handed on");
    test::in_a_thread([owner = std::move(owner)]() mutable { owner.reset(); });
    EXPECT_EQ(counted::alive, 0);
    EXPECT_EQ(pool.in_use(), 0u);
}

TEST(concurrent_object_pool, honours_the_alignment_of_its_objects)
{
    struct alignas(256) wide
    {
        char bytes[256];
    };
    mp::concurrent_object_pool<wide> pool;
    for (int i = 0; i != 100; ++i)
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool.create()) % 256, 0u);
}

#if TESTS_MAY_FORK
/// Its constructor or its destructor blocks on request, until the end of the test.
class stopping
{
public:
    enum class at
    {
        nothing,
        construction,
        destruction,
    };

    static inline std::atomic<bool> is_there{false};
    static inline std::atomic<bool> is_over{false};
    static inline std::atomic<int> destroyed{0};

    explicit stopping(at where = at::nothing) : where_(where)
    {
        if (where_ == at::construction)
            stop();
    }
    stopping(const stopping&) = delete;
    stopping& operator=(const stopping&) = delete;
    ~stopping()
    {
        ++destroyed;
        if (where_ == at::destruction)
            stop();
    }

private:
    static void stop()
    {
        is_there = true;
        while (!is_over)
            std::this_thread::yield();
    }

    at where_;
};

template <class Policy>
void fork_while_a_thread_is_at(stopping::at where)
{
    using pool_type = mp::concurrent_object_pool<stopping, Policy>;
    auto pool = std::make_unique<pool_type>();
    stopping* const mine = pool->create();
    stopping::is_there = false;
    stopping::is_over = false;
    std::thread other([&pool, where] {
        pool->destroy(pool->create()); // Creates the thread cache.
        pool->destroy(pool->create(where));
    });
    while (!stopping::is_there)
        std::this_thread::yield();
    for (int i = 0; i != 2; ++i) // The pool remembers the other thread even if this one used the pool last, twice.
        pool->destroy(pool->create());
    test::expect_in_child([&pool, mine] {
        stopping::is_over = true;
        stopping::destroyed = 0;
        pool->destroy(mine);
        bool works = stopping::destroyed == 1 && pool->in_use() == 1;
        pool->clear();
        works = works && stopping::destroyed == 1 && pool->in_use() == 0 && pool->verify();
        (void)pool->create();
        pool->clear();
        works = works && stopping::destroyed == 2;
        (void)pool->create();
        pool.reset();
        return works && stopping::destroyed == 3;
    });
    test::expect_in_child([&pool] {
        stopping::is_over = true;
        stopping::destroyed = 0;
        pool.reset();
        return stopping::destroyed == 0;
    });
    stopping::is_over = true;
    other.join();
    pool->destroy(mine);
    EXPECT_EQ(pool->in_use(), 0u);
}

TEST(concurrent_object_pool, destroys_no_object_in_a_child_that_a_lost_thread_may_have_been_creating)
{
    for (const stopping::at where : {stopping::at::construction, stopping::at::destruction}) {
        fork_while_a_thread_is_at<mp::default_policy>(where);
        fork_while_a_thread_is_at<mp::checking_policy>(where);
    }
}

TEST(concurrent_object_pool, destroys_live_objects_in_a_child_if_no_other_thread_used_it)
{
    auto pool = std::make_unique<mp::concurrent_object_pool<stopping>>();
    (void)pool->create();
    test::expect_in_child([&pool] {
        stopping::destroyed = 0;
        pool.reset();
        return stopping::destroyed == 1;
    });
}
#endif
} // namespace
