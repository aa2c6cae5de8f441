// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/os/standard_error.hpp>

#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#if defined(__unix__)
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
#endif

namespace os = memory_pool::detail::os;

namespace {
TEST(write_to_standard_error, writes_the_whole_text)
{
    const std::string text = "a line\n" + std::string(200'000, 'x') + '\0' + "the end";
    testing::internal::CaptureStderr();
    os::write_to_standard_error(text.data(), text.size());
    EXPECT_EQ(testing::internal::GetCapturedStderr(), text);
}

#if defined(__unix__)
TEST(write_to_standard_error, is_not_a_cancellation_point)
{
    static bool has_written;
    has_written = false;
    const auto write_while_cancelled = [](void*) -> void* {
        (void)pthread_cancel(pthread_self());
        os::write_to_standard_error("a line\n", 7);
        has_written = true;
        return nullptr;
    };
    testing::internal::CaptureStderr();
    pthread_t thread{};
    ASSERT_EQ(pthread_create(&thread, nullptr, write_while_cancelled, nullptr), 0);
    ASSERT_EQ(pthread_join(thread, nullptr), 0);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "a line\n");
    EXPECT_TRUE(has_written);
}

TEST(open_standard_error_again, duplicates_the_descriptor)
{
    testing::internal::CaptureStderr();
    const os::descriptor again = os::open_standard_error_again();
    EXPECT_GT(again, os::standard_error);
    EXPECT_EQ(os::write_all(again, "a line\n", 7), 0);
    (void)close(again);
    EXPECT_EQ(os::write_all(again, "nothing\n", 8), EBADF);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "a line\n");
}

TEST(open_standard_error_again, returns_standard_error_without_free_descriptors)
{
    const test::system_calls calls;
    calls.refuse(test::system_call::duplicate, 1);
    errno = 77;
    EXPECT_EQ(os::open_standard_error_again(), os::standard_error);
    EXPECT_EQ(errno, 77);
}

TEST(write_to_standard_error, does_nothing_and_keeps_errno_if_closed)
{
    const int kept = dup(2);
    ASSERT_EQ(close(2), 0);
    errno = 77;
    os::write_to_standard_error("this is not read!", 17);
    const int error_after = errno;
    ASSERT_EQ(dup2(kept, 2), 2);
    (void)close(kept);
    EXPECT_EQ(error_after, 77);
}
#endif
} // namespace
