// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// What threads have begun in a pool and not ended yet, so that the child of a fork knows what threads that are not there have left
/// half done.
///
///     first -> begun -> begun -> ...      each on the stack of the thread that does it
///
/// Thread safety: none; the pool's lock guards it.
#pragma once

#include <memory_pool/base/config.hpp>

#include <thread>
#include <utility>

namespace memory_pool
{
inline namespace MEMORY_POOL_ABI
{
namespace core
{
/// Something under way. Lives on the stack of the thread that does it.
struct in_flight
{
    /// Not its table: each library that is loaded at run time may have tables of its own.
    const std::thread::id thread = std::this_thread::get_id();
    in_flight* next = nullptr;
};

/// All in-flight operations of one kind `T`, which derives from in_flight.
template <class T>
class all_in_flight
{
public:
    bool empty() const noexcept { return first_ == nullptr; }

    void enter(T& begun) noexcept { begun.next = std::exchange(first_, &begun); }

    /// Preconditions: it was entered, and has neither left nor been forgotten.
    void leave(const T& ended) noexcept
    {
        in_flight** link = &first_;
        while (*link != &ended)
            link = &(*link)->next;
        *link = ended.next;
    }

    /// Effects: takes those of other threads out, and calls `lost(T&)` for each.
    template <class Lost>
    void forget_other_threads(Lost&& lost) noexcept
    {
        in_flight** link = &first_;
        while (in_flight* const one = *link) {
            if (one->thread == std::this_thread::get_id()) {
                link = &one->next;
                continue;
            }
            *link = one->next;
            lost(static_cast<T&>(*one));
        }
    }

private:
    in_flight* first_ = nullptr;
};
} // namespace core
} // namespace MEMORY_POOL_ABI
} // namespace memory_pool
