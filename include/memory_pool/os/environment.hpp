// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The environment of the process, for code that runs before the standard library may be used, and may not allocate.
///
/// (POSIX: environ; Apple: _NSGetEnviron; Windows: _environ. Linux: getauxval; BSD: issetugid.)
///
/// Thread safety: as getenv: any thread, as long as none changes the environment.
#pragma once

#include <memory_pool/base/config.hpp>

#if defined(_WIN32)
#include <stdlib.h>
#elif defined(__APPLE__)
#include <crt_externs.h>
#else
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#include <unistd.h>
/// The C library's. POSIX says that programs declare it, and some systems have declared it before.
extern "C" char** environ; // NOLINT(readability-redundant-declaration): see above
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// Returns: strings of the form NAME=VALUE, terminated by nullptr; nullptr if it is not initialized yet.
inline const char* const* environment() noexcept
{
#if defined(_WIN32)
    return _environ;
#elif defined(__APPLE__)
    return *_NSGetEnviron();
#else
    return ::environ;
#endif
}

/// Returns: whether the process has privileges that the user who started it lacks, as a setuid program has. That
///   user controls the environment.
inline bool has_rights_of_another_user() noexcept
{
#if defined(_WIN32)
    return false;
#elif defined(__linux__)
    return ::getauxval(AT_SECURE) != 0;
#elif defined(__APPLE__) || defined(__FreeBSD__) || defined(__NetBSD__) || defined(__OpenBSD__)
    return ::issetugid() != 0;
#else
    return ::getuid() != ::geteuid() || ::getgid() != ::getegid();
#endif
}

/// Returns: as environment(), but no strings if the process has another user's privileges.
inline const char* const* trusted_environment() noexcept
{
    static constexpr const char* nothing = nullptr;
    return has_rights_of_another_user() ? &nothing : environment();
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
