// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/intrusive_pool.hpp>

#include <support/error_recorder.hpp>
#include <support/hostile_types.hpp>
#include <support/items.hpp>
#include <support/options.hpp>
#include <support/overflows.hpp>
#include <support/threads.hpp>
#include <support/upstreams.hpp>
#include <support/what.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <new>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace mp = memory_pool;
using test::accounting_upstream;
using test::bounded_to;
using test::contains;
using test::error_recorder;
using test::in_steps_of;
using test::in_threads;
using test::live_count;
using test::shared_accounting_upstream;

namespace {
using plain_item = test::item<mp::plain_references>;
using shared_item = test::item<mp::atomic_references>;

/// Runs with plain and with atomic reference counts.
template <class Item>
class intrusive_pool_test : public testing::Test
{
protected:
    using pool_type = mp::intrusive_pool<Item>;
    using pointer = typename pool_type::pointer;

    ~intrusive_pool_test() override
    {
        EXPECT_EQ(live_count::alive, 0);
        EXPECT_EQ(upstream_.live_bytes(), 0u);
        EXPECT_EQ(upstream_.mismatched(), 0u);
    }

    accounting_upstream upstream_;
};

using items = testing::Types<plain_item, shared_item>;
TYPED_TEST_SUITE(intrusive_pool_test, items, );

TYPED_TEST(intrusive_pool_test, is_constructible_from_options_and_a_resource_only)
{
    using pool = typename TestFixture::pool_type;
    EXPECT_TRUE((std::is_constructible_v<pool>));
    EXPECT_TRUE((std::is_constructible_v<pool, mp::pool_options, accounting_upstream*>));
    EXPECT_TRUE((std::is_constructible_v<pool, accounting_upstream*>));
    EXPECT_TRUE((std::is_constructible_v<pool, pool>));
    EXPECT_FALSE((std::is_constructible_v<pool, int>));
    EXPECT_FALSE((std::is_constructible_v<pool, mp::pool_options, std::string>));
    EXPECT_FALSE((std::is_constructible_v<pool, pool&>));
}

TYPED_TEST(intrusive_pool_test, destroys_an_object_when_its_last_pointer_is_reset)
{
    typename TestFixture::pool_type pool({}, &this->upstream_);
    typename TestFixture::pointer first = pool.make(7);
    EXPECT_EQ(first->value, 7);
    EXPECT_EQ(first->use_count(), 1u);
    typename TestFixture::pointer second = first;
    EXPECT_EQ(first->use_count(), 2u);
    EXPECT_EQ(pool.in_use(), 1u);
    first.reset();
    EXPECT_EQ(live_count::alive, 1);
    second.reset();
    EXPECT_EQ(live_count::alive, 0);
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.verify());
}

TYPED_TEST(intrusive_pool_test, reuses_memory_without_upstream_calls)
{
    typename TestFixture::pool_type pool({}, &this->upstream_);
    const void* const address = pool.make().get();
    const std::size_t calls = this->upstream_.calls();
    for (int i = 0; i != 1000; ++i)
        EXPECT_EQ(pool.make().get(), address);
    EXPECT_EQ(this->upstream_.calls(), calls);
}

TYPED_TEST(intrusive_pool_test, returns_nullptr_or_throws_at_its_limit)
{
    typename TestFixture::pool_type pool(bounded_to(2), &this->upstream_);
    EXPECT_TRUE(pool.is_bounded());
    EXPECT_EQ(pool.available(), 2u);
    auto a = pool.make();
    const auto b = pool.make();
    EXPECT_EQ(pool.available(), 0u);
    EXPECT_EQ(pool.try_make(), nullptr);
    EXPECT_THROW((void)pool.make(), mp::pool_exhausted);
    a.reset();
    EXPECT_NE(pool.try_make(), nullptr);
}

