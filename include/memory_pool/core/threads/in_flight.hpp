// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The operations of threads in flight in a pool, so that the child of a fork knows what lost threads have left half
/// done.
///
///     first -> begun <-> begun <-> ...      each on the stack of its thread
///
/// Thread safety: none; the pool's lock guards it.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/intrusive_list.hpp>

#include <thread>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// An operation in flight. Lives on the stack of its thread.
struct in_flight : base::immovable<in_flight>
{
    /// Not its thread_table: each library loaded at run time may have tables of its own.
    const std::thread::id thread = std::this_thread::get_id();
    in_flight* next = nullptr;
    in_flight* previous = nullptr;
};

/// All in-flight operations of one kind `T`, which derives from in_flight.
template <class T>
class all_in_flight
{
public:
    bool empty() const noexcept { return all_.empty(); }

    void enter(T& begun) noexcept { all_.add_first(&begun); }
    void leave(T& ended) noexcept { all_.remove(&ended); }

    /// Effects: removes those of other threads, and calls `lost(T&)` for each.
    template <class Lost>
    void forget_other_threads(Lost&& lost) noexcept
    {
        all_.for_each([&](in_flight* one) {
            if (one->thread == std::this_thread::get_id())
                return;
            all_.remove(one);
            lost(static_cast<T&>(*one));
        });
    }

private:
    base::intrusive_list<base::member_links<in_flight, &in_flight::next, &in_flight::previous>> all_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
