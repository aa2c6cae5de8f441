// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Which files the code of the process is mapped from.
///
///     /proc/self/maps:   55d0c2a01000-55d0c2a05000 r-xp 00001000 08:02 131 /usr/bin/program     -> one code_mapping
///
/// (Linux: /proc/self/maps. Elsewhere: none.) Nothing is allocated.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/os/descriptor.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#if defined(__linux__)
#include <fcntl.h>
#include <unistd.h>
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// Addresses of code.
struct code_mapping
{
    std::uint64_t begin;
    std::uint64_t end;
    std::uint64_t file_offset; ///< Of `begin`.
    std::string_view file;     ///< Empty if the code is in none.
};

/// Returns: the value of a digit; 16 if it is none. (Not by std::from_chars: libstdc++'s has a table for the whole
///   process, which keeps a library that uses it from being unloaded.)
constexpr unsigned hex_digit(char digit) noexcept
{
    if (digit >= '0' && digit <= '9')
        return static_cast<unsigned>(digit - '0');
    return digit >= 'a' && digit <= 'f' ? static_cast<unsigned>(digit - 'a') + 10 : 16;
}

/// Effects: reads a line of /proc/self/maps.
/// Returns: whether it is one of code.
inline bool parse_code_mapping(std::string_view line, code_mapping& mapping) noexcept
{
    const char* at = line.data();
    const char* const end = at + line.size();
    bool is_valid = true;
    const auto number = [&](char behind) {
        std::uint64_t value = 0;
        const char* rest = at;
        for (; rest != end && hex_digit(*rest) < 16 && value >> 60 == 0; ++rest)
            value = value * 16 + hex_digit(*rest);
        is_valid = is_valid && rest != at && rest != end && *rest == behind;
        at = is_valid ? rest + 1 : end;
        return value;
    };
    const auto word = [&] {
        const char* const begin = at;
        while (at != end && *at != ' ')
            ++at;
        const std::string_view found(begin, static_cast<std::size_t>(at - begin));
        at += at != end ? 1 : 0;
        return found;
    };
    mapping.begin = number('-');
    mapping.end = number(' ');
    const std::string_view access = word();
    mapping.file_offset = number(' ');
    (void)word(); // device
    (void)word(); // inode
    while (at != end && *at == ' ')
        ++at;
    mapping.file = std::string_view(at, static_cast<std::size_t>(end - at));
    return is_valid && access.size() > 2 && access[2] == 'x';
}

#if defined(__linux__)
/// Effects: calls `visit(const code_mapping&)` for each mapping of code, by address. The file's name lives as long as
///   the call.
template <class Visit>
void for_each_code_mapping(Visit&& visit)
{
    const descriptor file = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file == no_descriptor)
        return;
    std::array<char, 4096 + 128> text; // One line at least: a path has up to 4,096 characters.
    std::size_t used = 0;
    for (;;) {
        const auto received = ::read(file, text.data() + used, text.size() - used);
        if (received <= 0)
            break;
        used += static_cast<std::size_t>(received);
        std::string_view rest(text.data(), used);
        for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
            code_mapping mapping{};
            // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): substr would need libstdc++, to throw
            if (parse_code_mapping({rest.data(), end}, mapping))
                visit(static_cast<const code_mapping&>(mapping));
            rest.remove_prefix(end + 1);
        }
        used = rest.size() != text.size() ? rest.size() : 0; // A longer line is none.
        std::memmove(text.data(), rest.data(), used);
    }
    (void)::close(file);
}
#else
/// Effects: none.
template <class Visit>
void for_each_code_mapping(Visit&&)
{
}
#endif
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
