// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// After each test of this program, test::np_conservation checks that np_alloc is in its earlier state. These tests
// check that test::np_conservation detects leaks and damage.
#include <memory_pool/np_alloc.h>
#include <np_alloc/engine/engine.hpp>

#include <support/np_conservation.hpp>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <string>

namespace np = memory_pool::np;

namespace {
[[maybe_unused]] const bool all_are_watched = [] {
    testing::UnitTest::GetInstance()->listeners().Append(new test::np_conservation); // GoogleTest deletes it
    return true;
}();

struct np_conservation : testing::Test
{
    test::np_conservation watched;
    const testing::TestInfo& this_test = *testing::UnitTest::GetInstance()->current_test_info();

    void* const block = np_alloc(100);
    np_conservation() { watched.OnTestStart(this_test); }
    ~np_conservation() override { np_free(block); }
};

TEST_F(np_conservation, passes_when_every_block_is_freed)
{
    np_free(np_alloc(100));
    np_free(np_alloc(1'000'000));
    watched.OnTestEnd(this_test);
}

TEST_F(np_conservation, detects_a_leaked_block)
{
    void* const left = np_alloc(100);
    EXPECT_NONFATAL_FAILURE(watched.OnTestEnd(this_test), "leaked blocks, or freed blocks of others");
    np_free(left);
}

TEST_F(np_conservation, detects_a_double_free)
{
    void* const between = np_alloc(100);
    np_free(block);
    np_free(between); // An immediate double free would be rejected.
    np_free(block);
    testing::TestPartResultArray failures;
    {
        const testing::ScopedFakeTestPartResultReporter reporter(&failures);
        watched.OnTestEnd(this_test);
    }
    ASSERT_EQ(failures.size(), 2) << "one from np_verify, one about bytes in use";
    EXPECT_NE(std::string(failures.GetTestPartResult(0).message()).find("has damaged np_alloc"), std::string::npos);
    EXPECT_EQ(np_alloc(100), block);
    EXPECT_EQ(np_alloc(100), between);
    EXPECT_EQ(np_alloc(100), block);
    np_free(between);
}
} // namespace
