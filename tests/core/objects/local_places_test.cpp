// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// place_table_test.cpp tests the behavior that local and shared places have in common.
#include <memory_pool/core/objects/local_places.hpp>

#include <memory_pool/core/objects/place_table.hpp>

#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <set>
#include <vector>

namespace core = memory_pool::detail::core;

namespace {
class local_places : public testing::Test
{
protected:
    struct handle
    {
        std::uint32_t index;
        core::generation_type generation;
    };

    core::local_place* take(std::uint32_t& index)
    {
        return places_.take(index, nullptr, [this](auto&& is_needed) {
            while (is_needed())
                if (!places_.grow())
                    return false;
            return true;
        });
    }

    handle make(void* object)
    {
        std::uint32_t index = 0;
        core::local_place* const place = take(index);
        return {index, core::local_places::begin(*place, object)};
    }

    void* find(handle key) const { return places_.find(key.index, key.generation); }

    bool end(handle key)
    {
        void* object = nullptr;
        core::local_place* const place = places_.end_object(key.index, key.generation, object);
        if (place == nullptr)
            return false;
        EXPECT_NE(object, nullptr) << "the caller destroys it";
        places_.put_back(*place, key.index, object);
        return true;
    }

    test::accounting_upstream upstream_;
    core::local_places places_{&upstream_};
    std::array<int, 200> objects_{};
};

TEST_F(local_places, find_only_live_objects)
{
    const handle key = make(&objects_[0]);
    EXPECT_EQ(key.generation, 1U);
    EXPECT_EQ(find(key), &objects_[0]);
    EXPECT_EQ(find({key.index, key.generation + 1}), nullptr);
    EXPECT_EQ(find({key.index, 0}), nullptr);
    EXPECT_TRUE(end(key));
    EXPECT_FALSE(end(key));
    EXPECT_EQ(find(key), nullptr);
    EXPECT_FALSE(end({key.index, key.generation + 1})) << "no object has an even generation";
    EXPECT_TRUE(places_.verify(0));
}

TEST_F(local_places, reuse_the_place_freed_last)
{
    std::vector<handle> handles;
    handles.reserve(objects_.size());
    for (int& each : objects_)
        handles.push_back(make(&each));
    for (const std::size_t i : {std::size_t{30}, std::size_t{10}, std::size_t{20}})
        EXPECT_TRUE(end(handles[i]));
    for (const std::size_t i : {std::size_t{20}, std::size_t{10}, std::size_t{30}}) {
        const handle again = make(&objects_[i]);
        EXPECT_EQ(again.index, handles[i].index);
        EXPECT_EQ(again.generation, handles[i].generation + 2);
        EXPECT_EQ(find(handles[i]), nullptr);
    }
    EXPECT_TRUE(places_.verify(objects_.size()));
}

TEST_F(local_places, return_nullptr_without_growth)
{
    std::uint32_t index = 0;
    EXPECT_EQ(places_.take(index, nullptr, [](auto&& is_needed) { return !is_needed(); }), nullptr);
    upstream_.fail_always();
    EXPECT_THROW((void)take(index), std::bad_alloc);
    EXPECT_TRUE(places_.verify(0));
    upstream_.never_fail();
    EXPECT_EQ(make(&objects_[0]).index, 0U);
    EXPECT_TRUE(places_.verify(1));
}

TEST_F(local_places, hold_a_block_before_its_object_is_alive)
{
    std::uint32_t index = 0;
    core::local_place* const place = take(index);
    core::local_places::hold(*place, &objects_[5]);
    EXPECT_EQ(core::local_places::held(*place), &objects_[5]);
    EXPECT_EQ(find({index, 1}), nullptr);
    EXPECT_EQ(core::local_places::take_object(*place), &objects_[5]);
    EXPECT_EQ(core::local_places::take_object(*place), nullptr);
    places_.put_back(*place, index, nullptr);
    EXPECT_EQ(make(&objects_[0]).generation, 1U) << "no object has used the place";
}

TEST_F(local_places, hold_an_ended_object_until_it_is_taken)
{
    const handle key = make(&objects_[0]);
    EXPECT_TRUE(places_.end_object_later(key.index, key.generation));
    EXPECT_FALSE(places_.end_object_later(key.index, key.generation));
    EXPECT_EQ(find(key), nullptr);
    core::local_place& place = places_.at(key.index);
    core::local_places::visit(place, [](void*) { FAIL(); }, [](auto&&...) {});
    EXPECT_EQ(core::local_places::take_object(place), &objects_[0]);
    EXPECT_EQ(places_.generation(key.index), key.generation + 1) << "incremented once";
    places_.put_back(place, key.index, nullptr);
    EXPECT_TRUE(places_.verify(0));
}

TEST_F(local_places, walk_over_live_objects)
{
    std::vector<handle> handles;
    handles.reserve(objects_.size());
    for (int& each : objects_)
        handles.push_back(make(&each));
    std::set<void*> alive;
    for (std::size_t i = 0; i != objects_.size(); ++i)
        if (i % 3 == 0)
            EXPECT_TRUE(end(handles[i]));
        else
            alive.insert(&objects_[i]);
    std::set<void*> walked;
    core::local_places::walk all;
    while (all.next_alive(places_))
        core::local_places::visit(all.place(), [&](void* object) { walked.insert(object); }, [](auto&&...) {});
    EXPECT_EQ(walked, alive);
    places_.reset();
    EXPECT_FALSE(core::local_places::walk().next(places_));
    EXPECT_EQ(find(handles[1]), nullptr);
    EXPECT_TRUE(places_.verify(0));
    EXPECT_EQ(make(&objects_[0]).index, 0U) << "in the order of indices";
}
} // namespace
