// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Trims the shared pools when np_alloc, if the program is linked with it, detects memory pressure.
///
///     np_alloc's background thread  ->  trim_pools_under_pressure  ->  each pool of the registry, if its lock is free
///
/// np_alloc is referenced by weak symbols (ELF): without it, and elsewhere, this is a no-op.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/core/threads/thread_registry.hpp>

#if MEMORY_POOL_HAS_WEAK_FUNCTIONS
extern "C" {
/// Effects: registers `trim` to be called under pressure.
MEMORY_POOL_WEAK void memory_pool_np_add_pools(void (*trim)()) noexcept;
/// Effects: unregisters it, after waiting for a call in progress.
MEMORY_POOL_WEAK void memory_pool_np_remove_pools(void (*trim)()) noexcept;
}

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Effects: trims all pools that any thread may trim.
inline void trim_pools_under_pressure()
{
    thread_registry::get().trim_pools();
}

/// Registered for its lifetime: a shared library may have its own registry, and be unloaded.
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
