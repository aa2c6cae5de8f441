// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/process.hpp>

#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <string>

namespace np = memory_pool::np;

namespace
{
#if defined(__unix__)
TEST(process, says_when_it_will_not_be_told_of_forks)
{
    const test::system_calls calls;
    calls.refuse(test::system_call::register_fork, 1);
    testing::internal::CaptureStderr();
    EXPECT_FALSE(np::process::prepare_for_fork());
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(said.find("np_alloc: there is no memory to be told of forks"), 0U) << said;
}
#endif
} // namespace
