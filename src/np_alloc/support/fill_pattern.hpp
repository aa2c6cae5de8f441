// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Known bytes in free blocks and behind requested bytes, which reveal stray writes.
///
///     in use:      | what the program writes  | canary | last word |      up to the end of the block
///     free:        | 0xDF 0xDF 0xDF ...                | last word |      or zeros, as NP_ZERO says
///
/// The canary is drawn once per process. None of its bytes is 0, 1, 0xFF or the poison, the values that programs write
/// most. The last word of a slab's block is always canary, whether the block is in use or free. So the next block can
/// be checked for underflows at any time, whatever other threads do to this block. The middle byte of the word is zero,
/// to terminate a string that runs into the word. The first and last bytes are not zero, because programs write zeros
/// there by mistake.
///
/// Thread safety: threads must not share a block, except where noted.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>

#include "../os/bytes.hpp"
#include "../os/random.hpp"
#include "internals.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace memory_pool::np {
/// The byte that fills free blocks. No processor accepts an address made of these bytes.
inline constexpr unsigned char poison_byte = 0xDF;

/// The bytes behind blocks.
class canary : base::immovable<canary>
{
public:
    /// The size of the last word of a block, which is always canary.
    static constexpr std::size_t last_bytes = sizeof(std::uint64_t);
    /// The maximum number of bytes before the canary that write_to_new() may overwrite.
    static constexpr std::size_t max_bytes_before = 23;

    /// Effects: draws the canary. Call it once, before the first allocation.
    void draw() noexcept
    {
        std::array<unsigned char, last_bytes> bytes{};
        do {
            const std::uint64_t drawn = os::random_number();
            std::memcpy(bytes.data(), &drawn, sizeof drawn);
        } while (std::any_of(bytes.begin(), bytes.end(), is_usual));
        word_.store(load(bytes.data()), std::memory_order_relaxed);
        bytes[bytes.size() / 2] = 0;
        last_.store(load(bytes.data()), std::memory_order_relaxed);
    }

    /// Effects: fills the bytes from `from` to `end` with the canary. Skips words that already contain it: another
    ///   thread may be reading the last word.
    /// Preconditions: `end` is a multiple of 8; the whole word that contains `from` may be read.
    void write(std::byte* from, std::byte* end) const noexcept
    {
        std::byte* place = from - place_in_word(from);
        if (place == end)
            return;
        const std::uint64_t mask = bytes_from(place_in_word(from));
        store_other(place, (load(place) & ~mask) | (word_at(place, end) & mask));
        for (place += last_bytes; place != end; place += last_bytes)
            store_other(place, word_at(place, end));
    }

    /// Effects: as write(), for memory that the program has not written to and whose last word is the canary. Up to
    ///   `max_bytes_before` bytes before `from` may change as well: reading them first could miss the cache.
    /// Preconditions: the block has at least 24 bytes.
    MEMORY_POOL_ALWAYS_INLINE void write_to_new(std::byte* from, std::byte* end) const noexcept
    {
        const std::uint64_t word = word_.load(std::memory_order_relaxed);
        if (MEMORY_POOL_LIKELY(static_cast<std::size_t>(end - from) <= max_short)) {
            store(end - max_short, word);
            store(end - max_short + sizeof word, word);
            return;
        }
        write_many(from - place_in_word(from), end - last_bytes, word);
    }

    /// Returns: the value of the last word.
    std::uint64_t last_word() const noexcept { return last_.load(std::memory_order_relaxed); }

    /// Returns: the address of the last word of a block that ends at `end`.
    static std::uint64_t* last_before(std::byte* end) noexcept { return reinterpret_cast<std::uint64_t*>(end) - 1; }
    static const std::uint64_t* last_before(const std::byte* end) noexcept
    {
        return reinterpret_cast<const std::uint64_t*>(end) - 1;
    }

    /// Effects: writes the last word of a block that ends at `end`.
    void write_last(std::byte* end) const noexcept
    {
        __atomic_store_n(last_before(end), last_.load(std::memory_order_relaxed), __ATOMIC_RELAXED);
    }

    /// Effects: as write_last(), if the last word is zero. In fresh memory, this causes a single page fault, for
    ///   writing; reading first would cause another.
    /// Returns: whether the last word was zero.
    bool write_last_if_clear(std::byte* end) const noexcept
    {
        std::uint64_t clear = 0;
        return __atomic_compare_exchange_n(last_before(end), &clear, last_word(), false, __ATOMIC_RELAXED,
                                           __ATOMIC_RELAXED);
    }

    /// Effects: zeroes the last word of a block that is purged.
    static void clear_last(std::byte* end) noexcept { __atomic_store_n(last_before(end), 0U, __ATOMIC_RELEASE); }

