// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Bytes with a known value, in and behind blocks, by which writes where none belong are found.
///
///     in use:      | what the program writes       | canary |      up to the end of the block: one byte at least
///     given back:  | 0xDF 0xDF 0xDF ...                     |
///
/// A canary is drawn once for a process. Each of its bytes lies from 0x80 to 0x9F, where neither zeros nor text do, nor what
/// programs like to fill memory with.
///
/// Thread safety: as far as the block is not shared.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/os/random.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace memory_pool::np
{
/// What is written behind blocks.
class canary
{
public:
    constexpr canary() noexcept = default;
    canary(const canary&) = delete;
    canary& operator=(const canary&) = delete;
    ~canary() = default;

    /// Effects: draws it. To be called before the first block is handed out, and once.
    void draw() noexcept
    {
        constexpr std::uint64_t drawn_bits = 0x1F1F'1F1F'1F1F'1F1FU;
        constexpr std::uint64_t high_bits = 0x8080'8080'8080'8080U;
        word_.store((os::random_number() & drawn_bits) | high_bits, std::memory_order_relaxed);
    }

    /// Effects: fills the bytes from `from` to `end`.
    /// Preconditions: `end` is a multiple of 8, and the 8 bytes before the next such multiple from `from` on may be read.
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

    /// Effects: the same where nobody has written to yet: up to 7 bytes before `from` may change, too. They are not read, as they
    ///   may be in no cache.
    void write_to_new(std::byte* from, std::byte* end) const noexcept
    {
        const std::uint64_t word = word_.load(std::memory_order_relaxed);
        for (std::byte* place = from - place_in_word(from); place != end; place += sizeof word)
            store(place, word);
    }

    /// Returns: whether they are as `write` left them.
    /// Preconditions: as `write`.
    bool is_intact(const std::byte* from, const std::byte* end) const noexcept
    {
        const std::uint64_t word = word_.load(std::memory_order_relaxed);
        const std::byte* place = from - place_in_word(from);
        if (place == end)
            return true;
        std::uint64_t difference = (load(place) ^ word) & bytes_from(place_in_word(from));
        for (place += sizeof word; place != end; place += sizeof word)
            difference |= load(place) ^ word;
        return difference == 0;
    }

private:
    static std::size_t place_in_word(const std::byte* address) noexcept
    {
        return reinterpret_cast<std::uintptr_t>(address) % sizeof(std::uint64_t);
    }

    /// Returns: a word whose bytes in memory are ones from that place on, whatever the order of bytes.
    static std::uint64_t bytes_from(std::size_t place) noexcept
    {
        constexpr unsigned char zeros_and_ones[16] = {0,    0,    0,    0,    0,    0,    0,    0,
                                                      0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
        return load(zeros_and_ones + sizeof(std::uint64_t) - place);
    }

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

/// Effects: fills free memory.
MEMORY_POOL_ALWAYS_INLINE void poison(void* memory, std::size_t bytes) noexcept
{
    std::memset(memory, poison_byte, bytes);
}

/// Returns: whether free memory is as `poison` left it.
/// Preconditions: there are 8 bytes at least.
MEMORY_POOL_ALWAYS_INLINE bool is_poisoned(const void* memory, std::size_t bytes) noexcept
{
    std::uint64_t expected = 0;
    std::memset(&expected, poison_byte, sizeof expected);
    // Each byte is the one before it if it is the one before the one before ... the first.
    const auto* const first = static_cast<const std::byte*>(memory);
    return std::memcmp(first, &expected, sizeof expected) == 0 &&
           std::memcmp(first, first + sizeof expected, bytes - sizeof expected) == 0;
}
} // namespace memory_pool::np
