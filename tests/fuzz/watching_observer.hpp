// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// An observer of pools that tracks the outstanding blocks.
#pragma once

#include <memory_pool/policies.hpp>

#include <fuzz/tape.hpp>

#include <cstddef>
#include <set>

namespace fuzz {
/// Thread safety: one thread at a time.
struct watching_observer
{
    static void allocated(const char* /*pool_name*/, const void* block, std::size_t /*bytes*/) noexcept
    {
        if (!blocks().insert(block).second)
            disagree({}, "the observer saw a block allocated twice");
    }

    static void freed(const char* /*pool_name*/, const void* block) noexcept
    {
        if (blocks().erase(block) == 0)
            disagree({}, "the observer saw a free of an unknown block");
    }

    /// Returns: the outstanding blocks. Never destroyed.
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
