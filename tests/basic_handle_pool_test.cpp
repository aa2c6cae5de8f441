// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Tests the interface that handle_pool and concurrent_handle_pool share.
#include <memory_pool/concurrent_handle_pool.hpp>
#include <memory_pool/handle_pool.hpp>

#include <support/counted_object.hpp>
#include <support/error_recorder.hpp>
#include <support/handle_model.hpp>
#include <support/handle_pools.hpp>
#include <support/options.hpp>
#include <support/overflows.hpp>
#include <support/sanitizers.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

namespace mp = memory_pool;

namespace {
using counted = test::counted_object;
template <class Policy>
using local = test::local_handles<Policy>;
template <class Policy>
using shared = test::shared_handles<Policy>;

struct aggregate
{
    int number;
    std::string text;
};

struct alignas(256) wide
{
    char bytes[300];
};

/// Its destructor destroys the next object by handle.
template <class Pool>
struct link_in
{
    static inline std::size_t alive = 0;

    link_in(Pool& home, typename Pool::handle following) : pool(home), next(following) { ++alive; }
    link_in(const link_in&) = delete;
    link_in& operator=(const link_in&) = delete;
    ~link_in()
    {
        (void)pool.destroy(next);
        --alive;
    }

    Pool& pool;
    typename Pool::handle next;
};

template <class Kind>
class handle_pools : public testing::Test
{
protected:
    void SetUp() override
    {
        counted::alive = 0;
        counted::until_throw = -1;
    }

