// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Iteration over an object_pool. AddressSanitizer detects each visit of a destroyed object.
#include <memory_pool/concurrent_object_pool.hpp>
#include <memory_pool/object_pool.hpp>

#include <support/error_recorder.hpp>
#include <support/options.hpp>
#include <support/sanitizers.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if __has_include(<version>)
#include <version>
#endif
#if defined(__cpp_lib_ranges)
#include <ranges>
#endif

namespace mp = memory_pool;

namespace {
/// Has a number, which its destructor overwrites with -1.
struct numbered
{
    static inline int alive = 0;
    explicit numbered(int value) : number(value) { ++alive; }
    numbered(const numbered&) = delete;
    numbered& operator=(const numbered&) = delete;
    ~numbered()
    {
        number = -1;
        --alive;
    }
    int number;
};

template <class Policy>
class object_pool_iteration : public testing::Test
{
protected:
    using pool_type = mp::object_pool<numbered, Policy>;
    using object_list = std::vector<numbered*>;

    void SetUp() override { numbered::alive = 0; }

    /// Creates objects numbered in address order, from 0.
    object_list create(std::size_t count)
    {
        object_list made(count);
        for (numbered*& object : made)
            object = pool_.create(0);
        std::sort(made.begin(), made.end(), std::less<>());
        for (std::size_t i = 0; i != count; ++i)
            made[i]->number = static_cast<int>(i);
        return made;
    }

    static std::vector<const numbered*> visited(const pool_type& pool)
    {
        std::vector<const numbered*> all;
        for (const numbered& object : pool)
            all.push_back(&object);
        return all;
    }

    /// Expects that iteration visits exactly these objects, each once, in address order.
    void expect_visits_of(const std::vector<numbered*>& expected)
    {
        std::vector<const numbered*> sorted(expected.begin(), expected.end());
        std::sort(sorted.begin(), sorted.end(), std::less<>());
        EXPECT_EQ(visited(pool_), sorted);
        EXPECT_EQ(pool_.size(), expected.size());
        EXPECT_TRUE(pool_.verify());
    }

    static object_list split_off(object_list& all, std::size_t keep)
    {
        object_list rest(all.begin() + static_cast<std::ptrdiff_t>(keep), all.end());
        all.resize(keep);
        return rest;
    }

    void destroy(const object_list& those)
    {
        for (numbered* const object : those)
            pool_.destroy(object);
    }

