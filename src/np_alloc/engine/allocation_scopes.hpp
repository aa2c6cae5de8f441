// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Scopes in which a thread must not allocate: see no_allocation_scope.h.
///
/// While a scope applies, each allocation of its thread takes the slow path, as for a profile (thread_cache.hpp). The
/// slow path notes the allocation. Functions that allocate without magazines note their allocations themselves.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/config.hpp>

#include "engine.hpp"

#include <cstddef>

namespace memory_pool::np {
/// Effects: as np_set_no_allocation_scope.
np_no_allocation_scope* set_no_allocation_scope(np_no_allocation_scope* scope) noexcept;

/// Effects: notes an allocation in the scope of this thread.
/// Preconditions: this thread has a scope.
void note_in_scope(std::size_t bytes) noexcept;

/// Effects: notes an allocation in the scope of this thread, if there is one.
inline void note_if_forbidden(std::size_t bytes) noexcept
{
    if (MEMORY_POOL_UNLIKELY(this_thread.no_allocation != nullptr))
        note_in_scope(bytes);
}

/// Effects: sends this thread's allocations to the slow path if each must be counted, otherwise to the fast path.
inline void choose_path_of_allocations() noexcept
{
    thread_cache& cache = this_thread.cache;
    if (cache.has_heap())
        this_thread.must_count() ? cache.start_counting() : cache.stop_counting();
}
} // namespace memory_pool::np
