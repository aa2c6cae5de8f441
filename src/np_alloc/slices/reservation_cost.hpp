// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The cost of reserving addresses: a few microseconds for any size, except under user-mode emulation. An emulator may
/// keep data for each page (qemu-user up to 8.0: 1 TiB takes minutes and 19 GB).
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/clock.hpp>

#include "../support/internals.hpp"

#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
/// Returns: whether the cost grows with the size, so that reserving 1 TiB would take more than a second. One fast try
///   of three disproves this, because the thread may be preempted during the other tries.
/// Complexity: two system calls if the first try is fast.
template <class Clock>
bool reserving_is_expensive(Clock&& nanoseconds) noexcept
{
    constexpr int tries = 3;
    constexpr std::size_t bytes = std::size_t{64} << 20;
    constexpr std::uint64_t nanoseconds_of_a_second = 1'000'000'000;
    constexpr std::uint64_t max_nanoseconds = nanoseconds_of_a_second / ((std::size_t{1} << 40) / bytes);
    for (int tried = 0; tried != tries; ++tried) {
        const std::uint64_t begin = nanoseconds();
        void* const reserved = os::reserve_addresses(bytes);
        if (reserved == nullptr)
            return false;
        (void)os::release_addresses(reserved, bytes);
        if (nanoseconds() - begin <= max_nanoseconds)
            return false;
    }
    return true;
}

inline bool reserving_is_expensive() noexcept
{
    return reserving_is_expensive(os::nanoseconds);
}
} // namespace memory_pool::np
