// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The size classes of np_alloc: the sizes of blocks in slabs, and the room of a magazine for blocks of each size.
///
///     up to 1 KiB:   steps of 16 bytes      slabs of 64 KiB
///     up to 8 KiB:   8 to each doubling     slabs of 256 KiB
///     up to 32 KiB:  8 to each doubling     slabs of 512 KiB
///     larger:        whole slices
///
/// Thread safety: pure functions.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/core/resources/size_classes.hpp>

#include "../support/build_variant.hpp"
#include "../support/internals.hpp"
#include "region.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
using sizes = core::size_classes<16, 1024, 8, std::size_t{32} * 1024>;
static_assert(sizes::are_sound(), "each class must be where its size says");

/// The largest size whose class is found by shifting.
inline constexpr std::size_t largest_small = sizes::finest;
/// The largest block in a slab. Larger blocks consist of whole slices.
inline constexpr std::size_t largest_in_slab = sizes::largest;
inline constexpr std::size_t class_count = sizes::count;
inline constexpr std::size_t alignment_of_all = sizes::step;

/// Returns: slices in a slab of that class.
constexpr std::uint32_t slab_slices(std::size_t number) noexcept
{
    const std::size_t size = sizes::size(number);
    return size <= 1024 ? 1 : (size <= 8 * std::size_t{1024} ? 4 : 8);
}

/// Returns: blocks in a slab of that class.
constexpr std::uint32_t slab_capacity(std::size_t number) noexcept
{
    return static_cast<std::uint32_t>((slab_slices(number) * slice_bytes - guard_bytes) / sizes::size(number));
}

/// Returns: bytes of a large block for a request of `bytes`, in or outside of the region: rounded up to whole pages of
///   the most common size. In the checked build, or if no program can address that many, returns `bytes`.
constexpr std::size_t bytes_in_large(std::size_t bytes) noexcept
{
    constexpr std::size_t page_bytes = 4096;
    const std::size_t some = std::max<std::size_t>(bytes, 1);
    return is_checked ? bytes : std::max(bytes, base::saturating_add(some, page_bytes - 1) & ~(page_bytes - 1));
}

/// Returns: the class of blocks with room for `bytes` and that alignment; class_count if there is none.
/// Preconditions: `alignment` is a power of two.
constexpr std::size_t aligned_class(std::size_t bytes, std::size_t alignment) noexcept
{
    if (bytes > largest_in_slab || alignment > largest_in_slab)
        return class_count;
    // Classes are multiples of a step. If the step is not a multiple of the alignment, each multiple of the alignment
    // is a class.
    const std::size_t rounded = base::round_up(std::max<std::size_t>(bytes, 1), alignment);
    return rounded <= largest_in_slab ? sizes::of(rounded) : class_count;
}

/// Returns: the class to allocate from instead while a thread has few blocks: the next size that is a power of two, or
///   halfway between two powers. Its alignment is at least as large.
constexpr std::size_t coarse_class(std::size_t number) noexcept
{
    const std::size_t size = sizes::size(number);
    std::size_t power = sizes::size(0);
    while (power < size)
        power *= 2;
    const std::size_t middle = power / 4 * 3;
    return sizes::of(size <= middle && middle % sizes::step == 0 ? middle : power);
}

/// A number of blocks, modulo 2^64. A separate type, because functions often take it along with a class or bytes.
enum class block_count : std::size_t
{
};
constexpr block_count operator-(block_count blocks) noexcept
{
    return block_count{std::size_t{0} - static_cast<std::size_t>(blocks)};
}

// Magazines.

/// A magazine begins at an address with none of these bits: at a multiple of 128 bytes in the first 1,024 bytes of a
/// page. So eight small magazines fit side by side. The last of them may have any size, because it reaches such an
/// address again only in its next page.
inline constexpr std::uintptr_t magazine_bits = 0xC78;
/// Bytes of each of the eight places.
inline constexpr std::size_t magazine_place_bytes = 128;
inline constexpr std::size_t magazine_places = 8;
/// Bytes from one group of places to the next.
inline constexpr std::size_t magazine_period = 4096;

