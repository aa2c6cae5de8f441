// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The environment of the process, for code that runs before the standard library may be used, and may not allocate.
///
/// (POSIX: environ; Apple: _NSGetEnviron; Windows: _environ.)
///
/// Thread safety: as getenv: any thread, as long as none changes the environment.
#pragma once

#include <memory_pool/base/config.hpp>

#if defined(_WIN32)
#include <stdlib.h>
#elif defined(__APPLE__)
#include <crt_externs.h>
#else
#include <unistd.h>
/// The C library's. POSIX says that programs declare it, and some systems have declared it before.
extern "C" char** environ; // NOLINT(readability-redundant-declaration): see above
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace os {
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
}}} // namespace memory_pool::MEMORY_POOL_ABI::os