TYPED_TEST(intrusive_pool_test, loses_no_block_if_a_constructor_throws)
{
    typename TestFixture::pool_type pool(bounded_to(1), &this->upstream_);
    live_count::until_throw = 0;
    EXPECT_THROW((void)pool.make(), std::runtime_error);
    EXPECT_THROW((void)pool.try_make(), std::runtime_error);
    live_count::until_throw = -1;
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_NE(pool.make(), nullptr);
}

TYPED_TEST(intrusive_pool_test, stays_consistent_if_any_upstream_call_fails)
{
    for (std::size_t k = 1; k != 20; ++k) {
        accounting_upstream upstream;
        upstream.fail_from(k);
        (void)mp::detail::base::succeeds([&] {
            typename TestFixture::pool_type pool({}, &upstream);
            std::vector<typename TestFixture::pointer> all;
            for (int i = 0; i != 3000; ++i)
                if (auto made = pool.try_make(i))
                    all.push_back(std::move(made));
            EXPECT_EQ(pool.in_use(), all.size());
            EXPECT_TRUE(pool.verify());
        });
        EXPECT_EQ(upstream.live_bytes(), 0u) << k;
    }
}

TYPED_TEST(intrusive_pool_test, lets_objects_outlive_it)
{
    typename TestFixture::pointer survivor;
    typename TestFixture::pointer other;
    {
        typename TestFixture::pool_type pool({}, &this->upstream_);
        survivor = pool.make(9);
        other = pool.make(10);
        for (int i = 0; i != 1000; ++i)
            (void)pool.make();
    }
    EXPECT_EQ(survivor->value, 9);
    EXPECT_NE(this->upstream_.live_bytes(), 0u);
    survivor.reset();
    EXPECT_EQ(other->value, 10);
    other.reset();
    EXPECT_EQ(this->upstream_.live_bytes(), 0u);
}

TYPED_TEST(intrusive_pool_test, works_after_clear_while_old_objects_are_alive)
{
    typename TestFixture::pool_type pool(bounded_to(3), &this->upstream_);
    auto old = pool.make(1);
    const auto cleared = [&] {
        pool.release();
        EXPECT_EQ(pool.in_use(), 0u);
        EXPECT_EQ(pool.capacity(), 0u);
        EXPECT_EQ(pool.available(), 3u);
    };
    cleared();
    std::array<typename TestFixture::pointer, 3> fresh{pool.make(2), pool.make(3), pool.make(4)};
    EXPECT_EQ(old->value, 1);
    old.reset();
    EXPECT_EQ(pool.in_use(), 3u);
    EXPECT_EQ(pool.try_make(), nullptr);
    fresh.fill(nullptr);
    cleared();
    EXPECT_NE(pool.make(), nullptr);
}

TYPED_TEST(intrusive_pool_test, changes_nothing_if_clear_runs_out_of_memory)
{
    typename TestFixture::pool_type pool({}, &this->upstream_);
    const auto object = pool.make(1);
    this->upstream_.fail_at(1);
    EXPECT_THROW(pool.release(), std::bad_alloc);
    EXPECT_EQ(pool.in_use(), 1u);
    EXPECT_EQ(object->value, 1);
}

TYPED_TEST(intrusive_pool_test, trims_unused_memory)
{
    typename TestFixture::pool_type pool({}, &this->upstream_);
    {
        std::vector<typename TestFixture::pointer> many;
        for (int i = 0; i != 5000; ++i)
            many.push_back(pool.make());
        EXPECT_EQ(pool.trim(), 0u);
    }
    EXPECT_GT(pool.trim(), 0u);
    EXPECT_EQ(pool.capacity(), 0u);
    EXPECT_NE(pool.make(), nullptr);
}

