// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Tests that type traits agree with the compiler. static_checks.cmake tests the messages of the compiler.
#include <memory_pool/base/static_checks.hpp>

#include <memory_pool/arena_resource.hpp>
#include <memory_pool/block_resource.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/concurrent_handle_pool.hpp>
#include <memory_pool/concurrent_object_pool.hpp>
#include <memory_pool/handle_pool.hpp>
#include <memory_pool/object_pool.hpp>
#include <memory_pool/page_resource.hpp>
#include <memory_pool/pool_resource.hpp>
#include <memory_pool/resource_adaptors.hpp>
#include <memory_pool/shared_pool.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <iterator>
#include <map>
#include <memory_resource>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {
using namespace memory_pool;

using pools_of_objects =
    ::testing::Types<object_pool<int>, concurrent_object_pool<int>, handle_pool<int>, concurrent_handle_pool<int>,
                     shared_pool<int>, unsynchronized_shared_pool<int>, recycling_shared_pool<int>>;

template <class Pool>
class traits_of_pools : public ::testing::Test
{
};
TYPED_TEST_SUITE(traits_of_pools, pools_of_objects, );

TYPED_TEST(traits_of_pools, are_true_for_the_arguments_of_a_constructor)
{
    EXPECT_TRUE((std::is_constructible_v<TypeParam>));
    EXPECT_TRUE((std::is_constructible_v<TypeParam, pool_options>));
    EXPECT_TRUE((std::is_constructible_v<TypeParam, const pool_options&, std::pmr::memory_resource*>));
    EXPECT_TRUE((std::is_constructible_v<TypeParam, pool_options, unsynchronized_arena_resource*>));
    EXPECT_TRUE((std::is_constructible_v<TypeParam, std::pmr::memory_resource*>));
    EXPECT_TRUE((std::is_constructible_v<TypeParam, unsynchronized_arena_resource*>));
}

TYPED_TEST(traits_of_pools, are_false_for_wrong_arguments)
{
    EXPECT_FALSE((std::is_constructible_v<TypeParam, int>));
    EXPECT_FALSE((std::is_constructible_v<TypeParam, std::string>));
    EXPECT_FALSE((std::is_constructible_v<TypeParam, const char*>));
    EXPECT_FALSE((std::is_constructible_v<TypeParam, std::nullptr_t>));
    EXPECT_FALSE((std::is_constructible_v<TypeParam, int, int>));
    EXPECT_FALSE((std::is_constructible_v<TypeParam, arena_options>));
    EXPECT_FALSE((std::is_constructible_v<TypeParam, pool_options, std::string>));
    EXPECT_FALSE((std::is_constructible_v<TypeParam, std::pmr::memory_resource*, pool_options>));
    EXPECT_FALSE((std::is_constructible_v<TypeParam, int, std::pmr::memory_resource*>));
    EXPECT_FALSE((std::is_constructible_v<TypeParam, unsynchronized_arena_resource&>));
    EXPECT_FALSE((std::is_convertible_v<int, TypeParam>));
}

TEST(traits_of_recycling_pools, are_true_for_an_action_before_the_options)
{
    using pool = recycling_shared_pool<int>;
    const auto action = [](int&) {};
    EXPECT_TRUE((std::is_constructible_v<pool, recycle>));
    EXPECT_TRUE((std::is_constructible_v<pool, decltype(action)>));
    EXPECT_TRUE((std::is_constructible_v<pool, recycle, pool_options, std::pmr::memory_resource*>));
    EXPECT_TRUE((std::is_constructible_v<pool, recycle, std::pmr::memory_resource*>));
    EXPECT_FALSE((std::is_constructible_v<pool, recycle, std::string>));
    EXPECT_FALSE((std::is_constructible_v<pool, std::pmr::memory_resource*, recycle>));
}

TEST(traits_of_block_pools, are_true_for_a_block_size_before_the_options)
{
    EXPECT_TRUE((std::is_constructible_v<block_pool, std::size_t>));
    EXPECT_TRUE((std::is_constructible_v<block_pool, int, pool_options>));
    EXPECT_TRUE((std::is_constructible_v<concurrent_block_pool, int, pool_options, std::pmr::memory_resource*>));
    EXPECT_TRUE((std::is_constructible_v<concurrent_block_pool, int, unsynchronized_arena_resource*>));
    EXPECT_FALSE((std::is_constructible_v<block_pool, int, int>));
    EXPECT_FALSE((std::is_constructible_v<block_pool, int, std::string>));
    EXPECT_FALSE((std::is_constructible_v<concurrent_block_pool, int, std::nullptr_t>));
    EXPECT_FALSE((std::is_constructible_v<concurrent_block_pool, int, pool_options, std::string>));
    EXPECT_FALSE((std::is_constructible_v<block_pool, std::string>));
}

