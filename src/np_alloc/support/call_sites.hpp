// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The allocation site of a block: the line of the program that called np_alloc_at.
///
///     blocks:   address -> file, line, bytes, checkpoints before it
///
/// The table is outside of the blocks, and does not refer to a line of which no block is in use: the library that it is
/// in may be gone by then. What is in use by site is counted on request: see site_list.hpp.
///
/// Recording is best effort: on OOM the block has no site.
///
/// Of the last blocks that were freed, the end of the name is kept as a copy, so that a report of misuse can name the
/// line:
///
///     freed:    address -> end of file, line        one at each place: it goes when another comes there
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

/// Returns: the end of a long name, so that there is room for more on its line.
inline const char* shortened(const char* name, std::size_t most) noexcept
{
    const std::size_t length = std::strlen(name);
    return name + (length - std::min(length, most));
}

/// Returns: the line as np_alloc_at was told, as reports and lists name it.
inline base::message name_of(const call_site& site, std::size_t most_of_file) noexcept
{
    return base::message("%s:%d", shortened(site.file, most_of_file), static_cast<int>(site.line));
}

/// Blocks, and the lines that have asked for them.
class call_sites : base::immovable<call_sites>
{
public:
    /// Effects: gives all memory back. Nothing is remembered.
    void release() noexcept
    {
        const base::lock_guard lock(mutex_);
        blocks_.release();
    }

    /// Effects: remembers who has asked for a block that is in use, and after how many checkpoints.
    /// Returns: whether there is memory for that.
    bool remember(const void* block, std::size_t bytes, const call_site& site,
                  checkpoint_count checkpoints = 0) noexcept
    {
        const base::lock_guard lock(mutex_);
        MEMORY_POOL_DELAY_POINT();
        if (!blocks_.has_room()) {
            freed_place(block) = {}; // The line that had it before is not to be taken for this one.
            return false;
        }
        (void)blocks_.add({reinterpret_cast<std::uintptr_t>(block), bytes, site, checkpoints});
        return true;
    }

    /// Effects: forgets a block that is about to be free, if it is known.
    void forget(const void* block) noexcept
    {
        const base::lock_guard lock(mutex_);
        if (block_entry* const known = find(block)) {
            freed_place(block).keep(*known);
            blocks_.remove(known);
        }
    }

    /// Returns: the name of the allocation site of a block that is in use and begins at `address`, or, if it
    ///   `may_be_inside`, holds it; or if it `may_be_freed`, that was the last there. Without a text if it is not
    ///   known.
    /// Complexity: linear in blocks if it may be inside.
    base::message site_name(const void* address, bool may_be_inside, bool may_be_freed) noexcept
    {
        constexpr std::size_t most_of_file = 160; // There is something before it.
        const base::lock_guard lock(mutex_);
        if (const block_entry* const known = may_be_inside ? find_around(address) : find(address))
            return name_of(known->site, most_of_file);
        const freed_block& last = freed_place(address);
        if (may_be_freed && last.address == reinterpret_cast<std::uintptr_t>(address))
            return name_of({last.end_of_file.data(), last.line}, most_of_file);
        return base::message("%s", "");
    }

    /// Effects: remembers a block at another address, or with another size, if it is known. It is as old as before.
    void move(const void* from, const void* to, std::optional<std::size_t> bytes = std::nullopt) noexcept
    {
        const base::lock_guard lock(mutex_);
        block_entry* const known = find(from);
        if (known == nullptr)
            return;
        MEMORY_POOL_DELAY_POINT();
        if (from != to)
            freed_place(from).keep(*known); // It will be free: here, as it is not forgotten otherwise.
        block_entry moved = *known;
        moved.bytes = bytes.value_or(moved.bytes);
        moved.address = reinterpret_cast<std::uintptr_t>(to);
        blocks_.remove(known);
        (void)blocks_.add(moved); // There is room: one has just gone.
    }

    /// Effects: adds to `list` what is in use and was asked for after that many checkpoints, or more.
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

    /// Effects: calls `visit(const void* block)` for each block that is known, until that returns false.
    /// Returns: whether it never did.
    /// Preconditions: `visit` does not come here.
    template <class Visit>
    bool for_each_block(Visit&& visit) noexcept
    {
        const base::lock_guard lock(mutex_);
        return blocks_.for_each(
            [&](const block_entry& each) { return visit(reinterpret_cast<const void*>(each.address)); });
    }

    /// Returns: bytes that are taken from the system to remember all that.
    std::size_t bytes_taken() noexcept
    {
        const base::lock_guard lock(mutex_);
        return blocks_.bytes();
    }

    /// Returns: whether the table is as it was made.
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

    /// Returns: the block that holds `address`, or nullptr.
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
