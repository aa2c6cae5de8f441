// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// An observer of pools that knows which blocks are in use.
#pragma once

#include <memory_pool/policies.hpp>

#include <fuzz/tape.hpp>

#include <cstddef>
#include <set>

namespace fuzz {
/// One thread at a time uses the pools.
struct watching_observer
{
    static void allocated(const char* /*pool_name*/, const void* block, std::size_t /*bytes*/) noexcept
    {
        if (!blocks().insert(block).second)
            disagree({}, "the observer was told twice that a block was allocated");
    }

    static void freed(const char* /*pool_name*/, const void* block) noexcept
    {
        if (blocks().erase(block) == 0)
            disagree({}, "the observer was told that a block was freed that was not in use");
    }

    /// Returns: those in use. Never destroyed.
    static std::set<const void*>& blocks()
    {
        static auto* const all = new std::set<const void*>;
        return *all;
    }
};

using watched_policy = memory_pool::observing_policy<watching_observer>;
using watched_checking_policy = memory_pool::observing_policy<watching_observer, memory_pool::checking_policy>;

template <class Policy>
inline constexpr bool is_watched = false;
template <class Policy>
inline constexpr bool is_watched<memory_pool::observing_policy<watching_observer, Policy>> = true;
} // namespace fuzz
