// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The magazine of a pool for one thread, sized to the slabs of the pool.
///
///     few blocks     the array lies behind the first slab: no request upstream
///     more           the array is from upstream
///
/// Thread safety: none.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/core/reports/upstream_call.hpp>
#include <memory_pool/core/slabs/magazine.hpp>
#include <memory_pool/core/slabs/slab_store.hpp>

#include <algorithm>
#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// A magazine that grows and shrinks with the slabs. It is closed after its array has changed.
class slab_magazine : public magazine
{
public:
    /// Returns: the bytes of the array, if it is from upstream.
    std::size_t own_bytes(const slab_store& slabs) const noexcept
    {
        return array() == slabs.room_for_magazine().array ? 0 : room() * sizeof(void*);
    }

    /// Effects: grows the array if it is much too small, and upstream has memory to spare or the first chunk has a
    ///   larger one.
    /// Returns: whether it did.
    bool grow(const slab_store& slabs) noexcept
    {
        const std::size_t suitable = suitable_for(slabs);
        if (suitable <= room() + room() / 2)
            return false;
        if (!slabs.is_short() && try_to_fit(slabs, suitable))
            return true;
        const auto [behind_first, size] = slabs.room_for_magazine();
        if (size <= room())
            return false;
        move_to(slabs, behind_first, size);
        return true;
    }

    /// Effects: shrinks the array if it is much too large.
    void shrink(const slab_store& slabs) noexcept
    {
        const std::size_t suitable = suitable_for(slabs);
        if (2 * suitable < room())
            (void)try_to_fit(slabs, suitable);
    }

    /// Effects: frees the array.
    void drop(const slab_store& slabs) noexcept { move_to(slabs, nullptr, 0); }

    /// Effects: moves out of the first chunk, when `capacity_left` blocks remain without it. Its room does not grow, so
    ///   that no more is taken from upstream than goes back. If upstream has no memory, it has no room then.
    /// Preconditions: it is empty.
    void leave_first_chunk(const slab_store& slabs, std::size_t capacity_left) noexcept
    {
        if (own_bytes(slabs) != 0 || room() == 0)
            return;
        const std::size_t smaller = std::min(slabs.suitable_magazine_room(capacity_left), room());
        if (smaller == 0 || !base::succeeds([&] { move_to(slabs, new_array(slabs, smaller), smaller); }))
            drop(slabs);
    }

private:
    static std::size_t suitable_for(const slab_store& slabs) noexcept
    {
        return slabs.suitable_magazine_room(slabs.capacity());
    }

    bool try_to_fit(const slab_store& slabs, std::size_t wanted) noexcept
    {
        bool has_moved = false;
        (void)base::succeeds([&] { has_moved = fit(slabs, wanted); });
        return has_moved;
    }

    /// Moves into the array behind the first slab, if that is large enough.
    bool fit(const slab_store& slabs, std::size_t wanted)
    {
        const auto [behind_first, size] = slabs.room_for_magazine();
        if (wanted > size)
            move_to(slabs, new_array(slabs, wanted), wanted);
        else if (array() != behind_first)
            move_to(slabs, behind_first, size);
        else
            return false;
        return true;
    }

    static void** new_array(const slab_store& slabs, std::size_t room)
    {
        return static_cast<void**>(
            allocate_upstream(slabs.upstream(), room * sizeof(void*), alignof(void*), slabs.identity().name));
    }

    void move_to(const slab_store& slabs, void** new_array, std::size_t new_room) noexcept
    {
        void** const old = array();
        const std::size_t old_bytes = own_bytes(slabs);
        adopt(new_array, new_room);
        if (old_bytes != 0)
            slabs.upstream()->deallocate(old, old_bytes, alignof(void*));
    }
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
