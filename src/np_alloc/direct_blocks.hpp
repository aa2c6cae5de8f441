// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Blocks that did not fit into the region any more: each is mapped by itself, and a table says where they are.
///
///     table:   | block A, its bytes | - | block C, its bytes | - | ...      by a hash of the address; at most 3 of 4 places in use
///
/// That is slow, and takes whole pages. It is there for a program whose limit on addresses has left the region small.
///
/// Thread safety: none; the backend has a lock.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/pages.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

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
        if (bytes > most_bytes || alignment > most_bytes || !has_room())
            return nullptr;
        entry taken;
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
        insert(taken);
        return reinterpret_cast<void*>(taken.address);
    }

    /// Effects: unmaps a block.
    /// Preconditions: there is such a block.
    void give(const void* block) noexcept
    {
        std::size_t place = find(reinterpret_cast<std::uintptr_t>(block));
        (void)os::release_addresses(reinterpret_cast<void*>(table_[place].reserved), table_[place].reserved_bytes);
        --count_;
        // What lies behind, up to the next gap, may be there because this place was taken.
        for (std::size_t next = after(place); table_[next].address != 0; next = after(next)) {
            const std::size_t wanted = home(table_[next].address);
            const bool stays = place <= next ? place < wanted && wanted <= next : place < wanted || wanted <= next;
            if (!stays) {
                table_[place] = table_[next];
                place = next;
            }
        }
        table_[place] = {};
    }

    /// Returns: bytes of the block that begins there; 0 if none does.
    std::size_t bytes(const void* block) const noexcept
    {
        return places_ != 0 ? table_[find(reinterpret_cast<std::uintptr_t>(block))].bytes : 0;
    }

    /// Returns: how many there are.
    std::size_t count() const noexcept { return count_; }

    /// Effects: calls `visit(void* block, std::size_t bytes)` for each.
    template <class Visit>
    void for_each(Visit&& visit) const
    {
        for (std::size_t place = 0; place != places_; ++place)
            if (table_[place].address != 0)
                visit(reinterpret_cast<void*>(table_[place].address), table_[place].bytes);
    }

private:
    static constexpr std::size_t most_bytes = std::size_t{1} << 47;

    struct entry
    {
        std::uintptr_t address = 0; ///< 0: nothing is here.
        std::size_t bytes = 0;
        std::uintptr_t reserved = 0;
        std::size_t reserved_bytes = 0;
    };

    std::size_t home(std::uintptr_t address) const noexcept
    {
        return (std::uint64_t{address} * 0x9E37'79B9'7F4A'7C15U >> 32U) & (places_ - 1);
    }
    std::size_t after(std::size_t place) const noexcept { return (place + 1) & (places_ - 1); }

    /// Returns: where the block is, or the gap where it would be.
    std::size_t find(std::uintptr_t address) const noexcept
    {
        std::size_t place = home(address);
        while (table_[place].address != 0 && table_[place].address != address)
            place = after(place);
        return place;
    }

    void insert(const entry& added) noexcept
    {
        table_[find(added.address)] = added;
        ++count_;
    }

    /// Makes the table larger if it has to be.
    bool has_room() noexcept
    {
        if ((count_ + 1) * 4 <= places_ * 3)
            return true;
        const std::size_t places = std::max(2 * places_, os::page_size() / sizeof(entry));
        const std::size_t bytes = base::round_up(places * sizeof(entry), os::page_size());
        void* const memory = os::reserve_addresses(bytes);
        if (memory == nullptr)
            return false;
        if (!os::commit_memory(memory, bytes)) {
            (void)os::release_addresses(memory, bytes);
            return false;
        }
        entry* const old_table = std::exchange(table_, static_cast<entry*>(memory)); // Zeros are gaps.
        const std::size_t old_places = std::exchange(places_, places);
        count_ = 0;
        for (std::size_t place = 0; place != old_places; ++place)
            if (old_table[place].address != 0)
                insert(old_table[place]);
        if (old_places != 0)
            (void)os::release_addresses(old_table, base::round_up(old_places * sizeof(entry), os::page_size()));
        return true;
    }

    entry* table_ = nullptr;
    std::size_t places_ = 0; ///< A power of two.
    std::size_t count_ = 0;
};
} // namespace memory_pool::np
