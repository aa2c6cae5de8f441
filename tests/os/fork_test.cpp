// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/os/fork.hpp>

#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#if defined(__unix__)
#include <sys/wait.h>
#include <unistd.h>

namespace {
int prepared = 0;
int in_parent = 0;
int in_child = 0;

TEST(fork, runs_the_registered_handlers)
{
    ASSERT_TRUE(memory_pool::detail::os::at_fork([] { ++prepared; }, [] { ++in_parent; }, [] { ++in_child; }));
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0)
        _exit(prepared == 1 && in_parent == 0 && in_child == 1 ? 0 : 1);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(prepared, 1);
    EXPECT_EQ(in_parent, 1);
    EXPECT_EQ(in_child, 0);
}

TEST(fork, changes_the_process_number)
{
    const long parent = memory_pool::detail::os::process_number();
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0)
        _exit(memory_pool::detail::os::process_number() != parent ? 0 : 1);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(fork, reports_failed_registration)
{
    const test::system_calls calls;
    calls.refuse(test::system_call::register_fork, 1);
    EXPECT_FALSE(memory_pool::detail::os::at_fork([] {}, [] {}, [] {}));
}
} // namespace
#endif
