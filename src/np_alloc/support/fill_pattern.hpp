// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Bytes with a known value, in and behind blocks, by which writes where none belong are found.
///
///     in use:      | what the program writes       | canary |      up to the end of the block: one byte at least
///     given back:  | 0xDF 0xDF 0xDF ...                     |      or zeros, as NP_ZERO says
///
/// A canary is drawn once for a process. Each of its bytes lies from 0x80 to 0x9F, where neither zeros nor text do, nor
/// what programs like to fill memory with.
///
/// Thread safety: as far as the block is not shared.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/os/bytes.hpp>
#include <memory_pool/os/random.hpp>

#include "internals.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace memory_pool::np {
/// What is written behind blocks.
class canary : base::immovable<canary>
{
public:
    /// Effects: draws it. Called once, before the first block is allocated.
    void draw() noexcept
    {
        constexpr std::uint64_t drawn_bits = 0x1F1F'1F1F'1F1F'1F1FU;
        constexpr std::uint64_t high_bits = 0x8080'8080'8080'8080U;
        word_.store((os::random_number() & drawn_bits) | high_bits, std::memory_order_relaxed);
    }

    /// Effects: fills the bytes from `from` to `end`.
    /// Preconditions: `end` is a multiple of 8, and the 8 bytes before the next such multiple from `from` on may be
    ///   read.
    void write(std::byte* from, std::byte* end) const noexcept
    {
        const std::uint64_t word = word_.load(std::memory_order_relaxed);
        std::byte* place = from - place_in_word(from);
        if (place == end)
            return;
        const std::uint64_t mask = bytes_from(place_in_word(from));
        store(place, (load(place) & ~mask) | (word & mask));
        for (place += sizeof word; place != end; place += sizeof word)
            store(place, word);
    }

    /// Effects: the same in memory that the program has not written to yet: up to 15 bytes before `from` may change,
    ///   too. They are not read, as they may be in no cache.
    /// Preconditions: the block has 16 bytes at least.
    MEMORY_POOL_ALWAYS_INLINE void write_to_new(std::byte* from, std::byte* end) const noexcept
    {
        const std::uint64_t word = word_.load(std::memory_order_relaxed);
        if (MEMORY_POOL_LIKELY(static_cast<std::size_t>(end - from) <= most_of_few)) {
            store(end - most_of_few, word);
            store(end - sizeof word, word);
            return;
        }
        write_many(from - place_in_word(from), end, word);
    }

    /// Returns: whether they are as `write` left them.
    /// Preconditions: as `write`; if there are any, the 16 bytes before `end` may be read.
    MEMORY_POOL_ALWAYS_INLINE bool is_intact(const std::byte* from, const std::byte* end) const noexcept
    {
        const std::uint64_t word = word_.load(std::memory_order_relaxed);
        if (MEMORY_POOL_LIKELY(static_cast<std::size_t>(end - from) - 1 < most_of_few)) {
            const unsigned char* const mask = zeros_and_ones + (end - from);
            return (((load(end - most_of_few) ^ word) & load(mask)) |
                    ((load(end - sizeof word) ^ word) & load(mask + sizeof word))) == 0;
        }
        return are_many_intact(from, end, word);
    }

private:
    /// Behind most blocks of up to 1 KiB there are no more: those are looked at without a loop.
    static constexpr std::size_t most_of_few = 16;
    static constexpr unsigned char zeros_and_ones[32] = {
        0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
        0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

    MEMORY_POOL_NOINLINE static void write_many(std::byte* place, std::byte* end, std::uint64_t word) noexcept
    {
        for (; place != end; place += sizeof word)
            store(place, word);
    }

    MEMORY_POOL_NOINLINE static bool are_many_intact(const std::byte* from, const std::byte* end,
                                                     std::uint64_t word) noexcept
    {
        const std::byte* place = from - place_in_word(from);
        if (place == end)
            return true;
        std::uint64_t difference = (load(place) ^ word) & bytes_from(place_in_word(from));
        for (place += sizeof word; place != end; place += sizeof word)
            difference |= load(place) ^ word;
        return difference == 0;
    }

    static std::size_t place_in_word(const std::byte* address) noexcept
    {
        return reinterpret_cast<std::uintptr_t>(address) % sizeof(std::uint64_t);
    }

    /// Returns: a word whose bytes in memory are ones from that place on, whatever the order of bytes.
    static std::uint64_t bytes_from(std::size_t place) noexcept { return load(zeros_and_ones + most_of_few - place); }

    static std::uint64_t load(const void* from) noexcept
    {
        std::uint64_t word = 0;
        std::memcpy(&word, from, sizeof word);
        return word;
    }
    static void store(void* to, std::uint64_t word) noexcept { std::memcpy(to, &word, sizeof word); }

    std::atomic<std::uint64_t> word_{0};
};

/// That of the process.
inline canary the_canary;

/// What blocks are filled with that are free. As an address, no processor takes it.
inline constexpr unsigned char poison_byte = 0xDF;

/// The same eight times, or zeros for NP_ZERO=free. Chosen before the first block is allocated.
inline std::atomic<std::uint64_t> the_poison{0x0101'0101'0101'0101U * poison_byte};

namespace detail {
inline constexpr std::size_t unit = 16;
using vector = std::uint64_t __attribute__((vector_size(unit)));
/// Larger blocks are left to functions that are called.
inline constexpr std::size_t most_units_at_once = 8;

/// Effects: calls `visit(place)` for each 16 bytes of a block, once or more often: the first of them and the last, and
///   those beside, as many as the next power of two. So two comparisons do for all sizes, which is less to be
///   mispredicted than a loop is.
template <class Byte, class Visit>
MEMORY_POOL_ALWAYS_INLINE void for_each_unit(Byte* first, std::size_t bytes, Visit&& visit) noexcept
{
    Byte* const last = first + bytes - unit;
    const auto visit_both = [&](std::size_t number) {
        visit(first + number * unit);
        visit(last - number * unit);
    };
    visit_both(0);
    if (bytes > 2 * unit)
        visit_both(1);
    if (bytes > 4 * unit) {
        visit_both(2);
        visit_both(3);
    }
}
} // namespace detail

/// Effects: fills free memory.
/// Preconditions: it has a multiple of 16 bytes, and 16 at least.
MEMORY_POOL_ALWAYS_INLINE void poison(void* memory, std::size_t bytes) noexcept
{
    const std::uint64_t word = the_poison.load(std::memory_order_relaxed);
    if (bytes > detail::most_units_at_once * detail::unit) {
        std::memset(memory, static_cast<unsigned char>(word), bytes);
        return;
    }
    const detail::vector pattern = {word, word};
    detail::for_each_unit(static_cast<std::byte*>(memory), bytes,
                          [&](std::byte* place) { std::memcpy(place, &pattern, sizeof pattern); });
}

/// Returns: whether free memory is as `poison` left it.
/// Preconditions: as `poison`.
MEMORY_POOL_ALWAYS_INLINE bool is_poisoned(const void* memory, std::size_t bytes) noexcept
{
    const std::uint64_t word = the_poison.load(std::memory_order_relaxed);
    if (bytes > detail::most_units_at_once * detail::unit)
        return os::are_all(memory, bytes, static_cast<unsigned char>(word));
    const detail::vector expected = {word, word};
    detail::vector difference = {0, 0};
    detail::for_each_unit(static_cast<const std::byte*>(memory), bytes, [&](const std::byte* place) {
        detail::vector loaded;
        std::memcpy(&loaded, place, sizeof loaded);
        difference |= loaded ^ expected;
    });
    return (difference[0] | difference[1]) == 0;
}
} // namespace memory_pool::np
