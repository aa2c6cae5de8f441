// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The size of huge pages, their use by the process, and advice to use them.
///
/// (Linux: /sys, /proc/meminfo, /proc/self/smaps and madvise; Windows: GetLargePageMinimum; elsewhere there are none.)
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/os/uncancelled.hpp>

#include <cstddef>
#include <cstdint>

#if defined(__linux__)
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#elif defined(_WIN32)
#include <type_traits>
// Declared here, because windows.h would define thousands of macros.
extern "C" __declspec(dllimport) std::conditional_t<sizeof(void*) == 8, unsigned long long,
                                                    unsigned long> __stdcall GetLargePageMinimum();
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
namespace platform {
#if defined(__linux__)
/// Reads a file of the system line by line. Disables cancellation during its lifetime: the caller may hold a lock, and
/// must not be unwound.
class line_reader : base::immovable<line_reader>
{
public:
    explicit line_reader(const char* name) noexcept : file_(std::fopen(name, "re")) {}
    ~line_reader()
    {
        if (file_ != nullptr)
            (void)std::fclose(file_);
    }

    bool is_open() const noexcept { return file_ != nullptr; }

    /// Effects: reads a line; overlong lines are truncated.
    /// Returns: false at the end of the file.
    bool next() noexcept
    {
        if (file_ == nullptr || std::fgets(line_, sizeof line_, file_) == nullptr)
            return false;
        if (std::strchr(line_, '\n') == nullptr)
            skip_rest();
        return true;
    }

    const char* line() const noexcept { return line_; }

    /// Returns: whether the line begins with `label`; if so, sets `number` to the number after the label.
    bool number_after(const char* label, std::size_t& number) const noexcept
    {
        const std::size_t length = std::strlen(label);
        if (std::strncmp(line_, label, length) != 0)
            return false;
        number = static_cast<std::size_t>(std::strtoull(line_ + length, nullptr, 10));
        return true;
    }

private:
    void skip_rest() noexcept
    {
        for (int c = std::fgetc(file_); c != '\n' && c != EOF;)
            c = std::fgetc(file_);
    }

    uncancelled until_read_; // First, so that cancellation stays disabled until the file is closed.
    std::FILE* file_;
    char line_[256];
};

inline std::size_t find_huge_page_size() noexcept
{
    std::size_t bytes = 0;
    line_reader transparent("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
    if (transparent.next() && transparent.number_after("", bytes))
        return bytes;
    for (line_reader memory("/proc/meminfo"); memory.next();) {
        if (memory.number_after("Hugepagesize:", bytes))
            return bytes * 1024;
    }
    return 0;
}
#elif defined(_WIN32)
inline std::size_t find_huge_page_size() noexcept
{
    return static_cast<std::size_t>(::GetLargePageMinimum());
}
#else
inline std::size_t find_huge_page_size() noexcept
{
    return 0;
}
#endif
} // namespace platform

/// Returns: the size of a huge page in bytes, a power of two; 0 if the system has none.
/// Complexity: O(1); the first call reads a file.
inline std::size_t huge_page_size() noexcept
{
    static const std::size_t size = platform::find_huge_page_size();
    return size;
}

/// The result of advice.
enum class advice
{
    taken,
    unknown, ///< The system has no such pages.
    failed,  ///< The advice may have been applied to a part of the memory.
};

/// Effects: advises the system to use huge pages for the `bytes` at `memory`, or not to use them.
/// Complexity: a system call.
inline advice advise_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes,
                                [[maybe_unused]] bool are_wanted = true) noexcept
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (::madvise(memory, bytes, are_wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) == 0)
        return advice::taken;
    return errno == EINVAL ? advice::unknown : advice::failed;
#else
    return advice::unknown;
#endif
}

/// Effects: calls `visit(begin, end, huge_bytes)` for each mapping of the process; `huge_bytes` of it are in
///   transparent huge pages. The system joins adjacent mappings of the same kind, regardless of their owner.
/// Returns: whether the system lists the mappings.
/// Complexity: linear in mappings, and in pages in the kernel.
template <class Visit>
bool for_each_stretch([[maybe_unused]] Visit&& visit)
{
#if defined(__linux__)
    platform::line_reader smaps("/proc/self/smaps");
    unsigned long long begin = 0;
    unsigned long long end = 0;
    std::size_t kibibytes = 0;
    while (smaps.next()) {
        // Each mapping is a line with its addresses, followed by one line for each statistic.
        char* behind = nullptr;
        const unsigned long long first = std::strtoull(smaps.line(), &behind, 16);
        if (behind != smaps.line() && *behind == '-') {
            begin = first;
            end = std::strtoull(behind + 1, nullptr, 16);
        } else if (smaps.number_after("AnonHugePages:", kibibytes)) {
            visit(static_cast<std::uintptr_t>(begin), static_cast<std::uintptr_t>(end), kibibytes * 1024);
        }
    }
    return smaps.is_open();
#else
    return false;
#endif
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
