// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Pages for np_alloc's metadata. They are outside of the region, between guard pages, so that no linear overflow of a
/// block reaches them.
///
///     | guard page | pages | guard page |
///
///     metadata of the process = tables of the region + these pages + slabs of the internal heap + more:
///                               see process_statistics.hpp
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/pages.hpp>

#include "internals.hpp"

#include <atomic>
#include <cstddef>

namespace memory_pool::np {
/// Returns: `bytes`, rounded up to whole pages.
inline std::size_t in_whole_pages(std::size_t bytes) noexcept
{
    return base::round_up(bytes, os::page_size());
}

/// Bytes of all metadata pages, without guard pages.
inline std::atomic<std::size_t> metadata_page_bytes{0};

/// Returns: zeroed pages for `bytes` bytes, between two inaccessible pages; nullptr on OOM.
inline void* take_metadata_pages(std::size_t bytes) noexcept
{
    const std::size_t border_bytes = os::page_size();
    const std::size_t reserved_bytes = in_whole_pages(bytes) + 2 * border_bytes;
    void* const reserved = os::reserve_addresses(reserved_bytes);
    if (reserved == nullptr)
        return nullptr;
    void* const pages = static_cast<std::byte*>(reserved) + border_bytes;
    if (os::commit_memory(pages, in_whole_pages(bytes))) {
        metadata_page_bytes.fetch_add(in_whole_pages(bytes), std::memory_order_relaxed);
        return pages;
    }
    (void)os::release_addresses(reserved, reserved_bytes);
    return nullptr;
}

/// Effects: frees pages from take_metadata_pages(). A no-op for nullptr.
inline void give_metadata_pages(void* pages, std::size_t bytes) noexcept
{
    if (pages == nullptr)
        return;
    const std::size_t border_bytes = os::page_size();
    (void)os::release_addresses(static_cast<std::byte*>(pages) - border_bytes,
                                in_whole_pages(bytes) + 2 * border_bytes);
    metadata_page_bytes.fetch_sub(in_whole_pages(bytes), std::memory_order_relaxed);
}

/// Metadata pages, as a template argument for the tables of core/reports/.
struct metadata_pages
{
    static std::size_t whole(std::size_t bytes) noexcept { return in_whole_pages(bytes); }
    static void* take(std::size_t bytes) noexcept { return take_metadata_pages(bytes); }
    static void give(void* pages, std::size_t bytes) noexcept { give_metadata_pages(pages, bytes); }
};
} // namespace memory_pool::np
