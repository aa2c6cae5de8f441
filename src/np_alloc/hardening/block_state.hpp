// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Whether a block is in use, and how many bytes of it were asked for: kept beside the slab by the checked build.
///
///     state of a block:  |      requested size       |  allocation function  | 1 |     in use
///                        |    the same, for reports  |       the same        | 2 |     freed, and poisoned since
///                        |    the old or the new     |       the same        | 3 |     between the two, half filled
///                        |    the same, for reports  |       the same        | 4 |     freed, purged since: all zeros
///                        |             0             |           0           | 4 |     never allocated: all zeros
///                        |             0             |           0           | 5 |     never allocated: used before
///                        |    the same, for reports  |       the same        | 6 |     freed, in transit: its first
///                                                                                      bytes are the library's
///                        |             0             |           0           | 0 |     unknown, or written to by the
///                                                                                      library
///
/// The bitmap of a slab says whether a block is outstanding, and is its heap's alone. The state says whether the
/// program has the block. The freeing thread changes it in one step: so of two threads that free it, one finds it free.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/immovable.hpp>

#include "../os/single_thread.hpp"
#include "pairs.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace memory_pool::np {
/// How much of a free block the library writes to as it sends the block to its heap.
inline constexpr std::size_t bytes_of_sent = 16;

/// The state of one block. Zeroed, it was never allocated.
class block_state
{
public:
    /// Effects: the block is about to be in use: begin_use() says when.
    /// Returns: if the block was freed and poisoned before, the size last requested; the poison must be intact.
    /// Preconditions: it is not in use.
    std::optional<std::size_t> hand_out(std::size_t bytes, allocated_by function = allocated_by::malloc) noexcept
    {
        const std::uint32_t before = word_.load(std::memory_order_relaxed);
        word_.store(in_use_with(bytes, function) | being_changed, std::memory_order_release);
        return is_given_back(before) ? std::optional(bytes_of(before)) : std::nullopt;
    }

    /// Effects: the block is in use, as hand_out() has noted. Until then, what lies behind it is not canary yet.
    void begin_use() noexcept
    {
        word_.store((word_.load(std::memory_order_relaxed) & ~being_changed) | in_use, std::memory_order_relaxed);
    }

    /// Marks a block in use as being changed, for its own lifetime.
    class change : base::immovable<change>
    {
    public:
        explicit change(block_state& its) noexcept : its_(its)
        {
            its_.word_.fetch_or(being_changed, std::memory_order_relaxed);
        }
        ~change() { its_.begin_use(); }

    private:
        block_state& its_;
    };

    /// Effects: the block is given back, if it is in use, and about to be filled: end_use() says when it is.
    /// Returns: how many bytes of it were asked for; nothing if it is not in use.
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

    /// Effects: the block, which was given back, is filled.
    void end_use() noexcept
    {
        word_.store((word_.load(std::memory_order_relaxed) & ~being_changed) | given_back, std::memory_order_relaxed);
    }

    /// Effects: notes how many bytes of a block in use are asked for now.
    void resize(std::size_t bytes) noexcept { word_.store(in_use_with(bytes, function()), std::memory_order_relaxed); }

    /// Effects: changes the allocation function of a block in use.
    void set_function(allocated_by function) noexcept
    {
        word_.store(in_use_with(bytes_of(word_.load(std::memory_order_relaxed)), function), std::memory_order_relaxed);
    }

    /// Returns: the function that allocated the block last.
    allocated_by function() const noexcept
    {
        return static_cast<allocated_by>(word_.load(std::memory_order_relaxed) >> state_bits & 7U);
    }

    /// Effects: the block, which is not in use, holds zeros from now on, also instead of its last word. To threads that
    ///   find a zero there, it is_purged(): canary::clear_last and system calls release this.
    void purge() noexcept
    {
        word_.store((word_.load(std::memory_order_relaxed) & ~all_states) | purged, std::memory_order_relaxed);
    }

    /// Effects: starts a block that was never allocated: of zeros, or of recycled memory: see first_damage().
    void start(bool is_zero) noexcept { word_.store(is_zero ? purged : recycled, std::memory_order_relaxed); }

    bool is_purged() const noexcept { return (word_.load(std::memory_order_acquire) & all_states) == purged; }
    bool is_recycled() const noexcept { return (word_.load(std::memory_order_relaxed) & all_states) == recycled; }

    /// Returns: whether is_purged() or is_recycled().
    bool is_not_filled() const noexcept
    {
        return (word_.load(std::memory_order_relaxed) & all_states) - purged <= recycled - purged;
    }

    bool is_unknown() const noexcept { return word_.load(std::memory_order_relaxed) == 0; }

    /// Effects: the block, which is not in use, is sent to its heap: the library writes to its first bytes.
    void send() noexcept
    {
        const std::uint32_t word = word_.load(std::memory_order_relaxed);
        word_.store(is_given_back(word) ? (word & ~all_states) | sent : 0, std::memory_order_release);
    }

    /// Effects: the block, which was sent or unknown, is filled again.
    void receive() noexcept
    {
        word_.store((word_.load(std::memory_order_relaxed) & ~all_states) | given_back, std::memory_order_relaxed);
    }

    bool is_sent() const noexcept { return (word_.load(std::memory_order_relaxed) & all_states) == sent; }

    /// Effects: the content of the block, which is not in use, is unknown from now on, but its last word is canary.
    void forget() noexcept { word_.store(0, std::memory_order_release); }

    /// Returns: how many bytes were asked for; nothing if it is not in use.
    std::optional<std::size_t> bytes() const noexcept
    {
        const std::uint32_t word = word_.load(std::memory_order_relaxed);
        return is_in_use(word) ? std::optional(bytes_of(word)) : std::nullopt;
    }

    /// Returns: the size requested at the last allocation, in use or not; 0 if unknown.
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
