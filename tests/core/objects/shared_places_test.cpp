// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// place_table_test.cpp tests what these places have in common with those for one thread.
#include <memory_pool/core/objects/shared_places.hpp>

#include <memory_pool/core/objects/place_table.hpp>

#include <support/threads.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <stdexcept>
#include <vector>

namespace core = memory_pool::detail::core;

namespace {
/// Knows whether it is alive, and how often it was destroyed.
struct object_of_test
{
    std::atomic<bool> is_alive{true};
    std::atomic<int> ends{0};
};

class shared_places : public testing::Test
{
protected:
    struct handle
    {
        std::uint32_t index;
        core::generation_type generation;
    };

    core::shared_place* take(std::uint32_t& index, const void* block)
    {
        return places_.take(index, block, [this](auto&& is_needed) {
            const std::lock_guard<std::mutex> lock(growth_);
            return !is_needed() || places_.grow();
        });
    }

    handle make(object_of_test& object)
    {
        std::uint32_t index = 0;
        core::shared_place* const place = take(index, &object);
        return {index, core::shared_places::begin(*place, &object)};
    }

    void* find(handle its) const { return places_.find(its.index, its.generation); }

    void destroy(core::shared_place& place, std::uint32_t index, void* ended)
    {
        auto& object = *static_cast<object_of_test*>(ended);
        object.is_alive = false;
        ++object.ends;
        places_.put_back(place, index, ended);
    }

    /// Returns: whether it was alive.
    bool end(handle its)
    {
        void* object = nullptr;
        core::shared_place* const place = places_.end_object(its.index, its.generation, object);
        if (place != nullptr && object != nullptr)
            destroy(*place, its.index, object);
        return place != nullptr;
    }

    template <class Use>
    bool visit(handle its, Use&& use)
    {
        return places_.visit(its.index, its.generation, use,
                             [&](core::shared_place& place, void* object) { this->destroy(place, its.index, object); });
    }

    test::accounting_upstream upstream_;
    core::shared_places places_{&upstream_};
    std::mutex growth_;
    std::array<object_of_test, 500> objects_;
};

TEST_F(shared_places, find_an_object_as_long_as_it_is_alive)
{
    const handle its = make(objects_[0]);
    EXPECT_EQ(find(its), &objects_[0]);
    EXPECT_FALSE(end({its.index, its.generation + 1}));
    EXPECT_TRUE(end(its));
    EXPECT_EQ(objects_[0].ends, 1);
    EXPECT_FALSE(end(its));
    EXPECT_FALSE(end({its.index, its.generation + 1})) << "an even generation is of no object";
    EXPECT_FALSE(visit(its, [](void*) { FAIL(); }));
    EXPECT_EQ(find(its), nullptr);
    const handle next = make(objects_[0]);
    EXPECT_EQ(next.index, its.index);
    EXPECT_EQ(next.generation, its.generation + 2);
    EXPECT_TRUE(places_.verify(1));
}

TEST_F(shared_places, have_the_last_visitor_destroy_an_object)
{
    const handle its = make(objects_[0]);
    EXPECT_TRUE(visit(its, [&](void* object) {
        EXPECT_EQ(object, &objects_[0]);
        EXPECT_TRUE(visit(its, [&](void*) {
            EXPECT_TRUE(end(its));
            EXPECT_EQ(find(its), nullptr) << "its handles are stale";
            EXPECT_FALSE(visit(its, [](void*) { FAIL(); }));
            EXPECT_TRUE(objects_[0].is_alive);
        }));
        EXPECT_TRUE(objects_[0].is_alive) << "there is another visitor";
        EXPECT_FALSE(places_.verify(0));
    }));
    EXPECT_EQ(objects_[0].ends, 1);
    EXPECT_TRUE(places_.verify(0));
}

TEST_F(shared_places, let_a_visitor_go_that_throws)
{
    const handle its = make(objects_[0]);
    EXPECT_THROW((void)visit(its, [](void*) { throw std::runtime_error("visitor"); }), std::runtime_error);
    EXPECT_TRUE(objects_[0].is_alive);
    EXPECT_TRUE(places_.verify(1));
    const auto end_and_throw = [&](void*) {
        EXPECT_TRUE(end(its));
        throw std::runtime_error("visitor");
    };
    EXPECT_THROW((void)visit(its, end_and_throw), std::runtime_error);
    EXPECT_EQ(objects_[0].ends, 1);
    EXPECT_TRUE(places_.verify(0));
}

TEST_F(shared_places, take_none_without_growth_and_change_nothing_without_memory)
{
    std::uint32_t index = 0;
    EXPECT_EQ(places_.take(index, nullptr, [](auto&& is_needed) { return !is_needed(); }), nullptr);
    upstream_.fail_always();
    EXPECT_THROW((void)take(index, nullptr), std::bad_alloc);
    EXPECT_TRUE(places_.verify(0));
    upstream_.never_fail();
    EXPECT_EQ(make(objects_[0]).index, 0U);
}

TEST_F(shared_places, forget_all_objects)
{
    std::vector<handle> handles;
    handles.reserve(objects_.size());
    for (object_of_test& each : objects_)
        handles.push_back(make(each));
    EXPECT_TRUE(places_.end_object_later(handles[7].index, handles[7].generation));
    EXPECT_FALSE(places_.end_object_later(handles[7].index, handles[7].generation));
    EXPECT_EQ(core::shared_places::take_object(places_.at(handles[7].index)), &objects_[7]);
    places_.reset();
    for (const handle each : handles)
        EXPECT_EQ(find(each), nullptr);
    EXPECT_TRUE(places_.verify(0));
    EXPECT_EQ(make(objects_[0]).index, 0U) << "in the order of their numbers";
}

TEST_F(shared_places, destroy_each_object_once_while_threads_visit_and_destroy_it)
{
    std::vector<handle> handles;
    handles.reserve(objects_.size());
    for (object_of_test& each : objects_)
        handles.push_back(make(each));
    std::atomic<std::size_t> found_alive{0};
    test::in_threads(4, [&](std::size_t) {
        for (const handle each : handles) {
            (void)visit(each, [](void* object) { EXPECT_TRUE(static_cast<object_of_test*>(object)->is_alive); });
            found_alive += end(each) ? 1U : 0U;
        }
    });
    EXPECT_EQ(found_alive, objects_.size()) << "one thread for each";
    for (const object_of_test& each : objects_)
        EXPECT_EQ(each.ends, 1);
    EXPECT_TRUE(places_.verify(0));
}

TEST_F(shared_places, give_no_place_to_two_threads)
{
    constexpr std::size_t each_thread = 100;
    test::in_threads(4, [&](std::size_t thread) {
        for (int round = 0; round != 20; ++round) {
            std::vector<handle> mine;
            for (std::size_t i = 0; i != each_thread; ++i)
                mine.push_back(make(objects_[thread * each_thread + i]));
            for (std::size_t i = 0; i != each_thread; ++i) {
                ASSERT_EQ(find(mine[i]), &objects_[thread * each_thread + i]);
                EXPECT_TRUE(end(mine[i]));
            }
        }
    });
    EXPECT_TRUE(places_.verify(0));
}
} // namespace
