// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Calls of upstream, counted in the thread's no_allocation_scope: see no_allocation_scope.hpp.
///
///     innermost scope of the thread  ->  np_no_allocation_scope: name, allocations, ...
///            ^
///     upstream_call:        clears the scope, so that allocations by upstream do not count; counts one allocation in
///                           the scope if upstream succeeds; restores the scope at the end
///     deferred_callbacks:   delays calls of the scope's function, which may use the pool, until the pool has released
///                           its lock and finished its operation
///
/// If np_alloc is linked into the program or preloaded as libnp_malloc.so, np_alloc holds the innermost scope of a
/// thread, and this file refers to np_alloc by a weak symbol (ELF). Otherwise this file holds the scope.
///
/// Thread safety: any thread; each scope belongs to one thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/no_allocation_scope.h>

#include <array>
#include <cstddef>
#include <memory_resource>
#include <utility>

#if MEMORY_POOL_HAS_WEAK_FUNCTIONS
extern "C" {
/// An alias of np_set_no_allocation_scope. If that function itself were declared weak, calls by the program would not
/// link it from an archive.
MEMORY_POOL_WEAK np_no_allocation_scope* memory_pool_np_set_no_allocation_scope(np_no_allocation_scope* scope) noexcept;
}
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The innermost scope of this thread, if np_alloc does not hold it.
MEMORY_POOL_ONE_PER_PROCESS extern thread_local np_no_allocation_scope* innermost_scope;
// NOLINTNEXTLINE(misc-definitions-in-headers): it is weak.
MEMORY_POOL_ONE_PER_PROCESS thread_local np_no_allocation_scope* innermost_scope = nullptr;

/// Effects: as np_set_no_allocation_scope. Calls that function if it is present.
inline np_no_allocation_scope* set_no_allocation_scope(np_no_allocation_scope* scope) noexcept
{
#if MEMORY_POOL_HAS_WEAK_FUNCTIONS
    if (memory_pool_np_set_no_allocation_scope != nullptr)
        return memory_pool_np_set_no_allocation_scope(scope);
#endif
    return std::exchange(innermost_scope, scope);
}

/// Effects: counts an allocation in a scope.
inline void count_allocation(np_no_allocation_scope& scope, std::size_t bytes) noexcept
{
    ++scope.allocations;
    scope.bytes += bytes;
}

/// Effects: counts an allocation in a scope, and calls the scope's function.
/// Preconditions: the scope is not in effect, because the function may allocate.
inline void note_allocation(np_no_allocation_scope& scope, std::size_t bytes, const char* allocator) noexcept
{
    count_allocation(scope, bytes);
    if (scope.note != nullptr)
        scope.note(&scope, bytes, allocator);
}

/// The deferred callbacks of a thread: allocations that were counted, but not yet passed to their scopes' functions.
struct notes_of_thread
{
    struct note
    {
        np_no_allocation_scope* scope;
        std::size_t bytes;
        const char* allocator;
    };

    /// Effects: adds a callback. If there is no room, adds the bytes to the last callback.
    void add(const note& added) noexcept
    {
        if (count != notes.size())
            notes[count++] = added;
        else
            notes.back().bytes += added.bytes;
    }

    /// Effects: calls the scopes' functions for all allocations so far.
    MEMORY_POOL_SLOW_PATH void give() noexcept
    {
        np_no_allocation_scope* const scope = set_no_allocation_scope(nullptr);
        const std::array<note, 8> given = notes; // A copy, because the functions may use pools.
        const std::size_t given_count = std::exchange(count, 0);
        for (std::size_t i = 0; i != given_count; ++i)
            given[i].scope->note(given[i].scope, given[i].bytes, given[i].allocator);
        (void)set_no_allocation_scope(scope);
    }

    std::size_t depth; ///< The number of nested deferred_callbacks.
    std::size_t count;
    std::array<note, 8> notes;
};

MEMORY_POOL_ONE_PER_PROCESS extern thread_local notes_of_thread these_notes;
// NOLINTNEXTLINE(misc-definitions-in-headers): it is weak.
MEMORY_POOL_ONE_PER_PROCESS thread_local notes_of_thread these_notes{};

/// While an object exists, calls of upstream by this thread are counted at once, but the scope's function is called
/// only at the end. If objects are nested, the outermost one calls the function.
class deferred_callbacks : base::immovable<deferred_callbacks>
{
public:
    deferred_callbacks() noexcept { ++these_notes.depth; }
    ~deferred_callbacks()
    {
        if (--these_notes.depth == 0 && MEMORY_POOL_UNLIKELY(these_notes.count != 0))
            these_notes.give();
    }
};

/// A call of upstream by a pool, arena or resource. Counts as one allocation, regardless of upstream's own allocations.
class upstream_call : base::immovable<upstream_call>
{
public:
    upstream_call() noexcept : scope_(set_no_allocation_scope(nullptr)) {}
    ~upstream_call()
    {
        if (MEMORY_POOL_UNLIKELY(scope_ != nullptr))
            (void)set_no_allocation_scope(scope_);
    }

    /// Effects: counts the call in the scope of the thread.
    void succeeded(std::size_t bytes, const char* pool_name) const noexcept
    {
        if (MEMORY_POOL_UNLIKELY(scope_ != nullptr))
            note(*scope_, bytes, pool_name);
    }

private:
    static void note(np_no_allocation_scope& scope, std::size_t bytes, const char* pool_name) noexcept
    {
        if (these_notes.depth == 0 || scope.note == nullptr) {
            note_allocation(scope, bytes, pool_name);
            return;
        }
        count_allocation(scope, bytes);
        these_notes.add({&scope, bytes, pool_name});
    }

    np_no_allocation_scope* const scope_;
};

/// Returns: memory from upstream for the pool, arena or resource `pool_name`.
/// Throws: exceptions from upstream.
MEMORY_POOL_NOINLINE inline void* allocate_upstream(std::pmr::memory_resource* upstream, std::size_t bytes,
                                                    std::size_t alignment, const char* pool_name = "unnamed")
{
    const upstream_call call;
    void* const memory = upstream->allocate(bytes, alignment);
    call.succeeded(bytes, pool_name);
    return memory;
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
