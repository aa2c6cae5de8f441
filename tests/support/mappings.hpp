// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Reads the mappings of this process from /proc/self/smaps (Linux).
///
/// Thread safety: any thread.
#pragma once

#if defined(__linux__)
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

namespace test {
/// Effects: calls `visit(begin, end, flags)` for each mapping, with its address range and its flags. Each flag has two
///   letters, with a space before and after.
template <class Visit>
void for_each_mapping(Visit&& visit)
{
    std::ifstream mappings("/proc/self/smaps");
    const std::string before_flags = "VmFlags:";
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    for (std::string line; std::getline(mappings, line);) {
        std::uintptr_t from = 0;
        std::uintptr_t to = 0;
        char dash = 0;
        if (std::istringstream(line) >> std::hex >> from >> dash >> to && dash == '-') {
            begin = from;
            end = to;
        }
        if (line.rfind(before_flags, 0) == 0)
            visit(begin, end, line.substr(before_flags.size()) + ' ');
    }
}

/// Returns the flags of the mapping that contains the address, or an empty string.
inline std::string flags_of_mapping(const void* address)
{
    std::string found;
    for_each_mapping([&](std::uintptr_t begin, std::uintptr_t end, const std::string& flags) {
        if (reinterpret_cast<std::uintptr_t>(address) - begin < end - begin)
            found = flags;
    });
    return found;
}

/// Returns the bytes in mappings with that flag.
inline std::size_t bytes_with_flag(const std::string& flag)
{
    std::size_t bytes = 0;
    for_each_mapping([&](std::uintptr_t begin, std::uintptr_t end, const std::string& flags) {
        bytes += flags.find(' ' + flag + ' ') != std::string::npos ? end - begin : 0;
    });
    return bytes;
}

/// Returns the bytes that count towards RLIMIT_DATA.
inline std::size_t data_bytes()
{
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (word == "VmData:") {
            std::size_t kibibytes = 0;
            status >> kibibytes;
            return kibibytes * 1024;
        }
    return 0;
}
} // namespace test
#endif
