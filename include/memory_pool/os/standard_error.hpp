// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Text for the user, when there may be no memory, and the standard library may not be ready, or not any more.
///
/// (POSIX: write; Windows: _write.)
///
/// Thread safety: any thread.
#pragma once

#include <cerrno>
#include <cstddef>

#if defined(_WIN32)
#include <io.h>
#else
#include <unistd.h>
#endif

namespace memory_pool::os
{
/// Effects: writes `length` bytes to the standard error of the process, as far as that takes them. errno stays as it is.
/// Complexity: a system call, or several if it takes few at a time.
inline void write_to_standard_error(const char* text, std::size_t length) noexcept
{
    constexpr int standard_error = 2;
    const int error_before = errno;
    while (length != 0) {
#if defined(_WIN32)
        const int written = ::_write(standard_error, text, static_cast<unsigned>(length));
#else
        const ssize_t written = ::write(standard_error, text, length);
#endif
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            break;
        text += written;
        length -= static_cast<std::size_t>(written);
    }
    errno = error_before;
}
} // namespace memory_pool::os
