// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Which caches a thread has, and which pools there are: for threads that end, pools that die and processes that fork.
///
///     thread_table (one a thread)      [ slot 0 | slot 1 | ... | slot 63 | always closed ]   + pages of 64 slots more
///                                           |        |
///                                        cache    cache     each also in the list of its pool
///
///     A pool has one number as long as it lives; its slot in every thread's table is the one with that number.
///
/// So a thread finds its cache of a pool by adding a number to the address of its table. The first 64 pools that live at one
/// time have their slots in thread-local storage itself, the others (up to 4,096) in pages that a thread gets when it needs them,
/// where access is a little slower.
///
/// Locks: the registry's is the innermost. Whoever has it asks for no other one, except by trying (before a fork).
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/core/thread_cache.hpp>
#include <memory_pool/os/fork.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <thread>

namespace memory_pool::core
{
inline constexpr std::size_t slots_in_a_page = 64;
inline constexpr std::size_t most_numbered_pools = slots_in_a_page * 64;

/// The caches of one thread. Zeroed to begin with, and without a destructor, so that the compiler puts no guard before each
/// access, and that it works until the very end of the thread.
struct thread_table
{
    /// The slot that is never opened.
    static constexpr std::size_t closed_slot = slots_in_a_page;

    cache_slot slots[slots_in_a_page + 1];
    cache_slot* pages[most_numbered_pools / slots_in_a_page]; ///< The first is for pools that may not use `slots`.
    thread_cache* first_cache;
    bool has_ended; ///< No cache is made any more.
};

// GCC and clang make no call for it, as it has neither constructor nor destructor to run.
inline thread_local thread_table this_thread_table{};

/// All pools that threads share.
class thread_registry
{
public:
    /// Returns: the one there is. It is never destroyed: threads may end after everything else.
    static thread_registry& get() noexcept
    {
        alignas(thread_registry) static std::byte memory[sizeof(thread_registry)];
        static auto* const registry = ::new (memory) thread_registry;
        return *registry;
    }

    thread_registry(const thread_registry&) = delete;
    thread_registry& operator=(const thread_registry&) = delete;

    /// Effects: takes a pool into the registry.
    /// Returns: its number, which no other pool has until it leaves; or most_numbered_pools, if there is none left.
    std::size_t enter(thread_cached& pool) noexcept
    {
        const std::lock_guard lock(mutex_);
        pool.next_ = first_pool_;
        if (first_pool_ != nullptr)
            first_pool_->previous_ = &pool;
        first_pool_ = &pool;
        for (std::size_t i = 0; i != numbers_.size(); ++i) {
            if (numbers_[i] == ~std::uint64_t{0})
                continue;
            const unsigned bit = base::lowest_bit(~numbers_[i]);
            numbers_[i] |= std::uint64_t{1} << bit;
            return i * base::bits_per_word + bit;
        }
        return most_numbered_pools;
    }

    /// Effects: takes a pool out, waits for threads that are detaching from it, and unlinks the caches of the list that begins
    ///   with `first` from their threads.
    template <class NextInPool>
    void leave(thread_cached& pool, std::size_t number, thread_cache* first, NextInPool&& next) noexcept
    {
        std::unique_lock lock(mutex_);
        while (pool.detaching_ != 0) {
            lock.unlock();
            std::this_thread::yield();
            lock.lock();
        }
        for (thread_cache* cache = first; cache != nullptr; cache = next(cache)) {
            if (cache->is_in_thread) {
                unlink(*cache);
                cache->slot->reset();
            }
        }
        if (number != most_numbered_pools)
            numbers_[number / base::bits_per_word] &= ~(std::uint64_t{1} << (number % base::bits_per_word));
        (pool.previous_ != nullptr ? pool.previous_->next_ : first_pool_) = pool.next_;
        if (pool.next_ != nullptr)
            pool.next_->previous_ = pool.previous_;
    }

