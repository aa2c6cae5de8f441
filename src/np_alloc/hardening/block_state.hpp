// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The state and requested size of each block of a slab. The checked build keeps both outside of the slab.
///
///     state of a block:  |      requested size       |  allocation function  | 1 |     in use
///                        |     kept for reports      |   kept for reports    | 2 |     freed, then poisoned
///                        |    the old or the new     |  allocation function  | 3 |     being changed: half filled
///                        |     kept for reports      |   kept for reports    | 4 |     freed, then purged: all zeros
///                        |             0             |           0           | 4 |     never allocated: all zeros
///                        |             0             |           0           | 5 |     never allocated: used before
///                        |     kept for reports      |   kept for reports    | 6 |     freed, in transit: the library
///                                                                                      uses its first bytes
///                        |             0             |           0           | 0 |     unknown, or written to by the
///                                                                                      library
///
/// The bitmap of a slab shows which blocks are outstanding; only the slab's heap accesses the bitmap. The state shows
/// whether the block is in use: a freed block stays outstanding while it is cached or in transit. The freeing thread
/// changes the state atomically, so if two threads free a block, one of them finds the block free.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/immovable.hpp>

#include "../os/single_thread.hpp"
#include "dealloc_mismatch.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace memory_pool::np {
/// Bytes of a free block that the library overwrites when it sends the block to its heap.
inline constexpr std::size_t bytes_of_sent = 16;

/// The state of one block. All zeros means that the block's content is unknown.
class block_state
{
public:
    /// Effects: starts the allocation of the block; begin_use() completes the allocation.
    /// Returns: the last requested size if the block was freed and poisoned, which means that its poison must be
    ///   intact.
    /// Preconditions: the block is not in use.
    std::optional<std::size_t> hand_out(std::size_t bytes, allocated_by function = allocated_by::malloc) noexcept
    {
        const std::uint32_t before = word_.load(std::memory_order_relaxed);
        word_.store(in_use_with(bytes, function) | being_changed, std::memory_order_release);
        return is_given_back(before) ? std::optional(bytes_of(before)) : std::nullopt;
    }

    /// Effects: completes hand_out() once the canary behind the requested bytes is written. The block is then in use.
    void begin_use() noexcept
    {
        word_.store((word_.load(std::memory_order_relaxed) & ~being_changed) | in_use, std::memory_order_relaxed);
    }

    /// Marks a block in use as being changed, for its own lifetime.
    class change : base::immovable<change>
    {
    public:
        explicit change(block_state& state) noexcept : state_(state)
        {
            state_.word_.fetch_or(being_changed, std::memory_order_relaxed);
        }
        ~change() { state_.begin_use(); }

    private:
        block_state& state_;
    };

    /// Effects: starts to free the block if it is in use; end_use() completes the free.
    /// Returns: the requested size; nothing if the block is not in use.
    std::optional<std::size_t> take_back() noexcept
    {
        std::uint32_t word = word_.load(std::memory_order_relaxed);
        if (!is_in_use(word))
            return std::nullopt;
        if (os::is_single_threaded())
            word_.store(word | being_changed, std::memory_order_relaxed);
        else if (!word_.compare_exchange_strong(word, word | being_changed, std::memory_order_relaxed))
            return std::nullopt;
        return bytes_of(word);
    }

    /// Effects: completes take_back() once the block is filled.
    void end_use() noexcept
    {
        word_.store((word_.load(std::memory_order_relaxed) & ~being_changed) | given_back, std::memory_order_relaxed);
    }

    /// Effects: sets the requested size of a block in use.
    void resize(std::size_t bytes) noexcept { word_.store(in_use_with(bytes, function()), std::memory_order_relaxed); }

    /// Effects: changes the allocation function of a block in use.
    void set_function(allocated_by function) noexcept
    {
        word_.store(in_use_with(bytes_of(word_.load(std::memory_order_relaxed)), function), std::memory_order_relaxed);
    }