TYPED_TEST(intrusive_pool_test, grows_in_steps_after_its_first_chunk_was_trimmed)
{
    memory_pool::pool_options options;
    options.growth_step = 8;
    typename TestFixture::pool_type pool(options, &this->upstream_);
    using pointers = std::vector<typename TestFixture::pointer>;
    const auto make = [&pool](pointers& to, int count) {
        for (; count != 0; --count)
            to.push_back(pool.make());
    };
    pointers first;
    pointers others;
    make(first, 8);
    make(others, 200);
    first.clear();
    EXPECT_GT(pool.trim(), 0u);
    pointers kept; // In a new first chunk, with room for all current objects.
    for (const std::size_t before = pool.bytes_reserved(); kept.empty();) {
        make(others, 1);
        if (pool.bytes_reserved() >= before + 4096)
            kept.push_back(std::exchange(others.back(), nullptr));
    }
    others.clear();
    EXPECT_GT(pool.trim(), 0u);
    make(kept, 300);
    EXPECT_TRUE(pool.verify());
}

TYPED_TEST(intrusive_pool_test, releases_a_chain_of_a_million_objects_without_recursion)
{
    typename TestFixture::pool_type pool({}, &this->upstream_);
    typename TestFixture::pointer first;
    for (int i = 0; i != 1'000'000; ++i) {
        auto next = pool.make(i);
        next->next = std::move(first);
        first = std::move(next);
    }
    EXPECT_EQ(pool.in_use(), 1'000'000u);
    first.reset();
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_EQ(live_count::alive, 0);
}

TYPED_TEST(intrusive_pool_test, releases_a_chain_that_outlives_it)
{
    typename TestFixture::pointer first;
    {
        typename TestFixture::pool_type pool({}, &this->upstream_);
        for (int i = 0; i != 100'000; ++i) {
            auto next = pool.make(i);
            next->next = std::move(first);
            first = std::move(next);
        }
    }
    first.reset();
    EXPECT_EQ(this->upstream_.live_bytes(), 0u);
}

TYPED_TEST(intrusive_pool_test, grows_by_its_step)
{
    mp::pool_options options = in_steps_of(10, 30);
    options.initial_capacity = 4;
    typename TestFixture::pool_type pool(options, &this->upstream_);
    EXPECT_EQ(pool.capacity(), 4u);
    EXPECT_EQ(pool.growth_count(), 1u);
    std::vector<typename TestFixture::pointer> all;
    for (int i = 0; i != 5; ++i)
        all.push_back(pool.make());
    EXPECT_EQ(pool.capacity(), 14u);
    EXPECT_EQ(pool.growth_count(), 2u);
    while (auto next = pool.try_make())
        all.push_back(std::move(next));
    EXPECT_EQ(all.size(), 30u);
    EXPECT_EQ(pool.growth_count(), 4u);
}

TYPED_TEST(intrusive_pool_test, is_found_from_objects_in_any_slab)
{
    typename TestFixture::pool_type pool({}, &this->upstream_);
    std::vector<typename TestFixture::pointer> all;
    for (int i = 0; i != 20'000; ++i)
        all.push_back(pool.make(i));
    std::shuffle(all.begin(), all.end(), std::mt19937(5)); // NOLINT: reproducible
    while (!all.empty())
        all.pop_back();
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.verify());
}

// Less simple objects.

struct shape : mp::pooled<shape, mp::plain_references>
{
    virtual ~shape() = default;
    virtual int corners() const { return 0; }
};

struct named
{
    virtual ~named() = default;
    std::string name = "a name that is too long to be kept inside of the string";
};

struct triangle : named, shape
{
    int corners() const override { return 3; }
    live_count counted;
};

TEST(intrusive_pool, releases_objects_with_a_virtual_base)
{
    struct left : virtual mp::pooled<left, mp::plain_references>
    {
        int colour = 0;
    };
    struct both : left
    {
        explicit both(std::string value) : text(std::move(value)) {}
        std::string text;
    };
    mp::intrusive_pool<left> pool;
    const left* const first = pool.make().get();
    EXPECT_EQ(pool.make().get(), first);

    mp::intrusive_pool<both> others;
    const boost::intrusive_ptr<left> kept = others.make("too long to be kept inside of the string itself");
    boost::intrusive_ptr<left> other = others.make("the destructor of this one is called as well");
    other.reset();
    EXPECT_EQ(others.in_use(), 1u);
}

