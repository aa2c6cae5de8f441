// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/objects/store_pool_base.hpp>
#include <memory_pool/intrusive_pool.hpp>
#include <memory_pool/recycling_pool.hpp>
#include <memory_pool/shared_pool.hpp>

#include <support/error_recorder.hpp>
#include <support/items.hpp>
#include <support/options.hpp>
#include <support/threads.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace mp = memory_pool;
using namespace std::chrono_literals;
using test::bounded_to;
using test::error_recorder;
using test::in_threads;
using test::live_count;

namespace {
/// An object of a pool for std::shared_ptr.
struct shared_item
{
    explicit shared_item(int number = 0) : value(number) {}

    live_count counted;
    int value;
    std::atomic<int> users{0};
};

struct intrusive_item : mp::pooled<intrusive_item>
{
    explicit intrusive_item(int number = 0) : value(number) {}

    live_count counted;
    int value;
    std::atomic<int> users{0};
};

/// Creates an object in either kind of pool.
template <class Pool, class = void>
struct forms
{
    static auto take(Pool& pool) { return pool.allocate(); }
    static auto wait(Pool& pool) { return pool.allocate_wait(); }
    template <class Duration>
    static auto wait_for(Pool& pool, Duration patience)
    {
        return pool.try_allocate_for(patience);
    }
    template <class TimePoint>
    static auto wait_until(Pool& pool, TimePoint deadline)
    {
        return pool.try_allocate_until(deadline);
    }
};
template <class Pool>
struct forms<Pool, std::void_t<decltype(std::declval<Pool&>().make())>>
{
    static auto take(Pool& pool) { return pool.make(); }
    static auto wait(Pool& pool) { return pool.make_wait(7); }
    template <class Duration>
    static auto wait_for(Pool& pool, Duration patience)
    {
        return pool.try_make_for(patience, 7);
    }
    template <class TimePoint>
    static auto wait_until(Pool& pool, TimePoint deadline)
    {
        return pool.try_make_until(deadline, 7);
    }
};

template <class Pool>
class store_pool_base_test : public testing::Test
{
protected:
    ~store_pool_base_test() override
    {
        live_count::until_throw = -1;
        EXPECT_EQ(live_count::alive, 0);
        EXPECT_EQ(upstream_.live_bytes(), 0u);
        EXPECT_EQ(upstream_.mismatched(), 0u);
    }

