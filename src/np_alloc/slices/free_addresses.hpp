// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Finds addresses where a mapping has room to grow.
///
///     | program, its heap | ... | here: an eighth to a half | ... | program, its heap | ... <- mappings | stack |
///     0                         end / 8              end / 2                                                  end
///
/// Systems place the program and its heap at the bottom of the address space, or at two thirds. Mappings grow down from
/// the stack, or, if the stack is unlimited, up from a third. So the range from an eighth to a half has few mappings.
/// Under an address space limit, a process can find out which of these addresses are free only by mapping them.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/pages.hpp>

#include "../support/internals.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
/// The address space of this process.
struct free_addresses
{
    std::uintptr_t end;    ///< A power of two, above all addresses of programs.
    std::uintptr_t mapped; ///< An address that the system has just mapped.

    /// Returns: the size of the largest range for which every system has enough free addresses.
    std::size_t max_bytes() const noexcept { return end / 8; }

    /// Returns: the first of `bytes` addresses that are probably free, a multiple of `alignment`; 0 if there are not
    ///   enough addresses. `chance`: any number, which selects the addresses.
    /// Preconditions: `alignment` is a power of two and at most `end / 8`.
    std::uintptr_t pick(std::size_t bytes, std::size_t alignment, std::uint64_t chance) const noexcept
    {
        const std::uintptr_t first = end / 8;
        const std::uintptr_t last = mapped > first ? std::min(end / 2, mapped) : end / 2;
        if (bytes >= last - first)
            return 0;
        return (first + chance % (last - first - bytes)) / alignment * alignment;
    }

    /// Complexity: two system calls.
    static free_addresses find() noexcept
    {
        const std::byte on_the_stack{};
        void* const mapped = os::reserve_addresses(os::page_size());
        if (mapped == nullptr)
            return {0, 0};
        (void)os::release_addresses(mapped, os::page_size());
        const auto begin = reinterpret_cast<std::uintptr_t>(mapped);
        const std::uintptr_t highest = std::max(begin, reinterpret_cast<std::uintptr_t>(&on_the_stack));
        return {std::uintptr_t{2} << base::highest_bit(highest), begin};
    }
};
} // namespace memory_pool::np
