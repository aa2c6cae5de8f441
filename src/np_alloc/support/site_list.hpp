// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The allocation sites of blocks in use, at one moment.
///
///     add:      block -> file, line: blocks, bytes          in a table, while blocks cannot come and go
///     finish:   | line | line | ... | name | name | ...     in pages of its own: the most bytes first
///
///     all().blocks = the sum over lines of blocks = calls of `add`
///
/// When it is finished, it refers to nothing of the program: a library may be unloaded whose lines are in it, and the
/// reader may allocate.
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
/// What is in use of the blocks that one line has asked for.
struct site_figures
{
    call_site site;
    std::size_t blocks;
    std::size_t bytes; ///< That were asked for.

    void add(std::size_t more_blocks, std::size_t more_bytes) noexcept
    {
        blocks += more_blocks;
        bytes += more_bytes;
    }
};

/// Lines, and what is in use of each.
class site_list : base::immovable<site_list>
{
public:
    ~site_list()
    {
        found_.release();
        give_metadata_pages(pages_, bytes_of_pages_);
    }

    /// Effects: counts a block that this line has asked for.
    void add(const call_site& site, std::size_t bytes) noexcept
    {
        all_.add(1, bytes);
        entry* known = found_.find({{site, 0, 0}});
        if (known == nullptr && found_.has_room())
            known = &found_.add({{site, 0, 0}});
        if (known != nullptr)
            known->figures.add(1, bytes);
        else
            is_complete_ = false;
    }

    /// Effects: copies the names of files, and puts the lines in order: by bytes, then by blocks, then by their names.
    ///   A line of a header that several libraries have becomes one. If there is no memory for that, or was none, all
    ///   blocks are of one line, which is unknown.
    /// Preconditions: the names are still there; it was not called before.
    void finish() noexcept
    {
        if (all_.blocks != 0 && (!is_complete_ || !copy_found()))
            end_ = (begin_ = &all_) + 1;
        found_.release();
        std::sort(begin_, end_, [](const site_figures& a, const site_figures& b) { return a.site < b.site; });
        end_ = merged();
        std::sort(begin_, end_, &comes_first);
    }

    /// Returns: the sum over all lines.
    const site_figures& all() const noexcept { return all_; }

    // The lines, when it is finished.
    const site_figures* begin() const noexcept { return begin_; }
    const site_figures* end() const noexcept { return end_; }

private:
    struct entry
    {
        site_figures figures;

        bool is_there() const noexcept { return figures.site.file != nullptr; }
        std::uint64_t hash() const noexcept
        {
            return mixed(reinterpret_cast<std::uintptr_t>(figures.site.file) +
                         (std::uint64_t{figures.site.line} << 40U));
        }
        /// Names are not compared, as that takes long: see `merged`.
        bool is(const entry& other) const noexcept
        {
            return figures.site.file == other.figures.site.file && figures.site.line == other.figures.site.line;
        }
    };

    static bool comes_first(const site_figures& a, const site_figures& b) noexcept
    {
        if (a.bytes != b.bytes)
            return a.bytes > b.bytes;
        return a.blocks != b.blocks ? a.blocks > b.blocks : a.site < b.site;
    }

    static std::size_t bytes_of_name(const entry& each) noexcept { return std::strlen(each.figures.site.file) + 1; }

    /// Returns: whether there was memory for that.
    bool copy_found() noexcept
    {
        std::size_t bytes_of_names = 0;
        (void)found_.for_each([&](const entry& each) { return bytes_of_names += bytes_of_name(each), true; });
        bytes_of_pages_ = found_.count() * sizeof(site_figures) + bytes_of_names;
        pages_ = take_metadata_pages(bytes_of_pages_);
        if (pages_ == nullptr)
            return false;
        begin_ = end_ = static_cast<site_figures*>(pages_);
        auto* name = reinterpret_cast<char*>(begin_ + found_.count());
        (void)found_.for_each([&](const entry& each) {
            *end_ = each.figures;
            end_++->site.file =
                static_cast<const char*>(std::memcpy(name, each.figures.site.file, bytes_of_name(each)));
            name += bytes_of_name(each);
            return true;
        });
        return true;
    }

    /// Effects: makes one line of those side by side that are the same.
    /// Returns: where the lines end now.
    site_figures* merged() const noexcept
    {
        site_figures* end = begin_;
        for (const site_figures* each = begin_; each != end_; ++each) {
            if (end != begin_ && each->site == end[-1].site)
                end[-1].add(each->blocks, each->bytes);
            else
                *end++ = *each;
        }
        return end;
    }

    hash_table<entry> found_;
    site_figures all_{{"unknown", 0}, 0, 0};
    bool is_complete_ = true;
    void* pages_ = nullptr;
    std::size_t bytes_of_pages_ = 0;
    site_figures* begin_ = nullptr;
    site_figures* end_ = nullptr;
};
} // namespace memory_pool::np
