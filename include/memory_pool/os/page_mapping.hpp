// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Maps and unmaps whole pages.
///
///     reserved                         memory, aligned
///     | cut off, if possible           | the requested pages             | cut off, if possible         |
///     <---------------------------------- reserved_bytes -------------------------------------------->
///
/// (POSIX: mmap; Linux: also madvise and huge pages; Windows: VirtualAlloc.) Allocates no other memory.
///
/// Thread safety: any thread, each with pages of its own.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/huge_pages.hpp>
#include <memory_pool/os/pages.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#if defined(_WIN32)
#include <memory_pool/os/windows_memory.hpp>
#else
#include <cerrno>
#include <sys/mman.h>
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// The kind of pages.
enum class page_kind
{
    normal, ///< Pages of page_size(). The system may use transparent huge pages.
    huge,   ///< Pages of huge_page_size(), from the reserved pool of the system.
};

/// Mapped pages.
struct page_mapping
{
    void* memory = nullptr;         ///< The first requested page; nullptr: none.
    std::size_t bytes = 0;          ///< Of the requested pages.
    void* reserved = nullptr;       ///< Start of the mapping.
    std::size_t reserved_bytes = 0; ///< Of the mapping.
    page_kind kind = page_kind::normal;
};

namespace platform {
#if defined(_WIN32)
/// Windows can only unmap a whole mapping.
inline constexpr bool mappings_can_be_cut = false;

inline void* map(std::size_t bytes, page_kind kind) noexcept
{
    constexpr unsigned long reserve_and_commit = 0x3000;
    constexpr unsigned long large_pages = 0x2000'0000;
    constexpr unsigned long read_and_write = 0x04;
    return ::VirtualAlloc(nullptr, bytes, reserve_and_commit | (kind == page_kind::huge ? large_pages : 0),
                          read_and_write);
}
#else
inline constexpr bool mappings_can_be_cut = true;

inline void* map(std::size_t bytes, page_kind kind) noexcept
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    if (kind == page_kind::huge) {
#if defined(__linux__) && defined(MAP_HUGETLB)
        constexpr unsigned position_of_size = 26; // MAP_HUGE_SHIFT, which not every libc defines
        flags |= MAP_HUGETLB | static_cast<int>(base::highest_bit(huge_page_size()) << position_of_size);
#else
        return nullptr;
#endif
    }
    void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    return memory != MAP_FAILED ? memory : nullptr;
}
#endif

inline bool populate(void* memory, std::size_t bytes) noexcept
{
#if defined(__linux__)
    constexpr int populate_for_writing = 23; // MADV_POPULATE_WRITE, which older headers do not define
    if (::madvise(memory, bytes, populate_for_writing) == 0)
        return true;
    // Out of memory: touching the pages would terminate the process. Other errors: the call is unknown or forbidden.
    if (errno == ENOMEM || errno == EFAULT)
        return false;
#endif
    touch_pages(memory, bytes);
    return true;
}

/// Effects: unmaps the surplus pages before and behind the requested pages, as far as the system can.
inline void cut(page_mapping& mapping) noexcept
{
    if (!mappings_can_be_cut)
        return;
    const auto before =
        static_cast<std::size_t>(static_cast<std::byte*>(mapping.memory) - static_cast<std::byte*>(mapping.reserved));
    if (before != 0 && release_addresses(mapping.reserved, before)) {
        mapping.reserved = mapping.memory;
        mapping.reserved_bytes -= before;
    }
    std::byte* const end = static_cast<std::byte*>(mapping.memory) + mapping.bytes;
    const auto behind =
        static_cast<std::size_t>(static_cast<std::byte*>(mapping.reserved) + mapping.reserved_bytes - end);
    if (behind != 0 && release_addresses(end, behind))
        mapping.reserved_bytes -= behind;
}
} // namespace platform

/// Effects: maps as many pages of that kind as `bytes` need, at least one. The pages are zeroed. Each becomes resident
///   at the first write to it.
/// Returns: the pages, aligned to `alignment`; `memory` is nullptr on failure.
/// Preconditions: `alignment` is a power of two.
/// Complexity: a system call; two more if `alignment` is more than a page.
inline page_mapping map_pages(std::size_t bytes, std::size_t alignment, page_kind kind) noexcept
{
    constexpr auto max_bytes = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
    const std::size_t page = kind == page_kind::huge ? huge_page_size() : page_size();
    if (page == 0 || base::saturating_add(bytes, page) > max_bytes)
        return {};
    const std::size_t wanted = base::round_up(std::max<std::size_t>(bytes, 1), page);
    const std::size_t spare = alignment > page ? alignment - page : 0;
    if (base::saturating_add(wanted, spare) > max_bytes)
        return {};
    void* const reserved = platform::map(wanted + spare, kind);
    if (reserved == nullptr)
        return {};
    const std::size_t misalignment = reinterpret_cast<std::uintptr_t>(reserved) & (alignment - 1);
    const std::size_t before = misalignment == 0 ? 0 : alignment - misalignment;
    page_mapping mapping{static_cast<std::byte*>(reserved) + before, wanted, reserved, wanted + spare, kind};
    platform::cut(mapping);
    return mapping;
}

/// Effects: unmaps the pages and their whole mapping.
/// Returns: whether the pages are unmapped. If not (on Linux, at the limit of mappings of a process), retry later; the
///   memory itself is returned to the OS as far as possible.
/// Complexity: a system call, linear in pages in the kernel.
inline bool unmap_pages(const page_mapping& mapping) noexcept
{
    return release_addresses(mapping.reserved, mapping.reserved_bytes);
}

/// Effects: makes all pages resident now.
/// Returns: false if out of memory. A system that does not report this may terminate the process instead.
/// Complexity: linear in pages.
inline bool populate_pages(const page_mapping& mapping) noexcept
{
    return platform::populate(mapping.memory, mapping.bytes);
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
