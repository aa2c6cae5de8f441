// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Writes to stderr without allocation, also before the standard library is ready and after it has ended.
///
/// (POSIX: write, fcntl, fstat; Windows: _write, _dup.)
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/os/uncancelled.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#if defined(_WIN32)
#include <io.h>
#else
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// A file descriptor.
using descriptor = int;
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
    constexpr int out_of_the_way = 200;
    const descriptor opened = ::fcntl(standard_error, F_DUPFD_CLOEXEC, out_of_the_way);
#endif
    errno = error_before;
    return opened >= 0 ? opened : standard_error;
}

/// The identity of a file, regardless of its descriptor.
struct file_identity
{
#if defined(_WIN32)
    std::uint64_t device = 0;
    std::uint64_t number = 0; ///< 0: none.
#else
    ::dev_t device = 0; // Signed on some systems.
    ::ino_t number = 0; ///< 0: none.
#endif

    friend bool operator==(const file_identity& one, const file_identity& other) noexcept
    {
        return one.device == other.device && one.number == other.number;
    }
};

/// Returns: the identity of an open file; none if the descriptor is not open, or the system cannot tell. errno is
///   preserved.
inline file_identity identity_of([[maybe_unused]] descriptor file) noexcept
{
#if defined(_WIN32)
    return {};
#else
    const int error_before = errno;
    struct ::stat told = {};
    const bool is_told = ::fstat(file, &told) == 0;
    errno = error_before;
    return is_told ? file_identity{told.st_dev, told.st_ino} : file_identity{};
#endif
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
