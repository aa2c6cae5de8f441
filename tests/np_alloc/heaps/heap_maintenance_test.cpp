// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/heaps/heap_maintenance.hpp>

#include <memory_pool/base/lock_guard.hpp>

#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace np = memory_pool::np;
using memory_pool::detail::base::lock_guard;

namespace {
struct heap_maintenance : testing::Test
{
    static constexpr std::size_t size_class = np::sizes::of(1024);
    static inline np::heap_maintenance* of_thread = nullptr;
    static inline std::atomic<int> turns{0};

    np::heap_table heaps;
    np::heap_maintenance all{heaps, &work};
    np::thread_cache mine;

    heap_maintenance()
    {
        of_thread = &all;
        turns = 0;
        EXPECT_TRUE(heaps.pages.source().start(std::size_t{256} << 20));
        const lock_guard lock(heaps.mutex);
        heaps.threads.add(np::heap_pages::make(heaps.threads.take_pages(), heaps.pages), mine);
    }
    ~heap_maintenance() override
    {
        (void)all.work_in_background(false);
        heaps.pages.source().stop();
    }

    static std::uint64_t work()
    {
        const std::uint64_t pause = of_thread->work();
        ++turns;
        return pause;
    }

    np::heap& slabs() { return mine.heap().slabs; }

    void cache_blocks()
    {
        std::array<void*, 10> blocks{};
        for (void*& each : blocks)
            each = mine.get(size_class);
        for (void* each : blocks)
            mine.put(size_class, each);
    }

    /// Frees a run that is due for a purge.
    void free_old_run()
    {
        const np::run taken = heaps.pages.large().take_large(std::size_t{1} << 20, 1);
        heaps.pages.large().give_large(taken.first);
        heaps.pages.source().decay.set_decay_ms(0);
        EXPECT_NE(heaps.pages.source().dirty_slices(), 0U);
    }
};

TEST_F(heap_maintenance, empties_parked_heaps_and_purges_old_runs)
{
    cache_blocks();
    np::thread_heap& heap = mine.heap();
    {
        const lock_guard lock(heaps.mutex);
        EXPECT_TRUE(heaps.threads.park_whole(mine));
    }
    heap.parked_at = 0;
    free_old_run();
    all.collect();
    EXPECT_EQ(heap.slabs.outstanding(size_class), 0U);
    EXPECT_EQ(heaps.pages.source().dirty_slices(), 0U);
}

TEST_F(heap_maintenance, sweeps_the_heap_of_a_ticking_thread_when_due)
{
    cache_blocks();
    mine.put_back(size_class);
    {
        np::misuse_list found;
        const np::heap::scoped_lock lock(slabs(), found);
        slabs().for_each_slab([](np::slice_record& slab) { slab.touched_at = 0; });
    }
    const lock_guard lock(heaps.mutex); // Keeps the regular maintenance from sweeping the heap.
    all.tick(mine, slabs().swept_at() + 1);
    EXPECT_NE(slabs().slab_bytes(), 0U) << "the heap was swept just now";
    all.tick(mine, np::release_clock::now());
    EXPECT_EQ(slabs().slab_bytes(), 0U);
}

TEST_F(heap_maintenance, drains_a_cache_and_returns_memory_after_a_fall)
{
    cache_blocks();
    np::heap_maintenance::drain_cache(mine);
    EXPECT_EQ(mine.held(size_class), 0U);
    EXPECT_EQ(slabs().slab_bytes(), 0U);
    EXPECT_NE(heaps.pages.source().dirty_slices(), 0U);
    cache_blocks();
    all.fall(mine);
    EXPECT_EQ(slabs().slab_bytes(), 0U);
    EXPECT_EQ(heaps.pages.source().dirty_slices(), 0U);
}

TEST_F(heap_maintenance, works_in_the_background_until_stopped)
{
    free_old_run();
    EXPECT_TRUE(all.work_in_background(true));
    EXPECT_TRUE(all.works_in_background());
    while (turns == 0)
        std::this_thread::yield();
    EXPECT_EQ(heaps.pages.source().dirty_slices(), 0U);
    EXPECT_TRUE(all.work_in_background(false));
    EXPECT_FALSE(all.works_in_background());
}

TEST_F(heap_maintenance, does_not_work_in_the_background_without_a_thread)
{
    const test::system_calls calls;
    calls.refuse_from(test::system_call::make_thread, 1);
    EXPECT_FALSE(all.work_in_background(true));
    EXPECT_FALSE(all.works_in_background());
    EXPECT_TRUE(all.work_in_background(false)) << "off already";
}
} // namespace
