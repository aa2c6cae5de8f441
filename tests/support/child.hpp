// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Tests in the child of a fork, on systems that support it.
#pragma once

#include <memory_pool/base/config.hpp>

#include <support/sanitizers.hpp>

#include <gtest/gtest.h>

#if defined(__unix__)
#include <sys/wait.h>
#include <unistd.h>
#endif

// ThreadSanitizer does not support the child of a multi-threaded process. A lock of AddressSanitizer's allocator may be
// held in such a child.
#if defined(__unix__) && !MEMORY_POOL_TSAN && !MEMORY_POOL_ASAN
#define TESTS_MAY_FORK 1

namespace test {
/// Forks, and expects that `works()` returns true in the child.
template <class Works>
void expect_in_child(Works&& works)
{
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0)
        _exit(works() ? 0 : 1);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}
} // namespace test
#else
#define TESTS_MAY_FORK 0
#endif
