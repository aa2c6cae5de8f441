// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A code for addresses and counts that lie in blocks, where a program may write to them by mistake: what it writes is,
/// nearly always, no address and no count.
///
///     address:   bytes in reverse order, xor key of addresses       so what is written over a part of one changes its
///     count:     xor key of counts                                  high bytes
///
/// Thread safety: any thread; `draw` before all others.
#pragma once

#include <memory_pool/base/immovable.hpp>
#include <memory_pool/os/random.hpp>

#include "internals.hpp"

#include <atomic>
#include <cstdint>

namespace memory_pool::np {
/// Two keys that are unpredictable from outside of the process.
class address_code : base::immovable<address_code>
{
public:
    /// Effects: draws the keys. Called before the first address is encoded.
    void draw() noexcept
    {
        key_.store(static_cast<std::uintptr_t>(os::random_number()), std::memory_order_relaxed);
        key_of_counts_.store(os::random_number(), std::memory_order_relaxed);
    }

    void* encode(const void* address) const noexcept
    {
        return from_bits(reversed(reinterpret_cast<std::uintptr_t>(address)) ^ key_.load(std::memory_order_relaxed));
    }

    void* decode(const void* code) const noexcept
    {
        return from_bits(reversed(reinterpret_cast<std::uintptr_t>(code) ^ key_.load(std::memory_order_relaxed)));
    }

    /// Returns: the count encoded, or decoded.
    std::uint64_t count(std::uint64_t count_or_code) const noexcept
    {
        return count_or_code ^ key_of_counts_.load(std::memory_order_relaxed);
    }

private:
    static void* from_bits(std::uintptr_t bits) noexcept { return reinterpret_cast<void*>(bits); }

    static std::uintptr_t reversed(std::uintptr_t bits) noexcept
    {
        if constexpr (sizeof bits == sizeof(std::uint64_t))
            return static_cast<std::uintptr_t>(__builtin_bswap64(bits));
        else
            return static_cast<std::uintptr_t>(__builtin_bswap32(static_cast<std::uint32_t>(bits)));
    }

    std::atomic<std::uintptr_t> key_{0};
    std::atomic<std::uint64_t> key_of_counts_{0};
};

/// That of the process.
MEMORY_POOL_HIDDEN inline address_code the_address_code;
} // namespace memory_pool::np
