// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/objects/place_table.hpp>
#include <memory_pool/core/objects/local_places.hpp>
#include <memory_pool/core/objects/shared_places.hpp>

#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <set>
#include <type_traits>
#include <vector>

namespace core = memory_pool::detail::core;

namespace {
using small_table = core::place_table<std::uint64_t, 2>;

TEST(place_table, has_distinct_places_that_never_move)
{
    test::accounting_upstream upstream;
    {
        core::place_table<std::uint64_t> table(&upstream);
        std::set<std::uint64_t*> places;
        std::vector<std::uint64_t*> in_order;
        std::uint32_t index = 0;
        for (std::size_t i = 0; i != 5000; ++i, index = table.after(index)) {
            if (table.find(index) == nullptr) {
                EXPECT_EQ(table.capacity(), i) << "skips no place";
                EXPECT_TRUE(table.grow());
            }
            EXPECT_EQ(table.at(index), 0u);
            EXPECT_TRUE(places.insert(&table.at(index)).second);
            in_order.push_back(&table.at(index));
        }
        index = 0;
        for (std::uint64_t* const place : in_order) {
            ASSERT_EQ(table.find(index), place);
            index = table.after(index);
        }
        EXPECT_EQ(table.bytes(), upstream.live_bytes());
    }
    EXPECT_EQ(upstream.live_bytes(), 0u);
    EXPECT_EQ(upstream.mismatched(), 0u);
}

TEST(place_table, walks_in_index_order_up_to_any_end)
{
    core::place_table<std::uint64_t> table(std::pmr::get_default_resource());
    core::place_table<std::uint64_t>::walk none_yet;
    EXPECT_EQ(none_yet.index(), table.none);
    EXPECT_FALSE(none_yet.next(table, 0)) << "no place yet";
    while (table.capacity() < 64 + 128 + 256)
        EXPECT_TRUE(table.grow());
    std::uint32_t end = 0;
    for (std::size_t length = 0; length != table.capacity() + 1; ++length, end = table.after(end)) {
        core::place_table<std::uint64_t>::walk walk;
        std::uint32_t index = 0;
        for (std::size_t i = 0; i != length; ++i, index = table.after(index)) {
            ASSERT_TRUE(walk.next(table, end));
            ASSERT_EQ(walk.index(), index);
            ASSERT_EQ(&walk.place(), &table.at(index));
        }
        ASSERT_FALSE(walk.next(table, end)) << length;
    }
}

TEST(place_table, continues_a_walk_after_growth)
{
    core::place_table<std::uint64_t> table(std::pmr::get_default_resource());
    EXPECT_TRUE(table.grow());
    core::place_table<std::uint64_t>::walk walk;
    for (std::size_t i = 0; i != 64; ++i)
        ASSERT_TRUE(walk.next(table, 1));
    EXPECT_TRUE(table.grow());
    EXPECT_TRUE(walk.next(table, 1 + 32));
    EXPECT_EQ(&walk.place(), table.find(1));
    EXPECT_FALSE(walk.next(table, 1 + 32));
}

TEST(place_table, cannot_grow_beyond_max_capacity)
{
    small_table table(std::pmr::get_default_resource());
    EXPECT_TRUE(table.grow());
    EXPECT_TRUE(table.grow());
    EXPECT_EQ(table.capacity(), small_table::max_capacity());
    EXPECT_FALSE(table.grow());
    EXPECT_EQ(table.capacity(), 64u + 128u);
}

TEST(place_table, finds_nothing_for_an_invalid_index)
{
    small_table table(std::pmr::get_default_resource());
    EXPECT_EQ(table.find(0), nullptr);
    EXPECT_TRUE(table.grow());
    EXPECT_NE(table.find(0), nullptr);
    EXPECT_NE(table.find(63 * 32), nullptr);
    EXPECT_EQ(table.find(64 * 32), nullptr) << "past the end of its chunk";
    for (std::uint32_t chunk = 1; chunk != 32; ++chunk)
        EXPECT_EQ(table.find(chunk), nullptr);
    EXPECT_EQ(table.find(small_table::none), nullptr);
}

TEST(place_table, is_unchanged_when_upstream_fails)
{
    test::accounting_upstream upstream;
    small_table table(&upstream);
    upstream.fail_always();
    EXPECT_THROW((void)table.grow(), std::bad_alloc);
    EXPECT_EQ(table.capacity(), 0u);
    upstream.never_fail();
    EXPECT_TRUE(table.grow());
    EXPECT_NE(table.find(0), nullptr);
}

TEST(place_table, falls_back_to_smaller_chunks)
{
    test::accounting_upstream upstream;
    {
        core::place_table<std::uint64_t> table(&upstream);
        EXPECT_TRUE(table.grow());
        upstream.allow_chunks_of_at_most(60 * sizeof(std::uint64_t));
        EXPECT_TRUE(table.grow());
        EXPECT_EQ(table.capacity(), 64u + 32u) << "after trying 128 and 64 places";
        upstream.allow_chunks_of_at_most(31 * sizeof(std::uint64_t));
        EXPECT_THROW((void)table.grow(), std::bad_alloc) << "at least an eighth of the full chunk";
        upstream.allow_chunks_of_at_most(100'000);
        EXPECT_TRUE(table.grow());
        EXPECT_EQ(table.capacity(), 64u + 32u + 256u);

        std::set<std::uint64_t*> places;
        core::place_table<std::uint64_t>::walk walk;
        std::uint32_t index = 0;
        for (std::size_t i = 0; i != table.capacity(); ++i, index = table.after(index)) {
            ASSERT_TRUE(walk.next(table, 3)) << "the index of the first place of the next chunk";
            ASSERT_EQ(&walk.place(), table.find(index));
            places.insert(&walk.place());
        }
        EXPECT_EQ(index, 3u);
        EXPECT_FALSE(walk.next(table, 3));
        EXPECT_EQ(places.size(), table.capacity());
        EXPECT_EQ(table.find(32 * 32 + 1), nullptr) << "past the end of the smaller chunk";
        EXPECT_EQ(table.bytes(), upstream.live_bytes());
    }
    EXPECT_EQ(upstream.live_bytes(), 0u);
    EXPECT_EQ(upstream.mismatched(), 0u);
}

template <class Places>
class places : public testing::Test
{
protected:
    std::uint32_t take()
    {
        std::uint32_t index = small_table::none;
        EXPECT_NE(places_.take(index, nullptr, [this](auto&& need) { return !need() || places_.grow(); }), nullptr);
        return index;
    }

    Places places_{std::pmr::get_default_resource()};
    int object_ = 0;
};
using kinds = testing::Types<core::local_places, core::shared_places>;
TYPED_TEST_SUITE(places, kinds, );

TYPED_TEST(places, are_retired_after_the_last_generation)
{
    const std::uint32_t index = this->take();
    EXPECT_EQ(index, 0u);
    auto& place = this->places_.at(index);
    // The state after 2^31 - 2 objects.
    if constexpr (std::is_same_v<TypeParam, core::local_places>)
        place.generation = core::retired_generation - 2;
    else
        place.word = core::retired_generation - 2;
    const core::generation_type last = this->places_.begin(place, &this->object_);
    EXPECT_EQ(last, 0xffff'fffd);
    EXPECT_EQ(this->places_.find(index, last), &this->object_);
    void* object = nullptr;
    EXPECT_EQ(this->places_.end_object(index, last, object), &place);
    EXPECT_EQ(object, &this->object_);
    this->places_.put_back(place, index, nullptr);
    EXPECT_EQ(this->places_.find(index, last), nullptr);
    EXPECT_TRUE(this->places_.verify(0));

    EXPECT_NE(this->take(), index);
    this->places_.reset();
    EXPECT_NE(this->take(), index) << "even when all places are free";
    EXPECT_EQ(this->places_.generation(index), core::retired_generation);
}

TYPED_TEST(places, return_nullptr_when_exhausted)
{
    std::uint32_t index = 0;
    EXPECT_EQ(this->places_.take(index, nullptr, [](auto&&) { return false; }), nullptr);
}
} // namespace
