// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// What tests cannot observe under user-mode emulation, such as qemu-user.
#pragma once

#if defined(__linux__)
#include <sys/resource.h>
#endif

namespace test {
/// Returns: whether the system accepts limits without enforcing them. It then ignores memory advice, too, and the
///   memory of the process includes the emulator's.
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
