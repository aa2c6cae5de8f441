// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Hardening of a thread's heap in the checked build: a quarantine, and random numbers that choose the next block to
/// hand out.
///
/// Thread safety: that of each; the numbers none.
#pragma once

#include <memory_pool/os/random.hpp>

#include "../support/build_variant.hpp"
#include "../support/internals.hpp"
#include "quarantine.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace memory_pool::np {
/// Pseudo-random numbers, unpredictable without the seed.
class random_numbers
{
public:
    explicit random_numbers(std::uint64_t seed) noexcept : state_(seed) {}

    /// Returns: the next one, below `limit`.
    /// Preconditions: `limit` is not 0, and below 2^32.
    std::size_t below(std::size_t limit) noexcept
    {
        state_ = state_ * 0x5851'F42D'4C95'7F2DU + 0x1405'7B7E'F767'814FU;
        return static_cast<std::size_t>((state_ >> 32U) * limit >> 32U);
    }

private:
    std::uint64_t state_;
};

/// What a heap of a thread has besides, where blocks are checked.
struct heap_hardening
{
    quarantine quarantined;
    random_numbers random{os::random_number()};
};

struct no_heap_hardening
{
    no_quarantine quarantined;
};

using hardening_of_heap = std::conditional_t<is_checked, heap_hardening, no_heap_hardening>;
} // namespace memory_pool::np
