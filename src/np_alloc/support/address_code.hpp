// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A code for addresses that lie in blocks, where a program may write to them by mistake: what it writes there is no
/// address of its choice.
///
/// Thread safety: any thread; `draw` before all others.
#pragma once

#include <memory_pool/base/immovable.hpp>
#include <memory_pool/os/random.hpp>

#include "internals.hpp"

#include <atomic>
#include <cstdint>

namespace memory_pool::np {
/// A key that is unpredictable from outside of the process.
class address_code : base::immovable<address_code>
{
public:
    /// Effects: draws the key. Called once, before the first address is encoded.
    void draw() noexcept { key_.store(static_cast<std::uintptr_t>(os::random_number()), std::memory_order_relaxed); }

    /// Returns: the address encoded, or decoded.
    template <class T>
    T* apply(T* address) const noexcept
    {
        return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(address) ^ key_.load(std::memory_order_relaxed));
    }

private:
    std::atomic<std::uintptr_t> key_{0};
};

/// That of the process.
MEMORY_POOL_HIDDEN inline address_code the_address_code;
} // namespace memory_pool::np
