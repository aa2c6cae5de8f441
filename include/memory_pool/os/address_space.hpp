// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Addresses without memory, and memory for some of them.
///
///     | committed: may be used | purged: reads as zeros | guarded: no access for now | reserved: no access   |
///     <----------------------------------------- reserve_addresses ---------------------------------------->
///
/// (POSIX: mmap, mprotect, madvise; Windows: VirtualAlloc. A guard is a mark in the tables of pages since Linux 6.13:
/// before, and elsewhere, it is a mapping of its own, of which a process may have some ten thousand.)
///
/// Thread safety: any thread, each with addresses of its own.
#pragma once

#include <memory_pool/base/config.hpp>

#include <memory_pool/os/pages.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>

#if defined(_WIN32)
#include <memory_pool/os/windows_memory.hpp>
#else
#include <cerrno>
#include <sys/mman.h>
#include <sys/resource.h>
#endif
#if defined(__linux__)
#include <sys/sysinfo.h>
#endif

namespace memory_pool
{
inline namespace MEMORY_POOL_ABI
{
namespace os
{
/// What came of moving memory.
enum class moving
{
    done,
    refused, ///< Nothing has changed.
    /// The target addresses are unmapped or belong to another mapping, and must not be touched; the rest is unchanged.
    lost,
};

/// How addresses are guarded.
enum class guarding : unsigned char
{
    none,
    by_mark,    ///< In the tables of pages, or in another way that costs nothing.
    by_mapping, ///< By a mapping of their own.
};

namespace detail
{
#if defined(_WIN32)
inline void* reserve(std::size_t bytes) noexcept
{
    constexpr unsigned long reserve_only = 0x2000;
    constexpr unsigned long no_access = 0x01;
    return ::VirtualAlloc(nullptr, bytes, reserve_only, no_access);
}

inline bool reserve_at(void*, std::size_t) noexcept
{
    return false;
}

inline bool are_limited() noexcept
{
    return false;
}

inline bool commit(void* memory, std::size_t bytes) noexcept
{
    constexpr unsigned long commit_only = 0x1000;
    constexpr unsigned long read_and_write = 0x04;
    return ::VirtualAlloc(memory, bytes, commit_only, read_and_write) != nullptr;
}

inline bool purge(void* memory, std::size_t bytes) noexcept
{
    constexpr unsigned long decommit = 0x4000;
    return ::VirtualFree(memory, bytes, decommit) != 0 && commit(memory, bytes);
}

inline bool release(void* memory, std::size_t) noexcept
{
    constexpr unsigned long release_all = 0x8000;
    return ::VirtualFree(memory, 0, release_all) != 0;
}

inline moving move(void*, void*, std::size_t) noexcept
{
    return moving::refused;
}

inline bool are_one_mapping(void*, std::size_t) noexcept
{
    return false;
}

inline bool decommit(void* memory, std::size_t bytes) noexcept
{
    constexpr unsigned long decommit_only = 0x4000;
    return ::VirtualFree(memory, bytes, decommit_only) != 0;
}

inline guarding guard(void* memory, std::size_t bytes) noexcept
{
    return decommit(memory, bytes) ? guarding::by_mark : guarding::none;
}

inline bool unguard(void* memory, std::size_t bytes, guarding) noexcept
{
    return commit(memory, bytes);
}
#else
#if defined(MAP_NORESERVE)
inline constexpr int flags_of_all = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
#else
inline constexpr int flags_of_all = MAP_PRIVATE | MAP_ANONYMOUS;
#endif

inline void* reserve(std::size_t bytes) noexcept
{
    void* const memory = ::mmap(nullptr, bytes, PROT_NONE, flags_of_all, -1, 0);
    return memory != MAP_FAILED ? memory : nullptr;
}

inline bool reserve_at(void* memory, std::size_t bytes) noexcept
{
    // The address is a hint; systems follow it if nothing is mapped there. MAP_FIXED_NOREPLACE guarantees no more, is
    // not available everywhere, and makes ThreadSanitizer map address 0.
    void* const reserved = ::mmap(memory, bytes, PROT_NONE, flags_of_all, -1, 0);
    if (reserved != MAP_FAILED && reserved != memory)
        (void)::munmap(reserved, bytes);
    return reserved == memory;
}

inline bool are_limited() noexcept
{
    ::rlimit limit{};
    return ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

inline bool commit(void* memory, std::size_t bytes) noexcept
{
    return ::mprotect(memory, bytes, PROT_READ | PROT_WRITE) == 0;
}

inline bool purge(void* memory, std::size_t bytes) noexcept
{
#if defined(__linux__)
    return ::madvise(memory, bytes, MADV_DONTNEED) == 0;
#else
    // Elsewhere, that advice need not lose what is there; new pages in place of the old do.
    return ::mmap(memory, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == memory;
#endif
}

inline bool release(void* memory, std::size_t bytes) noexcept
{
    if (::munmap(memory, bytes) == 0)
        return true;
    // Pages that are taken out of the middle make two mappings of one, and a process may have only so many. The
    // addresses stay in use, then, but what is behind them need not.
    (void)::madvise(memory, bytes, MADV_DONTNEED);
    return false;
}

inline moving move(void* from, void* to, std::size_t bytes) noexcept
{
#if defined(__linux__)
    constexpr int leave_addresses = 4; // MREMAP_DONTUNMAP, since Linux 5.7
    if (::mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED | leave_addresses, to) == to)
        return moving::done;
    if (errno == EINVAL)
        return moving::refused; // An older Linux.
    // Linux may have unmapped what is at the destination before it saw that it cannot: for lack of memory, or, as 6.1
    // for one, because two mappings are to move, as memory is that was moved before and what follows it. By now,
    // another thread may have mapped something there. Without memory, nothing may have been unmapped either.
    const bool is_unmapped = errno == EFAULT;
    constexpr int unless_taken = 0x100000; // MAP_FIXED_NOREPLACE, since Linux 4.17
    if (::mmap(to, bytes, PROT_READ | PROT_WRITE, flags_of_all | unless_taken, -1, 0) == to)
        return moving::refused;
    if (errno == EEXIST && !is_unmapped)
        return moving::refused;
    // So that no other mapping is made there, if the system lets it.
    [[maybe_unused]] void* const kept = ::mmap(to, bytes, PROT_NONE, flags_of_all | unless_taken, -1, 0);
    return moving::lost;
#else
    static_cast<void>(from);
    static_cast<void>(to);
    static_cast<void>(bytes);
    return moving::refused;
#endif
}

inline bool are_one_mapping(void* memory, std::size_t bytes) noexcept
{
#if defined(__linux__)
    // To grow where it is, a part of one mapping has no room. Of several, Linux sees first that they are.
    if (::mremap(memory, bytes, bytes + page_size(), 0) == MAP_FAILED)
        return errno == ENOMEM || errno == EAGAIN;
    (void)::munmap(static_cast<std::byte*>(memory) + bytes, page_size()); // There was room.
    return true;
#else
    static_cast<void>(memory);
    static_cast<void>(bytes);
    return false;
#endif
}

/// Guards that are mappings of their own. (Locked memory takes no others.) In the child of a fork, one may be taken
/// away a second time that another thread was about to forget: there may be fewer than none.
inline std::atomic<std::ptrdiff_t> guards_with_a_mapping{0};
/// So many of those there may be: each takes two of the 65,530 mappings that Linux lets a process have, and the program
/// needs some, for its threads, too.
inline constexpr std::ptrdiff_t most_guards_with_a_mapping = 16'384;

inline bool decommit(void* memory, std::size_t bytes) noexcept
{
    return ::mprotect(memory, bytes, PROT_NONE) == 0;
}

inline guarding guard(void* memory, std::size_t bytes) noexcept
{
#if defined(__linux__)
    constexpr int install = 102; // MADV_GUARD_INSTALL
    if (::madvise(memory, bytes, install) == 0)
        return guarding::by_mark;
#endif
    if (guards_with_a_mapping.fetch_add(1, std::memory_order_relaxed) < most_guards_with_a_mapping &&
        decommit(memory, bytes))
        return guarding::by_mapping;
    guards_with_a_mapping.fetch_sub(1, std::memory_order_relaxed);
    return guarding::none;
}

inline bool unguard(void* memory, std::size_t bytes, [[maybe_unused]] guarding how) noexcept
{
#if defined(__linux__)
    constexpr int remove = 103; // MADV_GUARD_REMOVE
    if (how == guarding::by_mark)
        return ::madvise(memory, bytes, remove) == 0;
#endif
    if (!commit(memory, bytes))
        return false;
    guards_with_a_mapping.fetch_sub(1, std::memory_order_relaxed);
    return true;
}
#endif

#if defined(__linux__)
inline constexpr std::size_t most_pages_asked_about = 512;

/// Returns the number of resident pages among the first `count`, at most most_pages_asked_about; `if_unknown` if the
/// system does not tell.
inline std::size_t resident_pages(void* memory, std::size_t count, std::size_t if_unknown) noexcept
{
    std::array<unsigned char, most_pages_asked_about> pages; // The system fills in what is read here.
    if (::mincore(memory, count * page_size(), pages.data()) != 0)
        return if_unknown;
    return static_cast<std::size_t>(
        std::count_if(pages.begin(), pages.begin() + count, [](unsigned char its) { return (its & 1U) != 0; }));
}
#endif
} // namespace detail

/// Returns: how many of the pages at `memory` are resident; 0 if the system does not tell.
/// Preconditions: `memory` and `bytes` are multiples of page_size(), and the bytes are readable.
/// Complexity: a system call for 512 pages.
inline std::size_t resident_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) noexcept
{
    std::size_t count = 0;
#if defined(__linux__)
    auto* each = static_cast<unsigned char*>(memory);
    for (std::size_t left = bytes / page_size(); left != 0;) {
        const std::size_t now = std::min(left, detail::most_pages_asked_about);
        count += detail::resident_pages(each, now, 0);
        each += now * page_size();
        left -= now;
    }
#endif
    return count;
}

// All addresses and sizes are multiples of page_size().

/// Effects: takes addresses that nothing else will get. They cost no memory, and must not be touched.
/// Returns: the first, a multiple of the page size; nullptr if the system has not so many in a row, or a limit is in
///   the way.
/// Complexity: a system call.
inline void* reserve_addresses(std::size_t bytes) noexcept
{
    return detail::reserve(bytes);
}

/// Effects: reserves the addresses at `memory`, if they are free.
/// Returns: whether it did. Not if a limit is in the way, nor where a reservation can only be released as a whole.
/// Complexity: a system call or two.
inline bool reserve_addresses_at(void* memory, std::size_t bytes) noexcept
{
    return detail::reserve_at(memory, bytes);
}

/// Returns: whether the address space of the process is limited (RLIMIT_AS): reserved addresses count towards the
///   limit.
/// Complexity: a system call.
inline bool addresses_are_limited() noexcept
{
    return detail::are_limited();
}

/// Effects: makes reserved addresses usable: zeros are there. The system gives memory when a page is first written to.
/// Returns: whether the system allows it; if not, nothing has changed.
/// Complexity: a system call.
inline bool commit_memory(void* memory, std::size_t bytes) noexcept
{
    return detail::commit(memory, bytes);
}

/// Returns: whether a process could have that much memory at all. If it is more than the system has, with what it swaps
///   out, that is for the system to say, which may be told to promise anything: reserved addresses are had, and made
///   usable, whatever is behind them.
/// Complexity: a system call, or three.
inline bool may_commit_ever([[maybe_unused]] std::size_t bytes) noexcept
{
#if defined(__linux__)
    struct ::sysinfo all{};
    if (::sysinfo(&all) != 0 || bytes / all.mem_unit < all.totalram + all.totalswap)
        return true;
    void* const promised = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (promised == MAP_FAILED)
        return false;
    (void)::munmap(promised, bytes);
#endif
    return true;
}

/// Effects: gives the memory behind committed addresses back to the system. They stay usable: zeros are there.
/// Returns: whether it did; if not, nothing has changed.
/// Complexity: a system call, and for the system linear in pages.
inline bool purge_memory(void* memory, std::size_t bytes) noexcept
{
    return detail::purge(memory, bytes);
}

/// Effects: fills committed memory with zeros. Where the system has no memory behind most of it, as little of it as
///   that was touched before, it is purged instead: to write zeros would have the system bring the rest.
/// Preconditions: `memory` is a multiple of page_size(); `bytes` need not be one.
/// Complexity: linear in bytes that have memory; two system calls for 256 pages.
inline void clear_memory(void* memory, std::size_t bytes) noexcept
{
    auto* to_be_written = static_cast<unsigned char*>(memory);
    unsigned char* const end = to_be_written + bytes;
#if defined(__linux__)
    constexpr std::size_t pages = 256;
    const std::size_t part = pages * page_size();
    for (unsigned char* each = to_be_written; bytes >= part; each += part, bytes -= part) {
        // A page that was swapped out counts as one without memory, and is no zeros: so what is not written to has to
        // be purged.
        const bool is_sparse = 2 * detail::resident_pages(each, pages, pages) < pages;
        if (is_sparse && purge_memory(each, part)) {
            std::memset(to_be_written, 0, static_cast<std::size_t>(each - to_be_written));
            to_be_written = each + part;
        }
    }
#endif
    // As much as there is at once: the C library has faster ways for more.
    std::memset(to_be_written, 0, static_cast<std::size_t>(end - to_be_written));
}

/// Returns: whether they are known to be one mapping to the system, or a part of one: then they move as a whole, or not
///   at all. Those that were used when they were two stay two to Linux, even if nothing tells them apart any more.
/// Complexity: a system call.
inline bool are_one_mapping(void* memory, std::size_t bytes) noexcept
{
    return detail::are_one_mapping(memory, bytes);
}

/// Effects: moves the memory behind committed addresses, with what it holds, to others, without copying it. What was
///   there is lost, and zeros are where it was.
/// Returns: what came of it; not every system can do that.
/// Preconditions: where it goes, all bytes are zeros, and committed. What moves is one mapping of the system: of
///   several, Linux from 6.17 on may move the first ones, and refuse the rest. Then there are zeros in both places.
/// Complexity: a system call, and for the system linear in pages, but far less than copying.
inline moving move_memory(void* from, void* to, std::size_t bytes) noexcept
{
    return detail::move(from, to, bytes);
}

/// Effects: makes committed addresses reserved ones again, which nobody may touch. What was there may be lost, and may
///   be there still when they are committed again.
/// Returns: whether the system did; if not, nothing has changed.
/// Complexity: a system call.
inline bool decommit_memory(void* memory, std::size_t bytes) noexcept
{
    return detail::decommit(memory, bytes);
}

/// Effects: makes committed addresses such that the system ends a program that touches them. What was there may be
///   lost.
/// Returns: how it does that; none if it cannot, and nothing has changed.
/// Complexity: a system call or two.
inline guarding guard_memory(void* memory, std::size_t bytes) noexcept
{
    return detail::guard(memory, bytes);
}

/// Effects: makes guarded addresses usable again: zeros are there, or what was there before. Those that are not guarded
///   stay as they are.
/// Returns: whether the system did.
/// Preconditions: one part of them, and all of that, was guarded at once, in that way.
/// Complexity: a system call.
inline bool unguard_memory(void* memory, std::size_t bytes, guarding how) noexcept
{
    return how == guarding::none || detail::unguard(memory, bytes, how);
}

/// Effects: gives addresses back, and the memory behind them. (Windows: all that one call has reserved.)
/// Returns: whether the system took them. If not, it can be tried again later; the memory is given back even so, as far
///   as that can be done.
/// Complexity: a system call, and for the system linear in pages.
inline bool release_addresses(void* memory, std::size_t bytes) noexcept
{
    return detail::release(memory, bytes);
}
} // namespace os
} // namespace MEMORY_POOL_ABI
} // namespace memory_pool