/// Returns: the maximum room of a magazine of that class, in blocks: about 64 KiB of blocks, and at most 1,023. For
///   blocks above 1 KiB, 128 KiB of blocks, and at most 127, because the array costs the same.
constexpr std::uint32_t max_room(std::size_t number) noexcept
{
    constexpr std::size_t max_bytes = std::size_t{64} * 1024;
    const std::size_t size = sizes::size(number);
    return static_cast<std::uint32_t>(size <= largest_small ? std::min<std::size_t>(max_bytes / size, 1023)
                                                            : std::min<std::size_t>(2 * max_bytes / size, 127));
}

/// Returns: the initial room of a magazine of that class, in blocks: about 8 KiB of blocks, from 2 to 8.
constexpr std::uint32_t min_room(std::size_t number) noexcept
{
    constexpr std::size_t min_bytes = std::size_t{8} * 1024;
    return static_cast<std::uint32_t>(std::clamp<std::size_t>(min_bytes / sizes::size(number), 2, 8));
}

/// The properties of a class, side by side because callers need several of them.
struct size_class_info
{
    std::uint32_t block_bytes;
    std::uint32_t capacity; ///< Blocks in a slab.
    std::uint32_t slices;   ///< Slices in a slab.
    std::uint32_t slab_bytes;
    std::uint32_t reciprocal;     ///< 2^31 divided by the steps in a block, rounded up: see block_at.
    std::uint32_t magazine_begin; ///< Where its magazine begins, in bytes into a heap's magazines.
    std::uint32_t min_room;       ///< Blocks: see min_room().
    std::uint32_t max_room;       ///< Blocks: see max_room().
    std::uint32_t coarse_class;   ///< See coarse_class().
};

namespace detail {
inline constexpr unsigned reciprocal_shift = 31;

/// Bytes from the first place in a page to the last one.
inline constexpr std::size_t last_magazine_place = (magazine_places - 1) * magazine_place_bytes;

/// Returns: bytes of the magazine of a class in the last place of a page, including the places before the magazine and
///   the word after its end.
constexpr std::size_t magazine_bytes(std::size_t number) noexcept
{
    return base::round_up(last_magazine_place + (max_room(number) + 1) * sizeof(void*), magazine_period);
}

constexpr std::array<size_class_info, class_count> all_class_info() noexcept
{
    std::array<size_class_info, class_count> all{};
    std::size_t begin = last_magazine_place;
    for (std::size_t number = 0; number != class_count; ++number) {
        const std::size_t steps = sizes::size(number) / sizes::step;
        all[number] = {static_cast<std::uint32_t>(sizes::size(number)),
                       slab_capacity(number),
                       slab_slices(number),
                       static_cast<std::uint32_t>(slab_slices(number) * slice_bytes),
                       static_cast<std::uint32_t>(base::divide_round_up(std::uint64_t{1} << reciprocal_shift, steps)),
                       static_cast<std::uint32_t>(begin),
                       min_room(number),
                       max_room(number),
                       static_cast<std::uint32_t>(coarse_class(number))};
        begin += magazine_bytes(number);
    }
    return all;
}
} // namespace detail

inline constexpr std::array<size_class_info, class_count> class_info = detail::all_class_info();

/// Bytes in the arrays of all magazines.
inline constexpr std::size_t all_magazines_bytes =
    class_info[class_count - 1].magazine_begin - detail::last_magazine_place + detail::magazine_bytes(class_count - 1);

/// The result of block_at() where no block begins.
inline constexpr std::size_t no_block_there = ~std::size_t{0};

/// Returns: the number of the block that begins at `offset` in a slab of the class `info`, or no_block_there.
///
/// The reciprocal is rounded up. The integer part of the product is the quotient. The fraction of the product is below
/// the reciprocal only if the remainder is 0: the error is less than 2^-31 for each step of the offset, and there are
/// at most 2^15 steps in a slab and 2^11 in a block. See Lemire, Kaser and Kurz, Faster remainder by direct
/// computation, 2019.
constexpr std::size_t block_at(const size_class_info& info, std::size_t offset) noexcept
{
    const std::uint64_t product = std::uint64_t{offset / sizes::step} * info.reciprocal;
    const std::size_t place = product >> detail::reciprocal_shift;
    const std::uint64_t fraction = product & ((std::uint64_t{1} << detail::reciprocal_shift) - 1);
    return fraction < info.reciprocal && place < info.capacity ? place : no_block_there;
}

/// The largest number of blocks in a slab.
inline constexpr std::uint32_t largest_capacity = slab_capacity(0);
} // namespace memory_pool::np