    pool_type pool_;
    std::mt19937 random_{4711};
};

using every_policy = testing::Types<mp::default_policy, mp::counting_policy, mp::checking_policy>;
TYPED_TEST_SUITE(object_pool_iteration, every_policy, );

TYPED_TEST(object_pool_iteration, visits_nothing_in_an_empty_pool)
{
    EXPECT_EQ(this->pool_.begin(), this->pool_.end());
    EXPECT_EQ(this->pool_.capacity(), 0u) << "iteration makes no upstream call";
    this->destroy(this->create(100));
    EXPECT_EQ(this->pool_.begin(), this->pool_.end());
    this->pool_.clear();
    EXPECT_EQ(this->pool_.begin(), this->pool_.end());
    (void)this->pool_.trim();
    EXPECT_EQ(this->pool_.begin(), this->pool_.end());
}

TYPED_TEST(object_pool_iteration, visits_live_objects_in_memory_order)
{
    auto objects = this->create(10'000);
    this->expect_visits_of(objects);
    std::shuffle(objects.begin(), objects.end(), this->random_);
    for (const std::size_t left : {9'999u, 7'000u, 3'000u, 500u, 1u, 0u}) {
        this->destroy(this->split_off(objects, left));
        this->expect_visits_of(objects);
    }
}

TYPED_TEST(object_pool_iteration, skips_free_blocks_in_any_cache)
{
    auto objects = this->create(1'000);
    this->destroy(this->split_off(objects, 900)); // In address order, so adjacent.
    this->expect_visits_of(objects);
    auto rest = this->split_off(objects, 800);
    std::reverse(rest.begin(), rest.end());
    this->destroy(rest); // In reverse order.
    this->expect_visits_of(objects);
    std::shuffle(objects.begin(), objects.end(), this->random_);
    this->destroy(this->split_off(objects, 300)); // One magazine.
    this->expect_visits_of(objects);
    for (int i = 0; i != 500; ++i) { // A batch of free blocks, and then a span.
        objects.push_back(this->pool_.create(i));
        if (i % 7 == 0)
            this->expect_visits_of(objects);
    }
}

TYPED_TEST(object_pool_iteration, visits_objects_of_any_size_and_alignment)
{
    const auto expect_all = [](auto& pool, std::size_t count) {
        std::set<const void*> made;
        for (std::size_t i = 0; i != count; ++i)
            made.insert(pool.create());
        std::vector<const void*> seen;
        for (auto& object : pool)
            seen.push_back(&object);
        EXPECT_TRUE(std::equal(seen.begin(), seen.end(), made.begin(), made.end()));
    };
    mp::object_pool<char, TypeParam> bytes;
    expect_all(bytes, 20'000);
    mp::object_pool<int, TypeParam> aligned(mp::pool_options{}.with_alignment(256));
    expect_all(aligned, 1'000);
    mp::object_pool<std::array<char, 1'000>, TypeParam> medium;
    expect_all(medium, 2'000);
    mp::object_pool<std::array<char, 100'000>, TypeParam> large;
    expect_all(large, 100);
    mp::object_pool<std::array<char, 3'000'000>, TypeParam> huge;
    expect_all(huge, 3);
    mp::object_pool<int, TypeParam> in_steps(mp::pool_options{}.with_growth_step(7));
    expect_all(in_steps, 500);
    mp::object_pool<int, TypeParam> at_once(mp::pool_options{}.with_initial_capacity(5'000));
    expect_all(at_once, 4'000);
}

TYPED_TEST(object_pool_iteration, lets_the_body_destroy_the_current_object)
{
    auto objects = this->create(3'000);
    std::size_t visits = 0;
    for (numbered& object : this->pool_) {
        ++visits;
        if (object.number % 3 != 0)
            this->pool_.destroy(&object);
    }
    EXPECT_EQ(visits, 3'000u);
    for (std::size_t i = 0; i != 1'000; ++i)
        objects[i] = objects[3 * i];
    objects.resize(1'000);
    this->expect_visits_of(objects);
    for (numbered& object : this->pool_)
        this->pool_.destroy(&object);
    EXPECT_EQ(numbered::alive, 0);
    this->expect_visits_of({});
}

TYPED_TEST(object_pool_iteration, never_visits_an_object_that_the_body_destroyed)
{
    // Each object destroys the objects at distances 1 and 40, which are in the same group of 64 or in the next.
    const auto objects = this->create(2'000);
    std::set<const numbered*> destroyed;
    std::size_t visits = 0;
    for (const numbered& object : this->pool_) {
        ++visits;
        ASSERT_EQ(destroyed.count(&object), 0u);
        if (object.number % 5 != 0)
            continue;
        for (const int distance : {1, 40}) {
            const auto other = static_cast<std::size_t>(object.number + distance);
            if (other < objects.size() && destroyed.insert(objects[other]).second)
                this->pool_.destroy(objects[other]);
        }
    }
    EXPECT_EQ(visits + destroyed.size(), 2'000u);
    EXPECT_TRUE(this->pool_.verify());
}

TYPED_TEST(object_pool_iteration, visits_old_objects_once_if_the_body_creates_objects)
{
    auto objects = this->create(1'000);
    std::shuffle(objects.begin(), objects.end(), this->random_);
    this->destroy(this->split_off(objects, 400));
    const std::set<const numbered*> old(objects.begin(), objects.end());
    std::size_t visits = 0;
    for (numbered& object : this->pool_) {
        visits += old.count(&object);
        if (objects.size() < 5'000) // The iteration may also visit new objects, so their number is limited.
            objects.push_back(this->pool_.create(-2));
    }
    EXPECT_EQ(visits, 400u);
    this->expect_visits_of(objects);
}

TYPED_TEST(object_pool_iteration, does_not_visit_a_block_twice_after_it_was_freed_and_cached)
{
    // A creation after a destruction moves the freed block into a cache, so that its bit is set again.
    auto objects = this->create(640);
    auto at = this->pool_.begin();
    for (std::size_t i = 63; i != 32; --i)
        this->pool_.destroy(objects[i]);
    numbered* const made = this->pool_.create(-2);
    for (; at != this->pool_.end(); ++at)
        if (&*at != made) {
            ASSERT_EQ(&*at, objects[static_cast<std::size_t>(at->number)]);
            ASSERT_TRUE(at->number <= 32 || at->number > 63);
        }
}

TYPED_TEST(object_pool_iteration, does_not_visit_blocks_freed_during_the_iteration)
{
    // Every 64th creation moves 64 free blocks at the position of the iterator into a cache: all are in one slab.
    this->pool_.reserve(4'000);
    auto objects = this->create(4'000);
    std::shuffle(objects.begin(), objects.end(), this->random_);
    this->destroy(this->split_off(objects, 2'000));
    std::set<const numbered*> alive(objects.begin(), objects.end());
    for (const numbered& object : this->pool_) {
        ASSERT_EQ(alive.count(&object), 1u);
        if (objects.size() != 3'500) {
            objects.push_back(this->pool_.create(-2));
            alive.insert(objects.back());
        }
    }
    this->expect_visits_of(objects);
}

TYPED_TEST(object_pool_iteration, nests)
{
    (void)this->create(200);
    std::size_t pairs = 0;
    for (const numbered& outer : this->pool_) {
        for (const numbered& inner : this->pool_)
            pairs += outer.number != inner.number ? 1 : 0;
        this->pool_.for_each([&](const numbered& inner) { pairs += outer.number != inner.number ? 1 : 0; });
    }
    EXPECT_EQ(pairs, 2u * 200 * 199);

    // As in collision detection: the inner loop destroys objects that the outer loop has not reached.
    std::set<const numbered*> destroyed;
    for (const numbered& outer : this->pool_) {
        ASSERT_EQ(destroyed.count(&outer), 0u);
        for (numbered& inner : this->pool_)
            if (inner.number == 2 * outer.number + 1) {
                destroyed.insert(&inner);
                this->pool_.destroy(&inner);
            }
    }
    EXPECT_EQ(this->pool_.size() + destroyed.size(), 200u);
    EXPECT_TRUE(this->pool_.verify());
}

TYPED_TEST(object_pool_iteration, lets_iterators_made_in_for_each_continue_after_it)
{
    const auto objects = this->create(300);
    auto kept = this->pool_.end();
    this->pool_.for_each([&](numbered& object) {
        if (object.number == 100)
            kept = this->pool_.begin();
        if (object.number % 2 == 1)
            this->pool_.destroy(&object);
    });
    for (std::size_t i = 0; i != 300; i += 2, ++kept)
        ASSERT_EQ(&*kept, objects[i]);
    EXPECT_EQ(kept, this->pool_.end());
    EXPECT_TRUE(this->pool_.verify());
}

TYPED_TEST(object_pool_iteration, survives_an_exception_of_the_body)
{
    const auto objects = this->create(500);
    const auto throw_at = [this](int number) {
        for (numbered& object : this->pool_)
            if (object.number == number)
                throw std::runtime_error("body");
    };
    for (const int number : {0, 250, 499}) {
        EXPECT_THROW(throw_at(number), std::runtime_error);
        this->expect_visits_of(objects);
    }
}

TYPED_TEST(object_pool_iteration, continues_from_the_position_of_a_destroyed_object)
{
    const auto objects = this->create(500);
    auto at = std::next(this->pool_.begin(), 70);
    for (std::size_t i = 60; i != 200; ++i)
        this->pool_.destroy(objects[i]);
    ++at;
    EXPECT_EQ(&*at, objects[200]);
    for (std::size_t i = 200; i != 500; ++i)
        this->pool_.destroy(objects[i]);
    EXPECT_EQ(++at, this->pool_.end());
}

TYPED_TEST(object_pool_iteration, keeps_iterators_valid_while_the_pool_is_in_use)
{
    const auto objects = this->create(500);
    auto at = std::next(this->pool_.begin(), 100);
    for (int round = 0; round != 20; ++round) {
        const auto others = this->create(3'000);
        this->destroy(others);
        EXPECT_EQ(&*at, objects[100 + static_cast<std::size_t>(round)]);
        ++at;
        EXPECT_EQ(&*at, objects[101 + static_cast<std::size_t>(round)]);
    }
    this->pool_.reserve(100'000);
    EXPECT_EQ(&*++at, objects[121]);
}

TYPED_TEST(object_pool_iteration, erase_destroys_the_object_and_returns_the_next)
{
    auto objects = this->create(1'000);
    for (auto at = this->pool_.begin(); at != this->pool_.end();) {
        const int number = at->number;
        at = number % 2 == 0 ? this->pool_.erase(at) : std::next(at);
        ASSERT_EQ(at == this->pool_.end() ? 1'000 : at->number, number + 1);
    }
    EXPECT_EQ(numbered::alive, 500);
    EXPECT_EQ(this->pool_.size(), 500u);
    for (typename TestFixture::pool_type::const_iterator at = this->pool_.begin(); at != this->pool_.end();)
        at = this->pool_.erase(at);
    EXPECT_EQ(numbered::alive, 0);
    this->expect_visits_of({});
    this->expect_visits_of(this->create(2'000));
}

TYPED_TEST(object_pool_iteration, erase_is_seen_by_other_iterators)
{
    const auto objects = this->create(300);
    auto other = this->pool_.begin();
    auto at = std::next(this->pool_.begin());
    for (int i = 1; i != 150; ++i)
        at = this->pool_.erase(at);
    EXPECT_EQ(&*++other, objects[150]);

    // Erasure through an iterator that has missed a change does not hide that change from the iterator.
    auto late = this->pool_.begin();
    this->pool_.destroy(objects[151]);
    EXPECT_EQ(&*this->pool_.erase(late), objects[150]);
    late = this->pool_.begin();
    this->pool_.destroy(objects[152]);
    late = this->pool_.erase(late);
    EXPECT_EQ(&*late, objects[153]);
}

TYPED_TEST(object_pool_iteration, erase_if_returns_the_number_of_erased_objects)
{
    auto objects = this->create(1'000);
    EXPECT_EQ(erase_if(this->pool_, [](const numbered& object) { return object.number >= 300; }), 700u);
    objects.resize(300);
    this->expect_visits_of(objects);
    EXPECT_EQ(erase_if(this->pool_, [](const numbered&) { return false; }), 0u);
    int calls = 0;
    const auto throws_later = [&](const numbered&) {
        return ++calls <= 100 ? true : throw std::runtime_error("predicate");
    };
    EXPECT_THROW((void)erase_if(this->pool_, throws_later), std::runtime_error);
    objects.erase(objects.begin(), objects.begin() + 100);
    this->expect_visits_of(objects);
}

TYPED_TEST(object_pool_iteration, does_not_move_objects)
{
    const auto objects = this->create(1'000);
    (void)erase_if(this->pool_, [](const numbered& object) { return object.number % 4 != 0; });
    for (std::size_t i = 0; i < objects.size(); i += 4)
        EXPECT_EQ(objects[i]->number, static_cast<int>(i));
}

TYPED_TEST(object_pool_iteration, counts_erased_objects)
{
    if constexpr (TypeParam::counts) {
        (void)this->create(500);
        (void)erase_if(this->pool_, [](const numbered& object) { return object.number < 200; });
        for (numbered& object : this->pool_)
            if (object.number < 300)
                this->pool_.destroy(&object);
        EXPECT_EQ(this->pool_.statistics().allocations, 500u);
        EXPECT_EQ(this->pool_.statistics().deallocations, 300u);
        EXPECT_EQ(this->pool_.statistics().in_use, 200u);
        EXPECT_EQ(this->pool_.statistics().peak_in_use, 500u);
    }
    EXPECT_TRUE(this->pool_.verify());
}

/// Its destructor destroys `victim`, and creates an object.
template <class Policy>
struct chained
{
    using pool_type = mp::object_pool<chained, Policy>;
    pool_type* pool;
    chained* victim = nullptr;
    bool creates = false;
    ~chained()
    {
        pool->destroy(victim);
        if (creates)
            (void)pool->create(pool);
    }
};

TYPED_TEST(object_pool_iteration, erase_lets_a_destructor_use_the_pool)
{
    using element = chained<TypeParam>;
    mp::object_pool<element, TypeParam> pool;
    std::vector<element*> all;
    for (int i = 0; i != 200; ++i)
        all.push_back(pool.create(&pool));
    std::sort(all.begin(), all.end(), std::less<>());
    for (std::size_t i = 0; i != 100; i += 2) {
        all[i]->victim = all[i + 1]; // The next object.
        all[i]->creates = true;
    }
    std::size_t erased = 0;
    for (auto at = pool.begin(); at != pool.end();) {
        if (at->victim != nullptr) {
            at = pool.erase(at);
            ++erased;
        } else {
            ++at;
        }
    }
    EXPECT_EQ(erased, 50u);
    EXPECT_EQ(pool.size(), 150u);
    EXPECT_TRUE(pool.verify());
}

/// Random operations, with several iterators at once, against a model that knows each object.
TYPED_TEST(object_pool_iteration, agrees_with_a_model)
{
    struct entry
    {
        int number;
        std::uint64_t made; // A sequence number.
    };
    struct watcher
    {
        typename TestFixture::pool_type::iterator at;
        std::uint64_t begun;
        bool has_ended = false;
    };
    for (const std::size_t max_cached : {0u, 20u, 100u}) {
        typename TestFixture::pool_type pool(mp::pool_options{}.with_max_cached_blocks(max_cached));
        std::map<std::uintptr_t, entry> model;
        std::vector<watcher> watchers;
        std::uint64_t now = 0;
        int numbers = 0;
        const auto below = [this](std::size_t end) { return static_cast<std::size_t>(this->random_() % end); };
        const auto key = [](const numbered* object) { return reinterpret_cast<std::uintptr_t>(object); };
        const auto create = [&] {
            numbered* const made = pool.create(numbers);
            ASSERT_TRUE(model.emplace(key(made), entry{numbers++, ++now}).second);
        };
        const auto random_object = [&] {
            const auto found = model.lower_bound(model.begin()->first + below(4'000) * sizeof(numbered));
            return found == model.end() ? model.begin() : found;
        };
        const auto destroy = [&] {
            const auto victim = random_object();
            auto* const object = reinterpret_cast<numbered*>(victim->first);
            ASSERT_EQ(object->number, victim->second.number);
            model.erase(victim);
            pool.destroy(object);
        };
        // No object between `from` and here that is older than the iterator was skipped.
        const auto expect_next = [&](watcher& one, std::uintptr_t from) {
            auto old = model.upper_bound(from);
            while (old != model.end() && old->second.made > one.begun)
                ++old;
            if (one.at == pool.end()) {
                ASSERT_TRUE(old == model.end());
                one.has_ended = true;
                return;
            }
            const auto found = model.find(key(&*one.at));
            ASSERT_TRUE(found != model.end()) << "a destroyed object";
            ASSERT_EQ(found->second.number, one.at->number);
            ASSERT_GT(found->first, from);
            ASSERT_TRUE(old == model.end() || found->first <= old->first) << "an object was skipped";
        };
        const auto step = [&](watcher& one) {
            const std::uintptr_t from = key(one.at.operator->());
            const auto here = model.find(from);
            if (here != model.end() && below(4) == 0) {
                model.erase(here);
                one.at = pool.erase(one.at);
            } else {
                ++one.at;
            }
            expect_next(one, from);
        };
        const auto begin = [&] {
            watchers.push_back({pool.begin(), now});
            expect_next(watchers.back(), 0);
        };
        const int operations = test::under_a_sanitizer ? 20'000 : 60'000;
        std::size_t wanted = 200;
        for (int i = 0; i != operations && !this->HasFatalFailure(); ++i) {
            if (i % 1'000 == 0)
                wanted = below(3'000);
            const std::size_t many = below(8) == 0 ? below(150) : 1;
            switch (below(6)) {
            case 0:
            case 1:
                for (std::size_t n = 0; n != many && model.size() < wanted; ++n)
                    create();
                break;
            case 2:
            case 3:
                for (std::size_t n = 0; n != many && model.size() > wanted; ++n)
                    destroy();
                break;
            case 4:
                if (watchers.size() < 5)
                    begin();
                break;
            default:
                for (std::size_t n = 0; n != many && !watchers.empty() && !this->HasFatalFailure(); ++n) {
                    const std::size_t chosen = below(watchers.size());
                    step(watchers[chosen]);
                    if (watchers[chosen].has_ended || below(2'000) == 0)
                        watchers.erase(watchers.begin() + static_cast<std::ptrdiff_t>(chosen));
                }
            }
            watchers.erase(
                std::remove_if(watchers.begin(), watchers.end(), [](const watcher& w) { return w.has_ended; }),
                watchers.end());
            if (i % 5'000 == 0) {
                ASSERT_TRUE(pool.verify());
            }
        }
        EXPECT_EQ(pool.size(), model.size());
        EXPECT_TRUE(pool.verify());
    }
}

TEST(object_pool_iteration_caches, are_used_again_after_an_abandoned_iteration)
{
    mp::object_pool<int> pool;
    std::vector<int*> objects;
    for (int i = 0; i != 2'000; ++i)
        objects.push_back(pool.create(i));
    std::mt19937 random(1);
    std::shuffle(objects.begin(), objects.end(), random);
    const auto forgotten = pool.begin();
    for (int i = 0; i != 100; ++i) {
        pool.destroy(objects.back());
        objects.pop_back();
    }
    for (int i = 0; i != 100; ++i) {
        int* const last = objects.back();
        pool.destroy(last);
        EXPECT_EQ(pool.create(i), last) << "the magazine is LIFO, the slabs are not";
    }
    EXPECT_NE(forgotten, pool.end());
}

TEST(object_pool_iteration_misuse, is_reported_if_an_object_is_erased_twice)
{
    const test::error_recorder errors;
    mp::object_pool<int, mp::checking_policy> pool;
    (void)pool.create(1);
    (void)pool.create(2);
    const auto first = pool.begin();
    (void)pool.erase(first);
    EXPECT_EQ(*pool.erase(first), 2);
    EXPECT_EQ(errors.kinds(), std::vector<mp::error_kind>{mp::error_kind::double_free});
    EXPECT_EQ(pool.size(), 1u);
    EXPECT_TRUE(pool.verify());

    mp::object_pool<int> unchecked;
    (void)unchecked.create(1);
    const auto only = unchecked.begin();
    (void)unchecked.erase(only);
    EXPECT_EQ(unchecked.erase(only), unchecked.end());
    EXPECT_EQ(errors.kinds().size(), 2u) << "the bit of an erased block is checked under every policy";
    EXPECT_EQ(unchecked.size(), 0u);
    EXPECT_TRUE(unchecked.verify());
}

TEST(object_pool_iterator, is_a_forward_iterator)
{
    using pool_type = mp::object_pool<int>;
    using iterator = pool_type::iterator;
    using const_iterator = pool_type::const_iterator;
    using traits = std::iterator_traits<iterator>;
    static_assert(std::is_same_v<traits::iterator_category, std::forward_iterator_tag>);
    static_assert(std::is_same_v<traits::reference, int&> && std::is_same_v<traits::pointer, int*>);
    static_assert(std::is_same_v<std::iterator_traits<const_iterator>::reference, const int&>);
    static_assert(std::is_same_v<std::iterator_traits<const_iterator>::value_type, int>);
    static_assert(std::is_convertible_v<iterator, const_iterator> && !std::is_convertible_v<const_iterator, iterator>);
    static_assert(std::is_trivially_copyable_v<iterator>);
#if defined(__cpp_lib_ranges)
    static_assert(std::forward_iterator<iterator> && std::forward_iterator<const_iterator>);
    static_assert(std::ranges::forward_range<pool_type> && std::ranges::forward_range<const pool_type>);
    static_assert(std::ranges::sized_range<pool_type> && std::ranges::common_range<pool_type>);
    static_assert(!std::ranges::range<mp::concurrent_object_pool<int>>, "others create and destroy meanwhile");
#endif
    EXPECT_EQ(iterator(), iterator());

    pool_type pool;
    for (int i = 0; i != 100; ++i)
        (void)pool.create(i);
    EXPECT_EQ(iterator(), pool.end());
    const pool_type& same = pool;
    const_iterator constant = pool.begin();
    EXPECT_EQ(constant, same.begin());
    EXPECT_EQ(pool.begin(), same.begin());
    iterator at = pool.begin();
    EXPECT_EQ(*at++, 0);
    EXPECT_EQ(*at, 1);
    EXPECT_NE(at, constant);
    EXPECT_EQ(++constant, at);
    *at = 1'000;
    EXPECT_EQ(*constant, 1'000);
    EXPECT_EQ(std::distance(same.begin(), same.end()), 100);
    EXPECT_EQ(std::count_if(pool.begin(), pool.end(), [](int number) { return number >= 50; }), 51);
    EXPECT_EQ(*std::max_element(same.begin(), same.end()), 1'000);
    EXPECT_EQ(std::size(pool), 100u);
}

TEST(object_pool_iterator, visits_constant_objects_and_objects_with_operator_address_of)
{
    mp::object_pool<const std::string> constants;
    (void)constants.create("constant");
    for (const std::string& text : constants)
        EXPECT_EQ(text, "constant");
    EXPECT_EQ(constants.erase(constants.begin()), constants.end());

    struct overloaded_address
    {
        int value = 0;
        overloaded_address* operator&() { return nullptr; } // Pools must not use it.
    };
    mp::object_pool<overloaded_address> odd;
    overloaded_address* const object = odd.create();
    for (overloaded_address& one : odd)
        one.value = 1;
    EXPECT_EQ(object->value, 1);
    EXPECT_EQ(odd.begin().operator->(), object);
    (void)odd.erase(odd.begin());
    EXPECT_EQ(odd.size(), 0u);
}

TEST(object_pool_iterator, makes_no_upstream_calls_in_a_bounded_pool)
{
    test::accounting_upstream upstream;
    mp::object_pool<int> pool(test::bounded_to(100), &upstream);
    for (int i = 0; i != 100; ++i)
        (void)pool.create(i);
    const std::size_t chunks = upstream.live_chunks();
    for (auto at = pool.begin(); at != pool.end();)
        at = *at % 2 == 0 ? pool.erase(at) : std::next(at);
    EXPECT_EQ(upstream.live_chunks(), chunks);
    for (int i = 0; i != 50; ++i)
        EXPECT_NE(pool.try_create(i), nullptr);
    EXPECT_EQ(pool.try_create(50), nullptr);
    EXPECT_EQ(pool.size(), 100u);
}

template <class Pool, class = void>
inline constexpr bool has_begin = false;
template <class Pool>
inline constexpr bool has_begin<Pool, std::void_t<decltype(std::declval<Pool&>().begin())>> = true;

TEST(object_pool_iterator, is_not_available_in_shared_pools)
{
    EXPECT_TRUE((has_begin<mp::object_pool<int, mp::checking_policy>>));
    EXPECT_FALSE((has_begin<mp::concurrent_object_pool<int>>));
}
} // namespace
