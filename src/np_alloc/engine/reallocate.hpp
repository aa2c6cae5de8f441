// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Resizes plain and checked blocks.
///
///     locate it -> resize in place -> move its memory -> copy to another block -> no memory: keep it if it shrinks
///
/// `Blocks` describes the kind of blocks. It has a type `block` with `begin` and `held`, the bytes to copy when the
/// block moves, and these functions:
///
///     locate(pointer)           the block that begins at `pointer`; reports if there is none
///     find(pointer)             as locate, and sets `held`; reports a block that is not in use
///     home_of(block)            its shared heap, or nullptr
///     last_bytes(block)         its size for a report
///     is_large(block)
///     resize_in_place(block, bytes), move_memory(block, bytes), shrink_in_place(block, bytes)
///     leave_room(pointer, bytes)
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/os/pages.hpp>

#include "../heaps/shared_heap.hpp"
#include "../support/build_variant.hpp"
#include "../support/internals.hpp"
#include "../support/misuse.hpp"
#include "allocation_scopes.hpp"
#include "block_lookup.hpp"
#include "engine.hpp"
#include "profiling.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace memory_pool::np {
/// Returns: spare bytes for a large block that grows to `bytes`. The checked build adds more, because moves cost more
///   there. It adds whole pages, so that the offset of the block in its first page also fits `bytes` alone.
inline std::size_t room_to_grow(std::size_t bytes) noexcept
{
    return is_checked ? bytes / os::page_size() * os::page_size() : bytes / 8;
}

/// Returns: a block for the content of `from`. A large block that grows gets spare room, so that it seldom moves if it
///   keeps growing. Untouched room costs only addresses.
template <class Blocks, class Allocate>
void* allocate_for(const typename Blocks::block& from, std::size_t bytes, Allocate&& allocate) noexcept
{
    const bool grows = Blocks::is_large(from) && bytes > from.held && bytes > largest_asked_in_slab;
    void* const roomy = grows ? allocate(base::saturating_add(bytes, room_to_grow(bytes))) : nullptr;
    if (roomy == nullptr)
        return allocate(bytes);
    Blocks::leave_room(roomy, bytes);
    the_profile.resize(roomy, bytes);
    return roomy;
}

/// Effects: copies as much of `from` as fits to another block, and frees `from`. `home`: the shared heap of `from`, or
///   nullptr.
/// Returns: the other block. If there is no memory, returns nullptr and leaves `from` unchanged.
template <class Blocks>
void* move_by_copying(const typename Blocks::block& from, shared_heap* home, std::size_t bytes,
                      std::size_t alignment) noexcept
{
    const bool stays = home != nullptr && home != &registry().heaps().profiled;
    void* const moved = allocate_for<Blocks>(from, bytes, [=](std::size_t wanted) {
        return stays ? allocate_like_in(*home, wanted, alignment) : allocate_aligned(alignment, wanted);
    });
    if (moved == nullptr)
        return nullptr;
    std::memcpy(moved, from.begin, std::min(bytes, from.held));
    if (stays && shared_heap_of(moved, tag_of(moved)) == home)
        home->moved(from.begin, moved, bytes);
    free_block(from.begin);
    return moved;
}

/// Effects: notes that a large block was resized in place; growth counts as an allocation.
template <class Blocks>
void note_resized(const typename Blocks::block& where, std::size_t bytes, shared_heap* home) noexcept
{
    (void)the_profile.forget(where.begin);
    sample_if_due(where.begin, bytes, home);
    if (bytes > where.held)
        note_if_forbidden(bytes);
}

/// Returns: as reallocate().
template <class Blocks>
void* reallocate_block(void* block, std::size_t bytes, std::size_t alignment) noexcept
{
    if (block == nullptr)
        return allocate_aligned(alignment, bytes);
    const auto from = Blocks::find(block);
    if (!from) {
        errno = EINVAL;
        return nullptr;
    }
    shared_heap* const home = Blocks::home_of(*from);
    const auto stay = [=] {
        if (home != nullptr)
            home->moved(block, block, bytes);
        return block;
    };
    const bool may_stay = reinterpret_cast<std::uintptr_t>(block) % alignment == 0;
    if (may_stay && Blocks::resize_in_place(*from, bytes)) {
        if (Blocks::is_large(*from))
            note_resized<Blocks>(*from, bytes, home);
        return stay();
    }
    if (void* const moved = alignment <= slice_bytes ? Blocks::move_memory(*from, bytes) : nullptr) {
        count_allocation(moved, bytes);
        return moved;
    }
    if (void* const moved = move_by_copying<Blocks>(*from, home, bytes, alignment))
        return moved;
    if (!may_stay || bytes > from->held)
        return nullptr;
    Blocks::shrink_in_place(*from, bytes); // There was no memory for a smaller block.
    the_profile.resize(block, bytes);
    return stay();
}

/// Returns: as np_expand().
template <class Blocks>
bool expand_block(void* block, std::size_t bytes) noexcept
{
    const auto where = block != nullptr ? Blocks::find(block) : std::nullopt;
    if (!where) {
        errno = EINVAL;
        return false;
    }
    if (bytes <= where->held)
        return true;
    if (!Blocks::resize_in_place(*where, bytes)) {
        errno = ENOMEM;
        return false;
    }
    shared_heap* const home = Blocks::home_of(*where);
    if (Blocks::is_large(*where))
        note_resized<Blocks>(*where, bytes, home);
    if (home != nullptr)
        home->moved(block, block, bytes);
    return true;
}

/// Returns: as home_of().
template <class Blocks>
shared_heap* home_of_block(void* block) noexcept
{
    const auto found = Blocks::find(block);
    return found ? Blocks::home_of(*found) : nullptr;
}

/// Returns: as is_block_of().
template <class Blocks>
bool belongs_to(const shared_heap& home, const void* block) noexcept
{
    const auto located = Blocks::locate(const_cast<void*>(block));
    if (!located)
        return false;
    if (Blocks::home_of(*located) == &home)
        return true;
    report_misuse(error_kind::foreign_pointer, block, Blocks::last_bytes(*located), "np_heap");
    return false;
}
} // namespace memory_pool::np
