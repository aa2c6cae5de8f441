// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The quarantine of a thread: freed blocks whose reuse is delayed.
///
///     up to 4 KiB:    freed ->  | youngest | ... | oldest |  -> magazine        one queue, limited in bytes
///     larger:         freed ->  | 16 blocks of that class |  -> magazine        a ring for each class
///
/// The delay makes writes through dangling pointers harmless for a while; the library detects such writes when the
/// block is allocated again. Large blocks have separate rings, because a few of them would displace all other blocks in
/// a single queue.
///
/// Thread safety: none, except for functions whose comments say otherwise.
#pragma once

#include <memory_pool/base/config.hpp>

#include "../slices/size_classes.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
/// Free blocks of a thread. A zeroed quarantine is empty.
class quarantine
{
public:
    static constexpr std::size_t max_blocks = 1024;
    /// Larger blocks have rings.
    static constexpr std::size_t largest_in_queue = 4096;
    static constexpr std::size_t blocks_in_ring = 16;

    static constexpr bool has_ring(std::size_t size_class) noexcept { return size_class >= first_with_ring; }

    bool is_empty() const noexcept { return count_ == 0 && bytes_in_rings_ == 0; }
    bool is_full() const noexcept { return count_ == max_blocks; }
    /// Returns: bytes in the queue.
    std::size_t bytes() const noexcept { return bytes_; }
    std::size_t bytes_in_rings() const noexcept { return bytes_in_rings_; }

    /// Effects: appends a block. `is_own`: the block belongs to the heap of this quarantine.
    /// Preconditions: the queue is not full.
    void push(std::size_t size_class, void* block, bool is_own) noexcept
    {
        const std::size_t place = (first_ + count_++) % max_blocks;
        blocks_[place] = block;
        classes_[place] = static_cast<std::uint8_t>(is_own ? size_class : size_class | of_another);
        bytes_ += class_info[size_class].block_bytes;
    }

    /// The oldest block of the queue or of a ring.
    struct entry
    {
        void* block;
        std::size_t size_class;
        bool is_own;
    };

    /// Effects: puts a block into the ring of its class.
    /// Returns: the oldest block of the ring, which `block` replaces; its address is nullptr if the ring had room.
    /// Preconditions: has_ring(size_class).
    entry replace(std::size_t size_class, void* block, bool is_own) noexcept
    {
        const std::size_t ring = size_class - first_with_ring;
        std::uintptr_t& place = rings_[ring][next_[ring]++ % blocks_in_ring];
        const entry oldest = entry_of(place, size_class);
        place = reinterpret_cast<std::uintptr_t>(block) | (is_own ? 0U : 1U);
        bytes_in_rings_ += oldest.block == nullptr ? class_info[size_class].block_bytes : 0;
        return oldest;
    }

    /// Preconditions: the queue is not empty.
    entry pop() noexcept
    {
        const entry oldest{blocks_[first_], class_at(first_), classes_[first_] < of_another};
        first_ = (first_ + 1) % max_blocks;
        --count_;
        bytes_ -= class_info[oldest.size_class].block_bytes;
        return oldest;
    }

    /// Effects: removes all blocks, and calls `put(size_class, block)` for each, the oldest first.
    template <class Put>
    void pop_all(Put&& put) noexcept
    {
        while (count_ != 0) {
            const entry oldest = pop();
            put(oldest.size_class, oldest.block);
        }
        if (bytes_in_rings_ == 0)
            return;
        for (std::size_t ring = 0; ring != rings; ++ring)
            for (std::size_t i = 0; i != blocks_in_ring; ++i)
                if (const entry oldest = replace(first_with_ring + ring, nullptr, true); oldest.block != nullptr)
                    put(oldest.size_class, oldest.block);
        bytes_in_rings_ = 0;
    }

