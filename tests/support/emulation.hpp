// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Detects user-mode emulation, such as qemu-user, under which tests cannot observe some effects.
#pragma once

#if defined(__linux__)
#include <sys/resource.h>
#endif

namespace test {
/// Returns whether the system accepts limits without enforcing them. Under emulation, the system also ignores memory
/// advice, and the memory of the process includes the memory of the emulator.
inline bool system_is_emulated() noexcept
{
#if defined(__linux__)
    rlimit before{};
    if (getrlimit(RLIMIT_DATA, &before) != 0)
        return false;
    rlimit now = before;
    now.rlim_cur = before.rlim_cur / 2;
    rlimit then = before;
    const bool is_set = setrlimit(RLIMIT_DATA, &now) == 0 && getrlimit(RLIMIT_DATA, &then) == 0;
    (void)setrlimit(RLIMIT_DATA, &before);
    return is_set && then.rlim_cur != now.rlim_cur;
#else
    return false;
#endif
}
} // namespace test
