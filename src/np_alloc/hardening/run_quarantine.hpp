// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The quarantine of large blocks: a queue of freed runs whose reuse is delayed.
///
///     freed ->  | youngest | ... | oldest |  -> free runs
///
/// Thread safety: none; the page heap has a lock.
#pragma once

#include "../slices/slice_index.hpp"
#include "../support/internals.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
/// A run in quarantine.
struct waiting_run
{
    slice_index first;
    std::uint32_t slices;
    bool is_dirty;
    std::uint64_t freed_at; ///< By the clock of the free runs.
};

/// A queue of runs. A zeroed queue is empty.
class run_quarantine
{
public:
    /// Effects: appends a run.
    /// Returns: false if the queue is full.
    bool push(const waiting_run& last) noexcept
    {
        if (count_ == max_count)
            return false;
        runs_[(first_ + count_++) % max_count] = last;
        slices_ += last.slices;
        return true;
    }

    /// Effects: removes the oldest run.
    /// Returns: the removed run.
    /// Preconditions: the queue is not empty.
    waiting_run pop() noexcept
    {
        const waiting_run oldest = runs_[first_];
        first_ = (first_ + 1) % max_count;
        --count_;
        slices_ -= oldest.slices;
        return oldest;
    }

    /// Returns: whether the oldest run was freed at `before` or earlier.
    bool has_waited_since(std::uint64_t before) const noexcept
    {
        return count_ != 0 && runs_[first_].freed_at <= before;
    }

    bool is_empty() const noexcept { return count_ == 0; }
    bool is_full() const noexcept { return count_ == max_count; }
    std::size_t count() const noexcept { return count_; }
    std::size_t slices() const noexcept { return slices_; }

private:
    static constexpr std::size_t max_count = 64;

    std::size_t first_ = 0;
    std::size_t count_ = 0;
    std::size_t slices_ = 0;
    std::array<waiting_run, max_count> runs_{};
};

/// In the plain build: always empty.
struct no_run_quarantine
{
    static constexpr bool push(const waiting_run&) noexcept { return false; }
    static constexpr waiting_run pop() noexcept { return {}; }
    static constexpr bool has_waited_since(std::uint64_t) noexcept { return false; }
    static constexpr bool is_empty() noexcept { return true; }
    static constexpr bool is_full() noexcept { return false; }
    static constexpr std::size_t count() noexcept { return 0; }
    static constexpr std::size_t slices() noexcept { return 0; }
};
} // namespace memory_pool::np
