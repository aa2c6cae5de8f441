// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// What all heaps share: the region, its runs, and the words that say whose each slice is.
///
///     owner word of a slice:   | address of a heap, a multiple of 128 | class |      a slab of that heap
///                              |                  0                   |  127  |      first of a large block
///                              |                  0                   |  126  |      one of its others
///                              |                  0                   |   0   |      neither
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/os/clock.hpp>

#include "region.hpp"
#include "runs.hpp"
#include "sizes.hpp"
#include "slab.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>

namespace memory_pool::np
{
/// Whose a slice is, in one word.
using owner_word = std::uintptr_t;
inline constexpr owner_word class_bits = 127;
inline constexpr owner_word large_block = 127;
inline constexpr owner_word inside_large_block = 126;
inline constexpr owner_word nobody = 0;

/// Returns: whether a slice with that word is of a slab.
constexpr bool is_of_slab(owner_word word) noexcept
{
    return word > class_bits;
}

static_assert(class_count <= inside_large_block, "a class and the mark of large blocks must be told apart");

/// Memory in runs, for the heaps of one process.
class backend
{
public:
    using region_type = region<std::atomic<owner_word>, slice_record>;

    constexpr backend() noexcept = default;
    backend(const backend&) = delete;
    backend& operator=(const backend&) = delete;
    ~backend() = default;

    /// How long a free run keeps its memory, in milliseconds.
    static constexpr std::uint64_t patience = 1000;

    /// Effects: reserves addresses, if that was not done yet.
    /// Returns: whether there are some.
    bool start(std::size_t most_bytes) noexcept
    {
        const std::lock_guard lock(mutex_);
        return region_.slices() != 0 || region_.reserve(most_bytes);
    }

    /// Effects: gives all addresses back.
    /// Preconditions: nothing is in use, or will be touched again.
    void stop() noexcept { region_.release(); }

    /// Effects: makes a slab of that class that belongs to the heap at `heap`.
    /// Returns: its first slice, or no_slice.
    slice_number take_slab(std::size_t size_class, owner_word heap) noexcept
    {
        const std::uint32_t slices = slab_slices(size_class);
        const run taken = take(slices, 1);
        if (taken.first == no_slice)
            return no_slice;
        region_.record(taken.first).start(taken.first, region_.address(taken.first), size_class);
        for (slice_number slice = taken.first; slice != taken.first + slices; ++slice)
            region_.record(slice).slab = taken.first;
        set_owner(taken.first, slices, heap | size_class);
        return taken.first;
    }

    /// Effects: takes a slab apart.
    /// Preconditions: no block of it is away.
    void give_slab(slice_number first) noexcept
    {
        const std::uint32_t slices = slab_slices(region_.record(first).size_class);
        set_owner(first, slices, nobody);
        give(first, slices);
    }

    /// Effects: makes a large block.
    /// Returns: it, or a run that begins at no_slice.
    run take_large(std::size_t bytes, std::size_t alignment) noexcept
    {
        const run taken = take_bytes(bytes, alignment);
        if (taken.first != no_slice) {
            region_.record(taken.first).home = nullptr;
            set_owner(taken.first, 1, large_block);
            set_owner(taken.first + 1, taken.length - 1, inside_large_block);
        }
        return taken;
    }

    void give_large(slice_number first) noexcept
    {
        const std::uint32_t length = region_.record(first).length;
        set_owner(first, length, nobody);
        give(first, length);
    }

    /// Returns: whether a large block has room for `bytes` now, where it is. It is made longer or shorter, if that helps.
    bool resize_large(slice_number first, std::size_t bytes) noexcept
    {
        const std::uint32_t slices = slices_for(bytes);
        const std::uint32_t length = region_.record(first).length;
        if (slices == 0 || slices == length)
            return slices != 0;
        const std::lock_guard lock(mutex_);
        if (slices > length) {
            if (!runs_.extend(first, length, slices))
                return false;
            set_owner(first + length, slices - length, inside_large_block);
            return true;
        }
        set_owner(first + slices, length - slices, nobody);
        runs_.shorten(first, length, slices, os::coarse_milliseconds());
        return true;
    }

    /// Effects: gives the memory of all free runs back to the system.
    /// Returns: how many bytes that was.
    std::size_t trim() noexcept
    {
        const std::lock_guard lock(mutex_);
        std::size_t bytes = 0;
        while (const std::size_t purged = runs_.purge_oldest(std::numeric_limits<std::uint64_t>::max()))
            bytes += purged;
        return bytes;
    }

    region_type& memory() noexcept { return region_; }

    /// Effects: calls `look(const runs&)` with the lock held, and returns what that returns.
    template <class Look>
    auto with_runs(Look&& look) noexcept
    {
        const std::lock_guard lock(mutex_);
        return look(runs_);
    }

    // Around a fork.
    void lock() noexcept { mutex_.lock(); }
    void unlock() noexcept { mutex_.unlock(); }

    /// Returns: slices that `bytes` need, at least one; 0 if those are more than there can be.
    static constexpr std::uint32_t slices_for(std::size_t bytes) noexcept
    {
        if (bytes > std::size_t{1} << 47)
            return 0;
        return static_cast<std::uint32_t>(base::divide_round_up(bytes != 0 ? bytes : 1, slice_bytes));
    }

    /// Effects: takes slices for something else than slabs and blocks.
    run take_bytes(std::size_t bytes, std::size_t alignment) noexcept
    {
        const std::uint32_t slices = slices_for(bytes);
        const std::uint32_t aligned_to = alignment > slice_bytes ? slices_for(alignment) : 1;
        return slices != 0 && aligned_to != 0 ? take(slices, aligned_to) : run{};
    }

private:
    void set_owner(slice_number first, std::uint32_t count, owner_word word) noexcept
    {
        for (slice_number slice = first; slice != first + count; ++slice)
            region_.owner(slice).store(word, std::memory_order_relaxed);
    }

    run take(std::uint32_t slices, std::uint32_t alignment) noexcept
    {
        const std::lock_guard lock(mutex_);
        purge_something();
        return runs_.take(slices, alignment);
    }

    void give(slice_number first, std::uint32_t slices) noexcept
    {
        const std::lock_guard lock(mutex_);
        runs_.put(first, slices, os::coarse_milliseconds());
        purge_something();
    }

    /// At most one run at a time, so that nobody waits for long.
    void purge_something() noexcept
    {
        if (runs_.dirty() == 0)
            return;
        const std::uint64_t now = os::coarse_milliseconds();
        (void)runs_.purge_oldest(now - std::min(now, patience));
    }

    std::mutex mutex_;
    region_type region_;
    runs<region_type> runs_{region_};
};
} // namespace memory_pool::np
