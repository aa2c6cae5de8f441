// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A small text file of the kernel, read at once, and the numbers in it.
///
/// (Linux: pread, fcntl. Elsewhere: nothing.)
///
/// Thread safety: one per thread.
#pragma once

#include <memory_pool/base/config.hpp>

#if defined(__linux__)
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// Effects: gives a descriptor a high number, where it is out of the program's way, if the system lets it have one.
/// Returns: its new number; -1 if it is -1.
inline int moved_up(int low) noexcept
{
    constexpr int out_of_the_way = 200;
    const int error_before = errno;
    const int high = low != -1 ? ::fcntl(low, F_DUPFD_CLOEXEC, out_of_the_way) : -1;
    if (high == -1) {
        errno = error_before;
        return low;
    }
    (void)::close(low);
    return high;
}

/// What is in a file.
class small_file
{
public:
    /// Effects: reads it; and closes it, if `closes`.
    /// Returns: whether something was read.
    bool read(int file, bool closes = false) noexcept
    {
        ::ssize_t length = -1;
        do
            length = file != -1 ? ::pread(file, text_.data(), text_.size() - 1, 0) : -1;
        while (length == -1 && errno == EINTR && file != -1);
        text_[length > 0 ? static_cast<std::size_t>(length) : 0] = '\0';
        if (closes && file != -1)
            (void)::close(file);
        return length > 0;
    }

    /// Returns: the number behind `key` at the beginning of a line or behind a space.
    std::optional<std::uint64_t> number_behind(const char* key) const noexcept
    {
        const char* const text = text_.data();
        for (const char* at = std::strstr(text, key); at != nullptr; at = std::strstr(at + 1, key))
            if (at == text || at[-1] == '\n' || at[-1] == ' ')
                return std::strtoull(at + std::strlen(key), nullptr, 10);
        return std::nullopt;
    }

private:
    std::array<char, 1024> text_{};
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
#endif
