// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Blocks of np_alloc for tests that fill them, or look at what addresses they get.
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
/// Is np_alloc here the checked build? It tells of each block what was asked for, and needs more for it.
inline bool blocks_are_checked()
{
    return np_option_get(np_option_poison) != 0;
}

/// Returns: bytes that a block takes for that many bytes asked for, with those of the canary and the guard behind it.
inline std::size_t counted_bytes(std::size_t bytes)
{
    using sizes = memory_pool::detail::core::size_classes<16, 1024, 8, 32 * std::size_t{1024}>;
    constexpr std::size_t slice_bytes = std::size_t{64} * 1024;
    if (!blocks_are_checked())
        return bytes <= sizes::largest ? np_good_size(bytes) : memory_pool::detail::base::round_up(bytes, slice_bytes);
    constexpr std::size_t canary_bytes = 8;
    if (bytes <= sizes::largest - canary_bytes)
        return sizes::size(bytes == 0 ? 0 : sizes::of(std::max<std::size_t>(bytes, 9) + canary_bytes));
    constexpr std::size_t two_pages = 2 * std::size_t{4096}; // For a canary and a part of the guard.
    return memory_pool::detail::base::round_up(bytes + two_pages, slice_bytes);
}

/// While it lives, blocks that are freed go out again at once, also where they are checked.
class nothing_waits
{
public:
    nothing_waits() : before_(np_option_get(np_option_quarantine_bytes))
    {
        (void)np_option_set(np_option_quarantine_bytes, 0);
        (void)np_option_set(np_option_random_order, 0);
    }
    nothing_waits(const nothing_waits&) = delete;
    nothing_waits& operator=(const nothing_waits&) = delete;
    ~nothing_waits()
    {
        (void)np_option_set(np_option_quarantine_bytes, before_);
        (void)np_option_set(np_option_random_order, 1);
    }

private:
    std::size_t before_;
};

/// np_alloc as a resource, for test::allocate_filled and what belongs to it.
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

/// Sizes of every kind: tiny, small, some kilobytes, and so large that few fit into 64 KiB.
inline constexpr std::array<std::size_t, 6> sizes_of_all_kinds{16, 100, 1000, 8192, 30'000, 70'000};

/// Which pages blocks have ever lain on. If some get lost each time, those that take their places lie on others, and it
/// grows on and on.
class footprint
{
public:
    /// Effects: notes where blocks lie that are in use at the same time.
    void add(const std::vector<filled_block>& blocks)
    {
        std::set<std::uintptr_t> now;
        for (const filled_block& each : blocks) {
            const auto begin = reinterpret_cast<std::uintptr_t>(each.address);
            for (std::uintptr_t number = begin / page; number * page < begin + each.bytes; ++number)
                now.insert(number);
        }
        most_at_once_ = std::max(most_at_once_, now.size());
        ever_.merge(now);
    }

    /// Returns: how many pages there were, for each of those that were in use at the same time.
    double spread() const { return static_cast<double>(ever_.size()) / static_cast<double>(most_at_once_); }

    std::size_t pages() const { return ever_.size(); }

private:
    static constexpr std::uintptr_t page = 4096;

    std::set<std::uintptr_t> ever_;
    std::size_t most_at_once_ = 0;
};
} // namespace test