    static bool is_last_clear(const std::byte* end) noexcept
    {
        return __atomic_load_n(last_before(end), __ATOMIC_ACQUIRE) == 0;
    }

    /// Effects: restores the last word of a damaged block, to zero if the block is purged, unless another thread has
    ///   changed the word.
    void mend_last(std::byte* end, bool is_purged) const noexcept
    {
        std::uint64_t damaged = __atomic_load_n(last_before(end), __ATOMIC_RELAXED);
        const std::uint64_t word = last_.load(std::memory_order_relaxed);
        if (damaged != word)
            (void)__atomic_compare_exchange_n(last_before(end), &damaged, is_purged ? 0U : word, false,
                                              __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }

    /// Returns: whether the byte at `place` belongs to a canary.
    bool is_at(const std::byte* place) const noexcept
    {
        const std::uint64_t word = word_.load(std::memory_order_relaxed);
        return std::memcmp(place, reinterpret_cast<const char*>(&word) + place_in_word(place), 1) == 0;
    }

    /// Returns: whether the word before `end` is the canary.
    /// Thread safety: any thread.
    MEMORY_POOL_ALWAYS_INLINE bool is_last_intact(const std::byte* end) const noexcept
    {
        return __atomic_load_n(last_before(end), __ATOMIC_RELAXED) == last_.load(std::memory_order_relaxed);
    }

    /// Returns: whether the bytes from `from` to `end` are as write() left them.
    /// Preconditions: as write(); if there are any bytes, the 24 bytes before `end` may be read.
    MEMORY_POOL_ALWAYS_INLINE bool is_intact(const std::byte* from, const std::byte* end) const noexcept
    {
        const std::uint64_t word = word_.load(std::memory_order_relaxed);
        if (MEMORY_POOL_LIKELY(static_cast<std::size_t>(end - from) - 1 < max_short)) {
            const unsigned char* const mask = zeros_and_ones + (end - from);
            return (((load(end - max_short) ^ word) & load(mask)) |
                    ((load(end - max_short + sizeof word) ^ word) & load(mask + sizeof word)) |
                    ((load(end - sizeof word) ^ last_.load(std::memory_order_relaxed)) &
                     load(mask + 2 * sizeof word))) == 0;
        }
        return are_words_intact(from, end);
    }

    /// Returns: as is_intact().
    /// Preconditions: as write(); the bytes before the word that contains `from` need not be readable.
    MEMORY_POOL_NOINLINE bool are_words_intact(const std::byte* from, const std::byte* end) const noexcept
    {
        const std::byte* place = from - place_in_word(from);
        if (place == end)
            return true;
        std::uint64_t difference = (load(place) ^ word_at(place, end)) & bytes_from(place_in_word(from));
        for (place += last_bytes; place != end; place += last_bytes)
            difference |= load(place) ^ word_at(place, end);
        return difference == 0;
    }

private:
    /// The longest canary of blocks of up to 1 KiB, which is compared without a loop.
    static constexpr std::size_t max_short = 24;
    static constexpr unsigned char zeros_and_ones[48] = {
        0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
        0,    0,    0,    0,    0,    0,    0,    0,    0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

    MEMORY_POOL_NOINLINE static void write_many(std::byte* place, std::byte* end, std::uint64_t word) noexcept
    {
        for (; place != end; place += sizeof word)
            store(place, word);
    }

    /// Returns: whether programs often write `value` by mistake.
    static constexpr bool is_usual(unsigned char value) noexcept
    {
        constexpr unsigned char ones = 0xFF;
        return value <= 1 || value == ones || value == poison_byte;
    }

    /// Returns: the word at `place` of a canary that ends at `end`.
    std::uint64_t word_at(const std::byte* place, const std::byte* end) const noexcept
    {
        return (place + last_bytes == end ? last_ : word_).load(std::memory_order_relaxed);
    }

    static std::size_t place_in_word(const std::byte* address) noexcept
    {
        return reinterpret_cast<std::uintptr_t>(address) % sizeof(std::uint64_t);
    }

    /// Returns: a word whose bytes in memory have all bits set from `place` on, in any byte order.
    static std::uint64_t bytes_from(std::size_t place) noexcept { return load(zeros_and_ones + max_short - place); }

    static std::uint64_t load(const void* from) noexcept
    {
        std::uint64_t word = 0;
        std::memcpy(&word, from, sizeof word);
        return word;
    }
    static void store(void* to, std::uint64_t word) noexcept { std::memcpy(to, &word, sizeof word); }
    static void store_other(void* to, std::uint64_t word) noexcept
    {
        if (load(to) != word)
            store(to, word);
    }

    std::atomic<std::uint64_t> word_{0};
    std::atomic<std::uint64_t> last_{0};
};

/// The canary of the process.
inline canary the_canary;

/// A word of poison, or zeros for NP_ZERO=free. Set before the first allocation.
inline std::atomic<std::uint64_t> the_poison{0x0101'0101'0101'0101U * poison_byte};

/// Effects: fills free memory.
inline void poison(void* memory, std::size_t bytes) noexcept
{
    std::memset(memory, static_cast<unsigned char>(the_poison.load(std::memory_order_relaxed)), bytes);
}

/// Returns: the first damaged word of free memory; nullptr if there is none. An undamaged word is poison. Unless all
///   memory `is_filled`, it may also be the last word of a block, or zero, as in fresh and purged memory.
/// Preconditions: the address and the size are multiples of 8.
inline const void* first_damage(const void* memory, std::size_t bytes, bool is_filled = false) noexcept
{
    const std::uint64_t filled = the_poison.load(std::memory_order_relaxed);
    const std::uint64_t last = is_filled ? filled : the_canary.last_word();
    const std::uint64_t purged = is_filled ? filled : 0;
    if (MEMORY_POOL_LIKELY(os::are_any_of(memory, bytes, {filled, last, purged})))
        return nullptr;
    const auto* const first = static_cast<const std::uint64_t*>(memory);
    return std::find_if(first, first + bytes / sizeof *first, [filled, last, purged](std::uint64_t word) {
        return word != filled && word != last && word != purged;
    });
}

namespace detail {
inline constexpr std::size_t unit = 16;
using vector = std::uint64_t __attribute__((vector_size(unit)));
/// Larger blocks are handled by functions that are not inlined.
inline constexpr std::size_t max_units_at_once = 8;

/// Effects: calls `visit(place)` twice: for unit `number` from the beginning, and for unit `number` from the end.
template <class Byte, class Visit>
MEMORY_POOL_ALWAYS_INLINE void visit_both(Byte* first, Byte* last, std::size_t number, Visit& visit) noexcept
{
    visit(first + number * unit);
    visit(last - number * unit);
}

/// Effects: calls `visit(place)` for units of 16 bytes that cover a block except its last 8 bytes. Visits them from
///   both ends, up to the next power of two, so units may overlap. This takes two comparisons for any size, which are
///   mispredicted less often than a loop.
template <class Byte, class Visit>
MEMORY_POOL_ALWAYS_INLINE void for_each_unit(Byte* first, std::size_t bytes, Visit&& visit) noexcept
{
    Byte* const last = first + bytes - canary::last_bytes - unit;
    visit_both(first, last, 0, visit);
    if (bytes > 2 * unit + canary::last_bytes)
        visit_both(first, last, 1, visit);
    if (bytes > 4 * unit + canary::last_bytes) {
        visit_both(first, last, 2, visit);
        visit_both(first, last, 3, visit);
    }
}
} // namespace detail

/// Effects: fills a free block, except its last word.
/// Preconditions: its size is a multiple of 16 bytes, and at least 32.
MEMORY_POOL_ALWAYS_INLINE void poison_block(void* block, std::size_t bytes) noexcept
{
    const std::uint64_t word = the_poison.load(std::memory_order_relaxed);
    if (bytes > detail::max_units_at_once * detail::unit) {
        std::memset(block, static_cast<unsigned char>(word), bytes - canary::last_bytes);
        return;
    }
    const detail::vector pattern = {word, word};
    detail::for_each_unit(static_cast<std::byte*>(block), bytes,
                          [&](std::byte* place) { std::memcpy(place, &pattern, sizeof pattern); });
}

/// Returns: whether a free block is as `poison_block` left it and its last word is the canary.
/// Preconditions: as `poison_block`.
MEMORY_POOL_ALWAYS_INLINE bool is_poisoned_block(const void* block, std::size_t bytes) noexcept
{
    const auto* const first = static_cast<const std::byte*>(block);
    if (!the_canary.is_last_intact(first + bytes))
        return false;
    const std::uint64_t word = the_poison.load(std::memory_order_relaxed);
    if (bytes > detail::max_units_at_once * detail::unit)
        return os::are_all(block, bytes - canary::last_bytes, static_cast<unsigned char>(word));
    const detail::vector expected = {word, word};
    detail::vector difference = {0, 0};
    detail::for_each_unit(first, bytes, [&](const std::byte* place) {
        detail::vector loaded;
        std::memcpy(&loaded, place, sizeof loaded);
        difference |= loaded ^ expected;
    });
    return (difference[0] | difference[1]) == 0;
}

/// Returns: whether a purged block is still zero. Its last word may be canary, because a thread may be about to
///   allocate the block.
inline bool is_purged_block(const std::byte* block, std::size_t bytes) noexcept
{
    const std::byte* const end = block + bytes;
    return os::are_all(block, bytes - canary::last_bytes, 0) &&
           (canary::is_last_clear(end) || the_canary.is_last_intact(end));
}
} // namespace memory_pool::np
