// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Blocks of np_alloc for tests that fill them, or look at what addresses they get.
#pragma once

#include <memory_pool/np_alloc.h>

#include <support/filled_blocks.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace test
{
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

/// Which pages blocks have ever lain on. If some get lost each time, those that take their places lie on others, and it grows on
/// and on.
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
