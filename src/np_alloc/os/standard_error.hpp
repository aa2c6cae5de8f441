// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Writes to stderr without allocating, even before the standard library is ready and after it has ended.
///
/// (Windows: _dup.)
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/os/descriptor.hpp>

#include <cerrno>
#include <cstddef>

#if defined(_WIN32)
#include <io.h>
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
inline constexpr descriptor standard_error = 2;

/// Effects: writes to stderr, like write_all.
inline void write_to_standard_error(const char* text, std::size_t length) noexcept
{
    (void)write_all(standard_error, text, length);
}

/// Effects: duplicates stderr, for the last messages of a program that closes stderr before it ends. Child programs do
///   not inherit the duplicate.
/// Returns: the descriptor, a high number where possible; `standard_error` on failure.
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
