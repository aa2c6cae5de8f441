// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Reserves address space, and commits, purges, guards and moves pages of it.
///
///     | committed: may be used | purged: reads as zeros | guarded: no access for now | reserved: no access   |
///     <----------------------------------------- reserve_addresses ---------------------------------------->
///
/// (POSIX: mmap, mprotect, madvise; Windows: VirtualAlloc. Since Linux 6.13, a guard is a page table marker. On older
/// kernels and other systems, each guard is a separate mapping, and their number is limited: see max_mapped_guards.)
///
/// Thread safety: any thread, each with addresses of its own.
#pragma once

#include <memory_pool/base/config.hpp>

#include <memory_pool/os/pages.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
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

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// The result of moving memory.
enum class moving
{
    done,
    refused, ///< Nothing has changed.
    /// The target addresses are unmapped or belong to another mapping: do not touch them. The source is unchanged.
    lost,
};

/// How pages are guarded.
enum class guarding : unsigned char
{
    none,
    by_mark,    ///< By page table markers, or in another way that needs no mapping.
    by_mapping, ///< By a separate mapping.
};

namespace platform {
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

inline bool are_commits_limited() noexcept
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

inline void set_dumped(void*, std::size_t, bool) noexcept {} // Dumps contain only committed memory.

inline bool discard(void* memory, std::size_t bytes) noexcept
{
    return decommit(memory, bytes);
}

inline guarding guard(void* memory, std::size_t bytes, guarding, std::size_t) noexcept
{
    return decommit(memory, bytes) ? guarding::by_mark : guarding::none;
}

inline bool unguard(void* memory, std::size_t bytes, guarding, std::size_t) noexcept
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
    // The address is a hint, which systems follow if the range is unmapped. MAP_FIXED_NOREPLACE would not guarantee
    // more, is not available everywhere, and makes ThreadSanitizer map address 0.
    void* const reserved = ::mmap(memory, bytes, PROT_NONE, flags_of_all, -1, 0);
    if (reserved != MAP_FAILED && reserved != memory)
        (void)::munmap(reserved, bytes);
    return reserved == memory;
}

