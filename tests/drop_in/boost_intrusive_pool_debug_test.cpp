// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The debug macros of boost_intrusive_pool.hpp, defined before it is included.
#define BOOST_INTRUSIVE_POOL_DEFAULT_POOL_SIZE (5)
#define BOOST_INTRUSIVE_POOL_INCREASE_STEP (3)
#define BOOST_INTRUSIVE_POOL_DEBUG_CHECKS (1)
#define BOOST_INTRUSIVE_POOL_DEBUG_THREAD_ACCESS (1)
#define BOOST_INTRUSIVE_POOL_DEBUG_MAX_REFCOUNT (10)
#include <boost_intrusive_pool.hpp>

#include <support/error_recorder.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <thread>
#include <vector>

using memorypool::boost_intrusive_pool;

namespace {
class checked : public memorypool::boost_intrusive_pool_item
{
};

TEST(boost_intrusive_pool_debug, reports_nothing_for_a_consistent_pool)
{
    boost_intrusive_pool<checked> pool(4, 3, 0, memorypool::RECYCLE_METHOD_DESTROY_FUNCTION);
    EXPECT_TRUE(pool.check());
    std::vector<boost::intrusive_ptr<checked>> items;
    for (std::size_t i = 0; i != 50; ++i) {
        items.push_back(pool.allocate());
        if (i % 3 == 0)
            items.erase(items.begin());
        EXPECT_TRUE(pool.check());
        EXPECT_TRUE(items.empty() || items.back()->check());
    }
    pool.clear();
    EXPECT_TRUE(pool.check());
    items.clear();
}

TEST(boost_intrusive_pool_debug, takes_sizes_from_the_macros)
{
    boost_intrusive_pool<checked> pool;
    pool.init();
    EXPECT_EQ(pool.capacity(), 5u);
    std::vector<boost::intrusive_ptr<checked>> items;
    while (items.size() != 5)
        items.push_back(pool.allocate());
    EXPECT_EQ(pool.unused_count(), 3u);
}

TEST(boost_intrusive_pool_debug, checks_a_large_pool_in_constant_time)
{
    boost_intrusive_pool<checked> pool(64, 64);
    std::vector<boost::intrusive_ptr<checked>> items(200'000);
    for (auto& item : items) {
        item = pool.allocate();
        ASSERT_TRUE(pool.check());
    }
    EXPECT_TRUE(pool.verify());
    for (auto& item : items) {
        item.reset();
        ASSERT_TRUE(pool.check());
    }
    EXPECT_TRUE(pool.verify());
}

TEST(boost_intrusive_pool_debug, reports_an_item_that_returns_to_another_pool)
{
    boost_intrusive_pool<checked> pool(1);
    boost_intrusive_pool<checked> other(1);
    auto item = pool.allocate();
    const auto home = item->_refcounted_item_get_pool();
    item->_refcounted_item_set_pool(other.allocate()->_refcounted_item_get_pool());
    const test::error_recorder recorder;
    checked* const lost = item.get();
    item.reset();
    EXPECT_EQ(recorder.kinds(), test::kinds{memory_pool::error_kind::foreign_pointer});
    EXPECT_EQ(other.unused_count(), other.capacity());
    home->recycle(lost);
    EXPECT_EQ(pool.inuse_count(), 0u);
    EXPECT_TRUE(pool.check());
}

TEST(boost_intrusive_pool_debug, reports_more_pointers_than_the_maximum)
{
    boost_intrusive_pool<checked> pool(1);
    const test::error_recorder recorder;
    const auto first = pool.allocate();
    const std::vector<boost::intrusive_ptr<checked>> nine_more(9, first);
    EXPECT_EQ(recorder.reports().size(), 0u);
    const auto one_too_many = first;
    ASSERT_EQ(recorder.kinds(), test::kinds{memory_pool::error_kind::leak});
    EXPECT_NE(recorder.reports()[0].text.find("BOOST_INTRUSIVE_POOL_DEBUG_MAX_REFCOUNT\n  remedy: "),
              std::string::npos);
}

TEST(boost_intrusive_pool_debug, reports_use_by_another_thread_than_the_first)
{
    boost_intrusive_pool<checked> pool(4);
    boost::intrusive_ptr<checked> item;
    std::thread([&] { item = pool.allocate(); }).join(); // The first thread that uses the pool.
    const test::error_recorder recorder;
    item.reset();
    EXPECT_EQ(recorder.kinds(), test::kinds{memory_pool::error_kind::wrong_thread});
    pool.allocate();
    EXPECT_EQ(recorder.reports().size(), 3u) << "one for allocate, one for the return";
    pool.clear();
    EXPECT_EQ(recorder.reports().size(), 4u);
    EXPECT_NE(recorder.reports()[0].text.find("remedy: use one pool per thread"), std::string::npos);
    pool.allocate();
    EXPECT_EQ(recorder.reports().size(), 4u) << "the first after clear";
}

TEST(boost_intrusive_pool_debug, changes_no_layout)
{
    struct like_an_item
    {
        virtual ~like_an_item() = default;
        std::size_t count_and_state = 0;
        void* next = nullptr;
        void* pool = nullptr;
    };
    EXPECT_EQ(sizeof(checked), sizeof(like_an_item));
    EXPECT_EQ(sizeof(boost_intrusive_pool<checked>), 3 * sizeof(void*));
}
} // namespace
