// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/heaps/fork_handlers.hpp>

#include <memory_pool/base/lock_guard.hpp>
#include <np_alloc/heaps/heap_registry.hpp>
#include <np_alloc/os/single_thread.hpp>

#include <support/child.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace np = memory_pool::np;
using memory_pool::detail::base::lock_guard;

namespace {
/// Separate heaps and their fork handlers. Tests print nothing between the handlers, because stdio is locked.
struct fork_handlers : testing::Test
{
    static constexpr std::size_t size_class = np::sizes::of(1000);

    np::heap_table heaps;
    np::heap_maintenance maintenance{heaps, [] { return std::numeric_limits<std::uint64_t>::max(); }};
    np::fork_handlers all{heaps, maintenance};
    np::thread_cache thread;

    fork_handlers()
    {
        EXPECT_TRUE(heaps.pages.source().start(std::size_t{64} << 20));
        const lock_guard lock(heaps.mutex);
        heaps.threads.add(np::heap_pages::make(heaps.threads.take_pages(), heaps.pages), thread);
    }
    ~fork_handlers() override { heaps.pages.source().stop(); }

    /// Returns: whether another thread can take the lock.
    static bool is_free(np::fork_mutex& lock)
    {
        bool is_taken = false;
        test::in_a_thread([&] {
            if (lock.try_lock()) {
                is_taken = true;
                lock.unlock();
            }
        });
        return is_taken;
    }
    bool are_locked() { return np::this_thread_forks && !is_free(heaps.mutex) && !is_free(heaps.pages.source().mutex); }
    bool are_free() { return !np::this_thread_forks && is_free(heaps.mutex) && is_free(heaps.pages.source().mutex); }
};

TEST_F(fork_handlers, hold_the_locks_while_the_process_forks)
{
    EXPECT_TRUE(are_free());
    all.before_fork();
    const bool were_locked = are_locked();
    all.after_fork();
    EXPECT_TRUE(were_locked);
    EXPECT_TRUE(are_free());
    EXPECT_FALSE(all.is_forked());
}

TEST_F(fork_handlers, hold_the_locks_until_the_outermost_fork_ends)
{
    all.before_fork();
    all.before_fork();
    all.before_fork();
    all.after_fork();
    all.after_fork();
    const bool were_locked = are_locked();
    all.after_fork();
    EXPECT_TRUE(were_locked);
    EXPECT_TRUE(are_free());
}

TEST_F(fork_handlers, drain_parked_heaps_before_a_fork)
{
    np::heap& slabs = thread.heap().slabs;
    void* const block = thread.get(size_class);
    {
        const lock_guard lock(heaps.mutex);
        EXPECT_TRUE(heaps.threads.park_whole(thread));
    }
    slabs.send_one(block);
    EXPECT_TRUE(slabs.has_incoming());
    all.before_fork();
    all.after_fork();
    EXPECT_FALSE(slabs.has_incoming());
}

#if TESTS_MAY_FORK
TEST_F(fork_handlers, discard_work_of_lost_threads_in_the_child)
{
    const auto run = heaps.pages.large().take_large(np::slice_bytes, 1);
    heaps.pages.large().give_large(run.first);
    heaps.pages.source().with_runs(
        [](auto& runs) { return runs.take_dirty_since(std::numeric_limits<std::uint64_t>::max()).first; });
    const bool was_single_threaded = memory_pool::detail::os::is_single_threaded();
    test::expect_in_child([this, was_single_threaded] {
        const np::thread_heap& of_thread = thread.heap();
        const bool was_known = of_thread.is_known();
        all.before_fork();
        all.after_fork_in_child();
        return was_known && !of_thread.is_known() && all.is_forked() &&
               all.may_have_lost_threads() != was_single_threaded && heaps.pages.source().purged() == np::slice_bytes &&
               are_free();
    });
}

TEST_F(fork_handlers, stay_locked_in_the_child_of_a_nested_fork)
{
    test::expect_in_child([this] {
        all.before_fork();
        all.before_fork();
        all.after_fork_in_child();
        const bool were_locked = are_locked();
        all.after_fork();
        return were_locked && are_free();
    });
}

TEST_F(fork_handlers, know_in_the_child_that_threads_may_be_lost)
{
    test::lasting_thread another;
    EXPECT_FALSE(np::registry().forks().is_forked());
    test::expect_in_child([] {
        const np::fork_handlers& forks = np::registry().forks();
        return forks.is_forked() && forks.may_have_lost_threads();
    });
}
#endif
} // namespace