    test::shared_accounting_upstream upstream_;
};

using pools = testing::Types<mp::intrusive_pool<intrusive_item>, mp::recycling_pool<intrusive_item>,
                             mp::shared_pool<shared_item>, mp::recycling_shared_pool<shared_item>>;
TYPED_TEST_SUITE(store_pool_base_test, pools, );

TYPED_TEST(store_pool_base_test, waits_for_an_object_until_the_timeout)
{
    using form = forms<TypeParam>;
    TypeParam pool(bounded_to(1), &this->upstream_);
    auto only = form::wait(pool);
    ASSERT_NE(only, nullptr);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(form::wait_for(pool, 20ms), nullptr);
    EXPECT_GE(std::chrono::steady_clock::now() - start, 20ms);
    EXPECT_EQ(form::wait_until(pool, std::chrono::system_clock::now() - 1s), nullptr);

    const void* const address = only.get();
    std::thread returning([&] {
        std::this_thread::sleep_for(20ms); // So that the other thread usually waits.
        only.reset();
    });
    EXPECT_EQ(form::wait(pool).get(), address);
    returning.join();
    EXPECT_NE(form::wait_for(pool, 1h), nullptr);
    EXPECT_NE(form::wait_until(pool, std::chrono::steady_clock::now() + 1h), nullptr);
    EXPECT_TRUE(pool.verify());
}

TYPED_TEST(store_pool_base_test, does_not_wait_if_no_object_is_in_use)
{
    using form = forms<TypeParam>;
    TypeParam pool({}, &this->upstream_);
    this->upstream_.fail_always();
    EXPECT_THROW((void)form::wait(pool), std::bad_alloc);
    EXPECT_EQ(form::wait_for(pool, 1h), nullptr);
    this->upstream_.never_fail();
    EXPECT_NE(form::wait(pool), nullptr);
    EXPECT_EQ(pool.in_use(), 0u);
}

/// No two threads have the same object, no thread waits forever, and no object is lost, whatever else happens to the
/// pool.
TYPED_TEST(store_pool_base_test, serves_more_threads_than_it_has_objects)
{
    using form = forms<TypeParam>;
    TypeParam pool(bounded_to(3), &this->upstream_);
    constexpr std::size_t threads = 6;
    constexpr int times = 2000;
    std::atomic<int> collisions{0};
    std::atomic<int> given_up{0};
    in_threads(threads, [&](std::size_t thread) {
        for (int i = 0; i != times; ++i) {
            auto mine = thread % 3 == 0 ? form::wait_for(pool, 1us * (i % 50)) : form::wait(pool);
            if (mine == nullptr) {
                ++given_up;
                continue;
            }
            auto second = mine; // So that either pointer may be the last.
            collisions += mine->users.fetch_add(1) != 0;
            if (i % 64 == 0)
                std::this_thread::yield();
            collisions += mine->users.fetch_sub(1) != 1;
            if (thread == 1 && i % 100 == 0)
                pool.trim();
        }
    });
    EXPECT_EQ(collisions, 0);
    EXPECT_LT(given_up, times * 2);
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_LE(pool.capacity(), 3u);
    EXPECT_TRUE(pool.verify());
}

TYPED_TEST(store_pool_base_test, is_moved_with_its_objects)
{
    using form = forms<TypeParam>;
    static_assert(std::is_nothrow_move_constructible_v<TypeParam> && std::is_nothrow_move_assignable_v<TypeParam> &&
                  std::is_nothrow_swappable_v<TypeParam> && !std::is_copy_constructible_v<TypeParam> &&
                  !std::is_copy_assignable_v<TypeParam>);
    TypeParam first(bounded_to(3), &this->upstream_);
    auto kept = form::take(first);
    auto returned = form::take(first);
    const std::size_t calls = this->upstream_.calls();
    TypeParam second(std::move(first));
    EXPECT_EQ(this->upstream_.calls(), calls);
    EXPECT_EQ(second.in_use(), 2u);
    EXPECT_EQ(second.max_capacity(), 3u);
    returned.reset();
    EXPECT_EQ(second.in_use(), 1u);
    EXPECT_TRUE(second.verify());

    first = TypeParam(bounded_to(5), &this->upstream_); // NOLINT(bugprone-use-after-move): assignment is allowed
    EXPECT_EQ(first.in_use(), 0u);
    EXPECT_EQ(first.max_capacity(), 5u);
    EXPECT_NE(form::take(first), nullptr);

    using std::swap;
    swap(first, second);
    EXPECT_EQ(first.in_use(), 1u);
    EXPECT_EQ(second.in_use(), 0u);
    TypeParam& same = first;
    first = std::move(same);
    EXPECT_EQ(first.in_use(), 1u);
    EXPECT_EQ(kept->value, 0);
}

TYPED_TEST(store_pool_base_test, releases_its_objects_when_it_is_assigned_to)
{
    using form = forms<TypeParam>;
    TypeParam pool({}, &this->upstream_);
    (void)form::take(pool);
    auto survivor = form::take(pool);
    pool = TypeParam({}, &this->upstream_);
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_EQ(pool.capacity(), 0u);
    EXPECT_GE(live_count::alive, 1) << "an object in use stays alive";
    EXPECT_EQ(survivor->value, 0);
    const std::size_t bytes = this->upstream_.live_bytes();
    survivor.reset();
    EXPECT_LT(this->upstream_.live_bytes(), bytes) << "the last object frees the old store";
    EXPECT_EQ(live_count::alive, 0);
}

TEST(store_pool_base, reports_objects_that_an_assignment_leaves_behind_as_leaks)
{
    error_recorder recorder;
    using pool_type = mp::unsynchronized_shared_pool<int, mp::leak_fatal_policy<>>;
    pool_type pool;
    const auto leaked = pool.make(1);
    pool_type other(std::move(pool));
    EXPECT_TRUE(recorder.kinds().empty()) << "a move is not a leak";
    other = pool_type();
    EXPECT_EQ(recorder.kinds(), test::kinds{mp::error_kind::leak});
}

TEST(store_pool_base, has_its_new_store_when_the_old_objects_are_destroyed)
{
    struct resets
    {
        mp::unsynchronized_recycling_shared_pool<resets>* pool = nullptr;
        std::size_t* seen = nullptr;
        ~resets()
        {
            if (pool != nullptr)
                *seen = pool->max_capacity();
        }
    };
    std::size_t seen = 0;
    mp::unsynchronized_recycling_shared_pool<resets> pool(bounded_to(1));
    (void)pool.allocate_through_function([&](resets& object) {
        object.pool = &pool;
        object.seen = &seen;
    });
    pool = mp::unsynchronized_recycling_shared_pool<resets>(bounded_to(5));
    EXPECT_EQ(seen, 5u);
}

TEST(store_pool_base, try_create_is_noexcept_if_the_constructor_is)
{
    struct throwing
    {
        throwing() noexcept(false) {}
    };
    EXPECT_TRUE(noexcept(std::declval<mp::shared_pool<int>&>().try_make(3)));
    EXPECT_FALSE(noexcept(std::declval<mp::shared_pool<throwing>&>().try_make()));
    EXPECT_FALSE(noexcept(std::declval<mp::intrusive_pool<intrusive_item>&>().try_make(3)));
    EXPECT_TRUE(noexcept(std::declval<mp::recycling_shared_pool<throwing>&>().try_allocate()));
    EXPECT_TRUE(noexcept(std::declval<mp::recycling_pool<intrusive_item>&>().try_allocate()));
}
} // namespace
