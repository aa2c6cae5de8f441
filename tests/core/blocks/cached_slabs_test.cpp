// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/blocks/cached_slabs.hpp>

#include <memory_pool/errors.hpp>
#include <memory_pool/os/process_barrier.hpp>

#include <support/error_recorder.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <new>
#include <set>

namespace core = memory_pool::detail::core;
using memory_pool::error_kind;

namespace {
constexpr std::size_t stride = 64;
constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();
constexpr std::size_t room = 16;

class cached_slabs : public testing::Test
{
protected:
    ~cached_slabs() override
    {
        blocks_.gather();
        EXPECT_TRUE(blocks_.slabs.verify());
        blocks_.caches.for_each_in_use([this](core::thread_cache& cache) { blocks_.caches.put(cache); });
    }

    /// Begins and opens a cache, as for a thread.
    core::thread_cache& open_cache(core::cached_slabs& of, core::cache_slot& slot)
    {
        core::thread_cache& cache = of.begin_cache();
        cache.slot = &slot;
        EXPECT_TRUE(of.open_equipped(cache));
        return cache;
    }

    std::set<void*> take(core::thread_cache& cache, std::size_t count)
    {
        std::set<void*> taken;
        while (taken.size() != count)
            if (!taken.insert(blocks_.take_or_fill(cache)).second)
                ADD_FAILURE() << "the same block twice";
        return taken;
    }

    test::accounting_upstream upstream_;
    core::thread_counts counts_;
    core::magazine_exchange exchange_{room, memory_pool::detail::os::has_process_barrier(), &upstream_};
    core::cached_slabs blocks_{{stride, memory_pool::cache_line_size, unbounded},
                               unbounded,
                               {false, false, false},
                               {"test", stride},
                               &upstream_,
                               exchange_,
                               counts_};
    core::cache_slot mine_;
    core::cache_slot other_;
};

TEST_F(cached_slabs, create_a_cache_only_if_memory_is_available)
{
    upstream_.fail_always();
    EXPECT_THROW((void)blocks_.begin_cache(), std::bad_alloc);
    EXPECT_EQ(blocks_.caches.in_use(), 0U);
    upstream_.never_fail();
    EXPECT_TRUE(exchange_.is_equipped(blocks_.begin_cache()));
    EXPECT_EQ(blocks_.bytes_reserved(), upstream_.live_bytes());
    blocks_.caches.for_each_in_use([this](core::thread_cache& cache) { blocks_.caches.put(cache); });
}

TEST_F(cached_slabs, return_nullptr_without_slabs)
{
    core::thread_cache& cache = open_cache(blocks_, mine_);
    EXPECT_EQ(blocks_.take_or_fill(cache), nullptr);
    EXPECT_EQ(blocks_.take_next(), nullptr);
    EXPECT_EQ(blocks_.in_use(), 0U);
}

TEST_F(cached_slabs, count_free_blocks_wherever_they_are)
{
    blocks_.slabs.grow(1000);
    core::thread_cache& cache = open_cache(blocks_, mine_);
    const std::set<void*> taken = take(cache, 100);
    EXPECT_EQ(blocks_.in_use(), 100U);
    EXPECT_GT(blocks_.slabs.outstanding(), 100U) << "blocks in the spare span and in the cache";
    for (void* const each : taken)
        EXPECT_TRUE(blocks_.put_or_spill(cache, each));
    EXPECT_GT(exchange_.blocks_in_depot(), 0U);
    EXPECT_EQ(blocks_.in_use(), 0U);
    blocks_.gather();
    EXPECT_EQ(blocks_.slabs.outstanding(), 0U);
    EXPECT_EQ(exchange_.blocks_in_depot(), 0U);
    EXPECT_FALSE(mine_.is_open());
}

TEST_F(cached_slabs, share_few_blocks_among_threads)
{
    const std::size_t limit = 40;
    core::cached_slabs few({stride, memory_pool::cache_line_size, limit}, limit, {false, false, false}, {"few", stride},
                           &upstream_, exchange_, counts_);
    few.slabs.grow(limit);
    core::thread_cache& cache = open_cache(few, mine_);
    core::thread_cache& others = open_cache(few, other_);
    EXPECT_NE(few.take_or_fill(cache), nullptr);
    EXPECT_EQ(exchange_.blocks_in(cache), 7U) << "the first batch has eight blocks";
    for (std::size_t i = 0; i != 8; ++i)
        EXPECT_NE(few.take_or_fill(cache), nullptr);
    EXPECT_LE(exchange_.blocks_in(cache), (limit - 8) / 4) << "half of an equal share of the remaining blocks";
    std::size_t left = 0;
    while (few.take_or_fill(others) != nullptr)
        ++left;
    EXPECT_EQ(left, limit - 9 - exchange_.blocks_in(cache));
    EXPECT_EQ(few.in_use(), limit - exchange_.blocks_in(cache));
    few.gather();
    EXPECT_EQ(few.slabs.outstanding(), few.in_use());
    for (core::thread_cache* const each : {&cache, &others})
        few.caches.put(*each);
    exchange_.release(few.caches);
}

TEST_F(cached_slabs, spill_a_full_magazine_into_the_slabs_if_none_is_empty)
{
    // The exchange provides magazines for the present capacity only.
    core::thread_cache& cache = open_cache(blocks_, mine_);
    blocks_.slabs.grow(1000);
    const std::set<void*> taken = take(cache, 1000);
    for (void* const each : taken)
        EXPECT_TRUE(blocks_.put_or_spill(cache, each));
    EXPECT_EQ(blocks_.in_use(), 0U);
    EXPECT_LT(exchange_.blocks_in(cache) + exchange_.blocks_in_depot(), 1000U);
    EXPECT_TRUE(mine_.is_open());
}

TEST_F(cached_slabs, serve_threads_without_a_cache_from_the_depot)
{
    blocks_.slabs.grow(1);
    core::thread_cache& cache = open_cache(blocks_, mine_);
    const std::size_t all = blocks_.slabs.capacity();
    const std::set<void*> taken = take(cache, all);
    EXPECT_EQ(blocks_.take_next(), nullptr);
    for (void* const each : taken)
        EXPECT_TRUE(blocks_.put_or_spill(cache, each));
    const std::size_t in_depot = exchange_.blocks_in_depot();
    ASSERT_GT(in_depot, 0U);
    std::size_t allocated = 0;
    while (blocks_.take_next() != nullptr)
        ++allocated;
    EXPECT_EQ(allocated, all - exchange_.blocks_in(cache)) << "all but the blocks in the open cache";
    EXPECT_EQ(blocks_.in_use(), allocated);
}

TEST_F(cached_slabs, do_not_count_blocks_that_the_slabs_reject)
{
    const test::error_recorder recorder;
    blocks_.slabs.grow(1);
    core::thread_cache& cache = open_cache(blocks_, mine_);
    void* const block = blocks_.take_or_fill(cache);
    counts_.add_allocation(nullptr);
    void* const twice[] = {block, block};
    for (int i = 0; i != 2; ++i)
        counts_.add_deallocation(nullptr);
    blocks_.put_into_slabs(twice, 2);
    EXPECT_EQ(recorder.kinds(), test::kinds{error_kind::double_free});
    EXPECT_EQ(counts_.sum(blocks_.caches).deallocations, 1U);
    EXPECT_EQ(blocks_.in_use(), 0U);
}
} // namespace
