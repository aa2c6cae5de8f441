// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The environment of the process, for code that must not allocate, and runs before the standard library is usable.
///
/// (POSIX: environ; Apple: _NSGetEnviron; Windows: _environ. Linux: getauxval; BSD: issetugid.)
///
/// Thread safety: as getenv: any thread, as long as no thread changes the environment.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>

#include <cstddef>
#include <cstring>
#include <optional>

#if defined(_WIN32)
#include <stdlib.h>
#elif defined(__APPLE__)
#include <crt_externs.h>
#include <unistd.h>
#else
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#include <unistd.h>
/// The variable of the C library. POSIX requires programs to declare it; the headers of some systems already do.
extern "C" char** environ; // NOLINT(readability-redundant-declaration): see above
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// Returns: strings of the form NAME=VALUE, terminated by nullptr; nullptr if the environment is not initialized yet.
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
///   user controls the environment, so the process cannot trust it.
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

/// Returns: the value of a variable; nullptr if it is not set. `environment` may be nullptr.
inline const char* value_in(const char* const* environment, const char* name) noexcept
{
    const std::size_t length = std::strlen(name);
    for (; environment != nullptr && *environment != nullptr; ++environment)
        if (std::strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return *environment + length + 1;
    return nullptr;
}

/// Returns: the factor for a unit letter after a number (1 for none); 0 if the letter is not a unit.
constexpr std::size_t unit_of(char letter) noexcept
{
    switch (letter) {
    case '\0': return 1;
    case 'K': return std::size_t{1} << 10;
    case 'M': return std::size_t{1} << 20;
    case 'G': return std::size_t{1} << 30;
    default: return 0;
    }
}

/// Returns: the value of `text`: decimal digits, optionally followed by K, M or G. Saturates at the largest number.
inline std::optional<std::size_t> number_in(const char* text) noexcept
{
    std::size_t number = 0;
    const char* rest = text;
    for (; *rest >= '0' && *rest <= '9'; ++rest)
        number = base::saturating_add(base::saturating_multiply(number, 10), static_cast<std::size_t>(*rest - '0'));
    const std::size_t unit = unit_of(*rest);
    if (rest == text || unit == 0 || (unit != 1 && rest[1] != '\0'))
        return std::nullopt;
    return base::saturating_multiply(number, unit);
}

/// Returns: the numeric value of a variable of the trusted environment; 0 if it is not set, or not a number.
inline std::size_t number_in_environment(const char* name) noexcept
{
    const char* const text = value_in(trusted_environment(), name);
    return text != nullptr ? number_in(text).value_or(0) : 0;
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