TEST(intrusive_pool, is_found_from_a_pointer_to_any_base_class)
{
    mp::intrusive_pool<triangle> pool;
    boost::intrusive_ptr<shape> base = pool.make();
    EXPECT_NE(static_cast<const void*>(base.get()), dynamic_cast<const void*>(base.get()));
    EXPECT_EQ(base->corners(), 3);
    base.reset();
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_EQ(live_count::alive, 0);
}

/// Larger than the granularity of the slab lookup. The first base, which precedes the count, already exceeds it.
struct huge : std::array<char, 200'000>, mp::pooled<huge, mp::plain_references>
{
    std::array<char, 100'000> more{};
};

struct large : mp::pooled<large, mp::plain_references>
{
    std::array<char, 5000> bytes{};
};

template <class T>
class intrusive_pool_of_large : public testing::Test
{
};
using large_items = testing::Types<large, huge>;
TYPED_TEST_SUITE(intrusive_pool_of_large, large_items, );

TYPED_TEST(intrusive_pool_of_large, finds_the_slab_from_any_position_in_it)
{
    accounting_upstream upstream;
    {
        mp::intrusive_pool<TypeParam> pool({}, &upstream);
        std::vector<boost::intrusive_ptr<TypeParam>> all;
        for (int i = 0; i != 150; ++i)
            all.push_back(pool.make());
        while (all.size() != 1)
            all.pop_back();
        EXPECT_EQ(pool.in_use(), 1u);
        all.clear();
        EXPECT_EQ(pool.in_use(), 0u);
        EXPECT_TRUE(pool.verify());
    }
    EXPECT_EQ(upstream.live_bytes(), 0u);
}

struct alignas(256) over_aligned : mp::pooled<over_aligned, mp::plain_references>
{
    char byte = 0;
};

TEST(intrusive_pool, honours_the_alignment_of_its_objects)
{
    mp::intrusive_pool<over_aligned> pool;
    std::vector<boost::intrusive_ptr<over_aligned>> all;
    for (int i = 0; i != 300; ++i) {
        all.push_back(pool.make());
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(all.back().get()) % 256, 0u);
    }
}

struct keeps_itself : mp::pooled<keeps_itself, mp::plain_references>
{
    explicit keeps_itself(std::vector<boost::intrusive_ptr<keeps_itself>>& all) { all.emplace_back(this); }
    live_count counted;
};

TEST(intrusive_pool, keeps_references_that_a_constructor_takes_to_its_own_object)
{
    mp::intrusive_pool<keeps_itself> pool;
    std::vector<boost::intrusive_ptr<keeps_itself>> all;
    pool.make(all).reset();
    EXPECT_EQ(pool.in_use(), 1u);
    EXPECT_EQ(all.front()->use_count(), 1u);
    all.clear();
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_EQ(live_count::alive, 0);
}

template <class References>
struct references_itself_in_its_destructor : mp::pooled<references_itself_in_its_destructor<References>, References>
{
    live_count counted;
    ~references_itself_in_its_destructor()
    {
        boost::intrusive_ptr<references_itself_in_its_destructor> self(this);
        boost::intrusive_ptr<references_itself_in_its_destructor> again = self;
        self.swap(again);
    }
};

TEST(intrusive_pool, destroys_an_object_once_if_its_destructor_takes_references_to_it)
{
    mp::intrusive_pool<references_itself_in_its_destructor<mp::plain_references>> plain;
    plain.make().reset();
    EXPECT_EQ(plain.in_use(), 0u);
    mp::intrusive_pool<references_itself_in_its_destructor<mp::atomic_references>> shared;
    shared.make().reset();
    EXPECT_EQ(shared.in_use(), 0u);
    EXPECT_EQ(live_count::alive, 0);
}

struct owns_siblings : mp::pooled<owns_siblings, mp::plain_references>
{
    live_count counted;
    std::vector<boost::intrusive_ptr<owns_siblings>> siblings;
};

