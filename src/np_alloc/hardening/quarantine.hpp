// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Blocks that were freed, and wait until they may go out again: a queue of what one thread has freed.
///
///     freed ->  | youngest | ... | oldest |  -> magazine
///               <---- at most that many bytes --->
///
/// So an old pointer does no harm for a while, and what is written through it is found when the block goes out again.
///
/// Thread safety: figures any thread; the rest none.
#pragma once

#include <memory_pool/base/config.hpp>

#include "../slices/size_classes.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
/// A queue of free blocks. Zeroed, it is empty.
class quarantine
{
public:
    static constexpr std::size_t most_blocks = 1024;

    bool is_empty() const noexcept { return count_ == 0; }
    bool is_full() const noexcept { return count_ == most_blocks; }
    std::size_t bytes() const noexcept { return bytes_; }

    /// Effects: appends a block, of the heap that this is the queue of, or of another.
    /// Preconditions: it is not full.
    void push(std::size_t size_class, void* block, bool is_own) noexcept
    {
        const std::size_t place = (first_ + count_++) % most_blocks;
        blocks_[place] = block;
        classes_[place] = static_cast<std::uint8_t>(is_own ? size_class : size_class | of_another);
        bytes_ += facts[size_class].block_bytes;
    }

    /// What has waited longest.
    struct entry
    {
        void* block;
        std::size_t size_class;
        bool is_own;
    };

    /// Preconditions: it is not empty.
    entry pop() noexcept
    {
        const entry oldest{blocks_[first_], class_at(first_), classes_[first_] < of_another};
        first_ = (first_ + 1) % most_blocks;
        --count_;
        bytes_ -= facts[oldest.size_class].block_bytes;
        return oldest;
    }

    /// Effects: takes all out, and calls `put(size_class, block)` for each, the oldest first.
    template <class Put>
    void pop_all(Put&& put) noexcept
    {
        while (!is_empty()) {
            const entry oldest = pop();
            put(oldest.size_class, oldest.block);
        }
    }

    /// Effects: calls `visit(size_class, block)` for each, until that returns false.
    /// Returns: whether it never did.
    template <class Visit>
    bool for_each(Visit&& visit) const
    {
        for (std::size_t i = 0; i != count_; ++i) {
            const std::size_t place = (first_ + i) % most_blocks;
            if (!visit(class_at(place), blocks_[place]))
                return false;
        }
        return true;
    }

    /// Effects: calls `visit(const void* block)` for each, as they were at some moment. Such an address is only to be
    ///   compared.
    /// Thread safety: any thread.
    template <class Visit>
    void for_each_from_outside(Visit&& visit) const
    {
        for_each_place_from_outside([&](std::size_t place) { visit(read_from_outside(blocks_[place])); });
    }

    /// Effects: calls `visit(std::size_t size_class)` for each block: a snapshot, which may be stale.
    /// Thread safety: any thread.
    template <class Visit>
    void for_each_class_from_outside(Visit&& visit) const
    {
        for_each_place_from_outside([&](std::size_t place) {
            const std::size_t size_class = read_from_outside(classes_[place]) % of_another;
            visit(size_class < class_count ? size_class : 0); // Entries that were never written are arbitrary.
        });
    }

private:
    /// A race on purpose: to every processor that this library is for, a word is read and written as a whole.
    template <class Word>
    MEMORY_POOL_MAY_RACE static Word read_from_outside(const volatile Word& word) noexcept
    {
        return word;
    }

    template <class Visit>
    void for_each_place_from_outside(Visit&& visit) const
    {
        // Read once: the count may shrink past `i` meanwhile.
        const std::size_t first = read_from_outside(first_);
        const std::size_t count = read_from_outside(count_);
        for (std::size_t i = 0; i != count; ++i)
            visit((first + i) % most_blocks);
    }

    /// Stands in the class of a block of another heap.
    static constexpr std::size_t of_another = 128;
    static_assert(class_count <= of_another);

    std::size_t class_at(std::size_t place) const noexcept { return classes_[place] % of_another; }

    std::size_t first_ = 0;
    std::size_t count_ = 0;
    std::size_t bytes_ = 0;
    std::array<std::uint8_t, most_blocks> classes_;
    std::array<void*, most_blocks> blocks_;
};

/// Where nothing waits.
struct no_quarantine
{
    static constexpr bool is_empty() noexcept { return true; }
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
