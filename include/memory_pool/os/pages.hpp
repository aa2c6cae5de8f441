// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Page size and prefaulting.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>

#include <cstddef>
#include <cstdint>

#if defined(_WIN32)
// Not included: windows.h, which would define min, max and thousands of other macros in code that includes a pool. The
// smallest page has 4096 bytes on every processor that Windows runs on.
#else
#include <unistd.h>
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// Returns: the page size of the running system (not of the build system), in bytes.
/// Complexity: at most a system call.
inline std::size_t page_size() noexcept
{
#if defined(_WIN32)
    return 4096;
#else
    const long size = ::sysconf(_SC_PAGESIZE);
    return size > 0 ? static_cast<std::size_t>(size) : 4096;
#endif
}

/// Effects: calls `visit(byte)` for the byte at `memory`, and for the first byte of each further page in the range.
/// Complexity: linear in pages.
template <class Visit>
void for_each_page(void* memory, std::size_t bytes, Visit&& visit) noexcept
{
    if (bytes == 0)
        return;
    const std::size_t page = page_size();
    auto* const first = static_cast<unsigned char*>(memory);
    visit(first);
    const std::size_t to_next_page = page - (reinterpret_cast<std::uintptr_t>(memory) & (page - 1));
    for (std::size_t offset = to_next_page; offset < bytes; offset += page)
        visit(first + offset);
}

/// Effects: makes the pages of the `bytes` at `memory` resident now, by writing a zero to each. Overwrites the first of
///   these bytes in each page.
/// Preconditions: the bytes may be written to.
/// Complexity: linear in pages.
inline void touch_pages(void* memory, std::size_t bytes) noexcept
{
    for_each_page(memory, bytes, [](volatile unsigned char* byte) { *byte = 0; });
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