TEST(intrusive_pool, lets_destructors_release_and_create_objects)
{
    mp::intrusive_pool<owns_siblings> pool;
    boost::intrusive_ptr<owns_siblings> root = pool.make();
    for (int i = 0; i != 10; ++i) {
        root->siblings.push_back(pool.make());
        for (int k = 0; k != 10; ++k)
            root->siblings.back()->siblings.push_back(pool.make());
    }
    EXPECT_EQ(pool.in_use(), 111u);
    root.reset();
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_EQ(live_count::alive, 0);
}

struct owns_its_pool : mp::pooled<owns_its_pool, mp::plain_references>
{
    live_count counted;
    std::unique_ptr<mp::intrusive_pool<owns_its_pool>> pool;
};

TEST(intrusive_pool, can_be_destroyed_by_its_last_object)
{
    accounting_upstream upstream;
    auto pool = std::make_unique<mp::intrusive_pool<owns_its_pool>>(mp::pool_options{}, &upstream);
    auto object = pool->make();
    object->pool = std::move(pool);
    object.reset();
    EXPECT_EQ(live_count::alive, 0);
    EXPECT_EQ(upstream.live_bytes(), 0u);
}

struct number : mp::pooled<number, mp::plain_references>
{
    int value = 0;
};

struct point : mp::pooled<point, mp::plain_references>
{
    point(int first, int second) : x(first), y(second) {}
    int x;
    int y;
};

TEST(intrusive_pool, supports_any_constructor_and_any_pointer_with_the_usual_hooks)
{
    mp::intrusive_pool<point> pool;
    const point* const raw = pool.make(3, 4).detach();
    EXPECT_EQ(raw->x + raw->y, 7);
    intrusive_ptr_add_ref(raw);
    intrusive_ptr_release(raw);
    EXPECT_EQ(pool.in_use(), 1u);
    intrusive_ptr_release(raw);
    EXPECT_EQ(pool.in_use(), 0u);
}

TEST(intrusive_pool, keeps_reference_count_and_pool_when_objects_are_copied)
{
    mp::intrusive_pool<point> pool;
    auto a = pool.make(1, 2);
    auto b = pool.make(*a);
    auto also_a = a;
    *b = *a;
    *a = point(5, 6);
    EXPECT_EQ(a->use_count(), 2u);
    EXPECT_EQ(b->use_count(), 1u);
    b.reset();
    EXPECT_EQ(pool.in_use(), 1u);
    also_a.swap(a);
    EXPECT_EQ(also_a->x, 5);
}

TEST(intrusive_pool, rejects_invalid_options)
{
    EXPECT_THROW(mp::intrusive_pool<point>(bounded_to(0)), std::invalid_argument);
    EXPECT_THROW(mp::intrusive_pool<point>({}, nullptr), std::invalid_argument);
}

// Leaks, which depend on the policy.

TEST(intrusive_pool, reports_leaks_if_its_policy_requires_it)
{
    boost::intrusive_ptr<point> survivor;
    testing::internal::CaptureStderr();
    {
        mp::pool_options options;
        options.name = "points";
        mp::intrusive_pool<point, mp::leak_reporting_policy<>> pool(options);
        survivor = pool.make(1, 2);
    }
    EXPECT_TRUE(contains(testing::internal::GetCapturedStderr(),
                         "memory_pool: leak: 1 object of 16 bytes outlived pool 'points'"));
    EXPECT_EQ(survivor->x, 1);
}

TEST(intrusive_pool, calls_the_error_handler_for_leaks_if_its_policy_requires_it)
{
    const error_recorder errors;
    boost::intrusive_ptr<point> survivor;
    {
        mp::intrusive_pool<point, mp::leak_fatal_policy<mp::counting_policy>> pool;
        survivor = pool.make(1, 2);
        EXPECT_EQ(pool.statistics().in_use, 1u);
    }
    EXPECT_EQ(errors.kinds(), std::vector<mp::error_kind>{mp::error_kind::leak});
    EXPECT_EQ(survivor->y, 2);
    survivor.reset();
    const mp::intrusive_pool<point, mp::leak_fatal_policy<>> without_leaks;
    EXPECT_EQ(errors.reports().size(), 1u);
}

