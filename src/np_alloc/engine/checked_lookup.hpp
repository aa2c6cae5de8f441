// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Looks up a block by its address in the checked build: its beginning, state, size and canary.
///
///     address -> slice tag -> slab and number -> block_state | large block | outside of the region | none
///
/// checked_reports.hpp reports misuse of the block.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>

#include "../hardening/block_state.hpp"
#include "../hardening/checked_slice.hpp"
#include "../slices/size_classes.hpp"
#include "../slices/slice_tag.hpp"
#include "../support/fill_pattern.hpp"
#include "../support/metadata_pages.hpp"
#include "block_lookup.hpp"
#include "engine.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace memory_pool::np::checked {
/// A block, in use or free.
struct checked_block
{
    slice_tag tag;
    std::byte* begin;
    block_state* state;      ///< nullptr if the block is outside of the region.
    std::size_t block_bytes; ///< Including the canary.

    bool is_large() const noexcept { return tag == large_block; }
    bool is_outside() const noexcept { return state == nullptr; }
    bool is_zero_size() const noexcept { return (tag & ~class_bits) == registry().heaps().zero_size.own_tag(); }
};

/// Returns: the slab that contains `slice`; `info` is its size class.
MEMORY_POOL_ALWAYS_INLINE checked_slice& slab_of(const size_class_info& info, checked_slice& slice) noexcept
{
    return MEMORY_POOL_LIKELY(info.slices == 1) ? slice : pages().region().record(slice.slab);
}

inline std::optional<checked_block> block_in_slab(slice_tag tag, void* block) noexcept
{
    const size_class_info& info = class_info[tag & class_bits];
    checked_slice& slab = slab_of(info, pages().region().record_of(block));
    const std::size_t number = number_in(slab, info, block);
    if (number == no_block_there || is_misaligned(block))
        return std::nullopt;
    return checked_block{tag, static_cast<std::byte*>(block), &slab.blocks[number], info.block_bytes};
}

/// Preconditions: a large block begins at `block`.
inline checked_block large_block_at(void* block) noexcept
{
    return {large_block, static_cast<std::byte*>(block), &pages().region().record_of(block).large,
            pages().checks().bytes_with_canary(slice_of(block))};
}

/// Preconditions: a block outside of the region begins at `block`. No other block shares its last page.
inline checked_block outside_block(void* block) noexcept
{
    const auto begin = reinterpret_cast<std::uintptr_t>(block);
    const std::size_t end = in_whole_pages(begin + pages().mmap_bytes(block));
    return {mmap_block, static_cast<std::byte*>(block), nullptr, end - begin};
}

/// Returns: the block that begins at `block`; nothing if there is none.
inline std::optional<checked_block> find_block(slice_tag tag, void* block) noexcept
{
    if (is_of_slab(tag))
        return block_in_slab(tag, block);
    if (tag == mmap_block)
        return outside_block(block);
    if (tag != large_block || pages().large().begin_of_large(slice_of(block)) != block)
        return std::nullopt;
    return large_block_at(block);
}

/// Returns: the size requested at the last allocation of the block that contains the address; 0 if unknown.
inline std::size_t last_asked_around(slice_tag tag, const void* address) noexcept
{
    if (tag == large_block)
        return pages().checks().bytes_of_large(slice_of(address));
    if (!is_of_slab(tag))
        return 0;
    const size_class_info& info = class_info[tag & class_bits];
    const checked_slice& slab = slab_of(info, pages().region().record_of(address));
    const std::size_t number =
        static_cast<std::size_t>(static_cast<const std::byte*>(address) - slab.begin) / info.block_bytes;
    return number < slab.capacity ? slab.blocks[number].last_bytes() : 0;
}

// Requested sizes.

inline std::size_t asked(const checked_block& where, std::size_t noted) noexcept
{
    return where.is_large() ? pages().checks().bytes_of_large(slice_of(where.begin)) : noted;
}

/// Returns: the size requested at the last allocation of the block, in use or not; 0 if unknown.
inline std::size_t last_asked(const checked_block& where) noexcept
{
    return where.is_outside() ? pages().mmap_bytes(where.begin) : asked(where, where.state->last_bytes());
}

inline bool is_in_use(const checked_block& where) noexcept
{
    return where.is_outside() ? pages().mmap_bytes(where.begin) != 0 : where.state->is_in_use();
}

/// Effects: writes the canary behind the requested `bytes`.
inline void write_canary(const checked_block& where, std::size_t bytes) noexcept
{
    if (!where.is_zero_size())
        the_canary.write(where.begin + bytes, where.begin + where.block_bytes);
}

} // namespace memory_pool::np::checked
