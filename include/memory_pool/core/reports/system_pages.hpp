// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Pages from the OS, for tables that must not use malloc.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/pages.hpp>

#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Pages that are not counted in any statistics.
struct system_pages
{
    /// Returns: `bytes` rounded up to whole pages.
    static std::size_t whole(std::size_t bytes) noexcept { return base::round_up(bytes, os::page_size()); }

    /// Returns: zeroed pages for `bytes`; nullptr on OOM.
    static void* take(std::size_t bytes) noexcept
    {
        void* const pages = os::reserve_addresses(whole(bytes));
        if (pages == nullptr || os::commit_memory(pages, whole(bytes)))
            return pages;
        (void)os::release_addresses(pages, whole(bytes));
        return nullptr;
    }

    /// Effects: returns the pages to the OS. Ignores nullptr.
    static void give(void* pages, std::size_t bytes) noexcept
    {
        if (pages != nullptr)
            (void)os::release_addresses(pages, whole(bytes));
    }
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
