// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Blocks outside of the region, in a hash table.
///
///     hash_table:   address of a block -> its size, and the addresses reserved for it
///
/// There are two kinds of blocks. If a limit on addresses keeps the region small, blocks that do not fit into the
/// region are mapped one by one. Guarded samples are in guarded slots. Both kinds are slow, and take whole pages.
///
/// Thread safety: none; the page heap has a lock.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/call_stack.hpp>
#include <memory_pool/os/pages.hpp>

#include "../support/hash_table.hpp"
#include "../support/internals.hpp"
#include "guarded_slots.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
/// The error in freeing a wrong address. `block_bytes`: size of the block concerned; 0 if there is none.
struct wrong_address
{
    error_kind kind;
    std::size_t block_bytes;
};

/// Blocks that lie outside of the region.
class mmap_blocks : base::immovable<mmap_blocks>
{
public:
    /// Returns: the size of a block of whole pages for `bytes` bytes.
    static std::size_t bytes_for(std::size_t bytes) noexcept
    {
        return base::round_up(std::max<std::size_t>(bytes, 1), os::page_size());
    }

    /// Returns: a block of whole pages, zeroed; nullptr if the system has no memory.
    /// Preconditions: `alignment` is a power of two.
    void* take(std::size_t bytes, std::size_t alignment) noexcept
    {
        if (bytes > max_bytes || alignment > max_bytes || !blocks_.has_room())
            return nullptr;
        mapped taken;
        taken.bytes = bytes_for(bytes);
        // The system aligns mappings only to pages.
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
        if (taken.reserved_bytes != taken.bytes) {
            os::leave_out_of_dumps(reserved, taken.reserved_bytes);
            os::include_in_dumps(reinterpret_cast<void*>(taken.address), taken.bytes);
        }
        (void)blocks_.add(taken);
        return reinterpret_cast<void*>(taken.address);
    }

    /// Returns: a block in a guarded slot, zeroed; nullptr if there is no slot, or the system has no memory.
    /// Preconditions: as guarded_slots::take.
    void* take_guarded(std::size_t bytes, const os::call_stack& by) noexcept
    {
        std::byte* const block = blocks_.has_room() ? slots_.take(bytes, by) : nullptr;
        if (block != nullptr)
            (void)blocks_.add({reinterpret_cast<std::uintptr_t>(block), bytes});
        return block;
    }

    /// Effects: as guarded_slots::fit for a block in a guarded slot; no-op for other blocks.
    /// Returns: the block.
    void* fit(void* block, std::size_t bytes, std::size_t alignment, allocated_by function) noexcept
    {
        if (!slots_.contain(block))
            return block;
        slots_.at(block).function = function;
        if (!blocks_.has_room())
            return block;
        blocks_.remove(blocks_.find({reinterpret_cast<std::uintptr_t>(block)}));
        std::byte* const fitted = slots_.fit(block, bytes, alignment);
        (void)blocks_.add({reinterpret_cast<std::uintptr_t>(fitted), bytes});
        return fitted;
    }

    /// Effects: unmaps a block, or guards its slot. `by`: the call stack of the deallocation.
    /// Preconditions: `block` is in the table.
    void give(const void* block, const os::call_stack& by = {}) noexcept
    {
        mapped* const ended = blocks_.find({reinterpret_cast<std::uintptr_t>(block)});
        if (slots_.contain(block))
            slots_.give(block, by);
        else
            (void)os::release_addresses(reinterpret_cast<void*>(ended->reserved), ended->reserved_bytes);
        blocks_.remove(ended);
    }

    /// Returns: the error in freeing an address at which no block begins.
    /// Complexity: linear in blocks.
    wrong_address what_is_wrong_with(const void* address) const noexcept
    {
        if (const mapped* const around = find_around(address))
            return {error_kind::misaligned_pointer, around->bytes};
        if (!slots_.contain(address))
            return {error_kind::foreign_pointer, 0};
        const guarded_block* const last = slots_.nearest(address);
        return {error_kind::double_free, last != nullptr && last->holds(address) ? last->bytes : 0};
    }

    const guarded_slots& slots() const noexcept { return slots_; }
    guarded_slots& slots() noexcept { return slots_; }

    /// Returns: whether the table finds each block, and each guarded block has its slot.
    bool is_valid() const noexcept
    {
        std::size_t guarded = 0;
        for_each([&](const void* block, std::size_t) { guarded += slots_.contain(block) ? 1U : 0U; });
        const auto [in_use, all_are_there] = slots_.in_use();
        return blocks_.is_valid() && all_are_there && in_use == guarded;
    }

    /// Returns: the size of a block; 0 if no block begins at `block`.
    std::size_t bytes(const void* block) const noexcept
    {
        const mapped* const found = blocks_.find({reinterpret_cast<std::uintptr_t>(block)});
        return found != nullptr ? found->bytes : 0;
    }

    /// Returns: whether `address` lies in a block.
    /// Complexity: linear in blocks.
    bool hold(const void* address) const noexcept { return find_around(address) != nullptr; }

    /// Returns: the number of blocks.
    std::size_t count() const noexcept { return blocks_.count(); }

    /// Effects: calls `visit(void* block, std::size_t bytes)` for each block.
    template <class Visit>
    void for_each(Visit&& visit) const
    {
        (void)blocks_.for_each([&](const mapped& each) {
            visit(reinterpret_cast<void*>(each.address), each.bytes);
            return true;
        });
    }

    /// Effects: calls `visit(void* memory, std::size_t bytes)` for the pages of each block, and for all slots.
    template <class Visit>
    void for_each_range(Visit&& visit) const
    {
        for_each([this, &visit](void* block, std::size_t bytes) {
            if (!slots_.contain(block))
                visit(block, bytes);
        });
        visit(slots_.begin(), slots_.bytes());
    }

private:
    static constexpr std::size_t max_bytes = std::size_t{1} << 47;

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

    /// Returns: the block that contains an address; nullptr if there is none.
    const mapped* find_around(const void* address) const noexcept
    {
        const auto wanted = reinterpret_cast<std::uintptr_t>(address);
        const mapped* found = nullptr;
        (void)blocks_.for_each([wanted, &found](const mapped& each) {
            found = wanted - each.address < each.bytes ? &each : nullptr;
            return found == nullptr;
        });
        return found;
    }

    hash_table<mapped> blocks_;
    guarded_slots slots_;
};
} // namespace memory_pool::np
