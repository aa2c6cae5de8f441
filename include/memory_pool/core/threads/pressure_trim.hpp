// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Trims the shared pools when np_alloc, if the program has it, finds that the system is short of memory.
///
///     np_alloc's background thread  ->  trim_pools_under_pressure  ->  each pool of the registry, if its lock is free
///
/// The library is referred to weakly: without it, nothing happens. (ELF: weak symbols. Elsewhere: nothing.)
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/core/threads/thread_registry.hpp>

#if defined(__linux__) && defined(__GNUC__)
extern "C" {
/// Effects: has `trim` called under pressure.
__attribute__((weak)) void memory_pool_np_add_pools(void (*trim)()) noexcept;
/// Effects: ends that, once it is not being called.
__attribute__((weak)) void memory_pool_np_remove_pools(void (*trim)()) noexcept;
}

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Effects: trims all pools that any thread may trim.
inline void trim_pools_under_pressure()
{
    thread_registry::get().trim_pools();
}

/// As long as it exists, np_alloc knows of the pools. A shared library may have a registry of its own, and be closed.
class pressure_listener : base::immovable<pressure_listener>
{
public:
    pressure_listener() noexcept
    {
        if (memory_pool_np_add_pools != nullptr)
            memory_pool_np_add_pools(&trim_pools_under_pressure);
    }
    ~pressure_listener()
    {
        if (memory_pool_np_remove_pools != nullptr)
            memory_pool_np_remove_pools(&trim_pools_under_pressure);
    }
};

inline const pressure_listener listener_of_pools;
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
#endif
