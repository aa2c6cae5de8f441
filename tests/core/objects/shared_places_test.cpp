// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// place_table_test.cpp tests the behavior that shared and local places have in common.
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
/// Records whether it is alive and how often it was destroyed.
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

    void* find(handle key) const { return places_.find(key.index, key.generation); }

    void destroy(core::shared_place& place, std::uint32_t index, void* ended)
    {
        auto& object = *static_cast<object_of_test*>(ended);
        object.is_alive = false;
        ++object.ends;
        places_.put_back(place, index, ended);
    }

    /// Returns whether the object was alive.
    bool end(handle key)
    {
        void* object = nullptr;
        core::shared_place* const place = places_.end_object(key.index, key.generation, object);
        if (place != nullptr && object != nullptr)
            destroy(*place, key.index, object);
        return place != nullptr;
    }

    template <class Use>
    bool visit(handle key, Use&& use)
    {
        return places_.visit(key.index, key.generation, use,
                             [&](core::shared_place& place, void* object) { this->destroy(place, key.index, object); });
    }

    test::accounting_upstream upstream_;
    core::shared_places places_{&upstream_};
    std::mutex growth_;
    std::array<object_of_test, 500> objects_;
};

TEST_F(shared_places, find_only_live_objects)
{
    const handle key = make(objects_[0]);
    EXPECT_EQ(find(key), &objects_[0]);
    EXPECT_FALSE(end({key.index, key.generation + 1}));
    EXPECT_TRUE(end(key));
    EXPECT_EQ(objects_[0].ends, 1);
    EXPECT_FALSE(end(key));
    EXPECT_FALSE(end({key.index, key.generation + 1})) << "no object has an even generation";
    EXPECT_FALSE(visit(key, [](void*) { FAIL(); }));
    EXPECT_EQ(find(key), nullptr);
    const handle next = make(objects_[0]);
    EXPECT_EQ(next.index, key.index);
    EXPECT_EQ(next.generation, key.generation + 2);
    EXPECT_TRUE(places_.verify(1));
}

TEST_F(shared_places, let_the_last_visitor_destroy_the_object)
{
    const handle key = make(objects_[0]);
    EXPECT_TRUE(visit(key, [&](void* object) {
        EXPECT_EQ(object, &objects_[0]);
        EXPECT_TRUE(visit(key, [&](void*) {
            EXPECT_TRUE(end(key));
            EXPECT_EQ(find(key), nullptr) << "its handle is stale";
            EXPECT_FALSE(visit(key, [](void*) { FAIL(); }));
            EXPECT_TRUE(objects_[0].is_alive);
        }));
        EXPECT_TRUE(objects_[0].is_alive) << "the outer visitor still uses it";
        EXPECT_FALSE(places_.verify(0));
    }));
    EXPECT_EQ(objects_[0].ends, 1);
    EXPECT_TRUE(places_.verify(0));
}

TEST_F(shared_places, survive_a_throwing_visitor)
{
    const handle key = make(objects_[0]);
    EXPECT_THROW((void)visit(key, [](void*) { throw std::runtime_error("visitor"); }), std::runtime_error);
    EXPECT_TRUE(objects_[0].is_alive);
    EXPECT_TRUE(places_.verify(1));
    const auto end_and_throw = [&](void*) {
        EXPECT_TRUE(end(key));
        throw std::runtime_error("visitor");
    };
    EXPECT_THROW((void)visit(key, end_and_throw), std::runtime_error);
    EXPECT_EQ(objects_[0].ends, 1);
    EXPECT_TRUE(places_.verify(0));
}

TEST_F(shared_places, return_nullptr_without_growth)
{
    std::uint32_t index = 0;
    EXPECT_EQ(places_.take(index, nullptr, [](auto&& is_needed) { return !is_needed(); }), nullptr);
    upstream_.fail_always();
    EXPECT_THROW((void)take(index, nullptr), std::bad_alloc);
    EXPECT_TRUE(places_.verify(0));
    upstream_.never_fail();
    EXPECT_EQ(make(objects_[0]).index, 0U);
}

TEST_F(shared_places, reset_invalidates_all_handles)
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
    EXPECT_EQ(make(objects_[0]).index, 0U) << "in the order of indices";
}

TEST_F(shared_places, destroy_each_object_once_under_contention)
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
    EXPECT_EQ(found_alive, objects_.size()) << "exactly one thread per object";
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