    template <class T>
    using pool_of = typename Kind::template pool<T>;
    test::shared_accounting_upstream upstream_;
};

using kinds = testing::Types<local<mp::default_policy>, local<mp::counting_policy>, local<mp::checking_policy>,
                             shared<mp::default_policy>, shared<mp::counting_policy>, shared<mp::checking_policy>>;
TYPED_TEST_SUITE(handle_pools, kinds, );

TYPED_TEST(handle_pools, find_an_object_by_handle_until_it_is_destroyed)
{
    typename TestFixture::template pool_of<counted> pool({}, &this->upstream_);
    const auto a = pool.create(1);
    const auto b = pool.create(2);
    EXPECT_NE(a, b);
    EXPECT_FALSE(a.is_null());
    EXPECT_EQ(pool.get(a)->value(), 1);
    EXPECT_EQ(std::as_const(pool).get(b)->value(), 2);
    EXPECT_TRUE(pool.contains(a));
    EXPECT_EQ(pool.handle_of(pool.get(a)), a);
    EXPECT_EQ(pool.size(), 2u);
    EXPECT_TRUE(pool.owns(pool.get(a)));

    EXPECT_TRUE(pool.destroy(a));
    EXPECT_EQ(counted::alive, 1);
    EXPECT_EQ(pool.get(a), nullptr);
    EXPECT_FALSE(pool.contains(a));
    EXPECT_FALSE(pool.destroy(a)) << "the handle is stale";
    EXPECT_EQ(pool.get(b)->value(), 2);
    EXPECT_EQ(pool.in_use(), 1u);
    EXPECT_FALSE(pool.empty());
    EXPECT_TRUE(pool.verify());
}

TYPED_TEST(handle_pools, ignore_the_null_handle_and_invalid_numbers)
{
    typename TestFixture::template pool_of<counted> pool;
    using handle = typename TestFixture::template pool_of<counted>::handle;
    const test::error_recorder recorder; // A checking policy reports some numbers as handles of another pool.
    const auto expect_ignored = [&] {
        for (const std::uint32_t index : {0u, 1u, 31u, 32u, 64u * 32, 0x7fff'ffffu, 0xffff'ffffu})
            for (const std::uint32_t generation : {0u, 2u, 3u, 0xffff'ffffu}) {
                EXPECT_EQ(pool.get({index, generation}), nullptr);
                EXPECT_FALSE(pool.destroy({index, generation}));
            }
    };
    expect_ignored();
    EXPECT_TRUE(handle{}.is_null());
    const handle first = pool.create();
    expect_ignored();
    EXPECT_TRUE(pool.contains(first));
}

/// Pools with a checking policy.
template <class Kind>
struct checked_handle_pools : handle_pools<Kind>
{
};
using checked_kinds = testing::Types<local<mp::checking_policy>, shared<mp::checking_policy>>;
TYPED_TEST_SUITE(checked_handle_pools, checked_kinds, );

TYPED_TEST(checked_handle_pools, report_and_ignore_handles_of_another_pool)
{
    typename TestFixture::template pool_of<counted> mine({}, &this->upstream_);
    typename TestFixture::template pool_of<counted> other(mp::pool_options{}.with_name("other"), &this->upstream_);
    using handle = typename TestFixture::template pool_of<counted>::handle;
    handle handles[] = {mine.create(1), mine.create(2)};
    const handle kept = other.create(3);
    const test::error_recorder recorder;
    EXPECT_FALSE(other.destroy(handles[0]));
    EXPECT_EQ(other.get(handles[0]), nullptr);
    EXPECT_EQ(std::as_const(other).get(handles[0]), nullptr);
    EXPECT_FALSE(other.contains(handles[1]));
    EXPECT_EQ(other.destroy_bulk(handles, 2), 0u);
    EXPECT_TRUE(other.handle_of(mine.get(handles[0])).is_null());
    if constexpr (!std::is_base_of_v<mp::handle_pool<counted, mp::checking_policy>, decltype(mine)>)
        EXPECT_FALSE(other.visit(handles[0], [](counted&) {}));
    else
        EXPECT_EQ(other.erase(mine.begin()), other.end());
    EXPECT_EQ(recorder.kinds(), test::kinds(8, mp::error_kind::foreign_pointer));
    EXPECT_EQ(recorder.reports()[0].pool_name, "other");
    EXPECT_NE(recorder.reports()[0].text.find("foreign handle: index 0, generation "), std::string::npos);
    EXPECT_EQ(other.size(), 1u);
    EXPECT_EQ(other.get(kept)->value(), 3);
    EXPECT_FALSE(other.destroy(handle{})) << "the null handle belongs to no pool";
    EXPECT_TRUE(mine.destroy(handles[0]));
    EXPECT_FALSE(mine.destroy(handles[0])) << "a stale handle of this pool is not reported";
    EXPECT_EQ(recorder.kinds().size(), 8u);
}

TYPED_TEST(checked_handle_pools, recognise_handles_of_a_thousand_other_pools)
{
    using pool_type = typename TestFixture::template pool_of<int>;
    const test::error_recorder recorder;
    pool_type first;
    const auto last_of_many_objects = [](pool_type& pool) {
        for (int i = 0; i != 20'000; ++i)
            pool.destroy(pool.create(i));
        return pool.create(0);
    };
    const auto from_first = last_of_many_objects(first);
    for (std::size_t i = 0; i != 1000; ++i) {
        pool_type other;
        EXPECT_FALSE(first.contains(i % 50 != 0 ? other.create(1) : last_of_many_objects(other)));
        EXPECT_FALSE(other.contains(from_first));
    }
    EXPECT_EQ(recorder.kinds().size(), 2000u);
}

TYPED_TEST(handle_pools, keep_handles_stale_after_reuse_trim_clear_and_release)
{
    typename TestFixture::template pool_of<counted> pool({}, &this->upstream_);
    std::unordered_set<typename TestFixture::template pool_of<counted>::handle> seen;
    for (int round = 0; round != 4; ++round) {
        std::vector<typename TestFixture::template pool_of<counted>::handle> handles;
        for (int i = 0; i != 1000; ++i)
            handles.push_back(pool.create(i));
        for (const auto each : handles)
            EXPECT_TRUE(seen.insert(each).second) << "no handle is returned twice";
        for (std::size_t i = 0; i < handles.size(); i += 2)
            EXPECT_TRUE(pool.destroy(handles[i]));
        switch (round) {
        case 0: pool.clear(); break;
        case 1: pool.release(); break;
        default:
            for (std::size_t i = 1; i < handles.size(); i += 2)
                EXPECT_TRUE(pool.destroy(handles[i]));
        }
        EXPECT_EQ(counted::alive, 0);
        EXPECT_EQ(pool.size(), 0u);
        (void)pool.trim();
        EXPECT_EQ(pool.capacity(), 0u);
        EXPECT_TRUE(pool.verify());
        for (const auto each : seen)
            ASSERT_EQ(pool.get(each), nullptr);
    }
    EXPECT_EQ(pool.bytes_reserved(), this->upstream_.live_bytes()) << "the table";
    EXPECT_GT(pool.bytes_reserved(), 0u);
}

TYPED_TEST(handle_pools, stay_consistent_when_a_constructor_throws)
{
    typename TestFixture::template pool_of<counted> pool({}, &this->upstream_);
    for (int i = 0; i != 200; ++i) {
        counted::until_throw = 0;
        EXPECT_THROW((void)pool.create(1), std::runtime_error);
        EXPECT_THROW((void)pool.try_create(1), std::runtime_error);
        counted::until_throw = -1;
        (void)pool.create(i);
        ASSERT_EQ(pool.size(), static_cast<std::size_t>(i) + 1);
    }
    EXPECT_TRUE(pool.verify());
}

TYPED_TEST(handle_pools, stay_consistent_when_any_upstream_call_fails)
{
    for (std::size_t call = 1; call != 12; ++call) {
        for (const bool throws : {true, false}) {
            this->upstream_.never_fail();
            typename TestFixture::template pool_of<counted> pool(test::in_steps_of(40), &this->upstream_);
            this->upstream_.fail_from(call);
            std::size_t failures = 0;
            for (std::size_t i = 0; i != 1000; ++i) {
                if (throws) {
                    try {
                        (void)pool.create();
                    } catch (const std::bad_alloc&) {
                        ++failures;
                    }
                } else if (pool.try_create().is_null()) {
                    ++failures;
                }
                ASSERT_EQ(pool.size(), i + 1 - failures);
                if (failures != 0)
                    this->upstream_.never_fail();
            }
            EXPECT_EQ(failures, 1u) << "the pool needs a dozen chunks";
            EXPECT_TRUE(pool.verify());
            if constexpr (TypeParam::policy::counts) {
                EXPECT_EQ(pool.statistics().failures, failures);
                EXPECT_EQ(pool.statistics().bytes_reserved, pool.bytes_reserved());
                EXPECT_EQ(pool.bytes_reserved(), this->upstream_.live_bytes());
            }
        }
        EXPECT_EQ(counted::alive, 0);
        EXPECT_EQ(this->upstream_.live_bytes(), 0u);
    }
    this->upstream_.never_fail();
    typename TestFixture::template pool_of<counted> pool({}, &this->upstream_);
    this->upstream_.fail_always();
    EXPECT_THROW((void)pool.create(), std::bad_alloc);
    EXPECT_TRUE(pool.try_create().is_null());
    EXPECT_THROW(pool.reserve(1), std::bad_alloc);
    EXPECT_EQ(this->upstream_.live_bytes(), 0u);
}

TYPED_TEST(handle_pools, respect_max_capacity)
{
    typename TestFixture::template pool_of<counted> pool(test::bounded_to(3), &this->upstream_);
    std::vector<typename TestFixture::template pool_of<counted>::handle> handles;
    for (int i = 0; i != 3; ++i)
        handles.push_back(pool.create(i));
    EXPECT_THROW((void)pool.create(3), mp::pool_exhausted);
    EXPECT_TRUE(pool.try_create(3).is_null());
    EXPECT_EQ(pool.available(), 0u);
    EXPECT_EQ(pool.max_capacity(), 3u);
    EXPECT_TRUE(pool.is_bounded());
    EXPECT_TRUE(pool.destroy(handles[1]));
    EXPECT_EQ(pool.get(pool.create(4))->value(), 4);
}

TYPED_TEST(handle_pools, reject_a_reserve_beyond_the_number_of_handles)
{
    typename TestFixture::template pool_of<counted> pool(&this->upstream_);
    EXPECT_THROW(pool.reserve(std::size_t{1} << 28), mp::pool_exhausted);
    EXPECT_EQ(pool.growth_count(), 0U);
    EXPECT_EQ(pool.bytes_reserved(), 0U);
    EXPECT_EQ(pool.get(pool.create(1))->value(), 1);
    EXPECT_EQ(pool.growth_count(), 1U);
}

TYPED_TEST(handle_pools, create_reserved_objects_without_upstream_calls)
{
    mp::pool_options options;
    options.initial_capacity = 100;
    typename TestFixture::template pool_of<counted> pool(options, &this->upstream_);
    for (const std::size_t count : {100u, 5000u}) {
        pool.reserve(count);
        // The first object creates the cache of the thread.
        EXPECT_TRUE(pool.destroy(pool.create()));
        const std::size_t calls = this->upstream_.calls();
        for (std::size_t i = 0; i != count; ++i)
            (void)pool.create();
        if constexpr (std::is_same_v<TypeParam, local<typename TypeParam::policy>>) {
            EXPECT_EQ(this->upstream_.calls(), calls);
        }
        EXPECT_GE(pool.capacity(), count);
        pool.clear();
    }
}

TYPED_TEST(handle_pools, reuse_slots)
{
    typename TestFixture::template pool_of<counted> pool({}, &this->upstream_);
    std::vector<typename TestFixture::template pool_of<counted>::handle> handles(1000);
    std::size_t bytes = 0;
    for (int round = 0; round != 20; ++round) {
        for (auto& each : handles)
            each = pool.create();
        for (const auto each : handles)
            EXPECT_TRUE(pool.destroy(each));
        if (round == 1)
            bytes = pool.bytes_reserved();
    }
    EXPECT_EQ(pool.bytes_reserved(), bytes);
}

TYPED_TEST(handle_pools, destroy_live_objects_in_the_destructor)
{
    {
        typename TestFixture::template pool_of<counted> pool({}, &this->upstream_);
        std::vector<typename TestFixture::template pool_of<counted>::handle> handles;
        for (int i = 0; i != 3000; ++i)
            handles.push_back(pool.create(i));
        for (std::size_t i = 0; i < handles.size(); i += 3)
            EXPECT_TRUE(pool.destroy(handles[i]));
        EXPECT_EQ(counted::alive, 2000);
    }
    EXPECT_EQ(counted::alive, 0);
    EXPECT_EQ(this->upstream_.live_chunks(), 0u);
    EXPECT_EQ(this->upstream_.mismatched(), 0u);
}

TYPED_TEST(handle_pools, visit_live_objects_during_creation_and_destruction)
{
    typename TestFixture::template pool_of<counted> pool;
    std::set<int> expected;
    for (int i = 0; i != 1000; ++i) {
        const auto made = pool.create(i);
        if (i % 3 == 0)
            EXPECT_TRUE(pool.destroy(made));
        else
            expected.insert(i);
    }
    std::set<int> seen;
    pool.for_each([&](counted& object) {
        const int value = object.value();
        if (value == 1000)
            return; // created below
        seen.insert(value);
        EXPECT_TRUE(pool.destroy(pool.handle_of(&object)));
        if (value % 2 == 0)
            (void)pool.create(1000);
    });
    EXPECT_EQ(seen, expected);
    EXPECT_EQ(counted::alive, static_cast<int>(pool.size()));
    pool.for_each([](counted& object) { EXPECT_EQ(object.value(), 1000); });
    EXPECT_TRUE(pool.verify());
}

TYPED_TEST(handle_pools, destroy_if_destroys_the_objects_that_satisfy_the_predicate)
{
    typename TestFixture::template pool_of<counted> pool;
    for (int i = 0; i != 1000; ++i)
        (void)pool.create(i);
    EXPECT_EQ(erase_if(pool, [](const counted& object) { return object.value() % 4 != 0; }), 750u);
    EXPECT_EQ(counted::alive, 250);
    EXPECT_EQ(erase_if(pool, [](const counted& object) { return object.value() % 4 != 0; }), 0u);
}

/// Its operator& returns another object, as the operator of a COM pointer does.
struct another
{
    int number;
    another* other;
    const another* operator&() const { return other != nullptr ? other : this; }
};

TYPED_TEST(handle_pools, destroy_if_accepts_predicates_that_do_not_return_bool)
{
    typename TestFixture::template pool_of<another> pool;
    const auto kept = pool.create(1, nullptr);
    const auto destroyed = pool.create(2, pool.get(kept));
    EXPECT_EQ(erase_if(pool, [](const another& object) { return object.number == 2; }), 1u);
    EXPECT_TRUE(pool.contains(kept));
    EXPECT_FALSE(pool.contains(destroyed));
}

TYPED_TEST(handle_pools, let_destructors_destroy_other_objects_by_handle)
{
    struct link;
    using pool_type = typename TestFixture::template pool_of<link>;
    struct link : link_in<pool_type>
    {
        using link_in<pool_type>::link_in;
    };
    link::alive = 0;
    pool_type pool;
    const auto chain = [&](int length) {
        typename pool_type::handle head;
        for (int i = 0; i != length; ++i)
            head = pool.create(pool, head);
        return head;
    };
    EXPECT_TRUE(pool.destroy(chain(1000)));
    EXPECT_EQ(link::alive, 0u);
    EXPECT_EQ(pool.size(), 0u);

    // clear does not recurse along the list.
    const auto head = chain(200'000);
    EXPECT_EQ(link::alive, 200'000u);
    pool.clear();
    EXPECT_EQ(link::alive, 0u);
    EXPECT_FALSE(pool.contains(head));
    EXPECT_TRUE(pool.verify());

    // In a ring, the last destructor destroys the first object.
    const auto first = pool.create(pool, typename pool_type::handle{});
    pool.get(first)->next = pool.create(pool, first);
    EXPECT_TRUE(pool.destroy(first));
    EXPECT_EQ(pool.size(), 0u);
}

/// Its destructor creates another object, a given number of times, and destroys an object in another slot.
template <class Kind>
struct reborn
{
    using pool_type = typename Kind::template pool<reborn>;
    reborn(pool_type& home, int left) : pool(home), lives(left) { ++alive; }
    reborn(const reborn&) = delete;
    reborn& operator=(const reborn&) = delete;
    ~reborn()
    {
        --alive;
        if (lives == 0)
            return;
        (void)pool.create(pool, lives - 1);
        const auto brief = pool.create(pool, 0);
        EXPECT_TRUE(pool.destroy(brief));
        EXPECT_FALSE(pool.contains(brief));
        pool.clear(); // no-op
        pool.release();
    }

    static inline int alive = 0;
    pool_type& pool;
    int lives;
};

TYPED_TEST(handle_pools, clear_objects_whose_destructors_create_others)
{
    typename reborn<TypeParam>::pool_type pool({}, &this->upstream_);
    for (int i = 0; i != 100; ++i)
        (void)pool.create(pool, 2);
    pool.clear();
    EXPECT_EQ(reborn<TypeParam>::alive, 0);
    EXPECT_EQ(pool.size(), 0u);
    EXPECT_GT(pool.capacity(), 0u) << "the memory is kept";
    EXPECT_TRUE(pool.verify());
}

TYPED_TEST(handle_pools, create_objects_in_the_constructor_of_another)
{
    struct parent;
    using pool_type = typename TestFixture::template pool_of<parent>;
    struct parent
    {
        parent(pool_type& pool, int depth)
        {
            if (depth != 0)
                child = pool.create(pool, depth - 1);
        }
        typename pool_type::handle child;
    };
    pool_type pool;
    auto each = pool.create(pool, 100);
    for (int depth = 100; depth != 0; --depth)
        each = pool.get(each)->child;
    EXPECT_TRUE(pool.get(each)->child.is_null());
    EXPECT_EQ(pool.size(), 101u);
}

TYPED_TEST(handle_pools, support_objects_of_any_size_and_alignment)
{
    typename TestFixture::template pool_of<aggregate> aggregates;
    EXPECT_EQ(aggregates.get(aggregates.create(7, "seven"))->text, "seven");

    typename TestFixture::template pool_of<const std::string> constants;
    EXPECT_EQ(*constants.get(constants.create("constant")), "constant");

    typename TestFixture::template pool_of<char> characters;
    const auto a = characters.create('a');
    const auto b = characters.create('b');
    EXPECT_EQ(*characters.get(a), 'a');
    EXPECT_EQ(characters.handle_of(characters.get(b)), b);
    characters.clear();
    EXPECT_FALSE(characters.contains(a));

    typename TestFixture::template pool_of<wide> pool;
    for (int i = 0; i != 20; ++i)
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool.get(pool.create())) % 256, 0u);
}

TYPED_TEST(handle_pools, agree_with_a_model)
{
    // More than ten times slower with a sanitizer, or with a lock in each call.
    constexpr bool is_slow = MEMORY_POOL_ASAN || MEMORY_POOL_TSAN || TypeParam::policy::checks;
    test::handle_model<typename TestFixture::template pool_of<test::numbered>> model(17);
    EXPECT_EQ(model.run(is_slow ? 500'000 : 5'000'000), 0u);
    EXPECT_GT(model.created(), 100'000u);
}

TYPED_TEST(handle_pools, report_an_overflow_at_destruction)
{
    if constexpr (TypeParam::policy::checks) {
        for (const std::size_t behind : {0u, 4u}) { // Into the index of the slot, and beyond it.
            const test::error_recorder errors;
            typename TestFixture::template pool_of<std::uint32_t> pool;
            const auto handle = pool.create(1u);
            test::write_behind(pool.get(handle), sizeof(std::uint32_t) + behind);
            EXPECT_TRUE(pool.destroy(handle));
            EXPECT_FALSE(pool.contains(handle));
            EXPECT_EQ(pool.size(), 0u);
            EXPECT_TRUE(pool.verify());
            EXPECT_EQ(errors.kinds(), std::vector<mp::error_kind>{mp::error_kind::buffer_overflow}) << behind;
        }
    }
}

TEST(pool_handle, is_eight_bytes_and_supports_comparison_and_hashing)
{
    using handle = mp::pool_handle<counted>;
    static_assert(sizeof(handle) == 8 && std::is_trivially_copyable_v<handle>);
    static_assert(std::is_same_v<mp::handle_pool<counted>::handle, handle>);
    static_assert(!std::is_convertible_v<mp::pool_handle<int>, handle>);
    constexpr handle a{1, 1};
    constexpr handle b{1, 3};
    constexpr handle c{2, 1};
    static_assert(a == handle{1, 1} && a != b && a < b && b < c && c > b && a <= b && c >= b);
    EXPECT_EQ(std::hash<handle>()(a), std::hash<handle>()(handle{1, 1}));
    std::set<std::size_t> buckets;
    for (std::uint32_t index = 0; index != 1024; ++index)
        buckets.insert(std::hash<handle>()({index, 1}) % 1024);
    EXPECT_GT(buckets.size(), 512u) << "even if all generations are equal";
}
} // namespace
