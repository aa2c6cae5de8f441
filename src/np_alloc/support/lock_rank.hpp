// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The order in which a thread takes np_alloc's locks: see docs/locks.md. The checked build asserts the order.
///
///     held by a thread:   | count of the outermost rank | ... | count of the innermost |       a byte each
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>

#include "../os/standard_error.hpp"
#include "internals.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace memory_pool::np {
/// The ranks, outermost first. A thread that holds a lock waits only for locks of later ranks.
enum class lock_rank : unsigned char
{
    background, ///< The turn of the background work.
    pressure,   ///< The watch for memory pressure.
    callbacks,  ///< The callbacks that programs and libraries have registered.
    heaps,      ///< The lists of heaps.
    heap,       ///< The slabs of a heap.
    call_sites, ///< The call sites of blocks: a thread may take several, in a fixed order.
    profile,    ///< The profile.
    runs,       ///< The page heap.
};

/// The base of a lock in the plain build, which asserts no order.
template <bool IsAsserted>
class lock_order
{
protected:
    constexpr explicit lock_order(lock_rank /*rank*/) noexcept {}

    static constexpr bool is_in_order() noexcept { return true; }
    static void report_order() noexcept {}
    static void note(bool /*is_taken*/) noexcept {}
};

/// Locks that this thread holds, a byte for each rank.
MEMORY_POOL_HIDDEN inline __thread std::uint64_t this_thread_ranks = 0;

/// The base of a lock in the checked build, which asserts the order.
template <>
class lock_order<true>
{
protected:
    constexpr explicit lock_order(lock_rank rank) noexcept : rank_(rank) {}

    /// Returns: whether this thread holds no lock of a later rank, and none of the same rank, unless it may take
    ///   several.
    bool is_in_order() const noexcept
    {
        const bool may_be_one_of_several = rank_ == lock_rank::call_sites;
        return this_thread_ranks >> (shift() + (may_be_one_of_several ? bits_of_rank : 0)) == 0;
    }

    /// Effects: reports that this thread is about to wait for this lock, and aborts.
    [[noreturn]] MEMORY_POOL_SLOW_PATH void report_order() const noexcept
    {
        constexpr std::array<const char*, 8> names{"background", "pressure",   "callbacks", "heaps",
                                                   "heap",       "call_sites", "profile",   "runs"};
        std::size_t innermost = 0;
        for (std::size_t rank = 0; rank != names.size(); ++rank)
            if ((this_thread_ranks >> rank * bits_of_rank & 0xFFU) != 0)
                innermost = rank;
        const base::message text(
            "np_alloc: lock order: a thread waits for a lock of rank %s, and holds one of rank %s\n"
            "  remedy: call async-signal-safe functions only in signal handlers; if no handler "
            "allocates, frees or forks, report this, as a defect of np_alloc\n",
            names[static_cast<std::size_t>(rank_)], names[innermost]);
        os::write_to_standard_error(text.c_str(), std::strlen(text.c_str()));
        std::abort();
    }

    void note(bool is_taken) const noexcept
    {
        const std::uint64_t one = std::uint64_t{1} << shift();
        this_thread_ranks += is_taken ? one : 0 - one;
    }

private:
    static constexpr unsigned bits_of_rank = 8;

    unsigned shift() const noexcept { return static_cast<unsigned>(rank_) * bits_of_rank; }

    const lock_rank rank_;
};
} // namespace memory_pool::np
