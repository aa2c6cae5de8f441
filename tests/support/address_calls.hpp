// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Calls for addresses and memory that fail when a test says so.
#pragma once

#include <memory_pool/os/address_space.hpp>

#include <cstddef>
#include <limits>

namespace test
{
/// As long as it lives, the library's calls for addresses go through here.
class address_calls
{
public:
    address_calls() noexcept
    {
        never_fail();
        memory_pool::os::detail::current_address_calls.store(&calls);
    }
    address_calls(const address_calls&) = delete;
    address_calls& operator=(const address_calls&) = delete;
    ~address_calls()
    {
        memory_pool::os::detail::current_address_calls.store(&memory_pool::os::detail::address_calls_of_the_system);
    }

    static void never_fail() noexcept { reserving_left = committing_left = purging_left = moving_left = unlimited; }
    /// From the call number `call` on, counted from 1, the system has no addresses to give.
    static void refuse_reserving_from(std::size_t call) noexcept { reserving_left = call - 1; }
    /// From the call number `call` on, it has no memory to give.
    static void refuse_committing_from(std::size_t call) noexcept { committing_left = call - 1; }
    /// It takes no memory back.
    static void refuse_purging() noexcept { purging_left = 0; }
    /// It moves no memory.
    static void refuse_moving() noexcept { moving_left = 0; }

private:
    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
    static inline std::size_t reserving_left = unlimited;
    static inline std::size_t committing_left = unlimited;
    static inline std::size_t purging_left = unlimited;
    static inline std::size_t moving_left = unlimited;

    static bool passes(std::size_t& left) noexcept
    {
        if (left == 0)
            return false;
        --left;
        return true;
    }

    static inline const memory_pool::os::detail::address_calls calls{
        [](std::size_t bytes) noexcept {
            return passes(reserving_left) ? memory_pool::os::detail::reserve(bytes) : nullptr;
        },
        [](void* memory, std::size_t bytes) noexcept {
            return passes(committing_left) && memory_pool::os::detail::commit(memory, bytes);
        },
        [](void* memory, std::size_t bytes) noexcept {
            return passes(purging_left) && memory_pool::os::detail::purge(memory, bytes);
        },
        [](void* memory, std::size_t bytes) noexcept { return memory_pool::os::detail::release(memory, bytes); },
        [](void* from, void* to, std::size_t bytes) noexcept {
            return passes(moving_left) && memory_pool::os::detail::move(from, to, bytes);
        }};
};
} // namespace test
