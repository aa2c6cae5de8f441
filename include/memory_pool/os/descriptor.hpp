// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// File descriptors that the library keeps open beside those of the program: out of its way, and recognized again.
///
/// (POSIX: fcntl, fstat, read, pread. Windows has none of these functions.)
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#if !defined(_WIN32)
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// A file descriptor.
using descriptor = int;
inline constexpr descriptor no_descriptor = -1;

#if !defined(_WIN32)
/// Effects: duplicates a descriptor, with a high number, which programs that count on small ones do not expect. Child
///   programs do not inherit the duplicate.
/// Returns: its number; no_descriptor, with errno, on failure.
inline descriptor duplicate_out_of_the_way(descriptor file) noexcept
{
    constexpr int least = 200;
    return ::fcntl(file, F_DUPFD_CLOEXEC, least);
}

/// Effects: gives a descriptor a high number, if the system lets it have one.
/// Returns: its number; no_descriptor, with errno, if it is that.
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

/// Effects: calls `transfer()`, which is `read` or a function like it, again while signals interrupt it.
/// Returns: its result; 0 if that is an error.
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

/// Returns: the identity of an open file; none if the descriptor is not open, or the system fails. errno is
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