    /// Returns: the function that last allocated the block.
    allocated_by function() const noexcept
    {
        return static_cast<allocated_by>(word_.load(std::memory_order_relaxed) >> state_bits & 7U);
    }

    /// Effects: marks a free block as all zeros, including its last word. A thread that reads zero as the last word
    ///   also sees is_purged(), because canary::clear_last and system calls release this store.
    void purge() noexcept
    {
        word_.store((word_.load(std::memory_order_relaxed) & ~all_states) | purged, std::memory_order_relaxed);
    }

    /// Effects: initializes the state of a new block in zeroed or recycled memory (see first_damage()).
    void start(bool is_zero) noexcept { word_.store(is_zero ? purged : recycled, std::memory_order_relaxed); }

    bool is_purged() const noexcept { return (word_.load(std::memory_order_acquire) & all_states) == purged; }
    bool is_recycled() const noexcept { return (word_.load(std::memory_order_relaxed) & all_states) == recycled; }

    /// Returns: whether is_purged() or is_recycled().
    bool is_not_filled() const noexcept
    {
        return (word_.load(std::memory_order_relaxed) & all_states) - purged <= recycled - purged;
    }

    bool is_unknown() const noexcept { return word_.load(std::memory_order_relaxed) == 0; }

    /// Effects: marks a free block as in transit to its heap: the library writes to its first bytes.
    void send() noexcept
    {
        const std::uint32_t word = word_.load(std::memory_order_relaxed);
        word_.store(is_given_back(word) ? (word & ~all_states) | sent : 0, std::memory_order_release);
    }

    /// Effects: marks a sent or unknown block as filled again.
    void receive() noexcept
    {
        word_.store((word_.load(std::memory_order_relaxed) & ~all_states) | given_back, std::memory_order_relaxed);
    }

    bool is_sent() const noexcept { return (word_.load(std::memory_order_relaxed) & all_states) == sent; }

    /// Effects: marks the content of a free block as unknown, except for its last word, which is the canary.
    void forget() noexcept { word_.store(0, std::memory_order_release); }

    /// Returns: the requested size; nothing if the block is not in use.
    std::optional<std::size_t> bytes() const noexcept
    {
        const std::uint32_t word = word_.load(std::memory_order_relaxed);
        return is_in_use(word) ? std::optional(bytes_of(word)) : std::nullopt;
    }

    /// Returns: the last requested size, whether the block is in use or not; 0 if unknown.
    std::size_t last_bytes() const noexcept { return bytes_of(word_.load(std::memory_order_relaxed)); }

    bool is_in_use() const noexcept { return is_in_use(word_.load(std::memory_order_relaxed)); }
    bool is_given_back() const noexcept { return is_given_back(word_.load(std::memory_order_relaxed)); }

private:
    static constexpr std::uint32_t in_use = 1;
    static constexpr std::uint32_t given_back = 2;
    static constexpr std::uint32_t being_changed = 3;
    static constexpr std::uint32_t purged = 4;
    static constexpr std::uint32_t recycled = 5;
    static constexpr std::uint32_t sent = 6;
    static constexpr std::uint32_t all_states = 7;
    static constexpr std::uint32_t state_bits = 3;

    static constexpr std::uint32_t in_use_with(std::size_t bytes, allocated_by function) noexcept
    {
        return static_cast<std::uint32_t>(bytes) << 2U * state_bits |
               std::uint32_t{static_cast<std::uint8_t>(function)} << state_bits | in_use;
    }
    static constexpr bool is_in_use(std::uint32_t word) noexcept { return (word & all_states) == in_use; }
    static constexpr bool is_given_back(std::uint32_t word) noexcept { return (word & all_states) == given_back; }
    static constexpr std::size_t bytes_of(std::uint32_t word) noexcept { return word >> 2U * state_bits; }

    std::atomic<std::uint32_t> word_;
};
} // namespace memory_pool::np
