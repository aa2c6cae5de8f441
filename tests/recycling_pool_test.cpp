// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/recycling_pool.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/shared_pool.hpp>

#include <support/child.hpp>
#include <support/error_recorder.hpp>
#include <support/hostile_types.hpp>
#include <support/items.hpp>
#include <support/options.hpp>
#include <support/threads.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#if defined(__unix__)
#include <unistd.h>
#endif

namespace mp = memory_pool;
using test::accounting_upstream;
using test::error_recorder;
using test::in_steps_of;
using test::in_threads;
using test::live_count;
using test::shared_accounting_upstream;

namespace {
/// Runs with plain and with atomic reference counts.
template <class References>
class recycling_pool_test : public testing::Test
{
protected:
    using item = test::item<References>;
    using pool_type = mp::recycling_pool<item>;
    using pointer = typename pool_type::pointer;

    ~recycling_pool_test() override
    {
        live_count::until_throw = -1;
        EXPECT_EQ(live_count::alive, 0);
        EXPECT_EQ(upstream_.live_bytes(), 0u);
        EXPECT_EQ(upstream_.mismatched(), 0u);
    }

    accounting_upstream upstream_;
};

using references = testing::Types<mp::plain_references, mp::atomic_references>;
TYPED_TEST_SUITE(recycling_pool_test, references, );

TYPED_TEST(recycling_pool_test, constructs_objects_once_when_it_grows)
{
    typename TestFixture::pool_type pool(in_steps_of(5), &this->upstream_);
    EXPECT_EQ(live_count::alive, 0);
    for (int i = 0; i != 100; ++i)
        (void)pool.allocate();
    EXPECT_EQ(live_count::alive, 5);
    EXPECT_EQ(pool.capacity(), 5u);
    EXPECT_EQ(pool.growth_count(), 1u);
    EXPECT_EQ(pool.in_use(), 0u);
}

TYPED_TEST(recycling_pool_test, constructs_its_initial_capacity_and_doubles_on_growth)
{
    mp::pool_options options;
    options.initial_capacity = 3;
    typename TestFixture::pool_type pool(options, &this->upstream_);
    EXPECT_EQ(live_count::alive, 3);
    const auto first = pool.allocate();
    const auto second = pool.allocate();
    const auto third = pool.allocate();
    const auto fourth = pool.allocate();
    EXPECT_EQ(live_count::alive, 6);
}

#if !MEMORY_POOL_ASAN // AddressSanitizer stops there itself.
TYPED_TEST(recycling_pool_test, reports_a_reference_dropped_once_too_often)
{
    typename TestFixture::pool_type pool(test::bounded_to(1), &this->upstream_);
    const auto* const idle = pool.allocate().get();
    const error_recorder recorder;
    intrusive_ptr_release(idle);
    EXPECT_EQ(recorder.kinds(), test::kinds{mp::error_kind::double_free});
    EXPECT_EQ(recorder.reports()[0].address, idle);
    EXPECT_EQ(pool.available(), 1u);
    EXPECT_EQ(pool.allocate().get(), idle);
    EXPECT_TRUE(pool.verify());
}
#endif

TYPED_TEST(recycling_pool_test, allocates_memory_for_many_small_steps_at_once)
{
    typename TestFixture::pool_type pool(in_steps_of(1), &this->upstream_);
    std::vector<typename TestFixture::pointer> all;
    for (int i = 0; i != 1000; ++i) {
        all.push_back(pool.allocate_through_init(i));
        ASSERT_EQ(live_count::alive, i + 1);
    }
    EXPECT_EQ(pool.growth_count(), 1000u);
    EXPECT_LT(this->upstream_.calls(), 30u);
    EXPECT_EQ(pool.bytes_reserved(), this->upstream_.live_bytes());
    for (int i = 0; i != 1000; ++i)
        ASSERT_EQ(all[static_cast<std::size_t>(i)]->value, i);
    EXPECT_TRUE(pool.verify());
}

TYPED_TEST(recycling_pool_test, leaves_recycled_objects_unchanged_by_default)
{
    typename TestFixture::pool_type pool(in_steps_of(1), &this->upstream_);
    (void)pool.allocate_through_function([](auto& object) { object.value = 42; });
    const auto again = pool.allocate();
    EXPECT_EQ(again->value, 42);
    EXPECT_EQ(again->destroys, 0);
}

TYPED_TEST(recycling_pool_test, calls_destroy_when_an_object_returns)
{
    typename TestFixture::pool_type pool(mp::recycle::call_destroy, in_steps_of(1), &this->upstream_);
    (void)pool.allocate();
    (void)pool.allocate();
    EXPECT_EQ(pool.allocate()->destroys, 2);
}

TYPED_TEST(recycling_pool_test, calls_a_function_when_an_object_returns)
{
    int recycled = 0;
    typename TestFixture::pool_type pool([&](typename TestFixture::item& object) { recycled += object.value; },
                                         in_steps_of(3), &this->upstream_);
    pool.allocate_through_init(5).reset();
    pool.allocate_through_init(6).reset();
    EXPECT_EQ(recycled, 11);
}

TYPED_TEST(recycling_pool_test, passes_arguments_to_init)
{
    typename TestFixture::pool_type pool({}, &this->upstream_);
    const auto object = pool.allocate_through_init(8);
    EXPECT_EQ(object->value, 8);
    EXPECT_EQ(object->inits, 1);
    EXPECT_EQ(pool.try_allocate_through_init(9)->value, 9);
    EXPECT_EQ(pool.try_allocate_through_function([](auto& other) { other.value = 3; })->value, 3);
}

TYPED_TEST(recycling_pool_test, loses_no_object_if_init_or_the_function_throws)
{
    typename TestFixture::pool_type pool(in_steps_of(1, 1), &this->upstream_);
    EXPECT_THROW((void)pool.allocate_through_init(-1), std::invalid_argument);
    EXPECT_THROW((void)pool.try_allocate_through_init(-1), std::invalid_argument);
    EXPECT_THROW((void)pool.allocate_through_function([](auto&) { throw std::runtime_error("function"); }),
                 std::runtime_error);
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_NE(pool.allocate(), nullptr);
}

TYPED_TEST(recycling_pool_test, recycles_an_object_whose_reset_throws_and_reports_it)
{
    const error_recorder errors;
    typename TestFixture::pool_type pool([](auto&) { throw std::runtime_error("reset"); }, in_steps_of(1, 1),
                                         &this->upstream_);
    pool.allocate().reset();
    EXPECT_EQ(errors.kinds(), std::vector<mp::error_kind>{mp::error_kind::hook_failed});
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_NE(pool.allocate(), nullptr);
}

TYPED_TEST(recycling_pool_test, loses_nothing_if_any_constructor_throws_during_growth)
{
    for (int k = 0; k != 12; ++k) {
        typename TestFixture::pool_type pool(in_steps_of(4), &this->upstream_);
        std::vector<typename TestFixture::pointer> all;
        live_count::until_throw = k;
        try {
            for (int i = 0; i != 12; ++i)
                all.push_back(pool.allocate());
        } catch (const std::runtime_error&) {
            live_count::until_throw = -1;
        }
        EXPECT_EQ(pool.in_use(), all.size());
        EXPECT_TRUE(pool.verify());
        for (int i = 0; i != 12; ++i)
            all.push_back(pool.allocate());
        EXPECT_EQ(live_count::alive, static_cast<int>(pool.capacity()));
    }
}

TYPED_TEST(recycling_pool_test, try_allocate_returns_nullptr_if_growth_throws)
{
    typename TestFixture::pool_type pool(in_steps_of(4), &this->upstream_);
    live_count::until_throw = 0;
    EXPECT_EQ(pool.try_allocate(), nullptr);
    live_count::until_throw = -1;
    EXPECT_EQ(pool.capacity(), 0u);
    EXPECT_EQ(this->upstream_.live_bytes(), pool.bytes_reserved());
    EXPECT_NE(pool.try_allocate(), nullptr);
}

TYPED_TEST(recycling_pool_test, stays_consistent_if_any_upstream_call_fails)
{
    for (std::size_t k = 1; k != 12; ++k) {
        accounting_upstream upstream;
        upstream.fail_from(k);
        (void)mp::detail::base::succeeds([&] {
            typename TestFixture::pool_type pool(in_steps_of(200), &upstream);
            std::vector<typename TestFixture::pointer> all;
            for (int i = 0; i != 1500; ++i)
                if (auto object = pool.try_allocate())
                    all.push_back(std::move(object));
            EXPECT_EQ(pool.in_use(), all.size());
            EXPECT_EQ(live_count::alive, static_cast<int>(pool.capacity()));
        });
        EXPECT_EQ(upstream.live_bytes(), 0u) << k;
        EXPECT_EQ(live_count::alive, 0) << k;
    }
}

TYPED_TEST(recycling_pool_test, allocates_each_object_once_at_a_time)
{
    typename TestFixture::pool_type pool(in_steps_of(100), &this->upstream_);
    std::vector<typename TestFixture::pointer> all;
    std::set<const void*> places;
    for (int i = 0; i != 5000; ++i) {
        all.push_back(pool.allocate());
        EXPECT_TRUE(places.insert(all.back().get()).second);
    }
    EXPECT_EQ(pool.growth_count(), 50u);
    EXPECT_EQ(live_count::alive, 5000);
}

TYPED_TEST(recycling_pool_test, respects_max_capacity)
{
    typename TestFixture::pool_type pool(in_steps_of(4, 10), &this->upstream_);
    std::vector<typename TestFixture::pointer> all;
    while (auto object = pool.try_allocate())
        all.push_back(std::move(object));
    EXPECT_EQ(all.size(), 10u);
    EXPECT_THROW((void)pool.allocate(), mp::pool_exhausted);
    EXPECT_EQ(pool.available(), 0u);
    all.pop_back();
    EXPECT_EQ(pool.available(), 1u);
    EXPECT_NE(pool.allocate(), nullptr);
    EXPECT_EQ(live_count::alive, 10);
}

TYPED_TEST(recycling_pool_test, destroys_objects_when_it_frees_their_memory)
{
    typename TestFixture::pool_type pool({}, &this->upstream_);
    {
        std::vector<typename TestFixture::pointer> all;
        for (int i = 0; i != 3000; ++i)
            all.push_back(pool.allocate());
    }
    EXPECT_EQ(live_count::alive, static_cast<int>(pool.capacity()));
    const auto one = pool.allocate();
    EXPECT_GT(pool.trim(), 0u);
    EXPECT_EQ(live_count::alive, static_cast<int>(pool.capacity()));
    EXPECT_LT(pool.capacity(), 3000u);
}

TYPED_TEST(recycling_pool_test, destroys_idle_objects_at_its_end_and_objects_in_use_when_they_return)
{
    typename TestFixture::pointer survivor;
    {
        typename TestFixture::pool_type pool(mp::recycle::call_destroy, in_steps_of(10), &this->upstream_);
        survivor = pool.allocate_through_init(4);
        EXPECT_EQ(live_count::alive, 10);
    }
    EXPECT_EQ(live_count::alive, 1);
    EXPECT_EQ(survivor->value, 4);
}

TYPED_TEST(recycling_pool_test, works_after_clear)
{
    typename TestFixture::pool_type pool(mp::recycle::call_destroy, in_steps_of(2, 2), &this->upstream_);
    const auto old = pool.allocate_through_init(1);
    pool.release();
    EXPECT_EQ(live_count::alive, 1);
    EXPECT_EQ(pool.growth_count(), 0u);
    const auto a = pool.allocate();
    const auto b = pool.allocate();
    EXPECT_EQ(pool.try_allocate(), nullptr);
    EXPECT_EQ(old->value, 1);
    EXPECT_EQ(a->destroys, 0);
    EXPECT_EQ(live_count::alive, 3);
}

TYPED_TEST(recycling_pool_test, releases_references_of_idle_objects_at_its_end)
{
    // Recycled objects that are not reset keep their references to others.
    typename TestFixture::pool_type pool(in_steps_of(4), &this->upstream_);
    auto a = pool.allocate();
    a->next = pool.allocate();
    a.reset();
    EXPECT_EQ(pool.in_use(), 1u);
}

TYPED_TEST(recycling_pool_test, resets_a_chain_of_a_million_objects_without_recursion)
{
    typename TestFixture::pool_type pool(mp::recycle::call_destroy, {}, &this->upstream_);
    typename TestFixture::pointer first;
    for (int i = 0; i != 1'000'000; ++i) {
        auto next = pool.allocate();
        next->next = std::move(first);
        first = std::move(next);
    }
    first.reset();
    EXPECT_EQ(pool.in_use(), 0u);
}

TYPED_TEST(recycling_pool_test, destroys_a_chain_of_a_million_idle_objects_without_recursion)
{
    const auto chain_in = [](auto& pool) {
        typename TestFixture::pointer first;
        for (int i = 0; i != 1'000'000; ++i) {
            auto next = pool.allocate();
            next->next = std::move(first);
            first = std::move(next);
        }
        return first;
    };
    {
        typename TestFixture::pool_type pool({}, &this->upstream_);
        chain_in(pool).reset(); // Only the first object is idle; it keeps the other objects in use.
        EXPECT_EQ(pool.in_use(), 999'999u);
    }
    EXPECT_EQ(live_count::alive, 0);
    typename TestFixture::pointer survivor;
    {
        typename TestFixture::pool_type pool({}, &this->upstream_);
        survivor = chain_in(pool);
    }
    EXPECT_EQ(live_count::alive, 1'000'000);
}

TYPED_TEST(recycling_pool_test, lets_the_recycle_function_be_set_later)
{
    typename TestFixture::pool_type pool(in_steps_of(1), &this->upstream_);
    (void)pool.allocate();
    pool.set_recycle_action(mp::recycle::call_destroy);
    (void)pool.allocate();
    pool.set_recycle_action([](typename TestFixture::item& object) { object.destroys += 10; });
    (void)pool.allocate();
    pool.set_recycle_action(mp::recycle::nothing);
    EXPECT_EQ(pool.allocate()->destroys, 11);
}

TYPED_TEST(recycling_pool_test, lets_the_recycle_function_use_the_pool)
{
    typename TestFixture::pool_type* itself = nullptr;
    int depth = 0;
    typename TestFixture::pool_type pool(
        [&](auto&) {
            if (depth++ == 0)
                (void)itself->allocate();
        },
        in_steps_of(1), &this->upstream_);
    itself = &pool;
    pool.allocate().reset();
    EXPECT_EQ(depth, 2);
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_EQ(pool.capacity(), 2u);
}

TYPED_TEST(recycling_pool_test, keeps_an_object_in_use_if_the_function_keeps_a_pointer)
{
    typename TestFixture::pointer held;
    bool holds = true;
    typename TestFixture::pool_type pool(
        [&](auto& object) {
            if (holds)
                held = &object;
        },
        in_steps_of(1), &this->upstream_);
    const void* const address = pool.allocate().get();
    EXPECT_EQ(held.get(), address);
    EXPECT_EQ(held->use_count(), 1u);
    EXPECT_EQ(pool.in_use(), 1u);
    holds = false;
    held.reset();
    EXPECT_EQ(pool.in_use(), 0u);
}

struct without_destroy : mp::pooled<without_destroy, mp::plain_references>
{
};

TEST(recycling_pool, rejects_recycling_by_a_missing_destroy)
{
    EXPECT_THROW(mp::recycling_pool<without_destroy> pool{mp::recycle::call_destroy}, std::invalid_argument);
}

TEST(recycling_pool, counts_under_a_counting_policy)
{
    mp::recycling_pool<without_destroy, mp::counting_policy> pool;
    for (int i = 0; i != 10; ++i)
        (void)pool.allocate();
    EXPECT_EQ(pool.statistics().allocations, 10u);
    EXPECT_EQ(pool.statistics().deallocations, 10u);
    EXPECT_EQ(pool.statistics().peak_in_use, 1u);
}

TYPED_TEST(recycling_pool_test, keeps_an_object_in_use_if_init_kept_a_pointer_and_threw)
{
    typename TestFixture::pool_type pool({}, &this->upstream_);
    typename TestFixture::pointer kept;
    EXPECT_THROW((void)pool.allocate_through_function([&](auto& object) {
        kept = &object;
        throw std::runtime_error("function");
    }),
                 std::runtime_error);
    EXPECT_EQ(kept->use_count(), 1u);
    EXPECT_EQ(pool.in_use(), 1u);
    EXPECT_NE(pool.allocate(), kept);
}

/// May refer to another object of its type. Its destructor runs an action.
template <class References>
struct acts_in_its_destructor : mp::pooled<acts_in_its_destructor<References>, References>
{
    static inline std::function<void()> action; ///< Run once, by the first destructor.
    ~acts_in_its_destructor()
    {
        if (action)
            std::exchange(action, nullptr)();
    }

    boost::intrusive_ptr<acts_in_its_destructor> other;
};

template <class References>
class recycling_pool_that_refuses_leaks : public testing::Test
{
protected:
    using object = acts_in_its_destructor<References>;
    using pool_type = mp::recycling_pool<object, mp::leak_fatal_policy<>>;

    ~recycling_pool_that_refuses_leaks() override { EXPECT_EQ(upstream_.live_bytes(), 0u); }

    /// Two slabs of two objects each.
    void use_four_objects()
    {
        for (int i = 0; i != 4; ++i)
            objects_.push_back(pool_->allocate());
    }

    /// Effects: releases all objects, then trims the pool. The first destructor that trim runs destroys the pool.
    void destroy_pool_during_trim()
    {
        objects_.clear();
        object::action = [this] { pool_.reset(); };
        EXPECT_GT(pool_->trim(), 0u);
        EXPECT_EQ(pool_, nullptr);
    }

    const error_recorder errors_;
    shared_accounting_upstream upstream_;
    std::unique_ptr<pool_type> pool_ = std::make_unique<pool_type>(in_steps_of(2), &upstream_);
    std::vector<boost::intrusive_ptr<object>> objects_;
};
TYPED_TEST_SUITE(recycling_pool_that_refuses_leaks, references, );

TYPED_TEST(recycling_pool_that_refuses_leaks, does_not_report_objects_held_by_idle_objects_as_leaks)
{
    this->use_four_objects();
    this->objects_[0]->other = this->objects_[1];
    this->objects_.clear();
    EXPECT_EQ(this->pool_->in_use(), 1u);
    this->pool_.reset();
    EXPECT_TRUE(this->errors_.reports().empty());
}

TYPED_TEST(recycling_pool_that_refuses_leaks, can_be_destroyed_during_trim_while_a_neighbour_holds_an_object)
{
    this->use_four_objects();
    this->objects_[1]->other = this->objects_[0];
    this->destroy_pool_during_trim();
    EXPECT_TRUE(this->errors_.reports().empty());
}

TYPED_TEST(recycling_pool_that_refuses_leaks, can_be_destroyed_during_trim_before_the_holder_of_an_object)
{
    this->use_four_objects();
    this->objects_[2]->other = this->objects_[0];
    this->destroy_pool_during_trim();
    EXPECT_TRUE(this->errors_.reports().empty());
}

TYPED_TEST(recycling_pool_that_refuses_leaks, reports_leaks_if_it_is_destroyed_during_trim)
{
    this->use_four_objects();
    const boost::intrusive_ptr<acts_in_its_destructor<TypeParam>> leaked = this->objects_[0];
    this->destroy_pool_during_trim();
    EXPECT_EQ(this->errors_.kinds(), std::vector<mp::error_kind>{mp::error_kind::leak});
}

TYPED_TEST(recycling_pool_test, can_be_cleared_and_grown_by_destructors_during_trim)
{
    using object = acts_in_its_destructor<TypeParam>;
    mp::recycling_pool<object> pool({}, &this->upstream_);
    (void)pool.allocate();
    object::action = [&] { pool.release(); };
    EXPECT_GT(pool.trim(), 0u);
    EXPECT_EQ(pool.capacity(), 0u);
    (void)pool.allocate();
    const std::size_t bytes = pool.bytes_reserved();
    object::action = [&] { pool.reserve(5000); };
    EXPECT_LT(pool.trim(), bytes);
    EXPECT_GE(pool.capacity(), 5000u);
}

TYPED_TEST(recycling_pool_test, can_be_trimmed_and_cleared_by_destructors_during_trim)
{
    using object = acts_in_its_destructor<TypeParam>;
    mp::recycling_pool<object> pool(in_steps_of(1), &this->upstream_);
    (void)pool.allocate();
    object::action = [&] {
        const auto in_use = pool.allocate();
        (void)pool.allocate();
        object::action = [&] { pool.release(); };
        EXPECT_GT(pool.trim(), 0u);
        EXPECT_EQ(pool.capacity(), 0u);
        EXPECT_GT(this->upstream_.live_bytes(), pool.bytes_reserved()) << "that object is in use";
    };
    EXPECT_GT(pool.trim(), 0u);
    EXPECT_EQ(this->upstream_.live_bytes(), pool.bytes_reserved());
}

/// Its constructor can throw, and its destructor can call a function.
struct fragile_part
{
    static inline int until_throw = -1;
    static inline int alive = 0;
    static inline std::function<void()> at_end; ///< Called by the first destructor.

    fragile_part()
    {
        if (until_throw == 0)
            throw std::runtime_error("constructor");
        if (until_throw > 0)
            --until_throw;
        ++alive;
    }
    fragile_part(const fragile_part&) = delete;
    fragile_part& operator=(const fragile_part&) = delete;
    ~fragile_part()
    {
        --alive;
        if (at_end)
            std::exchange(at_end, nullptr)();
    }
};

template <class References>
struct fragile_item : mp::pooled<fragile_item<References>, References>, fragile_part
{
};

/// All recycling pools, when a constructor throws after others of the same growth have succeeded.
template <class Pool>
class growth_that_fails : public testing::Test
{
protected:
    growth_that_fails()
    {
#if defined(__unix__)
        (void)alarm(20); // Ends the test if a thread deadlocks on its own lock.
#endif
        pool_->reserve(4);
    }
    ~growth_that_fails() override
    {
        fragile_part::at_end = nullptr;
        fragile_part::until_throw = -1;
        pool_.reset();
        held_.reset();
        EXPECT_EQ(fragile_part::alive, 0);
        EXPECT_EQ(upstream_.live_bytes(), 0u);
#if defined(__unix__)
        (void)alarm(0);
#endif
    }

    /// Effects: grows the pool from 4 to `count` objects; the constructor after the first `made` throws.
    void fail_to_grow_to(std::size_t count, int made)
    {
        fragile_part::until_throw = made;
        EXPECT_THROW(pool_->reserve(count), std::runtime_error);
        fragile_part::until_throw = -1;
    }

    /// Effects: grows the pool in the same way, with a destructor that would call `use_the_pool`.
    void fail_to_grow_while_destructors(std::function<void()> use_the_pool)
    {
        held_ = pool_->allocate();
        fragile_part::at_end = [use = std::move(use_the_pool)] {
            fragile_part::until_throw = -1;
            use();
        };
        fail_to_grow_to(5000, 3000);
        EXPECT_NE(fragile_part::at_end, nullptr) << "a destructor has run";
        EXPECT_TRUE(pool_->verify());
        held_ = pool_->allocate();
        EXPECT_EQ(pool_->in_use(), 1u);
    }

    shared_accounting_upstream upstream_;
    std::unique_ptr<Pool> pool_ = std::make_unique<Pool>(in_steps_of(4), &upstream_);
    typename Pool::pointer held_;
};
using recycling_pools =
    testing::Types<mp::recycling_pool<fragile_item<mp::plain_references>>,
                   mp::recycling_pool<fragile_item<mp::atomic_references>>,
                   mp::unsynchronized_recycling_shared_pool<fragile_part>, mp::recycling_shared_pool<fragile_part>>;
TYPED_TEST_SUITE(growth_that_fails, recycling_pools, );

TYPED_TEST(growth_that_fails, keeps_earlier_objects)
{
    this->fail_to_grow_to(12, 5);
    EXPECT_EQ(this->pool_->capacity(), 9u);
    EXPECT_EQ(fragile_part::alive, 9);
    std::vector<typename TypeParam::pointer> all;
    for (int i = 0; i != 9; ++i)
        all.push_back(this->pool_->allocate());
    EXPECT_EQ(fragile_part::alive, 9);
    all.push_back(this->pool_->allocate());
    EXPECT_EQ(this->pool_->capacity(), 13u);
    EXPECT_TRUE(this->pool_->verify());
}

TYPED_TEST(growth_that_fails, continues_where_it_stopped_in_a_chunk_of_several_slabs)
{
    this->fail_to_grow_to(50'000, 3000);
    EXPECT_EQ(this->pool_->capacity(), 3004u);
    this->fail_to_grow_to(50'000, 7000);
    EXPECT_EQ(this->pool_->capacity(), 10'004u);
    this->pool_->reserve(30'000);
    EXPECT_EQ(this->pool_->capacity(), static_cast<std::size_t>(fragile_part::alive));
    EXPECT_TRUE(this->pool_->verify());
    EXPECT_GT(this->pool_->trim(), 0u);
    EXPECT_EQ(fragile_part::alive, 0);
    EXPECT_TRUE(this->pool_->verify());
}

TYPED_TEST(growth_that_fails, allocates_if_at_least_one_object_was_constructed)
{
    const std::vector<typename TypeParam::pointer> all{this->pool_->allocate(), this->pool_->allocate(),
                                                       this->pool_->allocate(), this->pool_->allocate()};
    fragile_part::until_throw = 1;
    EXPECT_NE(this->pool_->try_allocate(), nullptr);
    EXPECT_NE(this->pool_->allocate(), nullptr) << "as before";
    const auto fifth = this->pool_->allocate();
    EXPECT_EQ(this->pool_->try_allocate(), nullptr);
    EXPECT_THROW((void)this->pool_->allocate(), std::runtime_error);
    EXPECT_EQ(this->pool_->capacity(), 5u);
    EXPECT_TRUE(this->pool_->verify());
}

TYPED_TEST(growth_that_fails, runs_no_destructor_that_would_allocate)
{
    this->fail_to_grow_while_destructors([this] { (void)this->pool_->allocate(); });
}

TYPED_TEST(growth_that_fails, runs_no_destructor_that_would_grow_the_pool)
{
    this->fail_to_grow_while_destructors([this] { this->pool_->reserve(10'000); });
}

TYPED_TEST(growth_that_fails, runs_no_destructor_that_would_release_objects)
{
    this->fail_to_grow_while_destructors([this] { this->held_.reset(); });
}

TYPED_TEST(growth_that_fails, runs_no_destructor_that_would_trim_the_pool)
{
    this->fail_to_grow_while_destructors([this] { (void)this->pool_->trim(); });
}

TYPED_TEST(growth_that_fails, runs_no_destructor_that_would_clear_the_pool)
{
    this->fail_to_grow_while_destructors([this] { this->pool_->release(); });
}

TYPED_TEST(growth_that_fails, runs_no_destructor_that_would_destroy_the_pool)
{
    this->fail_to_grow_while_destructors([this] { this->pool_ = std::make_unique<TypeParam>(); });
}

using shared_item = test::item<mp::atomic_references>;

TEST(recycling_pool, passes_objects_between_threads)
{
    shared_accounting_upstream upstream;
    {
        std::atomic<int> resets{0};
        mp::recycling_pool<shared_item> pool([&](shared_item&) { ++resets; }, in_steps_of(16, 64), &upstream);
        in_threads(4, [&](std::size_t thread) {
            for (int i = 0; i != 10'000; ++i) {
                auto mine = pool.allocate_through_init(static_cast<int>(thread));
                auto copy = mine;
                copy.swap(mine);
                ASSERT_EQ(copy->value, static_cast<int>(thread));
            }
        });
        EXPECT_EQ(resets, 40'000);
        EXPECT_EQ(pool.in_use(), 0u);
        EXPECT_LE(live_count::alive, 64);
        EXPECT_GT(pool.trim(), 0u);
        EXPECT_EQ(live_count::alive, 0);
    }
    EXPECT_EQ(upstream.live_bytes(), 0u);
}

TEST(recycling_pool, can_be_destroyed_while_other_threads_release_its_objects)
{
    for (int round = 0; round != 200; ++round) {
        shared_accounting_upstream upstream;
        std::vector<boost::intrusive_ptr<shared_item>> others;
        auto pool =
            std::make_unique<mp::recycling_pool<shared_item>>(mp::recycle::call_destroy, in_steps_of(30), &upstream);
        for (int i = 0; i != 40; ++i)
            others.push_back(pool->allocate());
        in_threads(2, [&](std::size_t i) {
            if (i == 0)
                pool.reset();
            else
                others.clear();
        });
        ASSERT_EQ(live_count::alive, 0);
        ASSERT_EQ(upstream.live_bytes(), 0u);
    }
}

#if TESTS_MAY_FORK
/// Its destructor waits until `may_end`.
struct lingering : mp::pooled<lingering, mp::atomic_references>
{
    static inline std::atomic<bool> is_ending{false};
    static inline std::atomic<bool> may_end{false};

    ~lingering()
    {
        is_ending = true;
        while (!may_end)
            std::this_thread::yield();
    }
};

TEST(recycling_pool, frees_memory_in_a_child_that_a_lost_thread_was_about_to_free)
{
    shared_accounting_upstream upstream;
    auto pool = std::make_unique<mp::recycling_pool<lingering>>(in_steps_of(2), &upstream);
    std::vector<boost::intrusive_ptr<lingering>> objects;
    for (int i = 0; i != 6; ++i)
        objects.push_back(pool->allocate());
    objects.resize(1);
    std::thread trimmer([&] { EXPECT_GT(pool->trim(), 0u); });
    while (!lingering::is_ending)
        std::this_thread::yield();
    const auto works_in_child = [&](bool trims) {
        lingering::may_end = true;
        bool works = pool->verify() && pool->bytes_reserved() == upstream.live_bytes();
        works = works && (!trims || (pool->trim() > 0 && pool->bytes_reserved() == upstream.live_bytes()));
        objects.clear();
        pool.reset();
        return works && upstream.live_bytes() == 0 && upstream.mismatched() == 0;
    };
    test::expect_in_child([&] { return works_in_child(false); });
    test::expect_in_child([&] { return works_in_child(true); });
    lingering::may_end = true;
    trimmer.join();
}
#endif

TYPED_TEST(recycling_pool_test, is_constructible_from_an_upstream_alone)
{
    typename TestFixture::pool_type pool(&this->upstream_);
    EXPECT_EQ(pool.upstream_resource(), &this->upstream_);
    EXPECT_EQ(pool.allocate()->destroys, 0);
    EXPECT_EQ(pool.allocate()->destroys, 0);
    typename TestFixture::pool_type destroying(mp::recycle::call_destroy, &this->upstream_);
    EXPECT_EQ(destroying.upstream_resource(), &this->upstream_);
    (void)destroying.allocate();
    EXPECT_EQ(destroying.allocate()->destroys, 1);
}

template <class Operators>
struct hostile_item : mp::pooled<hostile_item<Operators>>, test::hostile<Operators>
{
};

template <class Item>
void recycle_hostile_items()
{
    mp::recycling_pool<Item> pool(mp::recycle::call_destroy);
    for (int i = 0; i != 3; ++i) {
        const auto item = pool.allocate_through_init(i);
        EXPECT_EQ(item->value, i);
        EXPECT_EQ(pool.allocate_through_function([](Item& each) { ++each.value; })->value, 1);
        EXPECT_EQ(pool.try_allocate()->value, 0);
    }
    pool.set_recycle_action([](Item& each) { each.value = 9; });
    (void)pool.allocate();
    EXPECT_EQ(pool.allocate()->value, 9);
    EXPECT_NE(pool.trim(), 0u);
}

TEST(recycling_pool_of_hostile_items, uses_none_of_their_operators)
{
    recycle_hostile_items<hostile_item<test::deleted_operators>>();
    recycle_hostile_items<hostile_item<test::aborting_operators>>();
    EXPECT_EQ(test::hostile<test::deleted_operators>::alive, 0);
    EXPECT_EQ(test::hostile<test::aborting_operators>::alive, 0);
}
} // namespace
