// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Known byte values in and behind blocks, which reveal stray writes.
///
///     in use:   | data of the program         | canary: 0xCA ... |
///     free:     | 0xDF 0xDF 0xDF 0xDF 0xDF 0xDF 0xDF 0xDF ...    |
///               <-------- block_size -------->
///               <------------------- stride -------------------->
///
/// Thread safety: any thread, each with blocks of its own.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/poisoning.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Writes and verifies the fill bytes and canaries of the blocks of a pool.
class fill_pattern
{
public:
    /// Minimum size of the canary behind a block of a pool that checks.
    static constexpr std::size_t canary_bytes = 16;

    fill_pattern(std::size_t block_size, std::size_t stride) noexcept : block_size_(block_size), stride_(stride) {}

    /// Effects: fills a free block.
    void mark_free(void* block) const noexcept { fill(block, stride_, free_byte); }

    /// Effects: writes the canary of a block in use.
    void mark_in_use(void* block) const noexcept
    {
        fill(static_cast<char*>(block) + block_size_, stride_ - block_size_, canary_byte);
    }

    /// Returns: whether a free block has not changed since `mark_free`.
    bool is_untouched(const void* block) const noexcept { return is_filled(block, stride_, free_byte); }

    /// Returns: whether the canary of a block in use has not changed since `mark_in_use`.
    bool canary_is_intact(const void* block) const noexcept
    {
        return is_filled(static_cast<const char*>(block) + block_size_, stride_ - block_size_, canary_byte);
    }

    /// Effects: restores the canary if it was overwritten, so that each overflow is reported once.
    /// Returns: true if the canary was overwritten.
    bool take_overflow(void* block) const noexcept
    {
        const bool has_overflowed = !canary_is_intact(block);
        if (has_overflowed)
            mark_in_use(block);
        return has_overflowed;
    }

private:
    static constexpr unsigned char free_byte = 0xDF;
    static constexpr unsigned char canary_byte = 0xCA;

    static void fill(void* memory, std::size_t bytes, unsigned char value) noexcept
    {
        base::permit_access(memory, bytes);
        std::memset(memory, value, bytes);
        base::forbid_access(memory, bytes);
    }

    static bool is_filled(const void* memory, std::size_t bytes, unsigned char value) noexcept
    {
        base::permit_access(memory, bytes);
        const auto* const first = static_cast<const unsigned char*>(memory);
        const bool filled = std::all_of(first, first + bytes, [value](unsigned char byte) { return byte == value; });
        base::forbid_access(memory, bytes);
        return filled;
    }

    std::size_t block_size_;
    std::size_t stride_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
