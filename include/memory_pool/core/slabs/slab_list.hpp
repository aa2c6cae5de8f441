// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The slabs of one pool that may have free blocks, linked through their headers.
///
///     first -> slab <-> slab <-> slab        the one that was added last is the first
///
/// Thread safety: none; whoever owns the list sees to it.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/slabs/slab.hpp>

#include <cstddef>

namespace memory_pool
{
inline namespace MEMORY_POOL_ABI
{
namespace core
{
/// A list of slabs, each of which knows whether it is listed.
class slab_list
{
public:
    slab_list() noexcept = default;
    slab_list(const slab_list&) = delete;
    slab_list& operator=(const slab_list&) = delete;
    ~slab_list() = default;

    /// Returns: the first slab, or nullptr.
    slab* first() const noexcept { return first_; }

    /// Effects: makes a slab the first, unless it is listed.
    void add(slab& added) noexcept
    {
        if (added.is_listed)
            return;
        added.is_listed = true;
        added.previous = nullptr;
        added.next = first_;
        if (first_ != nullptr)
            first_->previous = &added;
        first_ = &added;
    }

    /// Effects: takes a slab out, if it is listed.
    void remove(slab& removed) noexcept
    {
        if (!removed.is_listed)
            return;
        removed.is_listed = false;
        (removed.previous != nullptr ? removed.previous->next : first_) = removed.next;
        if (removed.next != nullptr)
            removed.next->previous = removed.previous;
    }

    /// Effects: forgets all slabs, which are about to end.
    void clear() noexcept { first_ = nullptr; }

    /// Returns: whether it has that many slabs, linked in both directions.
    bool has(std::size_t expected) const noexcept
    {
        std::size_t found = 0;
        const slab* previous = nullptr;
        for (const slab* each = first_; each != nullptr && found <= expected; each = each->next, ++found) {
            if (!each->is_listed || each->previous != previous)
                return false;
            previous = each;
        }
        return found == expected;
    }

private:
    slab* first_ = nullptr;
};
} // namespace core
} // namespace MEMORY_POOL_ABI
} // namespace memory_pool
