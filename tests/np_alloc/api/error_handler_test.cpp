// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Error handlers: the kinds they receive, and the calls they may make.
#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>

#include <support/child.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <utility>

#if TESTS_MAY_FORK
#include <unistd.h>

namespace {
np_error kind_in_c = np_error{};
memory_pool::error_kind kind_in_cxx{};

TEST(np_error_handler, receives_the_error_kind_in_C_and_in_cxx)
{
    using memory_pool::error_kind;
    const memory_pool::error_handler before =
        memory_pool::set_error_handler([](const memory_pool::error_report& report) { kind_in_cxx = report.kind; });
    const np_error_handler previous =
        np_set_error_handler([](const np_error_report* report) { kind_in_c = report->kind; });
    for (const auto& [in_c, in_cxx] : {std::pair(np_error_double_free, error_kind::double_free),
                                       std::pair(np_error_mismatched_deallocation, error_kind::mismatched_deallocation),
                                       std::pair(np_error_buffer_underflow, error_kind::buffer_underflow)}) {
        memory_pool::get_error_handler()({in_cxx, nullptr, 0, "", ""});
        EXPECT_EQ(kind_in_c, in_c);
        const np_error_report report{in_c, "", nullptr, 0, "", ""};
        previous(&report);
        EXPECT_EQ(kind_in_cxx, in_cxx);
    }
    const np_error_report access{np_error_use_after_free, "", nullptr, 0, "", ""};
    previous(&access);
    EXPECT_EQ(kind_in_cxx, error_kind::write_after_free) << "C++ has no kind for use after free";
    memory_pool::set_error_handler(before);
}

int report_count = 0;

TEST(np_error_handler, may_wait_for_an_allocating_thread_even_before_a_fork)
{
    (void)np_trim(); // A double free makes the list of remote frees a cycle, which loses the entries behind the block.
    void* const freed_twice = np_alloc(32);
    void* const other = np_alloc(32);
    test::in_a_thread([=] { // This thread drains these remote frees when it forks.
        np_free(freed_twice);
        np_free(other);
        np_free(freed_twice);
    });
    report_count = 0;
    const memory_pool::error_handler before = memory_pool::set_error_handler([](const memory_pool::error_report&) {
        ++report_count;
        test::in_a_thread([] { np_free(np_alloc(100)); });
    });
    (void)alarm(10); // Ends a deadlock.
    test::expect_in_child([] { return true; });
    (void)alarm(0);
    memory_pool::set_error_handler(before);
    EXPECT_EQ(report_count, 1);
}
} // namespace
#endif