TEST(traits_of_resources, are_true_for_the_options_of_the_resource_only)
{
    EXPECT_TRUE((std::is_constructible_v<unsynchronized_arena_resource, arena_options, std::pmr::memory_resource*>));
    EXPECT_TRUE((std::is_constructible_v<synchronized_arena_resource, synchronized_pool_resource*>));
    EXPECT_FALSE((std::is_constructible_v<unsynchronized_arena_resource, int>));
    EXPECT_FALSE((std::is_constructible_v<unsynchronized_arena_resource, int, int>));
    EXPECT_FALSE((std::is_constructible_v<synchronized_arena_resource, pool_options>));
    EXPECT_TRUE((std::is_constructible_v<unsynchronized_pool_resource, std::pmr::pool_options>));
    EXPECT_TRUE((std::is_constructible_v<synchronized_pool_resource, std::pmr::pool_options, std::pmr::memory_resource*,
                                         const char*>));
    EXPECT_FALSE((std::is_constructible_v<unsynchronized_pool_resource, int>));
    EXPECT_FALSE((std::is_constructible_v<synchronized_pool_resource, pool_options>));
    EXPECT_FALSE((std::is_constructible_v<synchronized_pool_resource, std::pmr::pool_options, int>));
}

template <class Pool>
class traits_of_immovable_types : public ::testing::Test
{
};
using immovable_types =
    ::testing::Types<object_pool<int>, concurrent_object_pool<int>, handle_pool<int>, concurrent_handle_pool<int>,
                     block_pool, concurrent_block_pool, unsynchronized_arena_resource, synchronized_pool_resource>;
TYPED_TEST_SUITE(traits_of_immovable_types, immovable_types, );

TYPED_TEST(traits_of_immovable_types, are_false_for_copies_and_moves)
{
    EXPECT_FALSE(std::is_copy_constructible_v<TypeParam>);
    EXPECT_FALSE(std::is_move_constructible_v<TypeParam>);
    EXPECT_FALSE(std::is_copy_assignable_v<TypeParam>);
    EXPECT_FALSE(std::is_move_assignable_v<TypeParam>);
}

template <class Pool, class = void>
inline constexpr bool has_begin = false;
template <class Pool>
inline constexpr bool has_begin<Pool, std::void_t<decltype(std::begin(std::declval<Pool&>()))>> = true;

TEST(traits_of_ranges, are_true_for_pools_of_one_thread_only)
{
    EXPECT_TRUE(has_begin<object_pool<int>>);
    EXPECT_TRUE(has_begin<const object_pool<int>>);
    EXPECT_TRUE(has_begin<handle_pool<int>>);
    EXPECT_FALSE(has_begin<concurrent_object_pool<int>>);
    EXPECT_FALSE(has_begin<const concurrent_object_pool<int>>);
    EXPECT_FALSE(has_begin<concurrent_handle_pool<int>>);
}

template <class Resource>
class traits_of_containers : public ::testing::Test
{
};
using resources =
    ::testing::Types<unsynchronized_arena_resource, synchronized_arena_resource, unsynchronized_pool_resource,
                     synchronized_pool_resource, block_resource<block_pool>, limit_resource, page_resource>;
TYPED_TEST_SUITE(traits_of_containers, resources, );

TYPED_TEST(traits_of_containers, are_true_for_the_address_of_a_resource_only)
{
    EXPECT_TRUE((std::is_constructible_v<std::pmr::vector<int>, TypeParam*>));
    EXPECT_TRUE((std::is_constructible_v<std::pmr::string, TypeParam*>));
    EXPECT_FALSE((std::is_constructible_v<std::pmr::vector<int>, TypeParam&>));
    EXPECT_FALSE((std::is_constructible_v<std::pmr::vector<int>, int, TypeParam&>));
    EXPECT_FALSE((std::is_constructible_v<std::pmr::string, TypeParam&>));
    EXPECT_FALSE((std::is_constructible_v<std::pmr::map<int, int>, TypeParam&>));
    EXPECT_FALSE((std::is_convertible_v<TypeParam&, std::pmr::polymorphic_allocator<int>>));
}
} // namespace
