// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Encodes pointers and counts that are stored in free blocks, where a program may overwrite them. With high
/// probability, overwritten values decode to invalid values.
///
///     pointer:   byte-reversed, xor key       a partial overwrite changes the high bytes of the address
///     count:     xor another key
///
/// Thread safety: any thread; call `draw` first.
#pragma once

#include <memory_pool/base/immovable.hpp>

#include "../os/random.hpp"
#include "internals.hpp"

#include <atomic>
#include <cstdint>

namespace memory_pool::np {
/// An encoding with keys that other processes cannot predict.
class pointer_encoding : base::immovable<pointer_encoding>
{
public:
    /// Effects: draws the keys. Call it before encoding anything.
    void draw() noexcept
    {
        key_.store(static_cast<std::uintptr_t>(os::random_number()), std::memory_order_relaxed);
        count_key_.store(os::random_number(), std::memory_order_relaxed);
    }

    /// Returns: the encoded pointer; nullptr for nullptr, whose encoding would reveal the key.
    void* encode(const void* pointer) const noexcept
    {
        if (pointer == nullptr)
            return nullptr;
        const std::uintptr_t bits = reversed(reinterpret_cast<std::uintptr_t>(pointer));
        return reinterpret_cast<void*>(bits ^ key_.load(std::memory_order_relaxed));
    }

    /// Returns: the pointer that was encoded.
    void* decode(const void* code) const noexcept
    {
        if (code == nullptr)
            return nullptr;
        const std::uintptr_t bits = reinterpret_cast<std::uintptr_t>(code) ^ key_.load(std::memory_order_relaxed);
        return reinterpret_cast<void*>(reversed(bits));
    }

    /// Returns: the count encoded, or decoded if it is encoded: both are the same operation.
    std::uint64_t convert_count(std::uint64_t count) const noexcept
    {
        return count ^ count_key_.load(std::memory_order_relaxed);
    }

private:
    static std::uintptr_t reversed(std::uintptr_t bits) noexcept
    {
        if constexpr (sizeof bits == sizeof(std::uint64_t))
            return static_cast<std::uintptr_t>(__builtin_bswap64(bits));
        else
            return static_cast<std::uintptr_t>(__builtin_bswap32(static_cast<std::uint32_t>(bits)));
    }

    std::atomic<std::uintptr_t> key_{0};
    std::atomic<std::uint64_t> count_key_{0};
};

/// The encoding of the process.
MEMORY_POOL_HIDDEN inline pointer_encoding the_pointer_encoding;
} // namespace memory_pool::np
