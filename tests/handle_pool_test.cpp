// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// basic_handle_pool_test.cpp tests the interface that it shares with concurrent_handle_pool.
#include <memory_pool/handle_pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

namespace mp = memory_pool;

namespace {
using pool_type = mp::handle_pool<int>;
static_assert(std::is_same_v<std::iterator_traits<pool_type::iterator>::iterator_category, std::forward_iterator_tag>);
static_assert(std::is_same_v<std::iterator_traits<pool_type::const_iterator>::reference, const int&>);
static_assert(std::is_convertible_v<pool_type::iterator, pool_type::const_iterator>);
static_assert(!std::is_convertible_v<pool_type::const_iterator, pool_type::iterator>);

std::vector<pool_type::handle> fill(pool_type& pool, int count)
{
    std::vector<pool_type::handle> handles;
    for (int i = 0; i != count; ++i)
        handles.push_back(pool.create(i));
    return handles;
}

TEST(handle_pool, is_a_range_of_live_objects)
{
    pool_type pool;
    EXPECT_EQ(pool.begin(), pool.end());
    const std::vector<pool_type::handle> handles = fill(pool, 1000);
    for (std::size_t i = 0; i < handles.size(); i += 3)
        EXPECT_TRUE(pool.destroy(handles[i]));
    EXPECT_EQ(std::accumulate(pool.begin(), pool.end(), 0), 999 * 1000 / 2 - 3 * 333 * 334 / 2);
    const pool_type& constant = pool;
    EXPECT_EQ(std::distance(constant.begin(), constant.end()), 666);
    EXPECT_EQ(constant.cbegin(), pool.begin());
    EXPECT_EQ(std::count_if(pool.begin(), pool.end(), [](int number) { return number % 2 == 0; }), 333);
    for (int& each : pool)
        each = 7;
    EXPECT_EQ(*pool.get(handles[1]), 7);
    pool.clear();
    EXPECT_EQ(pool.begin(), pool.end());
}

TEST(handle_pool, has_iterators_that_return_the_handle)
{
    pool_type pool;
    const std::vector<pool_type::handle> handles = fill(pool, 200);
    std::size_t next = 0;
    for (auto each = pool.begin(); each != pool.end(); ++each)
        EXPECT_EQ(each.handle(), handles[next++]) << "in the order of slots";
    EXPECT_EQ(next, handles.size());
}

TEST(handle_pool, erases_during_iteration)
{
    pool_type pool;
    const std::vector<pool_type::handle> handles = fill(pool, 1000);
    for (auto each = pool.begin(); each != pool.end();)
        each = *each % 2 == 0 ? pool.erase(each) : std::next(each);
    EXPECT_EQ(pool.size(), 500u);
    for (std::size_t i = 0; i != handles.size(); ++i)
        EXPECT_EQ(pool.contains(handles[i]), i % 2 == 1);
}

TEST(handle_pool, keeps_iterators_valid_when_other_objects_are_created_and_destroyed)
{
    pool_type pool;
    const std::vector<pool_type::handle> handles = fill(pool, 10);
    auto each = pool.begin();
    EXPECT_TRUE(pool.destroy(handles[1]));
    for (int i = 0; i != 500; ++i)
        (void)pool.create(100);
    EXPECT_EQ(*each, 0);
    EXPECT_EQ(*++each, 100) << "in the slot of 1";
    EXPECT_EQ(std::distance(pool.begin(), pool.end()), 509);
}

TEST(handle_pool, reuses_the_first_slots_after_clear)
{
    pool_type pool;
    (void)fill(pool, 10'000);
    pool.clear();
    const auto first = pool.create(1);
    EXPECT_EQ(first.index, 0u) << "so that iteration does not visit all slots that were ever used";
    EXPECT_EQ(std::distance(pool.begin(), pool.end()), 1);
}

/// Its destructor erases the next object.
struct erases_next
{
    mp::handle_pool<erases_next>* pool;
    mp::handle_pool<erases_next>::handle next;
    ~erases_next() { (void)pool->destroy(next); }
};

TEST(handle_pool, continues_after_a_destructor_that_destroys_the_next_object)
{
    mp::handle_pool<erases_next> pool;
    std::vector<mp::handle_pool<erases_next>::handle> handles;
    for (int i = 0; i != 3; ++i)
        handles.push_back(pool.create(&pool, mp::handle_pool<erases_next>::handle{}));
    pool.get(handles[0])->next = handles[1];
    EXPECT_EQ(pool.erase(pool.begin()).handle(), handles[2]);
    EXPECT_EQ(pool.size(), 1u);
}
} // namespace
