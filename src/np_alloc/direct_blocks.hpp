// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Blocks that did not fit into the region any more: each is mapped by itself, and a table says where they are.
///
///     open_table:   address of a block -> its bytes, and what was reserved for it
///
/// That is slow, and takes whole pages. It is there for a program whose limit on addresses has left the region small.
///
/// Thread safety: none; the backend has a lock.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/pages.hpp>

#include "open_table.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np
{
/// Blocks that are mapped one by one.
class direct_blocks
{
public:
    constexpr direct_blocks() noexcept = default;
    direct_blocks(const direct_blocks&) = delete;
    direct_blocks& operator=(const direct_blocks&) = delete;
    ~direct_blocks() = default;

    /// Returns: a block of whole pages, zeroed; nullptr if the system has no memory.
    /// Preconditions: `alignment` is a power of two.
    void* take(std::size_t bytes, std::size_t alignment) noexcept
    {
        if (bytes > most_bytes || alignment > most_bytes || !blocks_.has_room())
            return nullptr;
        mapped taken;
        taken.bytes = base::round_up(std::max<std::size_t>(bytes, 1), os::page_size());
        // Where the system begins a mapping, only pages are aligned.
        taken.reserved_bytes = taken.bytes + (alignment > os::page_size() ? alignment : 0);
        void* const reserved = os::reserve_addresses(taken.reserved_bytes);
        if (reserved == nullptr)
            return nullptr;
        taken.reserved = reinterpret_cast<std::uintptr_t>(reserved);
        taken.address = base::round_up(taken.reserved, std::max(alignment, os::page_size()));
        if (!os::commit_memory(reinterpret_cast<void*>(taken.address), taken.bytes)) {
            (void)os::release_addresses(reserved, taken.reserved_bytes);
            return nullptr;
        }
        (void)blocks_.add(taken);
        return reinterpret_cast<void*>(taken.address);
    }

    /// Effects: unmaps a block.
    /// Preconditions: there is such a block.
    void give(const void* block) noexcept
    {
        mapped* const ended = blocks_.find({reinterpret_cast<std::uintptr_t>(block)});
        (void)os::release_addresses(reinterpret_cast<void*>(ended->reserved), ended->reserved_bytes);
        blocks_.remove(ended);
    }

    /// Returns: bytes of the block that begins there; 0 if none does.
    std::size_t bytes(const void* block) const noexcept
    {
        const mapped* const found = blocks_.find({reinterpret_cast<std::uintptr_t>(block)});
        return found != nullptr ? found->bytes : 0;
    }

    /// Returns: whether `address` lies in one of them.
    /// Complexity: linear in blocks.
    bool hold(const void* address) const noexcept
    {
        const auto wanted = reinterpret_cast<std::uintptr_t>(address);
        return !blocks_.for_each([wanted](const mapped& each) { return wanted - each.address >= each.bytes; });
    }

    /// Returns: how many there are.
    std::size_t count() const noexcept { return blocks_.count(); }

    /// Effects: calls `visit(void* block, std::size_t bytes)` for each.
    template <class Visit>
    void for_each(Visit&& visit) const
    {
        (void)blocks_.for_each([&](const mapped& each) {
            visit(reinterpret_cast<void*>(each.address), each.bytes);
            return true;
        });
    }

private:
    static constexpr std::size_t most_bytes = std::size_t{1} << 47;

    struct mapped
    {
        std::uintptr_t address = 0;
        std::size_t bytes = 0;
        std::uintptr_t reserved = 0;
        std::size_t reserved_bytes = 0;

        bool is_there() const noexcept { return address != 0; }
        bool is(const mapped& other) const noexcept { return address == other.address; }
        std::uint64_t hash() const noexcept { return mixed(address); }
    };

    open_table<mapped> blocks_;
};
} // namespace memory_pool::np
