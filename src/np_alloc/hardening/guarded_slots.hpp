// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Guarded samples: slots for single blocks between inaccessible pages.
///
///     | guard | . . . . .|block| guard | . . . . . . . . | guard |block|. . . . . | guard | ...       .: no access
///              <--- slot --->           free, used before         sometimes
///
/// Only the pages of blocks in use are accessible. Most blocks end where their slot ends, so that the first byte behind
/// the block is inaccessible; some begin where their slot begins. The remaining bytes of a block's pages are canary.
/// Slots are reused first in, first out. The metadata of a slot's current or last block, including the call stacks of
/// its allocation and deallocation, is kept elsewhere.
///
/// The memory of a single-page block stays with the free slot, filled with zeros, so the block costs only two system
/// calls.
///
/// Thread safety: none; the page heap has a lock. Exceptions: `contain` and `nearest`. `nearest` runs when the program
///   is about to end, and may read metadata that other threads are changing.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/call_stack.hpp>
#include <memory_pool/os/pages.hpp>

#include "../os/random.hpp"
#include "../slices/size_classes.hpp"
#include "../support/build_variant.hpp"
#include "../support/fill_pattern.hpp"
#include "../support/internals.hpp"
#include "../support/metadata_pages.hpp"
#include "dealloc_mismatch.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

namespace memory_pool::np {
/// The current or last block of a slot.
struct guarded_block
{
    std::byte* begin = nullptr; ///< nullptr if the slot was never used.
    std::size_t bytes = 0;
    std::byte* pages = nullptr; ///< The block's accessible pages.
    std::size_t page_bytes = 0;
    bool is_in_use = false;
    allocated_by function = allocated_by::malloc; ///< Only in the checked build.
    std::uint32_t next_free = 0;                  ///< The next free slot, if this slot is free.
    os::call_stack allocated_at;
    os::call_stack freed_at;

    std::byte* end() const noexcept { return begin + bytes; }
    std::byte* pages_end() const noexcept { return pages + page_bytes; }
    bool holds(const void* address) const noexcept { return begin <= address && address < end(); }

    /// Returns: the distance of an address from the block; 0 inside the block and directly behind it.
    std::size_t distance(const std::byte* address) const noexcept
    {
        if (address < begin)
            return static_cast<std::size_t>(begin - address);
        return address > end() ? static_cast<std::size_t>(address - end()) : 0;
    }
};

/// The kind of a refused access.
enum class wrong_access
{
    overflow,
    underflow,
    use_after_free,
};

/// All slots, each free or with a block in use.
class guarded_slots : base::immovable<guarded_slots>
{
public:
    static constexpr std::uint32_t count = 256;
    /// Large enough for the largest block of a slab and for the largest page size of common systems.
    static constexpr std::size_t slot_bytes = std::size_t{64} * 1024;
    static_assert(slot_bytes >= largest_in_slab, "a guarded sample may be as large as any block of a slab");

    ~guarded_slots() = default; // The slots of the process are never destroyed: see release().

    /// Effects: returns all addresses and memory to the system.
    void release() noexcept
    {
        if (reserved_ == nullptr)
            return;
        (void)os::release_addresses(reserved_, reserved_bytes);
        give_metadata_pages(blocks_, count * sizeof(guarded_block));
        reserved_ = nullptr;
        first_.store(nullptr, std::memory_order_relaxed);
    }

    /// Returns: a block filled with zeros; nullptr if no slot is free, or the system has no memory.
    /// Preconditions: `bytes` is at most slot_bytes, and a multiple of 8 and of the alignment of the block.
    /// Complexity: a few system calls.
    std::byte* take(std::size_t bytes, const os::call_stack& by) noexcept
    {
        if ((reserved_ == nullptr && !start()) || first_free_ == no_slot)
            return nullptr;
        std::byte* const slot = begin_of(first_free_);
        std::byte* const begin = goes_to_the_end() ? slot + slot_bytes - bytes : slot;
        const std::size_t before = bytes_on_page_before(begin);
        const std::size_t page_bytes = in_whole_pages(before + bytes);
        std::byte* const pages = begin - before;
        guarded_block& taken = blocks_[first_free_];
        if (!os::commit_memory(pages, page_bytes))
            return nullptr;
        if (taken.pages != pages || taken.page_bytes != page_bytes)
            os::include_in_dumps(pages, page_bytes);
        first_free_ = taken.next_free;
        taken = {begin, bytes, pages, page_bytes, true, allocated_by::malloc, no_slot, by, {}};
        write_canary(taken);
        bytes_around_blocks_ += page_bytes - bytes;
        return begin;
    }

