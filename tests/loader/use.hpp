// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Exercises an allocator through its functions, from any module.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>

namespace test {
inline constexpr std::array<std::size_t, 8> sizes_to_use{1, 16, 100, 1000, 5000, 40'000, 100'000, 2'000'000};

/// Returns: whether blocks of many sizes keep their contents and can grow.
template <class Allocate, class Reallocate, class Free>
bool use(Allocate allocate, Reallocate reallocate, Free free)
{
    constexpr std::size_t of_each = 30;
    std::array<unsigned char*, of_each * sizes_to_use.size()> blocks{};
    bool is_right = true;
    std::size_t next = 0;
    for (unsigned char*& block : blocks) {
        const std::size_t bytes = sizes_to_use[next % sizes_to_use.size()];
        block = static_cast<unsigned char*>(allocate(bytes));
        if (block == nullptr)
            return false;
        std::memset(block, static_cast<int>(next++ % 256), bytes);
    }
    next = 0;
    for (unsigned char*& block : blocks) {
        const std::size_t bytes = sizes_to_use[next % sizes_to_use.size()];
        is_right = is_right && block[0] == next % 256 && block[bytes - 1] == next % 256;
        if (next % 7 == 0)
            block = static_cast<unsigned char*>(reallocate(block, 2 * bytes));
        is_right = is_right && block != nullptr && block[0] == next % 256 && block[bytes - 1] == next % 256;
        free(block);
        ++next;
    }
    return is_right;
}
} // namespace test
