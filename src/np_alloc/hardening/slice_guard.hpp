// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The guarded part of each slice: from one of its pages up to its end.
///
///     slices:   | block ........ |.....GGGG|GGGGGGGGG|GGGGGGGGG|   G: a guard of three slices, in one byte each
///
/// The bytes are in the small records of parts, so the large records of slices that are only guard stay untouched.
///
/// Thread safety: any thread, for slices that the thread owns.
#pragma once

#include <memory_pool/os/address_space.hpp>

#include "../slices/region.hpp"
#include "../support/internals.hpp"

#include <array>
#include <cstddef>

namespace memory_pool::np {
/// The guard of a slice; zeroed: none.
class slice_guard
{
public:
    static constexpr std::size_t page_bytes = 4096; ///< On systems with another page size, there are no guards.

    slice_guard() = default;
    /// `from`: the first guarded page. `begins`: the guard does not continue from the preceding slice.
    slice_guard(os::guarding how, std::size_t from, bool begins) noexcept
        : bits_(static_cast<unsigned char>(static_cast<std::size_t>(how) | (begins ? begins_bit : 0) |
                                           from << from_shift))
    {
    }

    bool is_there() const noexcept { return how() != os::guarding::none; }
    bool is_of_whole_slice() const noexcept { return is_there() && from() == 0; }
    os::guarding how() const noexcept { return static_cast<os::guarding>(bits_ & how_bits); }
    std::size_t from() const noexcept { return bits_ >> from_shift; }
    bool begins() const noexcept { return (bits_ & begins_bit) != 0; }

private:
    static constexpr std::size_t how_bits = 3;
    static constexpr std::size_t begins_bit = 4;
    static constexpr unsigned from_shift = 3;

    unsigned char bits_ = 0;
};

/// The record of a part of the region in the checked build.
struct guarded_part : part_record
{
    std::array<slice_guard, slices_of_huge_page> guards;
};
} // namespace memory_pool::np
