// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Trims shared pools when np_alloc detects memory pressure, in programs that are linked with np_alloc.
///
///     np_alloc's background thread  ->  trim_pools_under_pressure  ->  each pool of the registry, if its lock is free
///
/// References np_alloc by weak symbols (ELF). Without np_alloc, and on other platforms, this is a no-op.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/core/threads/thread_registry.hpp>

#if MEMORY_POOL_HAS_WEAK_FUNCTIONS
extern "C" {
/// Effects: registers `trim`, which np_alloc calls under pressure.
MEMORY_POOL_WEAK void memory_pool_np_add_pools(void (*trim)()) noexcept;
/// Effects: waits for a call in progress, and unregisters `trim`.
MEMORY_POOL_WEAK void memory_pool_np_remove_pools(void (*trim)()) noexcept;
}

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Effects: trims all pools that any thread may trim.
inline void trim_pools_under_pressure()
{
    thread_registry::get().trim_pools();
}

/// Registers trim_pools_under_pressure during its lifetime: a shared library may have a separate registry, and may be
/// unloaded.
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
