// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Blocks of np_alloc for tests that fill them or record their addresses.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/core/resources/size_classes.hpp>
#include <memory_pool/np_alloc.h>

#include <support/filled_blocks.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace test {
/// Returns whether np_alloc is the checked build, which stores the requested size of each block and needs more bytes.
inline bool blocks_are_checked()
{
    return np_option_get(np_option_poison) != 0;
}

/// Returns the bytes counted for a block of `bytes`, including its canary and guard.
inline std::size_t counted_bytes(std::size_t bytes)
{
    using sizes = memory_pool::detail::core::size_classes<16, 1024, 8, 32 * std::size_t{1024}>;
    constexpr std::size_t slice_bytes = std::size_t{64} * 1024;
    if (!blocks_are_checked())
        return bytes <= sizes::largest ? np_good_size(bytes) : memory_pool::detail::base::round_up(bytes, slice_bytes);
    constexpr std::size_t canary_bytes = 8;
    if (bytes <= sizes::largest - canary_bytes)
        return sizes::size(bytes == 0 ? 0 : sizes::of(std::max<std::size_t>(bytes, 9) + canary_bytes));
    constexpr std::size_t two_pages = 2 * std::size_t{4096}; // for the canary and a part of the guard
    return memory_pool::detail::base::round_up(bytes + two_pages, slice_bytes);
}

/// During its lifetime, freed blocks are reused immediately, in the checked build as well.
class immediate_reuse
{
public:
    immediate_reuse() : before_(np_option_get(np_option_quarantine_bytes))
    {
        (void)np_option_set(np_option_quarantine_bytes, 0);
        (void)np_option_set(np_option_random_order, 0);
    }
    immediate_reuse(const immediate_reuse&) = delete;
    immediate_reuse& operator=(const immediate_reuse&) = delete;
    ~immediate_reuse()
    {
        (void)np_option_set(np_option_quarantine_bytes, before_);
        (void)np_option_set(np_option_random_order, 1);
    }

private:
    std::size_t before_;
};

/// np_alloc as a resource, for test::allocate_filled and give_back.
struct np_resource
{
    static void* allocate(std::size_t bytes, std::size_t alignment) noexcept
    {
        return alignment <= 16 ? np_alloc(bytes) : np_aligned_alloc(alignment, bytes);
    }
    static void deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept
    {
        np_free_aligned_sized(block, alignment, bytes);
    }
};

/// Sizes of every kind: tiny, small, a few kilobytes, and so large that 64 KiB hold only a few blocks.
inline constexpr std::array<std::size_t, 6> sizes_of_all_kinds{16, 100, 1000, 8192, 30'000, 70'000};

/// The pages that blocks have ever occupied. If a program loses blocks in each round, later blocks occupy other
/// pages, and the footprint keeps growing.
class footprint
{
public:
    /// Effects: adds the pages of blocks that are in use at one time.
    void add(const std::vector<filled_block>& blocks)
    {
        std::set<std::uintptr_t> now;
        for (const filled_block& each : blocks) {
            const auto begin = reinterpret_cast<std::uintptr_t>(each.address);
            for (std::uintptr_t number = begin / page; number * page < begin + each.bytes; ++number)
                now.insert(number);
        }
        max_at_once_ = std::max(max_at_once_, now.size());
        ever_.merge(now);
    }

    /// Returns the number of all pages divided by the maximum number of pages in use at one time.
    double spread() const { return static_cast<double>(ever_.size()) / static_cast<double>(max_at_once_); }

    std::size_t pages() const { return ever_.size(); }

private:
    static constexpr std::uintptr_t page = 4096;

    std::set<std::uintptr_t> ever_;
    std::size_t max_at_once_ = 0;
};
} // namespace test
