// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Makes np_alloc call these functions when it takes and releases locks. This header changes the code of np_alloc:
/// include it first in every file of a library. See lock_times.cpp.
///
/// Thread safety: any thread.
#pragma once

#ifdef MEMORY_POOL_LOCK_POINT
#error "benchmarks/np_alloc/lock_times.hpp comes before any header of the library"
#endif
#define MEMORY_POOL_LOCK_POINT(lock, is_taken) ::lock_times::note(&(lock), is_taken)

namespace lock_times {
/// Effects: records that this thread has taken a lock, or is about to release it.
void note(const void* lock, bool is_taken) noexcept;
} // namespace lock_times