#if !MEMORY_POOL_ASAN
TEST(intrusive_pool, reports_misuse_under_a_checking_policy)
{
    const error_recorder errors;
    {
        mp::intrusive_pool<point, mp::checking_policy> pool;
        auto object = pool.make(1, 2);
        point* const raw = object.get();
        object.reset();
        raw->y = 9; // NOLINT: the tested misuse
    }
    EXPECT_EQ(errors.kinds(), std::vector<mp::error_kind>{mp::error_kind::write_after_free});
}
#endif

TEST(intrusive_pool, reports_an_overflow_once_and_frees_the_block)
{
    test::expect_one_report_when_the_last_pointer_goes<mp::intrusive_pool<plain_item, mp::checking_policy>>();
    test::expect_one_report_when_the_last_pointer_goes<mp::intrusive_pool<shared_item, mp::checking_policy>>();
    test::expect_one_report_when_the_last_pointer_goes<mp::intrusive_pool<number, mp::checking_policy>>();
}

TEST(intrusive_pool, lets_objects_outlive_it_under_a_checking_policy)
{
    const error_recorder errors;
    boost::intrusive_ptr<point> survivor;
    {
        mp::intrusive_pool<point, mp::checking_policy> pool;
        survivor = pool.make(1, 2);
    }
    survivor.reset();
    boost::intrusive_ptr<shared_item> shared_survivor;
    {
        mp::intrusive_pool<shared_item, mp::checking_policy> pool;
        shared_survivor = pool.make(1);
    }
    shared_survivor.reset();
    EXPECT_TRUE(errors.reports().empty());
}

struct owns_and_destroys_its_pool : mp::pooled<owns_and_destroys_its_pool, mp::plain_references>
{
    using pool_type = mp::intrusive_pool<owns_and_destroys_its_pool, mp::leak_fatal_policy<>>;
    explicit owns_and_destroys_its_pool(std::shared_ptr<pool_type> its_pool) : pool(std::move(its_pool)) {}
    std::shared_ptr<pool_type> pool;
};

TEST(intrusive_pool, does_not_report_the_object_under_destruction_as_a_leak)
{
    const error_recorder errors;
    auto pool = std::make_shared<owns_and_destroys_its_pool::pool_type>();
    auto object = pool->make(pool);
    pool.reset();
    object.reset();
    EXPECT_TRUE(errors.reports().empty());
}

TEST(intrusive_pool, rejects_a_step_that_exceeds_the_address_space)
{
    EXPECT_THROW(mp::intrusive_pool<point>{in_steps_of(mp::pool_options::unbounded)}, mp::size_overflow);
}

// Threads.

TEST(intrusive_pool, lets_any_thread_drop_the_last_reference)
{
    mp::intrusive_pool<shared_item> pool;
    for (int round = 0; round != 300; ++round) {
        auto object = pool.make(round);
        std::atomic<int> sum{0};
        std::array<boost::intrusive_ptr<shared_item>, 3> copies{object, object, object};
        in_threads(copies.size(), [&](std::size_t i) {
            sum += copies.at(i)->value;
            copies.at(i).reset();
        });
        const auto last = std::move(object);
        EXPECT_EQ(sum, 3 * round);
    }
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_EQ(live_count::alive, 0);
}

TEST(intrusive_pool, survives_concurrent_drops_of_the_last_references)
{
    mp::intrusive_pool<shared_item> pool;
    for (int round = 0; round != 2000; ++round) {
        std::array<boost::intrusive_ptr<shared_item>, 2> pointers;
        pointers[0] = pool.make(round);
        pointers[1] = pointers[0];
        in_threads(2, [&](std::size_t i) { pointers.at(i).reset(); });
        ASSERT_EQ(pool.in_use(), 0u);
    }
    EXPECT_EQ(live_count::alive, 0);
}

