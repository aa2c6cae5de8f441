// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The resident memory of this process.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace workload {
/// Returns: the value of the line `name` in /proc/self/status, in kilobytes; 0 if it is unknown. Allocates nothing.
inline std::size_t status_kilobytes(const char* name)
{
    std::array<char, 4096> text{};
    const int file = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    const auto length = file != -1 ? ::read(file, text.data(), text.size() - 1) : -1;
    if (file != -1)
        ::close(file);
    const char* const found = length > 0 ? std::strstr(text.data(), name) : nullptr;
    return found != nullptr ? std::strtoul(found + std::strlen(name), nullptr, 10) : 0;
}

inline std::size_t resident_kilobytes()
{
    return status_kilobytes("\nVmRSS:");
}

/// Returns: the high-water mark of resident memory.
inline std::size_t peak_kilobytes()
{
    return status_kilobytes("\nVmHWM:");
}
} // namespace workload
