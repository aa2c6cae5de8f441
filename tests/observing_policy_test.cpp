// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/policies.hpp>

#include <memory_pool/block_pool.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/concurrent_object_pool.hpp>
#include <memory_pool/object_pool.hpp>
#include <memory_pool/pool_resource.hpp>
#include <memory_pool/shared_pool.hpp>

#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace mp = memory_pool;

namespace {
/// Records the blocks in use of all pools, and fails if a block is allocated or freed twice.
struct observer
{
    static void allocated(const char* pool_name, const void* block, std::size_t bytes) noexcept
    {
        const std::lock_guard<std::mutex> lock(mutex);
        EXPECT_TRUE(blocks.emplace(block, bytes).second);
        last_name = pool_name;
    }

    static void freed(const char* pool_name, const void* block) noexcept
    {
        const std::lock_guard<std::mutex> lock(mutex);
        EXPECT_EQ(blocks.erase(block), 1u);
        last_name = pool_name;
    }

    static inline std::mutex mutex;
    static inline std::map<const void*, std::size_t> blocks;
    static inline std::string last_name;
};

using observed = mp::observing_policy<observer>;
using counted = mp::observing_policy<observer, mp::counting_policy>;
using checked = mp::observing_policy<observer, mp::checking_policy>;

template <class Pool>
class observing_policy : public testing::Test
{
};

using pools = testing::Types<mp::basic_block_pool<observed>, mp::basic_block_pool<counted>,
                             mp::basic_block_pool<checked>, mp::basic_concurrent_block_pool<observed>,
                             mp::basic_concurrent_block_pool<counted>, mp::basic_concurrent_block_pool<checked>>;
TYPED_TEST_SUITE(observing_policy, pools, );

TYPED_TEST(observing_policy, notifies_of_each_block_and_of_its_pool)
{
    TypeParam pool(48, mp::pool_options{}.with_name("observed"));
    void* const block = pool.allocate();
    EXPECT_EQ(observer::blocks, (std::map<const void*, std::size_t>{{block, 48}}));
    EXPECT_EQ(observer::last_name, "observed");
    pool.deallocate(block);
    pool.deallocate(nullptr);
    EXPECT_TRUE(observer::blocks.empty());
}

TYPED_TEST(observing_policy, notifies_of_blocks_in_bulk)
{
    TypeParam pool(48);
    std::array<void*, 1000> blocks{};
    ASSERT_EQ(pool.allocate_bulk(blocks.data(), blocks.size()), blocks.size());
    EXPECT_EQ(observer::blocks.size(), blocks.size());
    pool.deallocate_bulk(blocks.data(), blocks.size());
    EXPECT_TRUE(observer::blocks.empty());
}

TYPED_TEST(observing_policy, notifies_of_blocks_that_clear_and_release_free)
{
    {
        TypeParam pool(48);
        const auto use = [&pool] {
            std::vector<void*> blocks;
            for (int i = 0; i != 1000; ++i)
                blocks.push_back(pool.allocate());
            for (std::size_t i = 0; i < blocks.size(); i += 3)
                pool.deallocate(blocks[i]);
            EXPECT_EQ(observer::blocks.size(), pool.in_use());
        };
        use();
        pool.clear();
        EXPECT_TRUE(observer::blocks.empty());
        use();
        pool.release();
        EXPECT_TRUE(observer::blocks.empty());
        use();
    }
    EXPECT_TRUE(observer::blocks.empty()) << "the pool is destroyed";
}

TYPED_TEST(observing_policy, does_not_notify_of_failures)
{
    TypeParam pool(48, mp::pool_options{}.with_max_capacity(1));
    void* const block = pool.allocate();
    EXPECT_EQ(pool.try_allocate(), nullptr);
    EXPECT_THROW((void)pool.allocate(), mp::pool_exhausted);
    EXPECT_EQ(observer::blocks.size(), 1u);
    pool.deallocate(block);
}

TEST(observing_policy_of_objects, notifies_of_each_object_and_of_none_whose_constructor_throws)
{
    struct thrower
    {
        explicit thrower(bool throws)
        {
            if (throws)
                throw std::runtime_error("constructor");
        }
    };
    mp::object_pool<thrower, observed> pool;
    thrower* const object = pool.create(false);
    EXPECT_THROW((void)pool.create(true), std::runtime_error);
    EXPECT_EQ(observer::blocks.size(), 1u);
    EXPECT_EQ(observer::blocks.count(object), 1u);
    pool.destroy(object);
    EXPECT_TRUE(observer::blocks.empty());
}

TEST(observing_policy_of_objects, notifies_of_objects_that_outlive_their_pool)
{
    std::shared_ptr<int> last;
    {
        mp::basic_shared_pool<int, mp::basic_concurrent_block_pool<observed>> pool;
        last = pool.make(1);
        EXPECT_EQ(observer::blocks.size(), 1u);
    }
    EXPECT_EQ(observer::blocks.size(), 1u);
    last.reset();
    EXPECT_TRUE(observer::blocks.empty());
}

TEST(observing_policy_of_threads, notifies_of_a_free_before_another_thread_can_reuse_the_block)
{
    mp::concurrent_object_pool<int, observed> pool(mp::pool_options{}.with_max_capacity(64));
    test::in_threads(4, [&pool](std::size_t) {
        for (int i = 0; i != 2000; ++i)
            if (int* const object = pool.try_create(i))
                pool.destroy(object);
    });
    EXPECT_TRUE(observer::blocks.empty());
}
} // namespace
