// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Which line of the program has asked for a block.
///
///     blocks:   address -> bytes, file, line
///     sites:    file, line -> blocks and bytes in use
///
///     blocks of a site = the blocks with that file and line
///
/// Both tables are outside of the blocks, and neither refers to a line of which no block is in use: the library that it is in may
/// be gone by then. So files are told apart by the address of their names, and names are compared when somebody asks.
///
/// A block that no memory is there for to remember is not in the tables, and nobody minds.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/call_site.hpp>

#include "mutex.hpp"
#include "open_table.hpp"

#include <cstddef>
#include <cstdint>

namespace memory_pool::np
{
/// What is in use of the blocks that one line has asked for.
struct site_figures
{
    call_site site;
    std::size_t blocks;
    std::size_t bytes; ///< That were asked for.
};

/// Blocks, and the lines that have asked for them.
class call_sites
{
public:
    constexpr call_sites() noexcept = default;
    call_sites(const call_sites&) = delete;
    call_sites& operator=(const call_sites&) = delete;
    ~call_sites() = default;

    /// Effects: gives all memory back. Nothing is remembered.
    void release() noexcept
    {
        blocks_.release();
        sites_.release();
    }

    /// Effects: remembers who has asked for a block that is in use.
    /// Returns: whether there is memory for that.
    bool remember(const void* block, std::size_t bytes, const call_site& site) noexcept
    {
        const std::lock_guard lock(mutex_);
        if (!blocks_.has_room() || !sites_.has_room())
            return false;
        (void)blocks_.add({reinterpret_cast<std::uintptr_t>(block), bytes, site});
        site_entry* const known = find(site);
        count(known != nullptr ? *known : sites_.add({{site, 0, 0}}), 1, bytes);
        return true;
    }

    /// Effects: forgets a block that is about to be free, if it is known.
    void forget(const void* block) noexcept
    {
        const std::lock_guard lock(mutex_);
        block_entry* const known = find(block);
        if (known == nullptr)
            return;
        site_entry* const from = find(known->site);
        count(*from, ~std::size_t{0}, std::size_t{0} - known->bytes);
        if (from->figures.blocks == 0)
            sites_.remove(from);
        blocks_.remove(known);
    }

    /// Effects: remembers a block at another address, or with another size, if it is known.
    void move(const void* from, const void* to, std::size_t bytes) noexcept
    {
        const std::lock_guard lock(mutex_);
        block_entry* const known = find(from);
        if (known == nullptr)
            return;
        block_entry moved = *known;
        count(*find(moved.site), 0, bytes - moved.bytes);
        moved.bytes = bytes;
        moved.address = reinterpret_cast<std::uintptr_t>(to);
        blocks_.remove(known);
        (void)blocks_.add(moved); // There is room: one has just gone.
    }

    /// Effects: calls `visit(const site_figures&)` for each line of which blocks are in use, until that returns false. A line of a
    ///   header that several libraries have is one line.
    /// Returns: whether it never did.
    /// Preconditions: `visit` does not come here.
    /// Complexity: quadratic in lines.
    template <class Visit>
    bool for_each_site(Visit&& visit) noexcept
    {
        const std::lock_guard lock(mutex_);
        return sites_.for_each([&](const site_entry& each) {
            const site_figures figures = figures_of_all(each);
            return figures.blocks == 0 || visit(figures);
        });
    }

    /// Effects: calls `visit(const void* block)` for each block that is known, until that returns false.
    /// Returns: whether it never did.
    /// Preconditions: `visit` does not come here.
    template <class Visit>
    bool for_each_block(Visit&& visit) noexcept
    {
        const std::lock_guard lock(mutex_);
        return blocks_.for_each(
            [&](const block_entry& each) { return visit(reinterpret_cast<const void*>(each.address)); });
    }

    /// Returns: whether the figures of the lines are those of their blocks.
    bool is_valid() noexcept
    {
        const std::lock_guard lock(mutex_);
        std::size_t blocks = 0;
        std::size_t bytes = 0;
        (void)sites_.for_each([&](const site_entry& each) {
            blocks += each.figures.blocks;
            bytes += each.figures.bytes;
            return true;
        });
        const bool have_lines = blocks_.for_each([&](const block_entry& each) {
            bytes -= each.bytes;
            return find(each.site) != nullptr;
        });
        return have_lines && blocks == blocks_.count() && bytes == 0 && blocks_.is_valid() && sites_.is_valid();
    }

    // Around a fork.
    void lock_for_fork() noexcept { mutex_.lock_for_fork(); }
    void unlock_after_fork() noexcept { mutex_.unlock_after_fork(); }

private:
    struct block_entry
    {
        std::uintptr_t address;
        std::size_t bytes;
        call_site site;

        bool is_there() const noexcept { return address != 0; }
        std::uint64_t hash() const noexcept { return mixed(address); }
        bool is(const block_entry& other) const noexcept { return address == other.address; }
    };

    struct site_entry
    {
        site_figures figures;

        bool is_there() const noexcept { return figures.site.file != nullptr; }
        std::uint64_t hash() const noexcept
        {
            return mixed(reinterpret_cast<std::uintptr_t>(figures.site.file) +
                         (std::uint64_t{figures.site.line} << 40U));
        }
        bool is(const site_entry& other) const noexcept
        {
            return figures.site.file == other.figures.site.file && figures.site.line == other.figures.site.line;
        }
    };

    static void count(site_entry& at, std::size_t blocks, std::size_t bytes) noexcept
    {
        at.figures.blocks += blocks;
        at.figures.bytes += bytes;
    }

    block_entry* find(const void* block) const noexcept
    {
        return blocks_.find({reinterpret_cast<std::uintptr_t>(block), 0, {}});
    }

    site_entry* find(const call_site& site) const noexcept { return sites_.find({{site, 0, 0}}); }

    /// Returns: the sum over all entries with the text and number of that one; no blocks if it is not the first of them.
    site_figures figures_of_all(const site_entry& wanted) const noexcept
    {
        site_figures sum{wanted.figures.site, 0, 0};
        const bool is_first = sites_.for_each([&](const site_entry& each) {
            if (each.figures.site != sum.site)
                return true;
            if (sum.blocks == 0 && &each != &wanted)
                return false;
            sum.blocks += each.figures.blocks;
            sum.bytes += each.figures.bytes;
            return true;
        });
        return is_first ? sum : site_figures{};
    }

    mutex mutex_;
    open_table<block_entry> blocks_;
    open_table<site_entry> sites_;
};
} // namespace memory_pool::np
