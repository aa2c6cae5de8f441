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
TEST(identity_of, a_file_is_the_same_for_each_of_its_numbers_and_for_no_other_file)
{
    const int one = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const int same = dup(one);
    const int other = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    EXPECT_TRUE(os::identity_of(one) == os::identity_of(same));
    EXPECT_FALSE(os::identity_of(one) == os::identity_of(other));
    for (const int each : {one, same, other})
        (void)close(each);
    errno = 77;
    EXPECT_TRUE(os::identity_of(one) == os::file_identity{}) << "it is closed";
    EXPECT_EQ(errno, 77);
}

TEST(moved_up, a_descriptor_has_a_high_number_and_the_same_file)
{
    const int low = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const os::file_identity file = os::identity_of(low);
    const os::descriptor high = os::moved_up(low);
    EXPECT_GE(high, 200);
    EXPECT_TRUE(os::identity_of(high) == file);
    EXPECT_EQ(fcntl(high, F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(fcntl(low, F_GETFD), -1) << "it is closed";
    (void)close(high);
}

TEST(moved_up, a_descriptor_keeps_its_number_if_the_process_may_open_no_other)
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

TEST(moved_up, what_could_not_be_opened_stays_so_with_its_error)
{
    errno = ENOENT;
    EXPECT_EQ(os::moved_up(os::no_descriptor), os::no_descriptor);
    EXPECT_EQ(errno, ENOENT);
}

TEST(write_all, returns_the_error_and_leaves_errno_alone)
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

TEST(bytes_of, a_call_that_signals_interrupt_are_those_of_the_next)
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

TEST(bytes_of, a_call_that_fails_are_none)
{
    EXPECT_EQ(os::bytes_of([]() -> ssize_t {
                  errno = EIO;
                  return -1;
              }),
              0U);
}
} // namespace
#endif