    /// Effects: restores the canary around a block if the canary is damaged.
    /// Returns: the kind of damage; nothing if the canary was intact.
    /// Preconditions: the block is in use.
    std::optional<error_kind> mend_canary(const void* block) noexcept
    {
        const guarded_block& looked_at = blocks_[slot_of(block)];
        const bool is_behind = !the_canary.are_words_intact(looked_at.end(), looked_at.pages_end());
        if (!is_behind && the_canary.are_words_intact(looked_at.pages, looked_at.begin))
            return std::nullopt;
        write_canary(looked_at);
        return is_behind ? error_kind::buffer_overflow : error_kind::buffer_underflow;
    }

    /// Effects: frees a block.
    /// Preconditions: the block is in use.
    /// Complexity: a few system calls.
    void give(const void* block, const os::call_stack& by) noexcept
    {
        const std::uint32_t slot = slot_of(block);
        guarded_block& given = blocks_[slot];
        const bool keeps_memory = given.page_bytes == os::page_size();
        if (keeps_memory || !os::purge_memory(given.pages, given.page_bytes)) // Locked memory is not purged.
            std::memset(given.pages, 0, given.page_bytes);
        (void)os::decommit_memory(given.pages, given.page_bytes); // On failure, accesses read zeros.
        given.is_in_use = false;
        bytes_around_blocks_ -= given.page_bytes - given.bytes;
        given.freed_at = by;
        append(slot);
    }

    /// Effects: shortens a block that the program does not have yet. A block at the end of its slot then begins later,
    ///   so that it still ends at the end of the slot, or as close to that end as its alignment allows.
    /// Returns: the block.
    /// Preconditions: the block is in use, and has room for `bytes`, at least one, aligned to `alignment`.
    std::byte* fit(const void* block, std::size_t bytes, std::size_t alignment) noexcept
    {
        const std::uint32_t slot = slot_of(block);
        guarded_block& fitted = blocks_[slot];
        if (fitted.end() == begin_of(slot) + slot_bytes)
            fitted.begin = fitted.end() - base::round_up(bytes, alignment);
        bytes_around_blocks_ += fitted.bytes - bytes;
        fitted.bytes = bytes;
        write_canary(fitted);
        return fitted.begin;
    }

    /// Returns: the metadata of a block.
    /// Preconditions: the block is in use.
    guarded_block& at(const void* block) noexcept { return blocks_[slot_of(block)]; }

    /// Returns: whether an address lies in a slot or a guard.
    /// Thread safety: any thread.
    bool contain(const void* address) const noexcept
    {
        const auto first = reinterpret_cast<std::uintptr_t>(first_.load(std::memory_order_acquire));
        return first != 0 && reinterpret_cast<std::uintptr_t>(address) - first < all_bytes;
    }

    /// Returns: the block nearest to an address, among the slots around it; nullptr if these slots were never used.
    /// Preconditions: contain(address).
    const guarded_block* nearest(const void* address) const noexcept
    {
        const auto* const wanted = static_cast<const std::byte*>(address);
        const std::size_t half = static_cast<std::size_t>(wanted - first_.load(std::memory_order_relaxed)) / slot_bytes;
        const std::size_t behind = half / 2; // The slot of the address, or the slot after its guard.
        const guarded_block* const next =
            behind < count && blocks_[behind].begin != nullptr ? &blocks_[behind] : nullptr;
        if (half % 2 != 0 || behind == 0 || blocks_[behind - 1].begin == nullptr)
            return next;
        const guarded_block* const before = &blocks_[behind - 1];
        return next == nullptr || before->distance(wanted) < next->distance(wanted) ? before : next;
    }

