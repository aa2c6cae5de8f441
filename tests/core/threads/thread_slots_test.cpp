// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/threads/thread_slots.hpp>

#include <memory_pool/base/mutex.hpp>
#include <memory_pool/core/threads/pool_locks.hpp>

#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <list>
#include <memory_resource>

namespace core = memory_pool::detail::core;
using core::slot_kind;

namespace {
/// A pool that only has thread caches.
class cached final : public core::thread_cached
{
public:
    explicit cached(slot_kind kind) : slots(*this, kind) {}
    ~cached()
    {
        slots.leave(caches_);
        caches_.free_all(std::pmr::new_delete_resource());
    }

    /// Effects: gives this thread a cache if it can have one.
    /// Returns the cache, or nullptr.
    core::thread_cache* attach()
    {
        core::cache_slot* const slot = slots.make_slot();
        if (slot == nullptr)
            return nullptr;
        core::thread_cache& cache = caches_.unused(std::pmr::new_delete_resource());
        caches_.take_unused();
        slots.fill(*slot, cache);
        slots.enlist(cache);
        return &cache;
    }

    core::pool_lock lock() { return {mutex_, slots}; }

    void detach(core::thread_cache& cache) noexcept override
    {
        ++detached;
        cache.slot->reset();
        caches_.put(cache);
    }
    bool try_lock_for_fork() noexcept override { return mutex_.try_lock(); }
    void unlock_after_fork() noexcept override { mutex_.unlock(); }
    void quiesce() noexcept override {}
    void forget_other_threads(const core::thread_table*) noexcept override {}

    int detached = 0;

private:
    core::thread_caches<> caches_;
    memory_pool::detail::base::mutex mutex_;

public:
    core::thread_slots slots;
};

class thread_slots_test : public testing::TestWithParam<slot_kind>
{
};

TEST_P(thread_slots_test, find_the_cache_of_each_thread)
{
    cached pool(GetParam());
    EXPECT_EQ(pool.slots.existing_cache(), nullptr);
    const core::thread_cache* const mine = pool.attach();
    ASSERT_NE(mine, nullptr);
    EXPECT_EQ(pool.slots.existing_cache(), mine);
    test::in_a_thread([&] {
        EXPECT_EQ(pool.slots.existing_cache(), nullptr);
        const core::thread_cache* const theirs = pool.attach();
        EXPECT_NE(theirs, mine);
        EXPECT_EQ(pool.slots.existing_cache(), theirs);
        EXPECT_EQ(pool.detached, 0);
    });
    EXPECT_EQ(pool.detached, 1) << "the registry notifies the pool when a thread exits";
    EXPECT_EQ(pool.slots.existing_cache(), mine);
}

TEST_P(thread_slots_test, distinguish_100_pools)
{
    std::list<cached> pools;
    std::list<core::thread_cache*> caches;
    for (int i = 0; i != 100; ++i)
        caches.push_back(pools.emplace_back(GetParam()).attach());
    auto cache = caches.begin();
    for (const cached& pool : pools)
        EXPECT_EQ(pool.slots.existing_cache(), *cache++);
}

TEST_P(thread_slots_test, are_empty_for_the_next_pool_with_the_number)
{
    for (int i = 0; i != 3; ++i) {
        cached pool(GetParam());
        EXPECT_EQ(pool.slots.existing_cache(), nullptr);
        EXPECT_NE(pool.attach(), nullptr);
    }
}

INSTANTIATE_TEST_SUITE_P(kinds, thread_slots_test, testing::Values(slot_kind::slow, slot_kind::fast));

TEST(thread_slots, slot_finds_a_fast_slot)
{
    cached pool(slot_kind::fast);
    core::thread_cache* const mine = pool.attach();
    ASSERT_NE(pool.slots.slot(), nullptr);
    EXPECT_EQ(pool.slots.slot()->cache, mine);
    test::in_a_thread([&] { EXPECT_TRUE(pool.slots.slot() == nullptr || pool.slots.slot()->cache == nullptr); });
}

TEST(thread_slots, do_not_exist_for_kind_none)
{
    cached pool(slot_kind::none);
    EXPECT_EQ(pool.attach(), nullptr);
    EXPECT_EQ(pool.slots.existing_cache(), nullptr);
}

TEST(pool_lock, counts_locks_of_this_thread)
{
    cached one(slot_kind::none);
    cached other(slot_kind::none);
    const std::size_t before = core::pool_locks_of_this_thread;
    {
        const core::pool_lock of_other = other.lock();
        core::pool_lock of_one = one.lock(); // The inner lock, which the test locks twice.
        EXPECT_EQ(core::pool_locks_of_this_thread, before + 2);
        EXPECT_FALSE(one.try_lock_for_fork());
        of_one.unlock();
        EXPECT_EQ(core::pool_locks_of_this_thread, before + 1);
        EXPECT_TRUE(one.try_lock_for_fork());
        one.unlock_after_fork();
        of_one.lock_again();
        EXPECT_EQ(core::pool_locks_of_this_thread, before + 2);
        of_one.unlock();
    }
    EXPECT_EQ(core::pool_locks_of_this_thread, before);
}
} // namespace
