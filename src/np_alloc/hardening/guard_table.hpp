// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Which part of each slice is guarded: from one of its pages up to its end.
///
///     slices:   | block ........ |.....GGGG|GGGGGGGGG|GGGGGGGGG|   G: a guard of three slices, in one byte each
///
/// A table of its own, so that the large records of slices that are only guard are never touched.
///
/// Thread safety: any thread, for slices that it owns.
#pragma once

#include <memory_pool/base/immovable.hpp>
#include <memory_pool/os/address_space.hpp>

#include "../slices/slice_index.hpp"
#include "../support/internals.hpp"
#include "../support/metadata_pages.hpp"

#include <cstddef>

namespace memory_pool::np {
/// The guard of a slice; zeroed: none.
class slice_guard
{
public:
    static constexpr std::size_t page_bytes = 4096; ///< If the system has another page size, there are no guards.

    slice_guard() = default;
    /// `from`: the first guarded page. `begins`: the guard does not continue one of the preceding slice.
    slice_guard(os::guarding how, std::size_t from, bool begins) noexcept
        : bits_(static_cast<unsigned char>(static_cast<std::size_t>(how) | (begins ? begins_bit : 0) |
                                           from << from_shift))
    {
    }

    bool is_there() const noexcept { return how() != os::guarding::none; }
    os::guarding how() const noexcept { return static_cast<os::guarding>(bits_ & how_bits); }
    std::size_t from() const noexcept { return bits_ >> from_shift; }
    bool begins() const noexcept { return (bits_ & begins_bit) != 0; }

private:
    static constexpr std::size_t how_bits = 3;
    static constexpr std::size_t begins_bit = 4;
    static constexpr unsigned from_shift = 3;

    unsigned char bits_ = 0;
};

/// A slice_guard for each slice.
class guard_table : base::immovable<guard_table>
{
public:
    /// Effects: allocates the table.
    /// Returns: false if out of memory.
    bool start(std::size_t slices) noexcept
    {
        bytes_ = in_whole_pages(slices * sizeof(slice_guard));
        guards_ = static_cast<slice_guard*>(take_metadata_pages(bytes_));
        return guards_ != nullptr;
    }

    /// Effects: frees it.
    void stop() noexcept
    {
        give_metadata_pages(guards_, bytes_);
        guards_ = nullptr;
    }

    slice_guard& operator[](slice_index slice) const noexcept { return guards_[position(slice)]; }

private:
    slice_guard* guards_ = nullptr;
    std::size_t bytes_ = 0;
};
} // namespace memory_pool::np
