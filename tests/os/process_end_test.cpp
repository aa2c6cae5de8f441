// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/os/process_end.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace os = memory_pool::detail::os;

namespace {
void end_again()
{
    os::end_with_status(7);
}

#if defined(__GLIBC__)
TEST(end_with_status_death_test, replaces_the_status_and_runs_all_exit_handlers)
{
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    const auto end = [] {
        std::atexit([] { std::fputs("handler before; ", stderr); });
        std::atexit(&end_again);
        std::atexit([] { std::fputs("handler after; ", stderr); });
        std::exit(0); // NOLINT(concurrency-mt-unsafe): there is one thread
    };
    EXPECT_EXIT(end(), testing::ExitedWithCode(7), "^handler after; handler before; $");
}
#endif

TEST(end_with_status_death_test, flushes_files)
{
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    const auto end = [] {
        std::setvbuf(stderr, nullptr, _IOFBF, 4096); // NOLINT(bugprone-unused-return-value): checked by the test
        std::fputs("kept in a buffer", stderr);
        std::atexit(&end_again);
        std::exit(0); // NOLINT(concurrency-mt-unsafe)
    };
    EXPECT_EXIT(end(), testing::ExitedWithCode(7), "kept in a buffer");
}

int eight() noexcept
{
    return 8;
}

TEST(set_status_at_end_death_test, replaces_the_status)
{
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    const auto end = [] {
        os::set_status_at_end<&eight>();
        std::exit(0); // NOLINT(concurrency-mt-unsafe)
    };
    EXPECT_EXIT(end(), testing::ExitedWithCode(8), "");
}
} // namespace
