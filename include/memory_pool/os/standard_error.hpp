// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Text for the user, when there may be no memory, and the standard library may not be ready, or not any more.
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

namespace memory_pool
{
inline namespace MEMORY_POOL_ABI
{
namespace os
{
/// A file that the process has open, by its number.
using descriptor = int;
inline constexpr descriptor standard_error = 2;

/// Effects: writes `length` bytes, as far as the file takes them. errno is preserved, and the thread is not cancelled
///   meanwhile.
/// Returns: whether it took all.
/// Complexity: a system call, or several if it takes few at a time.
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

/// Effects: writes to the standard error of the process.
inline void write_to_standard_error(const char* text, std::size_t length) noexcept
{
    (void)write_text(standard_error, text, length);
}

/// Effects: opens what is the standard error now once more, for a text at the end of a program that closes it before.
///   Programs that this one starts do not have it.
/// Returns: its number, a high one where that can be chosen; `standard_error` if that cannot be.
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

/// What a file has for itself, whichever number it is open by.
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

/// Returns: that of an open file; none if nothing is open by that number, or the system does not tell. errno is
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
} // namespace os
} // namespace MEMORY_POOL_ABI
} // namespace memory_pool
