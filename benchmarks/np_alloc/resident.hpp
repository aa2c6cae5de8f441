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

namespace workload {
/// Returns: resident kilobytes; 0 if they are unknown. Allocates nothing.
inline std::size_t resident_kilobytes()
{
    std::array<char, 128> text{};
    const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    const auto length = file != -1 ? ::read(file, text.data(), text.size() - 1) : -1;
    if (file != -1)
        ::close(file);
    if (length <= 0)
        return 0;
    char* rest = text.data();
    (void)std::strtoul(rest, &rest, 10); // Addresses.
    return std::strtoul(rest, nullptr, 10) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) / 1024;
}
} // namespace workload
