// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// What an error handler may do, whenever it is called.
#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>

#include <support/child.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <utility>

#if TESTS_MAY_FORK
#include <unistd.h>

namespace {
np_error told_in_c = np_error{};
memory_pool::error_kind told_in_cxx{};

TEST(np_error_handler, is_told_the_kind_in_its_own_language)
{
    using memory_pool::error_kind;
    const memory_pool::error_handler before =
        memory_pool::set_error_handler([](const memory_pool::error_report& report) { told_in_cxx = report.kind; });
    const np_error_handler previous =
        np_set_error_handler([](const np_error_report* report) { told_in_c = report->kind; });
    for (const auto& [in_c, in_cxx] : {std::pair(np_error_double_free, error_kind::double_free),
                                       std::pair(np_error_mismatched_deallocation, error_kind::mismatched_deallocation),
                                       std::pair(np_error_buffer_underflow, error_kind::buffer_underflow)}) {
        memory_pool::get_error_handler()({in_cxx, nullptr, 0, "", ""});
        EXPECT_EQ(told_in_c, in_c);
        const np_error_report report{in_c, "", nullptr, 0, "", ""};
        previous(&report);
        EXPECT_EQ(told_in_cxx, in_cxx);
    }
    const np_error_report access{np_error_use_after_free, "", nullptr, 0, "", ""};
    previous(&access);
    EXPECT_EQ(told_in_cxx, error_kind::write_after_free) << "there is no such kind in C++";
    memory_pool::set_error_handler(before);
}

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