    /// Effects: calls `visit(size_class, block)` for each block, until `visit` returns false.
    /// Returns: whether `visit` never returned false.
    template <class Visit>
    bool for_each(Visit&& visit) const
    {
        for (std::size_t i = 0; i != count_; ++i) {
            const std::size_t place = (first_ + i) % max_blocks;
            if (!visit(class_at(place), blocks_[place]))
                return false;
        }
        for (std::size_t ring = 0; bytes_in_rings_ != 0 && ring != rings; ++ring)
            for (const std::uintptr_t place : rings_[ring])
                if (place != 0 && !visit(first_with_ring + ring, entry_of(place, 0).block))
                    return false;
        return true;
    }

    /// Effects: calls `visit(const void* block)` for each block of a snapshot. `visit` may only compare the addresses.
    /// Thread safety: any thread.
    template <class Visit>
    void for_each_from_outside(Visit&& visit) const
    {
        for_each_place_from_outside([&](std::size_t place) { visit(read_from_outside(blocks_[place])); });
        for_each_in_rings_from_outside([&](const entry& each) { visit(each.block); });
    }

    /// Effects: calls `visit(std::size_t size_class)` for each block of a snapshot, which may be stale.
    /// Thread safety: any thread.
    template <class Visit>
    void for_each_class_from_outside(Visit&& visit) const
    {
        for_each_place_from_outside([&](std::size_t place) {
            const std::size_t size_class = read_from_outside(classes_[place]) % of_another;
            visit(size_class < class_count ? size_class : 0); // Entries that were never written are arbitrary.
        });
        for_each_in_rings_from_outside([&](const entry& each) { visit(each.size_class); });
    }

private:
    /// A deliberate race: every supported processor reads and writes a word as a whole.
    template <class Word>
    MEMORY_POOL_MAY_RACE static Word read_from_outside(const volatile Word& word) noexcept
    {
        return word;
    }

    template <class Visit>
    void for_each_place_from_outside(Visit&& visit) const
    {
        // Read once, because the count may shrink past `i` during the loop.
        const std::size_t first = read_from_outside(first_);
        const std::size_t count = read_from_outside(count_);
        for (std::size_t i = 0; i != count; ++i)
            visit((first + i) % max_blocks);
    }

    template <class Visit>
    void for_each_in_rings_from_outside(Visit&& visit) const
    {
        for (std::size_t ring = 0; ring != rings; ++ring)
            for (const std::uintptr_t& place : rings_[ring])
                if (const entry each = entry_of(read_from_outside(place), first_with_ring + ring);
                    each.block != nullptr)
                    visit(each);
    }

    /// Decodes a place in a ring: an address, plus 1 for a block of another heap.
    static entry entry_of(std::uintptr_t place, std::size_t size_class) noexcept
    {
        return {reinterpret_cast<void*>(place & ~std::uintptr_t{1}), size_class, (place & 1U) == 0};
    }

    static constexpr std::size_t first_with_ring = sizes::of(largest_in_queue) + 1;
    static constexpr std::size_t rings = class_count - first_with_ring;

    /// Added to the class of a block of another heap.
    static constexpr std::size_t of_another = 128;
    static_assert(class_count <= of_another);

    std::size_t class_at(std::size_t place) const noexcept { return classes_[place] % of_another; }

    std::size_t first_ = 0;
    std::size_t count_ = 0;
    std::size_t bytes_ = 0;
    std::array<std::uint8_t, max_blocks> classes_;
    std::array<void*, max_blocks> blocks_;
    std::size_t bytes_in_rings_ = 0;
    std::array<std::uint8_t, rings> next_{};
    std::array<std::array<std::uintptr_t, blocks_in_ring>, rings> rings_{};
};

/// In the plain build: always empty.
struct no_quarantine
{
    static constexpr bool is_empty() noexcept { return true; }
    static constexpr std::size_t bytes_in_rings() noexcept { return 0; }
    template <class Put>
    static constexpr void pop_all(Put&&) noexcept
    {
    }
    template <class Visit>
    static constexpr bool for_each(Visit&&) noexcept
    {
        return true;
    }
    template <class Visit>
    static constexpr void for_each_from_outside(Visit&&) noexcept
    {
    }
    template <class Visit>
    static constexpr void for_each_class_from_outside(Visit&&) noexcept
    {
    }
};
} // namespace memory_pool::np
