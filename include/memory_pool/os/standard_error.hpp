// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Writes to stderr without allocation, also before the standard library is ready and after it has ended.
///
/// (POSIX: write; Windows: _write, _dup.)
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/os/descriptor.hpp>
#include <memory_pool/os/uncancelled.hpp>

#include <cerrno>
#include <cstddef>

#if defined(_WIN32)
#include <io.h>
#else
#include <unistd.h>
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
inline constexpr descriptor standard_error = 2;

/// Effects: writes `length` bytes, as far as the file accepts them. errno is preserved, and cancellation is disabled
///   meanwhile.
/// Returns: whether all were written.
/// Complexity: a system call, or several for partial writes.
inline bool write_text(descriptor to, const char* text, std::size_t length) noexcept
{
    const uncancelled until_written;
    const int error_before = errno;
    while (length != 0) {
#if defined(_WIN32)
        const int written = ::_write(to, text, static_cast<unsigned>(length));
#else
        const ssize_t written = ::write(to, text, length);
#endif
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            break;
        text += written;
        length -= static_cast<std::size_t>(written);
    }
    errno = error_before;
    return length == 0;
}

/// Effects: writes to stderr.
inline void write_to_standard_error(const char* text, std::size_t length) noexcept
{
    (void)write_text(standard_error, text, length);
}

/// Effects: duplicates stderr, for messages at the end of a program that closes it earlier. Child programs do not
///   inherit the duplicate.
/// Returns: its descriptor, a high number where possible; `standard_error` on failure.
inline descriptor open_standard_error_again() noexcept
{
    const int error_before = errno;
#if defined(_WIN32)
    const descriptor opened = ::_dup(standard_error);
#else
    const descriptor opened = duplicate_out_of_the_way(standard_error);
#endif
    errno = error_before;
    return opened >= 0 ? opened : standard_error;
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
