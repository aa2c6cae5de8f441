// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Hardening of a thread's heap in the checked build: a quarantine, and random numbers that select the next block to
/// allocate.
///
/// Thread safety: as quarantine; random_numbers: none.
#pragma once

#include <memory_pool/base/config.hpp>

#include "../os/random.hpp"
#include "../support/build_variant.hpp"
#include "../support/internals.hpp"
#include "quarantine.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace memory_pool::np {
/// Random numbers, drawn from the system in batches.
class random_numbers
{
public:
    /// Returns: the next number, below `limit`.
    /// Preconditions: `limit` is between 1 and 64, because 2^8 numbers are mapped to it.
    std::size_t below(std::size_t limit) noexcept
    {
        if (MEMORY_POOL_UNLIKELY(left_ == 0)) {
            os::draw_random_numbers(words_.data(), words_.size());
            left_ = words_.size() * numbers_in_word;
        }
        --left_;
        const std::size_t number = words_[left_ / numbers_in_word] >> left_ % numbers_in_word * 8 & 0xFFU;
        return number * limit >> 8U;
    }

    /// Effects: discards the numbers drawn so far. The child of a fork must do this, because its parent uses the same
    ///   numbers.
    void discard() noexcept { left_ = 0; }

private:
    static constexpr std::size_t numbers_in_word = 8;

    std::array<std::uint64_t, os::max_drawn> words_;
    std::size_t left_ = 0;
};

/// The hardening of a thread's heap in the checked build.
struct heap_hardening
{
    quarantine quarantined;
    random_numbers random;

    void discard_random_numbers() noexcept { random.discard(); }
};

struct no_heap_hardening
{
    no_quarantine quarantined;

    static void discard_random_numbers() noexcept {}
};

using hardening_of_heap = std::conditional_t<is_checked, heap_hardening, no_heap_hardening>;
} // namespace memory_pool::np
