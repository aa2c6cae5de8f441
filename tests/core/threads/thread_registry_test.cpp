// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/threads/thread_registry.hpp>

#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <vector>

namespace core = memory_pool::detail::core;

namespace {
/// A pool that only records which caches the registry detached.
class recording_pool final : public core::thread_cached
{
public:
    void detach(core::thread_cache& cache) noexcept override
    {
        detached.push_back(&cache);
        cache.slot->reset();
    }
    bool try_lock_for_fork() noexcept override { return true; }
    void unlock_after_fork() noexcept override {}
    void quiesce() noexcept override {}
    void forget_other_threads(const core::thread_table*) noexcept override {}

    std::vector<core::thread_cache*> detached;
};

/// Effects: removes a pool whose only thread caches are `caches`.
template <class... Cache>
void leave(recording_pool& pool, std::size_t number, Cache&... caches)
{
    core::thread_registry::get().leave(pool, number, [&](auto&& visit) { (static_cast<void>(visit(caches)), ...); });
}

void attach(core::thread_cache& cache, recording_pool& pool, std::size_t number)
{
    cache.slot = core::thread_registry::make_slot_of_this_thread(number, true);
    cache.slot->cache = &cache;
    cache.pool = &pool;
    cache.thread = &core::this_thread_table;
    core::thread_registry::get().attach(cache);
}

TEST(thread_registry, numbers_are_unique_among_live_pools)
{
    core::thread_registry& registry = core::thread_registry::get();
    std::vector<recording_pool> pools(100);
    std::vector<std::size_t> numbers;
    numbers.reserve(pools.size());
    for (recording_pool& pool : pools)
        numbers.push_back(registry.enter(pool));
    EXPECT_EQ(std::set<std::size_t>(numbers.begin(), numbers.end()).size(), pools.size());
    leave(pools[50], numbers[50]);
    recording_pool next;
    EXPECT_EQ(registry.enter(next), numbers[50]) << "reuses the number";
    leave(next, numbers[50]);
    for (std::size_t i = 0; i != pools.size(); ++i)
        if (i != 50)
            leave(pools[i], numbers[i]);
}

TEST(thread_registry, detaches_caches_when_a_thread_exits)
{
    core::thread_registry& registry = core::thread_registry::get();
    recording_pool pool;
    const std::size_t number = registry.enter(pool);
    core::thread_cache cache;
    test::in_a_thread([&] {
        attach(cache, pool, number);
        EXPECT_TRUE(pool.detached.empty());
    });
    EXPECT_EQ(pool.detached, (std::vector<core::thread_cache*>{&cache}));
    EXPECT_FALSE(core::caches_of_thread::is_listed(&cache));
    leave(pool, number);
}

TEST(thread_registry, detaches_a_cache_inherited_from_a_thread_lost_in_a_fork)
{
    core::thread_registry& registry = core::thread_registry::get();
    recording_pool pool;
    const std::size_t number = registry.enter(pool);
    core::thread_table lost{};
    core::thread_cache cache;
    lost.caches.add_first(&cache);
    core::caches_of_thread::forget(&cache);
    test::in_a_thread([&] { attach(cache, pool, number); });
    EXPECT_EQ(pool.detached, (std::vector<core::thread_cache*>{&cache}));
    leave(pool, number, cache);
}

TEST(thread_registry, clears_all_slots_when_a_pool_leaves)
{
    core::thread_registry& registry = core::thread_registry::get();
    recording_pool pool;
    const std::size_t number = registry.enter(pool);
    core::thread_cache cache;
    attach(cache, pool, number);
    core::cache_slot* const slot = cache.slot;
    leave(pool, number, cache);
    EXPECT_EQ(slot->cache, nullptr);
    EXPECT_FALSE(slot->is_open());
    EXPECT_TRUE(pool.detached.empty());
}

TEST(thread_registry, provides_a_slot_for_every_number)
{
    std::set<core::cache_slot*> slots;
    for (std::size_t number = 0; number != core::max_pools_with_slots; ++number) {
        core::cache_slot* const slot = core::thread_registry::make_slot_of_this_thread(number, true);
        ASSERT_NE(slot, nullptr);
        EXPECT_FALSE(slot->is_open());
        EXPECT_TRUE(slots.insert(slot).second);
    }
    EXPECT_EQ(slots.count(&core::this_thread_table.fast_slots[core::thread_table::closed_slot]), 0u);
    for (std::size_t number = 0; number != core::slots_in_a_page; ++number)
        EXPECT_TRUE(slots.insert(core::thread_registry::make_slot_of_this_thread(number, false)).second)
            << "a slot outside the fast table";
    EXPECT_EQ(core::thread_registry::make_slot_of_this_thread(core::max_pools_with_slots, true), nullptr);
}
} // namespace
