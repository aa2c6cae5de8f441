// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// place_table_test.cpp tests what these places have in common with shared ones.
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

    void* find(handle its) const { return places_.find(its.index, its.generation); }

    bool end(handle its)
    {
        void* object = nullptr;
        core::local_place* const place = places_.end_object(its.index, its.generation, object);
        if (place == nullptr)
            return false;
        EXPECT_NE(object, nullptr) << "it is the caller's to destroy";
        places_.put_back(*place, its.index, object);
        return true;
    }

    test::accounting_upstream upstream_;
    core::local_places places_{&upstream_};
    std::array<int, 200> objects_{};
};

TEST_F(local_places, find_an_object_as_long_as_it_is_alive)
{
    const handle its = make(&objects_[0]);
    EXPECT_EQ(its.generation, 1U);
    EXPECT_EQ(find(its), &objects_[0]);
    EXPECT_EQ(find({its.index, its.generation + 1}), nullptr);
    EXPECT_EQ(find({its.index, 0}), nullptr);
    EXPECT_TRUE(end(its));
    EXPECT_FALSE(end(its));
    EXPECT_EQ(find(its), nullptr);
    EXPECT_FALSE(end({its.index, its.generation + 1})) << "an even generation is of no object";
    EXPECT_TRUE(places_.verify(0));
}

TEST_F(local_places, use_the_place_next_that_was_freed_last)
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

TEST_F(local_places, take_none_without_growth)
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
    EXPECT_EQ(make(&objects_[0]).generation, 1U) << "there was no object";
}

TEST_F(local_places, leave_an_object_to_whom_takes_all)
{
    const handle its = make(&objects_[0]);
    EXPECT_TRUE(places_.end_object_later(its.index, its.generation));
    EXPECT_FALSE(places_.end_object_later(its.index, its.generation));
    EXPECT_EQ(find(its), nullptr);
    core::local_place& place = places_.at(its.index);
    core::local_places::visit(place, [](void*) { FAIL(); }, [](auto&&...) {});
    EXPECT_EQ(core::local_places::take_object(place), &objects_[0]);
    EXPECT_EQ(places_.generation(its.index), its.generation + 1) << "counted once";
    places_.put_back(place, its.index, nullptr);
    EXPECT_TRUE(places_.verify(0));
}

TEST_F(local_places, walk_over_objects_that_are_alive)
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
    EXPECT_EQ(make(&objects_[0]).index, 0U) << "in the order of their numbers";
}
} // namespace
