// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Detects use of a pool by a wrong thread or after its destruction, for policies that check.
///
///     no owner     --- first use --------------------------------------------->   the thread is the owner
///     an owner     --- hand_over(), or use by another if no block is in use --->  no owner, or the other thread
///     destroyed    --- leaves a mark, detectable until the memory of the pool is reused
///
/// A pool that threads share, or that belongs to another resource, allows any thread. Every pool allows a thread that
/// holds a lock of the library: a shared pool, or a synchronized_resource, may be calling the pool as its upstream.
///
/// Thread safety: any thread, except in the constructor and the destructor.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/core/slabs/slab_store_options.hpp>
#include <memory_pool/core/threads/pool_locks.hpp>
#include <memory_pool/os/thread_id.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The use of one pool. Unless `Checks`, the class and its functions are empty: derive from it. If it is the first base
/// of a pool on the heap, its mark survives: free() overwrites `identity_` instead.
template <bool Checks>
class pool_use
{
protected:
    explicit pool_use(const pool_identity&) noexcept {}

    template <class InUse>
    static constexpr bool note_use(const void*, InUse&&) noexcept
    {
        return true;
    }
    void hand_over() noexcept {}
    void allow_any_thread() noexcept {}
};

template <>
class pool_use<true> : base::immovable<pool_use<true>>
{
protected:
    explicit pool_use(const pool_identity& identity) noexcept : identity_(identity) {}

    ~pool_use()
    {
        // Volatile: compilers drop other writes to an object at the end of its lifetime.
        for (std::size_t i = 0; i + 1 != sizeof last_name_ && identity_.name[i] != '\0'; ++i)
            last_name_[i] = identity_.name[i];
        mark_ = mark_of_end();
    }

    /// Effects: reports use after the destruction of the pool, or use by a thread other than the owner. Of several uses
    ///   in a row by one thread, reports only the first. `block` is the block being freed, or nullptr. `in_use()`
    ///   returns whether any block is in use.
    /// Returns: false if the pool was destroyed.
    template <class InUse>
    bool note_use(const void* block, InUse&& in_use) noexcept
    {
        if (is_gone(this, block))
            return false;
        const std::uint64_t user = os::thread_number();
        const std::uint64_t owner = owner_.load(std::memory_order_relaxed);
        if (MEMORY_POOL_LIKELY(user == owner) || owner == any_thread || pool_locks_of_this_thread != 0)
            return true;
        if (owner == no_thread || !in_use())
            set_owner(user);
        else if (last_foreign_.exchange(user, std::memory_order_relaxed) != user)
            report_thread(block, user, owner);
        return true;
    }

    void hand_over() noexcept
    {
        if (owner_.load(std::memory_order_relaxed) != any_thread)
            set_owner(no_thread);
    }

    void allow_any_thread() noexcept { set_owner(any_thread); }

private:
    friend bool is_gone(const pool_use<true>* pool, const void* block) noexcept;

    static constexpr std::uint64_t no_thread = 0;
    static constexpr std::uint64_t any_thread = std::numeric_limits<std::uint64_t>::max();

    std::uintptr_t mark_of_end() const noexcept { return ~reinterpret_cast<std::uintptr_t>(this); }

    void set_owner(std::uint64_t owner) noexcept
    {
        owner_.store(owner, std::memory_order_relaxed);
        last_foreign_.store(no_thread, std::memory_order_relaxed);
    }

    MEMORY_POOL_SLOW_PATH void report_thread(const void* block, std::uint64_t user, std::uint64_t owner) const noexcept
    {
        const base::message text(
            "memory_pool: %s: address %p, pool '%.100s' of thread %llu, used by thread %llu\n  remedy: %s",
            error_name(error_kind::wrong_thread), block, identity_.name, static_cast<unsigned long long>(owner),
            static_cast<unsigned long long>(user), base::remedy_for(error_kind::wrong_thread));
        base::report({error_kind::wrong_thread, block, identity_.block_size, identity_.name, text.c_str()});
    }

    MEMORY_POOL_SLOW_PATH void report_end(const void* block) const noexcept
    {
        char name[sizeof last_name_];
        for (std::size_t i = 0; i != sizeof name; ++i)
            name[i] = last_name_[i];
        const base::message text("memory_pool: %s: address %p, pool '%s' was destroyed before\n"
                                 "  remedy: destroy a pool after its objects and containers: declare it before them",
                                 error_name(error_kind::leak), block, name);
        base::report({error_kind::leak, block, 0, name, text.c_str()});
    }

    const pool_identity identity_;
    std::atomic<std::uint64_t> owner_{no_thread};
    std::atomic<std::uint64_t> last_foreign_{no_thread}; ///< The thread that was reported last.
    volatile std::uintptr_t mark_ = 0;
    volatile char last_name_[48] = {}; ///< Set by the destructor: the name itself may be gone before a late use.
};

/// Effects: reports a use after destruction if the pool was destroyed before `block` was freed.
/// Returns: whether the pool was destroyed.
inline bool is_gone(const pool_use<true>* pool, const void* block) noexcept
{
    if (MEMORY_POOL_LIKELY(pool->mark_ != pool->mark_of_end()))
        return false;
    pool->report_end(block);
    return true;
}

/// For pools and resources without a policy that checks. Returns: false.
inline bool is_gone(const void*, const void*) noexcept
{
    return false;
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
