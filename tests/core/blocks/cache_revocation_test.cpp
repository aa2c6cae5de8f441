// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/blocks/cache_revocation.hpp>

#include <support/error_recorder.hpp>
#include <support/threads.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <memory_resource>
#include <new>
#include <set>
#include <vector>

namespace core = memory_pool::detail::core;
using memory_pool::error_kind;

namespace {
constexpr std::size_t stride = 64;
constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

class cache_revocation : public testing::Test
{
protected:
    struct gate : core::cache_revocation
    {
        explicit gate(std::pmr::memory_resource* upstream, std::size_t limit = unbounded, bool fills = false)
            : cache_revocation({stride, memory_pool::cache_line_size, limit}, limit, {false, false, fills},
                               {"test", stride - 16}, upstream)
        {
        }
    };

    ~cache_revocation() override
    {
        EXPECT_EQ(upstream_.live_bytes(), 0U);
        EXPECT_EQ(upstream_.mismatched(), 0U);
    }

    /// Takes blocks as a store does, until there are `count`, or no more.
    static std::vector<void*> take(core::cache_revocation& from, std::size_t count)
    {
        std::vector<void*> blocks;
        core::thread_cache* const cache = from.cache_of_this_thread();
        while (blocks.size() != count) {
            void* block = from.take_without_lock(cache);
            if (block == nullptr) {
                const core::cache_revocation::locked lock(from);
                block = from.marked(from.take_locked(cache));
            }
            if (block == nullptr)
                break;
            blocks.push_back(block);
        }
        return blocks;
    }

    static void put(core::cache_revocation& to, const std::vector<void*>& blocks)
    {
        core::thread_cache* const cache = to.cache_of_this_thread();
        for (void* const each : blocks) {
            if (to.put_without_lock(cache, each))
                continue;
            const core::cache_revocation::locked lock(to);
            to.put_locked(cache, each);
        }
    }

    static std::size_t in_use(const core::cache_revocation& of)
    {
        const core::cache_revocation::locked lock(of);
        return of.cached.in_use();
    }

