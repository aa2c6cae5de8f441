// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/process.hpp>

#include <np_alloc/mutex.hpp>

#include <support/child.hpp>
#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <string>

#if TESTS_MAY_FORK
#include <pthread.h>
#endif

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

#if TESTS_MAY_FORK
/// A static object of the program that has something done around forks, and so could fork itself. What is registered last is done
/// first before a fork.
struct static_object
{
    static inline bool np_alloc_was_first = false;

    static_object()
    {
        (void)pthread_atfork([] { np_alloc_was_first = np::this_thread_forks; }, nullptr, nullptr);
    }
};
const static_object object_of_the_program;

TEST(process, is_told_of_forks_before_static_objects_of_the_program_are_constructed)
{
    test::expect_in_child([] { return true; });
    EXPECT_FALSE(static_object::np_alloc_was_first);
}
#endif
} // namespace
