// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/profiling_policy.hpp>

#include <memory_pool/object_pool.hpp>

#include <support/pprof_reader.hpp>
#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace mp = memory_pool;

namespace {
/// Samples each block during its lifetime.
struct each_block_for_now
{
    each_block_for_now() { mp::set_profile_bytes(1); }
    ~each_block_for_now() { mp::set_profile_bytes(before); }

    each_block_for_now(const each_block_for_now&) = delete;
    each_block_for_now& operator=(const each_block_for_now&) = delete;

    std::size_t before = mp::profile_bytes();
};

struct write_profile : testing::Test
{

    static std::string written(mp::profile_format format)
    {
        std::ostringstream to;
        mp::write_profile(to, format);
        return to.str();
    }

    each_block_for_now mean;
    mp::object_pool<std::array<char, 48>, mp::profiling_policy<>> pool{mp::pool_options{}.with_name("or;ders")};
    std::array<char, 48>* const object = pool.create();
};

TEST_F(write_profile, labels_each_sample_with_its_pool)
{
    const test::pprof_reader read(written(mp::profile_format::pprof));
    const auto found = std::find_if(read.samples.begin(), read.samples.end(),
                                    [](const auto& each) { return each.labels.count("pool") != 0; });
    ASSERT_NE(found, read.samples.end());
    EXPECT_EQ(found->labels.at("pool"), "or;ders");
    EXPECT_EQ(found->values[2], 1U);
    EXPECT_EQ(found->values[3], 48U);
}

TEST_F(write_profile, folds_stacks_under_their_pool)
{
    const std::string text = written(mp::profile_format::folded);
    const std::string line = text.substr(text.find("or ders"));
    EXPECT_EQ(line.substr(line.find(' ', 8), line.find('\n') - line.find(' ', 8)), " 48") << text;
}

TEST_F(write_profile, includes_the_pool_in_the_text)
{
    const std::string text = written(mp::profile_format::text);
    EXPECT_EQ(text.find("memory_pool: allocations by call stack\n"), 0U);
    EXPECT_NE(text.find("48 bytes in use in 1 blocks; "), std::string::npos) << text;
    EXPECT_NE(text.find("; pool 'or;ders':\n    "), std::string::npos) << text;
}

TEST_F(write_profile, reports_nothing_in_use_after_all_frees)
{
    pool.destroy(object);
    EXPECT_EQ(written(mp::profile_format::folded), "");
}

#if !defined(_WIN32)
TEST_F(write_profile, selects_the_format_by_the_file_name)
{
    const std::string folder = testing::TempDir();
    for (const char* const ending : {".txt", ".folded", ".pb"}) {
        const std::string path = folder + "write_profile_test" + ending;
        errno = 7;
        ASSERT_TRUE(mp::dump_profile(path.c_str())) << path;
        EXPECT_EQ(errno, 7) << "unchanged";
        std::ifstream file(path, std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        const std::string first_string("\x32\0", 2); // pprof requires an empty first string.
        const std::string begin = ending[1] == 't' ? "memory_pool: " : ending[1] == 'f' ? "or ders;" : first_string;
        EXPECT_EQ(text.substr(0, begin.size()), begin);
        (void)std::remove(path.c_str());
    }
    EXPECT_FALSE(mp::dump_profile("/no/such/folder/profile"));
    EXPECT_EQ(errno, ENOENT);
}

TEST_F(write_profile, writes_nothing_without_memory_for_a_copy_of_the_profile)
{
    const std::string path = testing::TempDir() + "write_profile_test.none";
    std::ostringstream to;
    {
        const test::system_calls calls;
        calls.refuse_from(test::system_call::map, 1);
        errno = 0;
        EXPECT_FALSE(mp::dump_profile(path.c_str()));
        EXPECT_EQ(errno, ENOMEM);
        mp::write_profile(to, mp::profile_format::text);
    }
    EXPECT_TRUE(to.bad());
    EXPECT_EQ(to.str(), "");
    EXPECT_FALSE(std::ifstream(path).is_open());
    EXPECT_NE(written(mp::profile_format::text), "");
}
#endif
} // namespace
