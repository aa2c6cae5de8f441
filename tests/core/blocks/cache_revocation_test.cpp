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

    /// Takes `count` blocks as a store does, or fewer if there are no more.
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

TEST_F(cache_revocation, gives_each_thread_one_cache_until_it_exits)
{
    gate revocation(&upstream_);
    core::thread_cache* const mine = revocation.cache_of_this_thread();
    ASSERT_NE(mine, nullptr);
    EXPECT_TRUE(mine->slot->is_open());
    EXPECT_EQ(revocation.cache_of_this_thread(), mine);
    test::in_a_thread([&] {
        EXPECT_NE(revocation.cache_of_this_thread(), mine);
        put(revocation, take(revocation, 10));
        const core::cache_revocation::locked lock(revocation);
        EXPECT_EQ(revocation.cached.caches.in_use(), 2U);
    });
    const core::cache_revocation::locked lock(revocation);
    EXPECT_EQ(revocation.cached.caches.in_use(), 1U);
    EXPECT_EQ(revocation.cached.in_use(), 0U) << "blocks cached by the thread are free";
}

TEST_F(cache_revocation, gives_no_cache_when_filling_free_blocks_or_out_of_memory)
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

TEST_F(cache_revocation, keeps_caches_closed_while_suspended)
{
    gate revocation(&upstream_);
    const std::vector<void*> used = take(revocation, 10);
    put(revocation, take(revocation, 10));
    core::thread_cache* const cache = revocation.cache_of_this_thread();
    {
        const core::cache_revocation::suspension suspended(revocation);
        EXPECT_EQ(revocation.take_without_lock(cache), nullptr);
        EXPECT_FALSE(revocation.put_without_lock(cache, used[0]));
        const core::cache_revocation::locked lock(revocation);
        EXPECT_FALSE(revocation.open(*cache));
        EXPECT_EQ(revocation.cached.slabs.outstanding(), 10U) << "the slabs count exactly";
        revocation.put_locked(cache, used[0]);
        EXPECT_EQ(revocation.cached.slabs.outstanding(), 9U);
    }
    const core::cache_revocation::locked lock(revocation);
    EXPECT_TRUE(revocation.open(*cache));
}

TEST_F(cache_revocation, revokes_cached_blocks_of_other_threads_at_the_limit)
{
    gate revocation(&upstream_, 100);
    test::lasting_thread other;
    other.does([&revocation] { put(revocation, take(revocation, 60)); });
    const std::vector<void*> all = take(revocation, 101);
    EXPECT_EQ(all.size(), 100U);
    EXPECT_EQ(std::set<void*>(all.begin(), all.end()).size(), 100U);
    other.does([&revocation] { EXPECT_EQ(take(revocation, 1).size(), 0U); });
    put(revocation, all);
    EXPECT_EQ(in_use(revocation), 0U);
}

TEST_F(cache_revocation, serves_waiters_first_and_opens_no_cache_meanwhile)
{
    gate revocation(&upstream_, 2);
    core::thread_cache* const cache = revocation.cache_of_this_thread();
    const std::vector<void*> used = take(revocation, 2);
    const core::cache_revocation::locked lock(revocation);
    revocation.cached.close_caches();
    {
        const core::cache_revocation::queued_waiter first(revocation);
        const core::cache_revocation::queued_waiter second(revocation);
        EXPECT_FALSE(revocation.open(*cache));
        revocation.put_locked(cache, used[1]);
        EXPECT_EQ(first.block, used[1]);
        EXPECT_EQ(second.block, nullptr);
        EXPECT_EQ(revocation.take_locked(cache), nullptr);
        EXPECT_EQ(revocation.cached.in_use(), 2U);
    }
    EXPECT_EQ(revocation.cached.in_use(), 1U) << "the first waiter left its block behind";
    EXPECT_EQ(revocation.take_locked(cache), used[1]);
    EXPECT_TRUE(revocation.open(*cache));
}

TEST_F(cache_revocation, reports_misuse_without_the_lock)
{
    test::error_recorder recorder;
    gate revocation(&upstream_);
    int foreign[2] = {};
    recorder.handle_by([&revocation] { EXPECT_EQ(in_use(revocation), 0U) << "the error handler may use the pool"; });
    {
        core::cache_revocation::locked lock(revocation);
        revocation.put_locked(nullptr, &foreign[0]);
        EXPECT_TRUE(recorder.reports().empty());
        lock.report_early();
        EXPECT_EQ(recorder.reports().size(), 1U);
        revocation.put_locked(nullptr, &foreign[1]);
        EXPECT_EQ(recorder.reports().size(), 1U);
    }
    EXPECT_EQ(recorder.kinds(), test::kinds(2, error_kind::foreign_pointer));
    EXPECT_EQ(recorder.reports().back().address, &foreign[1]);
}

TEST_F(cache_revocation, forwards_upstream_exceptions_once_caches_are_empty)
{
    gate revocation(&upstream_);
    test::lasting_thread other;
    other.does([&revocation] { put(revocation, take(revocation, 10)); });
    std::vector<void*> all = take(revocation, 1);
    upstream_.fail_always();
    const auto take_rest = [&] {
        while (true)
            all.push_back(take(revocation, 1).at(0));
    };
    EXPECT_THROW(take_rest(), std::bad_alloc);
    const core::cache_revocation::locked lock(revocation);
    EXPECT_EQ(all.size(), revocation.cached.slabs.capacity());
    EXPECT_EQ(revocation.cached.slabs.outstanding(), all.size());
}
} // namespace
