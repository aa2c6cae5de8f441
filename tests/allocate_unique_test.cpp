// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/allocator.hpp>
#include <memory_pool/arena_resource.hpp>
#include <memory_pool/pool_resource.hpp>

#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace mp = memory_pool;

namespace {
struct alignas(128) wide
{
    explicit wide(int number, bool throws = false) : value(number)
    {
        if (throws)
            throw std::runtime_error("constructor");
        ++alive;
    }
    wide(const wide&) = delete;
    wide& operator=(const wide&) = delete;
    ~wide() { --alive; }

    static inline int alive = 0;
    int value;
};

struct aggregate
{
    int number;
    std::string text;
};

TEST(allocate_unique, destroys_the_object_and_frees_its_memory)
{
    test::accounting_upstream upstream;
    {
        auto object = mp::allocate_unique<wide>(upstream, 7);
        EXPECT_EQ(object->value, 7);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(object.get()) % alignof(wide), 0u);
        EXPECT_EQ(upstream.live_bytes(), sizeof(wide));
        EXPECT_EQ(object.get_deleter().resource(), &upstream);
        const auto moved = std::move(object);
        EXPECT_EQ(wide::alive, 1);
    }
    EXPECT_EQ(wide::alive, 0);
    EXPECT_EQ(upstream.live_bytes(), 0u);
    EXPECT_EQ(upstream.mismatched(), 0u);
}

TEST(allocate_unique, frees_the_memory_when_the_constructor_throws)
{
    test::accounting_upstream upstream;
    EXPECT_THROW((void)mp::allocate_unique<wide>(upstream, 7, true), std::runtime_error);
    EXPECT_EQ(upstream.calls(), 1u);
    EXPECT_EQ(upstream.live_bytes(), 0u);
    upstream.fail_always();
    EXPECT_THROW((void)mp::allocate_unique<wide>(upstream, 7), std::bad_alloc);
    EXPECT_EQ(wide::alive, 0);
}

TEST(allocate_unique, accepts_a_resource_of_any_type_by_reference_or_pointer)
{
    mp::unsynchronized_arena_resource arenas;
    mp::unsynchronized_pool_resource pools;
    std::pmr::memory_resource* const any = &pools;
    const auto in_arena = mp::allocate_unique<const aggregate>(arenas, 3, "a text");
    const auto in_pool = mp::allocate_unique<std::string>(&pools, std::size_t{40}, 'x');
    const std::unique_ptr<int, mp::resource_deleter<int>> in_any = mp::allocate_unique<int>(any, 42);
    EXPECT_EQ(in_arena->text, "a text");
    EXPECT_TRUE(arenas.owns(in_arena.get()));
    EXPECT_EQ(*in_pool, std::string(40, 'x'));
    EXPECT_TRUE(pools.owns(in_any.get()));
    EXPECT_TRUE((std::is_same_v<decltype(in_pool.get_deleter().resource()), mp::unsynchronized_pool_resource*>));
}

TEST(allocate_unique, returns_owners_that_may_be_empty)
{
    std::unique_ptr<int, mp::resource_deleter<int>> none;
    EXPECT_EQ(none, nullptr);
    none = mp::allocate_unique<int>(std::pmr::get_default_resource(), 3);
    EXPECT_EQ(*none, 3);
    EXPECT_EQ(sizeof(none), 2 * sizeof(void*));
}
} // namespace
