// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/allocator.hpp>
#include <memory_pool/concurrent_object_pool.hpp>
#include <memory_pool/object_pool.hpp>

#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace mp = memory_pool;

namespace {
struct shape
{
    shape() = default;
    shape(const shape&) = delete;
    shape& operator=(const shape&) = delete;
    virtual ~shape() { ++destroyed; }
    virtual int corners() const = 0;

    static inline int destroyed = 0;
};

struct named
{
    int id = 7;
    virtual ~named() = default;
};

struct square : shape
{
    int corners() const override { return 4; }
};

/// The base is not at the beginning of the object.
struct triangle : named, shape
{
    explicit triangle(int side_length) : side(side_length) {}
    int corners() const override { return 3; }
    int side;
};

using owner = std::unique_ptr<shape, mp::polymorphic_deleter>;

TEST(polymorphic_deleter, deletes_objects_of_any_pool_and_resource_through_a_base)
{
    shape::destroyed = 0;
    test::accounting_upstream upstream;
    mp::object_pool<square> squares;
    mp::concurrent_object_pool<triangle, mp::checking_policy> triangles;
    {
        std::vector<owner> shapes;
        shapes.push_back(squares.make_unique());
        shapes.push_back(triangles.make_unique(3));
        shapes.push_back(mp::allocate_unique<triangle>(upstream, 5));
        shapes.emplace_back();
        EXPECT_EQ(shapes[0]->corners() + shapes[1]->corners() + shapes[2]->corners(), 10);
        EXPECT_NE(static_cast<void*>(shapes[1].get()), dynamic_cast<void*>(shapes[1].get()));
        EXPECT_EQ(squares.in_use() + triangles.in_use() + upstream.live_chunks(), 3u);
        shapes[0] = std::move(shapes[1]);
        EXPECT_EQ(shape::destroyed, 1);
        EXPECT_EQ(squares.in_use(), 0u);
    }
    EXPECT_EQ(shape::destroyed, 3);
    EXPECT_EQ(triangles.in_use() + upstream.live_chunks() + upstream.mismatched(), 0u);
}

TEST(polymorphic_deleter, deletes_objects_through_a_constant_base)
{
    mp::object_pool<triangle> pool;
    const std::unique_ptr<const named, mp::polymorphic_deleter> constant = pool.make_unique(3);
    EXPECT_EQ(constant->id, 7);
    EXPECT_EQ(pool.in_use(), 1u);
}

TEST(polymorphic_deleter, converts_implicitly_from_deleters_only)
{
    using of_pool = mp::object_pool<square>::unique_ptr;
    EXPECT_TRUE((std::is_nothrow_constructible_v<owner, of_pool&&>));
    EXPECT_TRUE((std::is_convertible_v<of_pool&&, owner>));
    EXPECT_FALSE((std::is_constructible_v<of_pool, owner&&>)) << "there is no conversion back";
    EXPECT_FALSE((std::is_constructible_v<owner, std::unique_ptr<square>&&>));
    EXPECT_EQ(sizeof(owner), 3 * sizeof(void*));
}
} // namespace
