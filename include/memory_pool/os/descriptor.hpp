// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// File descriptors that the library keeps open: they stay out of the program's way, and the library can tell whether a
/// descriptor is still its own file.
///
/// (POSIX: fcntl, fstat, read, pread, write. Windows has only write_all: _write.)
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
inline constexpr descriptor no_descriptor = -1;

#if !defined(_WIN32)
/// Effects: duplicates a descriptor, with a high number that does not collide with the small numbers that programs rely
///   on. Child programs do not inherit the duplicate.
/// Returns: the duplicate; no_descriptor, with errno, on failure.
inline descriptor duplicate_out_of_the_way(descriptor file) noexcept
{
    constexpr int min_number = 200;
    return ::fcntl(file, F_DUPFD_CLOEXEC, min_number);
}

/// Effects: moves a descriptor to a high number, if the system permits it.
/// Returns: the descriptor; no_descriptor, with errno unchanged, if `low` is no_descriptor.
inline descriptor moved_up(descriptor low) noexcept
{
    if (low == no_descriptor)
        return no_descriptor;
    const int error_before = errno;
    const descriptor high = duplicate_out_of_the_way(low);
    if (high == no_descriptor) {
        errno = error_before;
        return low;
    }
    (void)::close(low);
    return high;
}

/// Effects: calls `transfer()`, such as `read`, and repeats the call while signals interrupt it.
/// Returns: the result of the last call; 0 on error.
template <class Transfer>
std::size_t bytes_of(Transfer&& transfer) noexcept
{
    for (;;) {
        const ::ssize_t bytes = transfer();
        if (bytes >= 0)
            return static_cast<std::size_t>(bytes);
        if (errno != EINTR)
            return 0;
    }
}
#endif

/// Effects: writes `length` bytes, as far as the file accepts them. Preserves errno, and disables cancellation during
///   the call.
/// Returns: 0 if all bytes were written, else the error.
/// Complexity: a system call, or several for partial writes.
inline int write_all(descriptor to, const char* bytes, std::size_t length) noexcept
{
    const uncancelled until_written;
    const int error_before = errno;
    int error = 0;
    while (length != 0 && error == 0) {
#if defined(_WIN32)
        const int written = ::_write(to, bytes, static_cast<unsigned>(length));
#else
        const ::ssize_t written = ::write(to, bytes, length);
#endif
        if (written > 0) {
            bytes += written;
            length -= static_cast<std::size_t>(written);
        } else if (written == 0 || errno != EINTR) {
            error = written == 0 ? ENOSPC : errno;
        }
    }
    errno = error_before;
    return error;
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

/// Effects: preserves errno.
/// Returns: the identity of an open file; none if the descriptor is not open, or the system has no identities.
inline file_identity identity_of([[maybe_unused]] descriptor file) noexcept
{
#if defined(_WIN32)
    return {};
#else
    const int error_before = errno;
    struct ::stat status = {};
    const bool is_open = ::fstat(file, &status) == 0;
    errno = error_before;
    return is_open ? file_identity{status.st_dev, status.st_ino} : file_identity{};
#endif
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