TEST(intrusive_pool, passes_objects_between_threads)
{
    mp::intrusive_pool<shared_item> pool(bounded_to(500));
    std::array<std::atomic<shared_item*>, 16> places{};
    in_threads(4, [&](std::size_t thread) {
        std::mt19937 random(static_cast<unsigned>(thread)); // NOLINT: reproducible
        for (int i = 0; i != 20'000; ++i) {
            auto mine = pool.make(i);
            shared_item* const other = places.at(random() % places.size()).exchange(mine.detach());
            if (other != nullptr) {
                const boost::intrusive_ptr<shared_item> taken(other, false);
                ASSERT_GE(taken->value, 0);
            }
        }
    });
    for (std::atomic<shared_item*>& place : places)
        boost::intrusive_ptr<shared_item>(place.exchange(nullptr), false).reset();
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_EQ(live_count::alive, 0);
    EXPECT_TRUE(pool.verify());
}

TEST(intrusive_pool, can_be_destroyed_while_other_threads_release_its_objects)
{
    for (int round = 0; round != 200; ++round) {
        accounting_upstream upstream;
        std::array<std::vector<boost::intrusive_ptr<shared_item>>, 3> parts;
        auto pool = std::make_unique<mp::intrusive_pool<shared_item>>(mp::pool_options{}, &upstream);
        for (auto& part : parts)
            for (int i = 0; i != 50; ++i)
                part.push_back(pool->make(i));
        in_threads(parts.size() + 1, [&](std::size_t i) {
            if (i == parts.size())
                pool.reset();
            else
                parts.at(i).clear();
        });
        ASSERT_EQ(live_count::alive, 0);
        ASSERT_EQ(upstream.live_bytes(), 0u);
    }
}

TEST(intrusive_pool, can_be_cleared_while_other_threads_release_its_objects)
{
    shared_accounting_upstream upstream;
    {
        mp::intrusive_pool<shared_item> pool({}, &upstream);
        for (int round = 0; round != 200; ++round) {
            std::array<std::vector<boost::intrusive_ptr<shared_item>>, 3> parts;
            for (auto& part : parts)
                for (int i = 0; i != 50; ++i)
                    part.push_back(pool.make(i));
            in_threads(parts.size() + 1, [&](std::size_t i) {
                if (i == parts.size())
                    pool.release();
                else
                    parts.at(i).clear();
            });
            ASSERT_EQ(pool.in_use(), 0u);
        }
    }
    EXPECT_EQ(live_count::alive, 0);
    EXPECT_EQ(upstream.live_bytes(), 0u);
}

TYPED_TEST(intrusive_pool_test, is_constructible_from_an_upstream_alone)
{
    typename TestFixture::pool_type pool(&this->upstream_);
    EXPECT_EQ(pool.upstream_resource(), &this->upstream_);
    EXPECT_EQ(pool.make(3)->value, 3);
}

template <class Operators, class References>
struct hostile_item : mp::pooled<hostile_item<Operators, References>, References>, test::hostile<Operators>
{
    using test::hostile<Operators>::hostile;
};

template <class Item>
void use_hostile_items()
{
    mp::intrusive_pool<Item> pool;
    const auto made = pool.make(1);
    EXPECT_EQ(pool.make(*made)->value, 1);
    EXPECT_EQ(pool.try_make(2)->value, 2);
    const boost::intrusive_ptr<const Item> constant = made;
    EXPECT_EQ((*constant).use_count(), 2u);
    EXPECT_TRUE(pool.verify());
}

TEST(intrusive_pool_of_hostile_items, uses_none_of_their_operators)
{
    use_hostile_items<hostile_item<test::deleted_operators, mp::plain_references>>();
    use_hostile_items<hostile_item<test::deleted_operators, mp::atomic_references>>();
    use_hostile_items<hostile_item<test::aborting_operators, mp::plain_references>>();
    use_hostile_items<hostile_item<test::aborting_operators, mp::atomic_references>>();
    EXPECT_EQ(test::hostile<test::deleted_operators>::alive, 0);
    EXPECT_EQ(test::hostile<test::aborting_operators>::alive, 0);
}
} // namespace
