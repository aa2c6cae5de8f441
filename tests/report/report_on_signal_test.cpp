// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/report.hpp>

#include <memory_pool/concurrent_block_pool.hpp>

#include <support/child.hpp>
#include <support/comes_true.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#if defined(__unix__) && !defined(__APPLE__)
#include <fcntl.h>
#include <unistd.h>

namespace mp = memory_pool;

namespace {
std::string content_of(const std::string& path)
{
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

class report_on_signal : public testing::Test
{
protected:
    report_on_signal() { (void)std::remove(path_.c_str()); }
    ~report_on_signal() override
    {
        mp::stop_report_on_signal(SIGUSR1);
        (void)std::remove(path_.c_str());
    }

    std::string pattern_ = testing::TempDir() + "report 100%%.%p.json";
    std::string path_ = testing::TempDir() + "report 100%." + std::to_string(getpid()) + ".json";
};

TEST_F(report_on_signal, writes_a_report_to_the_file_each_time)
{
    ASSERT_TRUE(mp::report_on_signal(SIGUSR1, pattern_));
    mp::concurrent_block_pool first(8, mp::pool_options{}.with_name("first"));
    ASSERT_EQ(std::raise(SIGUSR1), 0);
    EXPECT_TRUE(test::comes_true([&] { return content_of(path_).find("\"first\"") != std::string::npos; }));
    const mp::concurrent_block_pool second(8, mp::pool_options{}.with_name("second"));
    ASSERT_EQ(std::raise(SIGUSR1), 0);
    EXPECT_TRUE(test::comes_true([&] { return content_of(path_).find("\"second\"") != std::string::npos; }));
    EXPECT_EQ(content_of(path_).back(), '\n') << "it is complete";
    EXPECT_FALSE(std::ifstream(path_ + ".tmp").is_open());
}

TEST_F(report_on_signal, writes_the_last_requested_format)
{
    ASSERT_TRUE(mp::report_on_signal(SIGUSR1, pattern_));
    ASSERT_TRUE(mp::report_on_signal(SIGUSR1, pattern_, mp::report_format::text));
    ASSERT_EQ(std::raise(SIGUSR1), 0);
    EXPECT_TRUE(test::comes_true([&] { return content_of(path_).find("memory_pool: pools") == 0; }));
}

volatile std::sig_atomic_t own_signals = 0;

TEST_F(report_on_signal, restores_the_previous_signal_handler)
{
    own_signals = 0;
    void (*const before)(int) = std::signal(SIGUSR1, [](int) { own_signals = own_signals + 1; });
    ASSERT_TRUE(mp::report_on_signal(SIGUSR1, pattern_));
    ASSERT_EQ(std::raise(SIGUSR1), 0);
    EXPECT_EQ(own_signals, 0);
    mp::stop_report_on_signal(SIGUSR1);
    ASSERT_EQ(std::raise(SIGUSR1), 0);
    EXPECT_EQ(own_signals, 1);
    (void)std::signal(SIGUSR1, before);
}

TEST_F(report_on_signal, keeps_the_handler_while_the_path_changes)
{
    ASSERT_TRUE(mp::report_on_signal(SIGUSR1, pattern_));
    std::thread signals([] {
        for (int i = 0; i != 300; ++i) // Without a handler, the first of these would end the process.
            (void)kill(getpid(), SIGUSR1);
    });
    for (int i = 0; i != 300; ++i)
        EXPECT_TRUE(mp::report_on_signal(SIGUSR1, pattern_));
    signals.join();
}

TEST_F(report_on_signal, rejects_a_signal_that_cannot_be_handled)
{
    for (const int signal : {SIGKILL, 0, -1, 1000}) {
        errno = 0;
        EXPECT_FALSE(mp::report_on_signal(signal, pattern_)) << signal;
        EXPECT_EQ(errno, EINVAL);
    }
}

TEST_F(report_on_signal, lets_the_program_continue_if_the_file_cannot_be_written)
{
    const std::string errors = testing::TempDir() + "errors." + std::to_string(getpid());
    const int standard_error = dup(STDERR_FILENO);
    const int file = open(errors.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    ASSERT_EQ(dup2(file, STDERR_FILENO), STDERR_FILENO);
    ASSERT_TRUE(mp::report_on_signal(SIGUSR1, testing::TempDir() + "no such directory/report"));
    ASSERT_EQ(std::raise(SIGUSR1), 0);
    EXPECT_TRUE(test::comes_true([&] {
        return content_of(errors).find("no such directory/report (error " + std::to_string(ENOENT) + ")") !=
               std::string::npos;
    }));
    ASSERT_EQ(dup2(standard_error, STDERR_FILENO), STDERR_FILENO);
    (void)close(file);
    (void)close(standard_error);
    (void)std::remove(errors.c_str());
    ASSERT_TRUE(mp::report_on_signal(SIGUSR1, pattern_));
    ASSERT_EQ(std::raise(SIGUSR1), 0);
    EXPECT_TRUE(test::comes_true([&] { return !content_of(path_).empty(); }));
}

#if TESTS_MAY_FORK
TEST_F(report_on_signal, is_ignored_in_the_child_of_a_fork_until_enabled_there)
{
    ASSERT_TRUE(mp::report_on_signal(SIGUSR1, pattern_));
    test::expect_in_child([&] {
        const std::string path = testing::TempDir() + "report 100%." + std::to_string(getpid()) + ".json";
        (void)std::raise(SIGUSR1);
        const bool is_enabled = mp::report_on_signal(SIGUSR1, pattern_);
        const bool was_ignored = content_of(path).empty();
        (void)std::raise(SIGUSR1);
        const bool is_written = test::comes_true([&] { return !content_of(path).empty(); });
        mp::stop_report_on_signal(SIGUSR1);
        (void)std::remove(path.c_str());
        return is_enabled && was_ignored && is_written;
    });
}
#endif
} // namespace
#endif