    test::shared_accounting_upstream upstream_;
};

TEST_F(cache_revocation, gives_each_thread_one_cache_which_goes_with_it)
{
    gate its(&upstream_);
    core::thread_cache* const mine = its.cache_of_this_thread();
    ASSERT_NE(mine, nullptr);
    EXPECT_TRUE(mine->slot->is_open());
    EXPECT_EQ(its.cache_of_this_thread(), mine);
    test::in_a_thread([&] {
        EXPECT_NE(its.cache_of_this_thread(), mine);
        put(its, take(its, 10));
        const core::cache_revocation::locked lock(its);
        EXPECT_EQ(its.cached.caches.in_use(), 2U);
    });
    const core::cache_revocation::locked lock(its);
    EXPECT_EQ(its.cached.caches.in_use(), 1U);
    EXPECT_EQ(its.cached.in_use(), 0U) << "what the thread had cached is free";
}

TEST_F(cache_revocation, gives_no_cache_where_free_blocks_are_filled_or_upstream_has_no_memory)
{
    gate filling(&upstream_, unbounded, true);
    EXPECT_EQ(filling.cache_of_this_thread(), nullptr);
    put(filling, take(filling, 3));
    EXPECT_EQ(in_use(filling), 0U);
    gate caching(&upstream_);
    upstream_.fail_always();
    EXPECT_EQ(caching.cache_of_this_thread(), nullptr);
    EXPECT_THROW((void)caching.attach(), std::bad_alloc);
    upstream_.never_fail();
    EXPECT_NE(caching.cache_of_this_thread(), nullptr);
}

TEST_F(cache_revocation, keeps_caches_closed_and_empty_while_all_blocks_are_needed)
{
    gate its(&upstream_);
    const std::vector<void*> used = take(its, 10);
    put(its, take(its, 10));
    core::thread_cache* const cache = its.cache_of_this_thread();
    {
        const core::cache_revocation::suspension suspended(its);
        EXPECT_EQ(its.take_without_lock(cache), nullptr);
        EXPECT_FALSE(its.put_without_lock(cache, used[0]));
        const core::cache_revocation::locked lock(its);
        EXPECT_FALSE(its.open(*cache));
        EXPECT_EQ(its.cached.slabs.handed_out(), 10U) << "the slabs know what is in use";
        its.put_locked(cache, used[0]);
        EXPECT_EQ(its.cached.slabs.handed_out(), 9U);
    }
    const core::cache_revocation::locked lock(its);
    EXPECT_TRUE(its.open(*cache));
}

TEST_F(cache_revocation, takes_from_the_caches_of_others_what_a_limit_leaves)
{
    gate its(&upstream_, 100);
    test::lasting_thread other;
    other.does([&its] { put(its, take(its, 60)); });
    const std::vector<void*> all = take(its, 101);
    EXPECT_EQ(all.size(), 100U);
    EXPECT_EQ(std::set<void*>(all.begin(), all.end()).size(), 100U);
    other.does([&its] { EXPECT_EQ(take(its, 1).size(), 0U); });
    put(its, all);
    EXPECT_EQ(in_use(its), 0U);
}

TEST_F(cache_revocation, hands_blocks_to_waiters_first_and_opens_no_cache_for_so_long)
{
    gate its(&upstream_, 2);
    core::thread_cache* const cache = its.cache_of_this_thread();
    const std::vector<void*> used = take(its, 2);
    const core::cache_revocation::locked lock(its);
    its.cached.close_caches();
    {
        const core::cache_revocation::queued_waiter first(its);
        const core::cache_revocation::queued_waiter second(its);
        EXPECT_FALSE(its.open(*cache));
        its.put_locked(cache, used[1]);
        EXPECT_EQ(first.block, used[1]);
        EXPECT_EQ(second.block, nullptr);
        EXPECT_EQ(its.take_locked(cache), nullptr);
        EXPECT_EQ(its.cached.in_use(), 2U);
    }
    EXPECT_EQ(its.cached.in_use(), 1U) << "the waiter has gone without its block";
    EXPECT_EQ(its.take_locked(cache), used[1]);
    EXPECT_TRUE(its.open(*cache));
}

TEST_F(cache_revocation, reports_misuse_without_the_lock)
{
    test::error_recorder recorder;
    gate its(&upstream_);
    int foreign[2] = {};
    recorder.handle_by([&its] { EXPECT_EQ(in_use(its), 0U) << "the error handler may use the pool"; });
    {
        core::cache_revocation::locked lock(its);
        its.put_locked(nullptr, &foreign[0]);
        EXPECT_TRUE(recorder.reports().empty());
        lock.report_early();
        EXPECT_EQ(recorder.reports().size(), 1U);
        its.put_locked(nullptr, &foreign[1]);
        EXPECT_EQ(recorder.reports().size(), 1U);
    }
    EXPECT_EQ(recorder.kinds(), test::kinds(2, error_kind::foreign_pointer));
    EXPECT_EQ(recorder.reports().back().address, &foreign[1]);
}

TEST_F(cache_revocation, throws_what_upstream_throws_if_no_cache_has_a_block)
{
    gate its(&upstream_);
    test::lasting_thread other;
    other.does([&its] { put(its, take(its, 10)); });
    std::vector<void*> all = take(its, 1);
    upstream_.fail_always();
    const auto take_rest = [&] {
        while (true)
            all.push_back(take(its, 1).at(0));
    };
    EXPECT_THROW(take_rest(), std::bad_alloc);
    const core::cache_revocation::locked lock(its);
    EXPECT_EQ(all.size(), its.cached.slabs.capacity());
    EXPECT_EQ(its.cached.slabs.handed_out(), all.size());
}
} // namespace
