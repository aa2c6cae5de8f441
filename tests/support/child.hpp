// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Tests in the child of a fork, where that can be.
#pragma once

#include <memory_pool/base/config.hpp>

#include <support/sanitizers.hpp>

#include <gtest/gtest.h>

#if defined(__unix__)
#include <sys/wait.h>
#include <unistd.h>
#endif

// ThreadSanitizer does not support the child of a multi-threaded process; the allocator of AddressSanitizer may be
// locked in it.
#if defined(__unix__) && !MEMORY_POOL_TSAN && !MEMORY_POOL_ASAN
#define TESTS_MAY_FORK 1

namespace test {
/// Forks, and expects `works()` to say in the child that it does.
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
