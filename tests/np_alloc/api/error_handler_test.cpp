// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// What an error handler may do, whenever it is called.
#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>

#include <support/child.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#if TESTS_MAY_FORK
#include <unistd.h>

namespace {
int times_told = 0;

TEST(np_error_handler, may_wait_for_a_thread_that_allocates_also_when_the_process_is_about_to_fork)
{
    (void)np_trim(); // What waits behind a block that comes twice is lost: it leads around in a circle.
    void* const freed_twice = np_alloc(32);
    void* const other = np_alloc(32);
    test::in_a_thread([=] { // They are drained when this thread comes to it: when it forks.
        np_free(freed_twice);
        np_free(other);
        np_free(freed_twice);
    });
    times_told = 0;
    const memory_pool::error_handler before = memory_pool::set_error_handler([](const memory_pool::error_report&) {
        ++times_told;
        test::in_a_thread([] { np_free(np_alloc(100)); });
    });
    (void)alarm(10); // It would wait for ever.
    test::expect_in_child([] { return true; });
    (void)alarm(0);
    memory_pool::set_error_handler(before);
    EXPECT_EQ(times_told, 1);
}
} // namespace
#endif
