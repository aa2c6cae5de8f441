// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A snapshot of the call sites of blocks in use.
///
///     add:      block -> file, line: blocks, bytes          in a table, while no block is added or removed
///     finish:   | line | line | ... | name | name | ...     in pages of its own, sorted by bytes
///
///     all().blocks = the sum over lines of blocks = calls of `add`
///
/// A finished list refers to no memory of the program: a library that contains some of the lines may be unloaded, and
/// the list's reader may allocate.
///
/// Thread safety: none.
#pragma once

#include <memory_pool/base/call_site.hpp>
#include <memory_pool/base/immovable.hpp>

#include "hash_table.hpp"
#include "internals.hpp"
#include "metadata_pages.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace memory_pool::np {
/// Statistics of the blocks in use of one call site.
struct site_statistics
{
    call_site site;
    std::size_t blocks;
    std::size_t bytes; ///< Requested.

    void add(std::size_t more_blocks, std::size_t more_bytes) noexcept
    {
        blocks += more_blocks;
        bytes += more_bytes;
    }
};

/// Call sites and their statistics.
class site_list : base::immovable<site_list>
{
public:
    ~site_list()
    {
        found_.release();
        give_metadata_pages(pages_, bytes_of_pages_);
    }

    /// Effects: counts a block of the call site.
    void add(const call_site& site, std::size_t bytes) noexcept
    {
        all_.add(1, bytes);
        entry* known = found_.find({{site, 0, 0}});
        if (known == nullptr && found_.has_room())
            known = &found_.add({{site, 0, 0}});
        if (known != nullptr)
            known->statistics.add(1, bytes);
        else
            is_complete_ = false;
    }

    /// Effects: copies the file names, and sorts the lines by bytes, then by blocks, then by name. Merges equal lines
    ///   of a header that several libraries include. If memory was insufficient, for this or an earlier call, the list
    ///   has a single unknown line with all blocks.
    /// Preconditions: the names still exist; finish() was not called before.
    void finish() noexcept
    {
        if (all_.blocks != 0 && (!is_complete_ || !copy_found()))
            end_ = (begin_ = &all_) + 1;
        found_.release();
        std::sort(begin_, end_, [](const site_statistics& a, const site_statistics& b) { return a.site < b.site; });
        end_ = merged();
        std::sort(begin_, end_, &comes_first);
    }

    /// Returns: the sum over all lines.
    const site_statistics& all() const noexcept { return all_; }

    // The lines of a finished list.
    const site_statistics* begin() const noexcept { return begin_; }
    const site_statistics* end() const noexcept { return end_; }

private:
    struct entry
    {
        site_statistics statistics;

        bool is_there() const noexcept { return statistics.site.file != nullptr; }
        std::uint64_t hash() const noexcept
        {
            return mixed(reinterpret_cast<std::uintptr_t>(statistics.site.file) +
                         (std::uint64_t{statistics.site.line} << 40U));
        }
        /// Does not compare names, because that takes long: see `merged`.
        bool is(const entry& other) const noexcept
        {
            return statistics.site.file == other.statistics.site.file &&
                   statistics.site.line == other.statistics.site.line;
        }
    };

    static bool comes_first(const site_statistics& a, const site_statistics& b) noexcept
    {
        if (a.bytes != b.bytes)
            return a.bytes > b.bytes;
        return a.blocks != b.blocks ? a.blocks > b.blocks : a.site < b.site;
    }

    static std::size_t bytes_of_name(const entry& each) noexcept { return std::strlen(each.statistics.site.file) + 1; }

    /// Returns: false if there is no memory.
    bool copy_found() noexcept
    {
        std::size_t bytes_of_names = 0;
        (void)found_.for_each([&](const entry& each) { return bytes_of_names += bytes_of_name(each), true; });
        bytes_of_pages_ = found_.count() * sizeof(site_statistics) + bytes_of_names;
        pages_ = take_metadata_pages(bytes_of_pages_);
        if (pages_ == nullptr)
            return false;
        begin_ = end_ = static_cast<site_statistics*>(pages_);
        auto* name = reinterpret_cast<char*>(begin_ + found_.count());
        (void)found_.for_each([&](const entry& each) {
            *end_ = each.statistics;
            end_++->site.file =
                static_cast<const char*>(std::memcpy(name, each.statistics.site.file, bytes_of_name(each)));
            name += bytes_of_name(each);
            return true;
        });
        return true;
    }

    /// Effects: merges neighbouring lines with the same name.
    /// Returns: the end of the lines.
    site_statistics* merged() const noexcept
    {
        site_statistics* end = begin_;
        for (const site_statistics* each = begin_; each != end_; ++each) {
            if (end != begin_ && each->site == end[-1].site)
                end[-1].add(each->blocks, each->bytes);
            else
                *end++ = *each;
        }
        return end;
    }

    hash_table<entry> found_;
    site_statistics all_{{"unknown", 0}, 0, 0};
    bool is_complete_ = true;
    void* pages_ = nullptr;
    std::size_t bytes_of_pages_ = 0;
    site_statistics* begin_ = nullptr;
    site_statistics* end_ = nullptr;
};
} // namespace memory_pool::np
