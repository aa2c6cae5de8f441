// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Reads the memory use of this process.
#pragma once

#include <support/sanitizers.hpp>

#include <array>
#include <cstddef>
#include <cstdlib>

#if defined(__linux__)
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>
#endif

// Sanitizers use additional memory for each byte of the program, and decide when to free it.
#if defined(__linux__) && !MEMORY_POOL_TSAN && !MEMORY_POOL_ASAN
#define TESTS_MAY_ASK_FOR_RESIDENT_MEMORY 1

namespace test {
/// The bytes of this process.
struct process_bytes
{
    std::size_t addresses = 0; ///< Mapped bytes, resident or not.
    std::size_t resident = 0;  ///< Bytes in memory now.
};

inline process_bytes bytes_of_process()
{
    // The format is "<pages of addresses> <pages in memory> ...". Reads it without a buffer on the heap.
    std::array<char, 128> text{};
    const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    const auto length = file != -1 ? read(file, text.data(), text.size() - 1) : -1;
    if (file != -1)
        close(file);
    if (length <= 0)
        return {};
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    char* rest = text.data();
    const std::size_t addresses = std::strtoul(rest, &rest, 10) * page;
    return {addresses, std::strtoul(rest, nullptr, 10) * page};
}

/// Returns the resident bytes of this process.
inline std::size_t resident_bytes()
{
    return bytes_of_process().resident;
}

/// Returns the page faults of this process so far.
inline std::size_t page_faults()
{
    rusage used{};
    (void)getrusage(RUSAGE_SELF, &used);
    return static_cast<std::size_t>(used.ru_minflt) + static_cast<std::size_t>(used.ru_majflt);
}
} // namespace test
#else
#define TESTS_MAY_ASK_FOR_RESIDENT_MEMORY 0
#endif
