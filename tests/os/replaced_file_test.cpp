// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/os/replaced_file.hpp>

#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#if defined(__unix__)
#include <sys/stat.h>
#include <unistd.h>

namespace os = memory_pool::detail::os;

namespace {
std::string content_of(const std::string& path)
{
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string expanded(const char* pattern)
{
    std::array<char, 32> path{};
    return os::expand_path(pattern, path.data(), path.size()) ? path.data() : "does not fit";
}

TEST(expand_path, replaces_percent_p_by_the_process_number)
{
    const std::string process = std::to_string(getpid());
    EXPECT_EQ(expanded("a.%p.b"), "a." + process + ".b");
    EXPECT_EQ(expanded("%p%%p%"), process + "%p%");
    EXPECT_EQ(expanded("%x"), "%x");
    EXPECT_EQ(expanded(""), "");
}

TEST(expand_path, rejects_a_path_that_does_not_fit)
{
    EXPECT_EQ(expanded("1234567890123456789012345678901"), "1234567890123456789012345678901");
    EXPECT_EQ(expanded("12345678901234567890123456789012"), "does not fit");
}

class replaced_file : public testing::Test
{
protected:
    ~replaced_file() override { (void)std::remove(path_.c_str()); }

    std::string path_ = testing::TempDir() + "replaced_file_" + std::to_string(getpid());
};

TEST_F(replaced_file, replaces_the_old_file_when_complete)
{
    std::ofstream(path_) << "old";
    const std::string text(10'000, 'n');
    os::replaced_file file(path_.c_str());
    file.write(text.data(), text.size());
    file.write("!", 1);
    EXPECT_EQ(content_of(path_), "old");
    EXPECT_TRUE(file.finish());
    EXPECT_EQ(content_of(path_), text + "!");
}

TEST_F(replaced_file, keeps_the_old_file_if_not_finished)
{
    std::ofstream(path_) << "old";
    {
        os::replaced_file file(path_.c_str());
        file.write("new", 3);
    }
    EXPECT_EQ(content_of(path_), "old");
    EXPECT_FALSE(std::ifstream(path_ + ".tmp").is_open());
}

TEST_F(replaced_file, keeps_the_old_file_if_a_write_fails)
{
    std::ofstream(path_) << "old";
    {
        os::replaced_file file(path_.c_str());
        const test::system_calls calls;
        calls.refuse(test::system_call::write, 1);
        file.write("new", 3);
        EXPECT_FALSE(file.finish());
        EXPECT_EQ(errno, EIO);
    }
    EXPECT_EQ(content_of(path_), "old");
    EXPECT_FALSE(std::ifstream(path_ + ".tmp").is_open());
}

TEST_F(replaced_file, does_not_replace_a_directory)
{
    ASSERT_EQ(mkdir(path_.c_str(), 0700), 0);
    os::replaced_file file(path_.c_str());
    file.write("new", 3);
    errno = 0;
    EXPECT_FALSE(file.finish());
    EXPECT_EQ(errno, EISDIR);
    EXPECT_FALSE(std::ifstream(path_ + ".tmp").is_open());
}

TEST_F(replaced_file, fails_without_the_directory)
{
    os::replaced_file file("/no such directory/file");
    file.write("new", 3);
    EXPECT_FALSE(file.finish());
    EXPECT_EQ(errno, ENOENT);
    const std::string too_long(2000, 'n');
    EXPECT_FALSE(os::replaced_file(too_long.c_str()).finish());
    EXPECT_EQ(errno, ENAMETOOLONG);
}
} // namespace
#endif
