// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The options of an arena resource.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/with_member.hpp>

#include <cstddef>
#include <limits>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// The options of every arena resource. The defaults suit most programs.
struct arena_options
{
    /// The value of `max_arenas` if there is no limit.
    static constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

    /// The number of arenas to allocate when the resource is constructed. 0: none until the first request.
    std::size_t arena_count = 0;

    /// The minimum size of an arena in bytes, including its header of one or two cache lines. It is rounded up to a
    /// power of two, so that the address of a block determines its arena. Blocks that do not fit into an arena are
    /// allocated from upstream one by one.
    std::size_t arena_size = std::size_t{64} * 1024;

    /// The maximum number of arenas; at least 1, and at least `arena_count`. Blocks too large for an arena do not
    /// count. If threads share the resource, allow at least one arena for each concurrent thread: a thread keeps the
    /// arena that it fills until the thread ends, even if the arena is empty.
    std::size_t max_arenas = unbounded;

    /// Write to every page of an arena when it is allocated from upstream, to avoid page faults later.
    bool prefault = false;

    /// The resource's name in reports. Not copied: the string must outlive the resource, as a string literal does.
    const char* name = "unnamed";

    /// Returns: these options with another `arena_count`.
    [[nodiscard]] constexpr arena_options with_arena_count(std::size_t value) const noexcept
    {
        return detail::base::with_member(*this, &arena_options::arena_count, value);
    }

    /// Returns: these options with another `arena_size`.
    [[nodiscard]] constexpr arena_options with_arena_size(std::size_t value) const noexcept
    {
        return detail::base::with_member(*this, &arena_options::arena_size, value);
    }

    /// Returns: these options with another `max_arenas`.
    [[nodiscard]] constexpr arena_options with_max_arenas(std::size_t value) const noexcept
    {
        return detail::base::with_member(*this, &arena_options::max_arenas, value);
    }

    /// Returns: these options with another `prefault`.
    [[nodiscard]] constexpr arena_options with_prefault(bool value) const noexcept
    {
        return detail::base::with_member(*this, &arena_options::prefault, value);
    }

    /// Returns: these options with another `name`.
    [[nodiscard]] constexpr arena_options with_name(const char* value) const noexcept
    {
        return detail::base::with_member(*this, &arena_options::name, value);
    }
};
}} // namespace memory_pool::MEMORY_POOL_ABI