    /// Returns: the kind of a refused access at or near `block`.
    static wrong_access kind_of(const guarded_block& block, const void* address) noexcept
    {
        if (!block.is_in_use)
            return wrong_access::use_after_free;
        return address < block.begin ? wrong_access::underflow : wrong_access::overflow;
    }

    /// Returns: the beginning of the slots and guards; nullptr if there are none.
    std::byte* begin() const noexcept { return first_.load(std::memory_order_relaxed); }
    std::size_t bytes() const noexcept { return begin() != nullptr ? all_bytes : 0; }

    /// Returns: accessible bytes outside of blocks.
    std::size_t bytes_around_blocks() const noexcept { return bytes_around_blocks_; }

    /// Returns: the number of blocks in use, and whether that number and the number of free slots add up to `count`.
    std::pair<std::size_t, bool> in_use() const noexcept
    {
        if (reserved_ == nullptr)
            return {0, true};
        std::size_t used = 0;
        for (std::uint32_t slot = 0; slot != count; ++slot)
            used += blocks_[slot].is_in_use ? 1U : 0U;
        std::size_t free = 0;
        for (std::uint32_t slot = first_free_; slot != no_slot && free <= count; slot = blocks_[slot].next_free)
            free += blocks_[slot].is_in_use ? count : 1U;
        return {used, used + free == count};
    }

private:
    static constexpr std::uint32_t no_slot = ~std::uint32_t{0};
    /// A guard before each slot, and one behind the last.
    static constexpr std::size_t all_bytes = (2 * std::size_t{count} + 1) * slot_bytes;
    /// With room to align the slots to their size.
    static constexpr std::size_t reserved_bytes = all_bytes + slot_bytes;

    bool start() noexcept
    {
        if (slot_bytes % os::page_size() != 0)
            return false;
        void* const reserved = os::reserve_addresses(reserved_bytes);
        if (reserved == nullptr)
            return false;
        auto* const first =
            reinterpret_cast<std::byte*>(base::round_up(reinterpret_cast<std::uintptr_t>(reserved), slot_bytes));
        void* const blocks = take_metadata_pages(count * sizeof(guarded_block));
        if (blocks == nullptr) {
            (void)os::release_addresses(reserved, reserved_bytes);
            return false;
        }
        os::leave_out_of_dumps(reserved, reserved_bytes);
        if constexpr (!is_checked)
            the_canary.draw();
        blocks_ = static_cast<guarded_block*>(blocks); // Zeroed: never used.
        reserved_ = reserved;
        first_free_ = no_slot;
        for (std::uint32_t slot = 0; slot != count; ++slot)
            append(slot);
        first_.store(first, std::memory_order_release);
        return true;
    }

    static std::size_t bytes_on_page_before(const std::byte* block) noexcept
    {
        return reinterpret_cast<std::uintptr_t>(block) % os::page_size();
    }

    static void write_canary(const guarded_block& around) noexcept
    {
        the_canary.write(around.pages, around.begin);
        the_canary.write(around.end(), around.pages_end());
    }

    static bool goes_to_the_end() noexcept { return os::random_number() >> 62U != 0; }

    std::byte* begin_of(std::uint32_t slot) const noexcept
    {
        return first_.load(std::memory_order_relaxed) + (2 * std::size_t{slot} + 1) * slot_bytes;
    }

    /// Preconditions: a block begins at `block`.
    std::uint32_t slot_of(const void* block) const noexcept
    {
        const std::byte* const first = first_.load(std::memory_order_relaxed);
        return static_cast<std::uint32_t>(static_cast<std::size_t>(static_cast<const std::byte*>(block) - first) /
                                          slot_bytes / 2);
    }

    void append(std::uint32_t slot) noexcept
    {
        blocks_[slot].next_free = no_slot;
        (first_free_ != no_slot ? blocks_[last_free_].next_free : first_free_) = slot;
        last_free_ = slot;
    }

    void* reserved_ = nullptr;
    std::atomic<std::byte*> first_{nullptr}; ///< The first guard.
    guarded_block* blocks_ = nullptr;        ///< Indexed by slot.
    std::uint32_t first_free_ = no_slot;
    std::uint32_t last_free_ = no_slot;
    std::size_t bytes_around_blocks_ = 0;
};
} // namespace memory_pool::np
