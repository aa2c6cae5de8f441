// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The operations in flight in a pool, so that the child of a fork can clean up incomplete operations of lost threads.
///
///     first <-> next <-> ...      each on the stack of its thread
///
/// Thread safety: none; the pool's lock guards it.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/intrusive_list.hpp>

#include <thread>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// An operation in flight, on the stack of its thread.
struct fork_tracked_operation : base::immovable<fork_tracked_operation>
{
    /// Not a pointer to the thread_table: each library loaded at run time may have separate tables.
    const std::thread::id thread = std::this_thread::get_id();
    fork_tracked_operation* next = nullptr;
    fork_tracked_operation* previous = nullptr;
};

/// All in-flight operations of one kind `T`, which derives from fork_tracked_operation.
template <class T>
class fork_tracked_operations
{
public:
    bool empty() const noexcept { return all_.empty(); }

    void enter(T& begun) noexcept { all_.add_first(&begun); }
    void leave(T& ended) noexcept { all_.remove(&ended); }

    /// Effects: removes the operations of other threads, and calls `lost(T&)` for each.
    template <class Lost>
    void forget_other_threads(Lost&& lost) noexcept
    {
        all_.for_each([&](fork_tracked_operation* one) {
            if (one->thread == std::this_thread::get_id())
                return;
            all_.remove(one);
            lost(static_cast<T&>(*one));
        });
    }

private:
    using links =
        base::member_links<fork_tracked_operation, &fork_tracked_operation::next, &fork_tracked_operation::previous>;

    base::intrusive_list<links> all_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