template <class Resource>
bool is_limited(Resource resource) noexcept
{
    ::rlimit limit{};
    return ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

inline bool are_limited() noexcept
{
    return is_limited(RLIMIT_AS);
}

inline bool are_commits_limited() noexcept
{
    return is_limited(RLIMIT_DATA) || are_limited();
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
    // Elsewhere, MADV_DONTNEED need not discard the contents; mapping new pages over the old ones does.
    return ::mmap(memory, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == memory;
#endif
}

inline bool discard(void* memory, std::size_t bytes) noexcept
{
    // A new mapping: after mprotect alone, the old one would still count towards the commit charge of Linux.
    return ::mmap(memory, bytes, PROT_NONE, flags_of_all | MAP_FIXED, -1, 0) == memory;
}

inline bool release(void* memory, std::size_t bytes) noexcept
{
    if (::munmap(memory, bytes) == 0)
        return true;
    // Unmapping pages in the middle splits a mapping, and the number of mappings is limited. At the limit, the
    // addresses stay mapped, but the memory behind them can be purged.
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
        return moving::refused; // An older kernel.
    // Linux may have unmapped the destination before the call failed, because it was out of memory or (for example in
    // 6.1) because the source consists of two mappings, such as memory that was moved earlier and the memory behind it.
    // Another thread may have mapped something at the destination since. If out of memory, the destination may still be
    // mapped.
    const bool is_unmapped = errno == EFAULT;
    constexpr int unless_taken = 0x100000; // MAP_FIXED_NOREPLACE, since Linux 4.17
    if (::mmap(to, bytes, PROT_READ | PROT_WRITE, flags_of_all | unless_taken, -1, 0) == to)
        return moving::refused;
    if (errno == EEXIST && !is_unmapped)
        return moving::refused;
    // Keeps other mappings out of the destination, if the system allows that.
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
    // A part of a mapping cannot grow in place, so Linux reports ENOMEM. With several mappings, the call fails earlier.
    if (::mremap(memory, bytes, bytes + page_size(), 0) == MAP_FAILED)
        return errno == ENOMEM || errno == EAGAIN;
    (void)::munmap(static_cast<std::byte*>(memory) + bytes, page_size()); // Undoes the growth.
    return true;
#else
    static_cast<void>(memory);
    static_cast<void>(bytes);
    return false;
#endif
}

/// Number of guards by mapping, the only kind that locked memory supports. May become negative in the child of a fork:
/// a guard that another thread was about to remove may be subtracted twice.
inline std::atomic<std::ptrdiff_t> guards_with_a_mapping{0};
/// Maximum number of guards by mapping. Each takes two of the 65,530 mappings that Linux allows a process, and the
/// program needs mappings of its own, including for its threads.
inline constexpr std::ptrdiff_t max_mapped_guards = 16'384;

inline bool decommit(void* memory, std::size_t bytes) noexcept
{
    return ::mprotect(memory, bytes, PROT_NONE) == 0;
}

inline void set_dumped([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes,
                       [[maybe_unused]] bool is_dumped) noexcept
{
#if defined(MADV_DONTDUMP)
    (void)::madvise(memory, bytes, is_dumped ? MADV_DODUMP : MADV_DONTDUMP);
#endif
}

inline bool guard_by_mark([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) noexcept
{
#if defined(__linux__)
    constexpr int install = 102; // MADV_GUARD_INSTALL
    return ::madvise(memory, bytes, install) == 0;
#else
    return false;
#endif
}

inline bool guard_by_mapping(void* memory, std::size_t bytes, std::size_t guards) noexcept
{
    const auto count = static_cast<std::ptrdiff_t>(guards);
    if (guards_with_a_mapping.fetch_add(count, std::memory_order_relaxed) < max_mapped_guards &&
        decommit(memory, bytes))
        return true;
    guards_with_a_mapping.fetch_sub(count, std::memory_order_relaxed);
    return false;
}

inline guarding guard(void* memory, std::size_t bytes, guarding preferred, std::size_t guards) noexcept
{
    if (preferred == guarding::by_mapping && guard_by_mapping(memory, bytes, guards))
        return guarding::by_mapping;
    if (guard_by_mark(memory, bytes))
        return guarding::by_mark;
    const bool is_new = preferred != guarding::by_mapping;
    return is_new && guard_by_mapping(memory, bytes, guards) ? guarding::by_mapping : guarding::none;
}

inline bool unguard(void* memory, std::size_t bytes, [[maybe_unused]] guarding how, std::size_t guards) noexcept
{
#if defined(__linux__)
    constexpr int remove = 103; // MADV_GUARD_REMOVE
    if (how == guarding::by_mark)
        return ::madvise(memory, bytes, remove) == 0;
#endif
    if (!commit(memory, bytes))
        return false;
    guards_with_a_mapping.fetch_sub(static_cast<std::ptrdiff_t>(guards), std::memory_order_relaxed);
    return true;
}
#endif

} // namespace platform

/// Returns: the number of resident pages at `memory`; 0 if the system does not provide this number.
/// Preconditions: `memory` and `bytes` are multiples of page_size(), and the bytes are readable.
/// Complexity: one system call for each 512 pages. (Linux: mincore, which a seccomp filter may forbid.)
inline std::size_t resident_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) noexcept
{
    std::size_t count = 0;
#if defined(__linux__)
    std::array<unsigned char, 512> pages; // Filled in by the system.
    auto* each = static_cast<unsigned char*>(memory);
    for (std::size_t left = bytes / page_size(); left != 0;) {
        const std::size_t now = std::min(left, pages.size());
        if (::mincore(each, now * page_size(), pages.data()) == 0)
            count += static_cast<std::size_t>(
                std::count_if(pages.begin(), pages.begin() + now, [](unsigned char page) { return (page & 1U) != 0; }));
        each += now * page_size();
        left -= now;
    }
#endif
    return count;
}

/// Returns: how many of `count` evenly spaced pages of `memory` have nonzero bytes, and therefore are resident. Reads a
///   part of each page, without a system call. Reading a page that was never written to does not make it resident.
/// Preconditions: `memory` and `bytes` are multiples of page_size(), and the bytes are readable.
/// Complexity: O(count).
inline std::size_t filled_pages(const void* memory, std::size_t bytes, std::size_t count) noexcept
{
    constexpr std::size_t words_of_page = 16;
    const std::size_t step = page_size() / words_of_page;
    const auto is_filled = [step](const std::byte* page) {
        std::uintptr_t word = 0;
        for (std::size_t i = 0; word == 0 && i != words_of_page; ++i)
            std::memcpy(&word, page + i * step, sizeof word);
        return word != 0;
    };
    const std::size_t pages = bytes / page_size();
    std::size_t filled = 0;
    for (std::size_t i = 0; i != count; ++i) {
        const std::size_t page = (2 * i + 1) * pages / (2 * count);
        filled += is_filled(static_cast<const std::byte*>(memory) + page * page_size()) ? 1U : 0U;
    }
    return filled;
}

// In the functions below, all addresses and sizes are multiples of page_size().

/// Effects: reserves addresses. They take no memory, and must not be accessed.
/// Returns: the first address, a multiple of the page size; nullptr if the system has no contiguous range of that size,
///   or a limit prevents the reservation.
/// Complexity: a system call.
inline void* reserve_addresses(std::size_t bytes) noexcept
{
    return platform::reserve(bytes);
}

/// Effects: reserves the addresses at `memory`, if they are free.
/// Returns: whether the addresses are reserved. False if a limit prevents the reservation, and on systems that can
///   release a reservation only as a whole.
/// Complexity: one or two system calls.
inline bool reserve_addresses_at(void* memory, std::size_t bytes) noexcept
{
    return platform::reserve_at(memory, bytes);
}

/// Returns: whether the address space of the process is limited (RLIMIT_AS). Reserved addresses count towards that
///   limit.
/// Complexity: a system call.
inline bool addresses_are_limited() noexcept
{
    return platform::are_limited();
}

/// Returns: whether committed memory counts towards a limit of the process (RLIMIT_DATA, RLIMIT_AS).
/// Complexity: two system calls at most.
inline bool commits_are_limited() noexcept
{
    return platform::are_commits_limited();
}

/// Effects: commits reserved addresses, which then read as zeros. The system provides memory at the first write to a
///   page.
/// Returns: whether the addresses are committed; on failure, nothing has changed.
/// Complexity: a system call.
inline bool commit_memory(void* memory, std::size_t bytes) noexcept
{
    return platform::commit(memory, bytes);
}

/// Returns: whether a process could have that much memory at all. Beyond physical memory and swap, this depends on the
///   overcommit policy of the system, which may let a process reserve and commit more than the system has.
/// Complexity: one to three system calls.
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

/// True if other threads can read memory while it is purged. On Windows, the memory is inaccessible for a moment.
#if defined(_WIN32)
inline constexpr bool is_readable_while_purged = false;
#else
inline constexpr bool is_readable_while_purged = true;
#endif

/// Effects: purges committed addresses: returns their memory to the OS. They stay usable, and read as zeros.
/// Returns: whether the addresses are purged; on failure, nothing has changed.
/// Complexity: a system call, linear in pages in the kernel.
inline bool purge_memory(void* memory, std::size_t bytes) noexcept
{
    return platform::purge(memory, bytes);
}

/// Effects: discards committed addresses: they become reserved again, in a separate mapping, and hold zeros when they
///   are next committed. They no longer count towards memory limits or the commit charge of the system.
/// Returns: whether the addresses are discarded; on failure, nothing has changed.
/// Complexity: a system call, linear in pages in the kernel.
inline bool discard_memory(void* memory, std::size_t bytes) noexcept
{
    return platform::discard(memory, bytes);
}

/// Effects: fills committed memory with zeros. Purges stretches that are already mostly zeros, because most of their
///   pages were probably never touched: writing zeros would make all of these pages resident.
/// Complexity: linear in touched bytes; at most a system call for each 256 pages.
inline void clear_memory(void* memory, std::size_t bytes) noexcept
{
    auto* to_be_written = static_cast<unsigned char*>(memory);
    unsigned char* const end = to_be_written + bytes;
#if defined(__linux__)
    constexpr std::size_t pages = 256;
    constexpr std::size_t looks = 8;
    const std::size_t part = pages * page_size();
    const std::size_t before = (page_size() - reinterpret_cast<std::uintptr_t>(memory) % page_size()) % page_size();
    for (std::size_t done = before; done + part <= bytes; done += part) {
        unsigned char* const each = static_cast<unsigned char*>(memory) + done;
        if (2 * filled_pages(each, part, looks) < looks && purge_memory(each, part)) {
            std::memset(to_be_written, 0, static_cast<std::size_t>(each - to_be_written));
            to_be_written = each + part;
        }
    }
#endif
    // One call for as much as possible: memset is faster for larger sizes.
    std::memset(to_be_written, 0, static_cast<std::size_t>(end - to_be_written));
}

/// Returns: whether the system is known to treat the addresses as one mapping, or as a part of one, which moves as a
///   whole or not at all. In Linux, two mappings that were in use stay separate, even if they no longer differ.
/// Complexity: a system call.
inline bool are_one_mapping(void* memory, std::size_t bytes) noexcept
{
    return platform::are_one_mapping(memory, bytes);
}

/// Effects: moves the memory behind committed addresses, with its contents, to other addresses without copying. The
///   contents of the destination are lost, and the source reads as zeros.
/// Returns: the result. Not every system can move memory.
/// Preconditions: the destination is committed and all zeros. The source is one mapping of the system: with several
///   mappings, Linux 6.17 and later may move the first and refuse the others, which leaves zeros in both places.
/// Complexity: a system call, linear in pages in the kernel, but far cheaper than copying.
inline moving move_memory(void* from, void* to, std::size_t bytes) noexcept
{
    return platform::move(from, to, bytes);
}

/// Effects: decommits addresses: they become reserved again, and must not be accessed. Their contents may be lost, or
///   reappear when they are next committed.
/// Returns: whether the addresses are decommitted; on failure, nothing has changed.
/// Complexity: a system call.
inline bool decommit_memory(void* memory, std::size_t bytes) noexcept
{
    return platform::decommit(memory, bytes);
}

/// Effects: excludes addresses from core dumps. The system excludes untouched memory itself, but debuggers (gcore) read
///   reserved addresses as zeros, and would write all of them.
/// Complexity: a system call.
inline void leave_out_of_dumps(void* memory, std::size_t bytes) noexcept
{
    platform::set_dumped(memory, bytes, false);
}

/// Effects: undoes leave_out_of_dumps.
/// Complexity: a system call.
inline void include_in_dumps(void* memory, std::size_t bytes) noexcept
{
    platform::set_dumped(memory, bytes, true);
}

/// Effects: guards committed addresses: an access terminates the program. Their contents may be lost. `preferred`: the
///   method to try first; marks cost less for a few pages, a mapping for many. `guards`: 0 if the addresses extend an
///   adjacent guard by mapping.
/// Returns: the method used; none on failure, and then nothing has changed.
/// Complexity: one or two system calls.
inline guarding guard_memory(void* memory, std::size_t bytes, guarding preferred = guarding::by_mark,
                             std::size_t guards = 1) noexcept
{
    return platform::guard(memory, bytes, preferred, guards);
}

/// Effects: removes guards: the addresses then hold zeros, or their former contents. Unguarded addresses are unchanged.
/// Returns: whether the guards are removed.
/// Preconditions: `how` is the method of all guards there, and `guards` is the number of guards that begin there, one
///   for each call that set them.
/// Complexity: a system call.
inline bool unguard_memory(void* memory, std::size_t bytes, guarding how, std::size_t guards = 1) noexcept
{
    return how == guarding::none || platform::unguard(memory, bytes, how, guards);
}

/// Effects: releases addresses and the memory behind them. (Windows: a whole reservation.)
/// Returns: whether the addresses are released. If not, retry later; the memory itself is returned to the OS as far as
///   possible.
/// Complexity: a system call, linear in pages in the kernel.
inline bool release_addresses(void* memory, std::size_t bytes) noexcept
{
    return platform::release(memory, bytes);
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