    /// Returns: the slot of this thread for the pool of that number; or nullptr, if the thread has ended, there is no
    ///   memory for the page, or the pool has no number.
    static cache_slot* slot_of_this_thread(std::size_t number, bool may_be_in_table) noexcept
    {
        thread_table& table = this_thread_table;
        if (number < slots_in_a_page && may_be_in_table)
            return &table.slots[number];
        if (number >= most_numbered_pools)
            return nullptr;
        cache_slot*& page = table.pages[number / slots_in_a_page];
        if (page == nullptr && !table.has_ended)
            page = new (std::nothrow) cache_slot[slots_in_a_page];
        return page == nullptr ? nullptr : &page[number % slots_in_a_page];
    }

    /// Effects: has the pool told when this thread ends.
    void attach(thread_cache& cache) noexcept
    {
        thread_local const thread_end end_of_this_thread;
        static_cast<void>(&end_of_this_thread); // is what makes it exist
        const std::lock_guard lock(mutex_);
        thread_table& table = this_thread_table;
        cache.previous_in_thread = nullptr;
        cache.next_in_thread = table.first_cache;
        if (table.first_cache != nullptr)
            table.first_cache->previous_in_thread = &cache;
        table.first_cache = &cache;
        cache.is_in_thread = true;
    }

private:
    /// Its destructor runs when the thread ends.
    struct thread_end
    {
        thread_end() noexcept = default;
        thread_end(const thread_end&) = delete;
        thread_end& operator=(const thread_end&) = delete;
        ~thread_end() { get().end_thread(); }
    };

    thread_registry() noexcept
    {
        (void)os::at_fork([] { get().before_fork(); }, [] { get().after_fork(); }, [] { get().after_fork_in_child(); });
    }
    ~thread_registry() = default;

    /// Preconditions: the lock is held.
    static void unlink(thread_cache& cache) noexcept
    {
        thread_table& table = *cache.thread;
        (cache.previous_in_thread != nullptr ? cache.previous_in_thread->next_in_thread : table.first_cache) =
            cache.next_in_thread;
        if (cache.next_in_thread != nullptr)
            cache.next_in_thread->previous_in_thread = cache.previous_in_thread;
        cache.is_in_thread = false;
    }

    void end_thread() noexcept
    {
        thread_table& table = this_thread_table;
        table.has_ended = true;
        std::unique_lock lock(mutex_);
        while (thread_cache* const cache = table.first_cache) {
            unlink(*cache);
            thread_cached& pool = *cache->pool;
            ++pool.detaching_; // It waits for us, should it die now.
            lock.unlock();
            pool.detach(*cache);
            lock.lock();
            --pool.detaching_;
        }
        lock.unlock();
        for (cache_slot*& page : table.pages) {
            delete[] page;
            page = nullptr;
        }
    }

    /// Takes every lock there is. Pools may ask each other for memory with their locks held, and ask for this one too, so
    /// theirs are only tried, and all are let go if one is taken.
    void before_fork() noexcept
    {
        while (true) {
            mutex_.lock();
            thread_cached* const taken = first_not_locked();
            if (taken == nullptr)
                break;
            unlock_until(taken);
            mutex_.unlock();
            std::this_thread::yield();
        }
        for (thread_cached* pool = first_pool_; pool != nullptr; pool = pool->next_)
            pool->quiesce();
    }

    void after_fork() noexcept
    {
        unlock_until(nullptr);
        mutex_.unlock();
    }

    void after_fork_in_child() noexcept
    {
        for (thread_cached* pool = first_pool_; pool != nullptr; pool = pool->next_) {
            pool->detaching_ = 0;
            pool->forget_other_threads(this_thread_table);
        }
        after_fork();
    }

    thread_cached* first_not_locked() noexcept
    {
        thread_cached* pool = first_pool_;
        while (pool != nullptr && pool->try_lock_for_fork())
            pool = pool->next_;
        return pool;
    }

    void unlock_until(const thread_cached* end) noexcept
    {
        for (thread_cached* pool = first_pool_; pool != end; pool = pool->next_)
            pool->unlock_after_fork();
    }

    std::mutex mutex_;
    thread_cached* first_pool_ = nullptr;
    std::array<std::uint64_t, most_numbered_pools / base::bits_per_word> numbers_{};
};
} // namespace memory_pool::core
