// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The call sites of blocks: lines of the program that called np_alloc_at.
///
///     blocks:   address -> file, line, bytes, checkpoints before it
///
/// The table is outside of the blocks. It does not refer to call sites without blocks in use, because their library may
/// be unloaded. Statistics by call site are computed on request: see site_list.hpp.
///
/// Recording is best effort: on OOM, a block has no call site.
///
/// For the last freed blocks, the table keeps a copy of the end of the file name, so that a report of misuse can name
/// the line:
///
///     freed:    address -> end of file, line        one per place; a later block replaces it
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/call_site.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/lock_guard.hpp>

#include "fork_mutex.hpp"
#include "hash_table.hpp"
#include "internals.hpp"
#include "site_list.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace memory_pool::np {
/// A number of checkpoints.
using checkpoint_count = std::uint64_t;

/// Returns: the end of a long name, at most `max_length` characters.
inline const char* shortened(const char* name, std::size_t max_length) noexcept
{
    const std::size_t length = std::strlen(name);
    return name + (length - std::min(length, max_length));
}

/// Returns: the text for a call site in reports and lists.
inline base::message name_of(const call_site& site, std::size_t max_file_length) noexcept
{
    return base::message("%s:%d", shortened(site.file, max_file_length), static_cast<int>(site.line));
}

/// Blocks and their call sites.
class call_sites : base::immovable<call_sites>
{
public:
    /// Effects: releases all memory, and forgets all blocks.
    void release() noexcept
    {
        const base::lock_guard lock(mutex_);
        blocks_.release();
    }

    /// Effects: records the call site of a block in use, and the number of checkpoints before it.
    /// Returns: false if there is no memory.
    bool remember(const void* block, std::size_t bytes, const call_site& site,
                  checkpoint_count checkpoints = 0) noexcept
    {
        const base::lock_guard lock(mutex_);
        MEMORY_POOL_DELAY_POINT();
        if (!blocks_.has_room()) {
            freed_place(block) = {}; // A report must not name the line of an earlier block.
            return false;
        }
        (void)blocks_.add({reinterpret_cast<std::uintptr_t>(block), bytes, site, checkpoints});
        return true;
    }

    /// Effects: forgets a block that is about to become free, if the block is known.
    void forget(const void* block) noexcept
    {
        const base::lock_guard lock(mutex_);
        if (block_entry* const known = find(block)) {
            freed_place(block).keep(*known);
            blocks_.remove(known);
        }
    }

    /// Returns: the call site of the block in use that begins at `address`, or, with `may_be_inside`, contains
    ///   `address`. With `may_be_freed`, also the call site of the last block freed there. An empty text if unknown.
    /// Complexity: linear in blocks with `may_be_inside`.
    base::message site_name(const void* address, bool may_be_inside, bool may_be_freed) noexcept
    {
        constexpr std::size_t max_file_length = 160; // Leaves room for the text before it.
        const base::lock_guard lock(mutex_);
        if (const block_entry* const known = may_be_inside ? find_around(address) : find(address))
            return name_of(known->site, max_file_length);
        const freed_block& last = freed_place(address);
        if (may_be_freed && last.address == reinterpret_cast<std::uintptr_t>(address))
            return name_of({last.end_of_file.data(), last.line}, max_file_length);
        return base::message("%s", "");
    }

    /// Effects: records a new address or size of a known block, which keeps its checkpoints.
    void move(const void* from, const void* to, std::optional<std::size_t> bytes = std::nullopt) noexcept
    {
        const base::lock_guard lock(mutex_);
        block_entry* const known = find(from);
        if (known == nullptr)
            return;
        MEMORY_POOL_DELAY_POINT();
        if (from != to)
            freed_place(from).keep(*known); // No forget() follows for this address.
        block_entry moved = *known;
        moved.bytes = bytes.value_or(moved.bytes);
        moved.address = reinterpret_cast<std::uintptr_t>(to);
        blocks_.remove(known);
        (void)blocks_.add(moved); // There is room: an entry was just removed.
    }

    /// Effects: adds to `list` the blocks in use that were allocated after at least that many checkpoints.
    /// Preconditions: the caller holds the lock until the list is finished.
    /// Complexity: linear in blocks.
    void add_to(site_list& list, checkpoint_count checkpoints) const noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        (void)blocks_.for_each([&](const block_entry& each) {
            if (each.checkpoints >= checkpoints)
                list.add(each.site, each.bytes);
            return true;
        });
    }

    /// Effects: calls `visit(const void* block)` for each known block, until `visit` returns false.
    /// Returns: whether no call returned false.
    /// Preconditions: `visit` does not use this object.
    template <class Visit>
    bool for_each_block(Visit&& visit) noexcept
    {
        const base::lock_guard lock(mutex_);
        return blocks_.for_each(
            [&](const block_entry& each) { return visit(reinterpret_cast<const void*>(each.address)); });
    }

    /// Returns: bytes of memory that the table has obtained from the system.
    std::size_t bytes_taken() noexcept
    {
        const base::lock_guard lock(mutex_);
        return blocks_.bytes();
    }

    /// Returns: whether the table is consistent.
    bool is_valid() noexcept
    {
        const base::lock_guard lock(mutex_);
        return blocks_.is_valid();
    }

    // Around a fork.
    void lock_for_fork() noexcept MEMORY_POOL_ACQUIRE(mutex_) { mutex_.lock_for_fork(); }
    void unlock_after_fork() noexcept MEMORY_POOL_RELEASE(mutex_) { mutex_.unlock_after_fork(); }

    // While a list is made.
    void lock() noexcept MEMORY_POOL_ACQUIRE(mutex_) { mutex_.lock(); }
    void unlock() noexcept MEMORY_POOL_RELEASE(mutex_) { mutex_.unlock(); }

private:
    struct block_entry
    {
        std::uintptr_t address;
        std::size_t bytes;
        call_site site;
        checkpoint_count checkpoints;

        bool is_there() const noexcept { return address != 0; }
        std::uint64_t hash() const noexcept { return mixed(address); }
        bool is(const block_entry& other) const noexcept { return address == other.address; }
    };

    struct freed_block
    {
        std::uintptr_t address;
        unsigned line;
        std::array<char, 52> end_of_file;

        void keep(const block_entry& known) noexcept
        {
            address = known.address;
            line = known.site.line;
            const char* const end = shortened(known.site.file, end_of_file.size() - 1);
            std::memcpy(end_of_file.data(), end, std::strlen(end) + 1);
        }
    };

    freed_block& freed_place(const void* block) noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        return freed_[mixed(reinterpret_cast<std::uintptr_t>(block)) % freed_.size()];
    }

    /// Returns: the block that contains `address`, or nullptr.
    const block_entry* find_around(const void* address) const noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        const block_entry* found = nullptr;
        (void)blocks_.for_each([&](const block_entry& each) {
            if (reinterpret_cast<std::uintptr_t>(address) - each.address < each.bytes)
                found = &each;
            return found == nullptr;
        });
        return found;
    }

    block_entry* find(const void* block) const noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        return blocks_.find({reinterpret_cast<std::uintptr_t>(block), 0, {}, 0});
    }

    fork_mutex mutex_{lock_rank::call_sites};
    hash_table<block_entry> blocks_ MEMORY_POOL_GUARDED_BY(mutex_);
    std::array<freed_block, 64> freed_ MEMORY_POOL_GUARDED_BY(mutex_){};
};
} // namespace memory_pool::np
