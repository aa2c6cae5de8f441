// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// What an arena resource can be told when it is made.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/with_member.hpp>

#include <cstddef>
#include <limits>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// The options every arena resource understands. Each has a default that suits most programs.
struct arena_options
{
    /// The value of `max_arenas` that means: as many as upstream gives memory for.
    static constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

    /// Arenas to allocate from upstream when the resource is made. 0: none, until the first request.
    std::size_t arena_count = 0;

    /// Bytes of an arena, its header of one or two cache lines included; at least. It is rounded up to a power of two,
    /// as that is what lets a block find its arena. Blocks that do not fit into an arena come from upstream one by one.
    std::size_t arena_size = std::size_t{64} * 1024;

    /// Maximum number of arenas; at least 1, and at least `arena_count`. Blocks too large for an arena are not among
    /// them. Where threads share them, one for each thread at one time is the least that lets all of them have blocks:
    /// the arena that a thread fills stays its own until it ends, also when nothing is in use there.
    std::size_t max_arenas = unbounded;

    /// Write to every page of an arena when it is taken from upstream, so that no page fault comes later.
    bool prefault = false;

    /// The resource's name in reports. Not copied: it must outlive the resource, as a string literal does.
    const char* name = "unnamed";

    /// Returns: these options with that `arena_count`.
    [[nodiscard]] constexpr arena_options with_arena_count(std::size_t value) const noexcept
    {
        return detail::base::with_member(*this, &arena_options::arena_count, value);
    }

    /// Returns: these options with that `arena_size`.
    [[nodiscard]] constexpr arena_options with_arena_size(std::size_t value) const noexcept
    {
        return detail::base::with_member(*this, &arena_options::arena_size, value);
    }

    /// Returns: these options with that `max_arenas`.
    [[nodiscard]] constexpr arena_options with_max_arenas(std::size_t value) const noexcept
    {
        return detail::base::with_member(*this, &arena_options::max_arenas, value);
    }

    /// Returns: these options with that `prefault`.
    [[nodiscard]] constexpr arena_options with_prefault(bool value) const noexcept
    {
        return detail::base::with_member(*this, &arena_options::prefault, value);
    }

    /// Returns: these options with that `name`.
    [[nodiscard]] constexpr arena_options with_name(const char* value) const noexcept
    {
        return detail::base::with_member(*this, &arena_options::name, value);
    }
};
}} // namespace memory_pool::MEMORY_POOL_ABI
