// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/os/descriptor.hpp>

#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <cerrno>

#if defined(__unix__)
#include <fcntl.h>
#include <unistd.h>

namespace os = memory_pool::detail::os;

namespace {
TEST(identity_of, depends_only_on_the_file)
{
    const int one = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const int same = dup(one);
    const int other = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    EXPECT_TRUE(os::identity_of(one) == os::identity_of(same));
    EXPECT_FALSE(os::identity_of(one) == os::identity_of(other));
    for (const int each : {one, same, other})
        (void)close(each);
    errno = 77;
    EXPECT_TRUE(os::identity_of(one) == os::file_identity{}) << "closed";
    EXPECT_EQ(errno, 77);
}

TEST(moved_up, refers_to_the_file_by_a_high_number)
{
    const int low = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const os::file_identity file = os::identity_of(low);
    const os::descriptor high = os::moved_up(low);
    EXPECT_GE(high, 200);
    EXPECT_TRUE(os::identity_of(high) == file);
    EXPECT_EQ(fcntl(high, F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(fcntl(low, F_GETFD), -1) << "closed";
    (void)close(high);
}

TEST(moved_up, keeps_the_number_at_the_limit_of_open_files)
{
    const int low = open("/dev/null", O_WRONLY | O_CLOEXEC);
    {
        const test::system_calls calls;
        calls.refuse(test::system_call::duplicate, 1);
        errno = 77;
        EXPECT_EQ(os::moved_up(low), low);
        EXPECT_EQ(errno, 77);
    }
    EXPECT_EQ(close(low), 0);
}

TEST(moved_up, preserves_an_invalid_descriptor_and_errno)
{
    errno = ENOENT;
    EXPECT_EQ(os::moved_up(os::no_descriptor), os::no_descriptor);
    EXPECT_EQ(errno, ENOENT);
}

TEST(write_all, returns_the_error_and_preserves_errno)
{
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    errno = 77;
    EXPECT_EQ(os::write_all(null, "this is not read!", 17), 0);
    {
        const test::system_calls calls;
        calls.refuse(test::system_call::write, 1);
        EXPECT_EQ(os::write_all(null, "this is not read!", 17), EIO);
    }
    EXPECT_EQ(errno, 77);
    (void)close(null);
}

TEST(bytes_of, retries_interrupted_calls)
{
    int calls = 0;
    EXPECT_EQ(os::bytes_of([&calls]() -> ssize_t {
                  if (++calls == 3)
                      return 5;
                  errno = EINTR;
                  return -1;
              }),
              5U);
    EXPECT_EQ(calls, 3);
}

TEST(bytes_of, returns_0_for_a_failed_call)
{
    EXPECT_EQ(os::bytes_of([]() -> ssize_t {
                  errno = EIO;
                  return -1;
              }),
              0U);
}
} // namespace
#endif
