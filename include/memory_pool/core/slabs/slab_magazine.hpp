// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The magazine of a pool for one thread, with a size that follows the slabs of the pool.
///
///     few blocks     the array is behind the first slab: no request to upstream
///     more           the array is from upstream
///
/// Thread safety: none.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/core/reports/upstream_call.hpp>
#include <memory_pool/core/slabs/chunk_list.hpp>
#include <memory_pool/core/slabs/magazine.hpp>

#include <algorithm>
#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// A magazine that grows and shrinks with the slabs. A change of its array closes it.
class slab_magazine : public magazine
{
public:
    /// Returns: the size of the array in bytes if it is from upstream, else 0.
    std::size_t own_bytes(const chunk_list& chunks) const noexcept
    {
        return array() == chunks.room_for_magazine().array ? 0 : room() * sizeof(void*);
    }

    /// Effects: if the array is much too small, enlarges it to the suitable size. If upstream is short of memory, moves
    ///   it to the room in the first chunk, if that room is larger than the array.
    /// Returns: whether the array has changed.
    MEMORY_POOL_NOINLINE bool grow(const chunk_list& chunks) noexcept
    {
        const std::size_t suitable = suitable_for(chunks);
        if (suitable <= room() + room() / 2)
            return false;
        if (!chunks.is_short() && try_to_fit(chunks, suitable))
            return true;
        const auto [behind_first, size] = chunks.room_for_magazine();
        if (size <= room())
            return false;
        move_to(chunks, behind_first, size);
        return true;
    }

    /// Effects: shrinks the array if it is much too large.
    MEMORY_POOL_NOINLINE void shrink(const chunk_list& chunks) noexcept
    {
        const std::size_t suitable = suitable_for(chunks);
        if (2 * suitable < room())
            (void)try_to_fit(chunks, suitable);
    }

    /// Effects: frees the array.
    void drop(const chunk_list& chunks) noexcept { move_to(chunks, nullptr, 0); }

    /// Effects: moves the array out of the first chunk, for `capacity_left` remaining blocks. The array does not grow,
    ///   so that a trim does not allocate more memory than it returns. If upstream has no memory, the magazine has no
    ///   array afterwards.
    /// Preconditions: the magazine is empty.
    void leave_first_chunk(const chunk_list& chunks, std::size_t capacity_left) noexcept
    {
        if (own_bytes(chunks) != 0 || room() == 0)
            return;
        const std::size_t smaller = std::min(chunks.suitable_magazine_room(capacity_left), room());
        if (smaller == 0 || !base::succeeds([&] { move_to(chunks, new_array(chunks, smaller), smaller); }))
            drop(chunks);
    }

private:
    static std::size_t suitable_for(const chunk_list& chunks) noexcept
    {
        return chunks.suitable_magazine_room(chunks.capacity());
    }

    bool try_to_fit(const chunk_list& chunks, std::size_t wanted) noexcept
    {
        bool has_moved = false;
        (void)base::succeeds([&] { has_moved = fit(chunks, wanted); });
        return has_moved;
    }

    /// Moves to the array behind the first slab if that is large enough, else to a new array.
    bool fit(const chunk_list& chunks, std::size_t wanted)
    {
        const auto [behind_first, size] = chunks.room_for_magazine();
        if (wanted > size)
            move_to(chunks, new_array(chunks, wanted), wanted);
        else if (array() != behind_first)
            move_to(chunks, behind_first, size);
        else
            return false;
        return true;
    }

    static void** new_array(const chunk_list& chunks, std::size_t room)
    {
        return static_cast<void**>(
            allocate_upstream(chunks.upstream(), room * sizeof(void*), alignof(void*), chunks.identity().name));
    }

    void move_to(const chunk_list& chunks, void** new_array, std::size_t new_room) noexcept
    {
        void** const old = array();
        const std::size_t old_bytes = own_bytes(chunks);
        adopt(new_array, new_room);
        if (old_bytes != 0)
            chunks.upstream()->deallocate(old, old_bytes, alignof(void*));
    }
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
