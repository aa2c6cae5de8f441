// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>

#include <np_alloc/support/misuse.hpp>

#include <support/error_recorder.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <pthread.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace {
struct received_report
{
    np_error number;
    std::string kind;
    const void* address;
    std::size_t block_size;
    std::string where;
    std::string text;
};
std::vector<received_report> received_reports;

void remember(const np_error_report* report)
{
    received_reports.push_back(
        {report->kind, report->name, report->address, report->block_size, report->where, report->text});
    errno = 5;
}

int a_global = 0;

TEST(np_set_error_handler, reports_misuse_to_a_C_function)
{
    received_reports.clear();
    np_set_error_handler(&remember);
    void* const block = np_alloc(48);
    np_free(static_cast<char*>(block) + 1);
    np_free(block);
    np_free(&a_global);
    np_set_error_handler(nullptr);
    ASSERT_EQ(received_reports.size(), 2U);
    EXPECT_EQ(received_reports[0].number, np_error_misaligned_pointer);
    EXPECT_EQ(received_reports[0].kind, "misaligned pointer");
    EXPECT_EQ(received_reports[0].address, static_cast<char*>(block) + 1);
    EXPECT_EQ(received_reports[0].block_size, 48U);
    EXPECT_EQ(received_reports[0].where, "np_alloc");
    EXPECT_EQ(received_reports[0].text.find("memory_pool: misaligned pointer: address "), 0U);
    EXPECT_EQ(received_reports[1].number, np_error_foreign_pointer);
    EXPECT_EQ(received_reports[1].kind, "foreign pointer");
    EXPECT_EQ(received_reports[1].address, &a_global);
    EXPECT_EQ(np_verify(), 1);
}

TEST(np_set_error_handler, shares_the_handler_with_Cxx)
{
    received_reports.clear();
    np_set_error_handler(&remember);
    {
        const test::error_recorder recorder;
        np_free(&a_global);
        EXPECT_EQ(recorder.reports().size(), 1U);
    }
    EXPECT_TRUE(received_reports.empty());
    np_free(&a_global);
    EXPECT_EQ(received_reports.size(), 1U);
    np_set_error_handler(nullptr);
    EXPECT_EQ(memory_pool::get_error_handler(), &memory_pool::detail::base::abort_program);
}

int times_in_c = 0;
np_error last_kind_in_c{};
int times_in_cxx = 0;
memory_pool::error_kind last_kind_in_cxx{};

void count_in_c(const np_error_report* report)
{
    ++times_in_c;
    last_kind_in_c = report->kind;
}

void count_in_cxx(const memory_pool::error_report& report)
{
    ++times_in_cxx;
    last_kind_in_cxx = report.kind;
}

TEST(np_set_error_handler, returns_the_previous_handler)
{
    EXPECT_EQ(np_set_error_handler(&remember), nullptr) << "the default";
    EXPECT_EQ(np_set_error_handler(&count_in_c), &remember);
    EXPECT_EQ(np_set_error_handler(nullptr), &count_in_c);
    EXPECT_EQ(np_set_error_handler(nullptr), nullptr);
}

TEST(np_set_error_handler, returns_a_C_function_for_a_Cxx_handler)
{
    memory_pool::set_error_handler(&count_in_cxx);
    const np_error_handler previous = np_set_error_handler(&count_in_c);
    times_in_c = times_in_cxx = 0;
    np_free(&a_global);
    EXPECT_EQ(times_in_c, 1);
    EXPECT_EQ(times_in_cxx, 0);
    ASSERT_NE(previous, nullptr);
    np_error_report report{np_error_size_mismatch, "size mismatch", nullptr, 1, "np_alloc", ""};
    previous(&report);
    EXPECT_EQ(times_in_cxx, 1) << "forwards to the handler in C++";
    EXPECT_EQ(last_kind_in_cxx, memory_pool::error_kind::size_mismatch);
    report.kind = np_error_use_after_free;
    previous(&report);
    EXPECT_EQ(last_kind_in_cxx, memory_pool::error_kind::write_after_free) << "the nearest kind in C++";
    EXPECT_EQ(np_set_error_handler(previous), &count_in_c);
    EXPECT_EQ(memory_pool::set_error_handler(nullptr), &count_in_cxx);
}

TEST(np_set_error_handler, receives_the_errors_of_pools)
{
    np_set_error_handler(&count_in_c);
    memory_pool::detail::base::report_misuse(memory_pool::error_kind::leak, nullptr, 1, "a pool");
    EXPECT_EQ(last_kind_in_c, np_error_leak);
    memory_pool::detail::base::report_misuse(memory_pool::error_kind::wrong_thread, nullptr, 1, "a pool");
    EXPECT_EQ(last_kind_in_c, np_error_wrong_thread);
    np_set_error_handler(nullptr);
}

TEST(np_misuse, keeps_errno_in_free_even_if_printing_fails)
{
    np_set_error_handler(&remember);
    const int errors = dup(STDERR_FILENO);
    ASSERT_NE(errors, -1);
    (void)close(STDERR_FILENO); // makes printing fail
    errno = 77;
    np_free(&a_global);
    const int after = errno;
    (void)dup2(errors, STDERR_FILENO);
    (void)close(errors);
    np_set_error_handler(nullptr);
    EXPECT_EQ(after, 77);
}

TEST(np_misuse, sets_EINVAL_in_realloc)
{
    np_set_error_handler(&remember);
    void* const block = np_alloc(48);
    for (void* const wrong : {static_cast<void*>(&a_global), static_cast<void*>(static_cast<char*>(block) + 1)}) {
        errno = 0;
        EXPECT_EQ(np_realloc(wrong, 100), nullptr);
        EXPECT_EQ(errno, EINVAL);
    }
    np_set_error_handler(nullptr);
    np_free(block);
}

TEST(np_misuse, is_reported_by_a_cancelled_thread)
{
    static bool has_come_back;
    has_come_back = false;
    const auto free_while_cancelled = [](void*) -> void* {
        (void)pthread_cancel(pthread_self());
        np_free(&a_global);
        has_come_back = true;
        return nullptr;
    };
    received_reports.clear();
    np_set_error_handler(&remember);
    pthread_t thread{};
    ASSERT_EQ(pthread_create(&thread, nullptr, free_while_cancelled, nullptr), 0);
    ASSERT_EQ(pthread_join(thread, nullptr), 0);
    np_set_error_handler(nullptr);
    EXPECT_EQ(received_reports.size(), 1U);
    EXPECT_TRUE(has_come_back);
}

/// Returns: the last report from its third line on.
std::string line_of_last_report()
{
    const std::string& text = received_reports.back().text;
    const std::size_t remedy_ends = text.find('\n', text.find('\n') + 1);
    return remedy_ends != std::string::npos ? text.substr(remedy_ends + 1) : std::string();
}

TEST(np_misuse, names_the_call_site_of_the_block)
{
    np_set_error_handler(&remember);
    np_heap* const other_heap = np_heap_create();
    for (const std::size_t bytes : {48U, 5000U, 100'000U}) {
        received_reports.clear();
        auto* const block = static_cast<char*>(np_alloc_at(bytes, "orders.c", 42));
        np_free(block + 1);
        ASSERT_EQ(received_reports.size(), 1U);
        EXPECT_EQ(line_of_last_report(), "  allocated at orders.c:42") << bytes;
        np_heap_free(other_heap, block);
        ASSERT_EQ(received_reports.size(), 2U);
        EXPECT_EQ(line_of_last_report(), "  allocated at orders.c:42") << bytes;
        np_free(block);
    }
    np_heap_destroy(other_heap);
    np_set_error_handler(nullptr);
}

TEST(np_misuse, names_the_call_site_of_a_freed_block_in_an_unloaded_file)
{
    received_reports.clear();
    np_set_error_handler(&remember);
    void* const neighbor = np_alloc_at(48, "main.c", 1); // keeps the slab
    auto gone = std::make_unique<std::string>("plugin.c");
    void* const block = np_alloc_at(48, gone->c_str(), 7);
    np_free(block);
    gone.reset();
    np_free(block);
    ASSERT_EQ(received_reports.size(), 1U);
    EXPECT_EQ(received_reports.back().kind, "double free");
    EXPECT_EQ(line_of_last_report(), "  allocated at plugin.c:7");
    np_free(neighbor);
    np_set_error_handler(nullptr);
}

TEST(np_misuse, names_the_call_site_at_the_old_address_of_a_moved_block)
{
    received_reports.clear();
    np_set_error_handler(&remember);
    void* const neighbor = np_alloc_at(48, "main.c", 1); // keeps the slab
    void* const block = np_alloc_at(48, "orders.c", 42);
    void* const moved = np_realloc(block, 5000);
    ASSERT_NE(moved, block);
    np_free(block);
    ASSERT_EQ(received_reports.size(), 1U);
    EXPECT_EQ(received_reports.back().kind, "double free");
    EXPECT_EQ(line_of_last_report(), "  allocated at orders.c:42");
    np_free(moved);
    np_free(neighbor);
    np_set_error_handler(nullptr);
}

TEST(np_misuse, names_no_call_site_of_an_untraced_block)
{
    received_reports.clear();
    np_set_error_handler(&remember);
    void* const block = np_alloc(48);
    np_free(static_cast<char*>(block) + 1);
    np_free(block);
    ASSERT_EQ(received_reports.size(), 1U);
    EXPECT_EQ(line_of_last_report(), "");
    np_set_error_handler(nullptr);
}

TEST(np_misuse, shortens_a_long_file_name_at_its_beginning)
{
    received_reports.clear();
    np_set_error_handler(&remember);
    np_heap* const other_heap = np_heap_create();
    const std::string name = std::string(1000, 'x') + "/orders.c";
    void* const block = np_alloc_at(48, name.c_str(), 2'000'000'000);
    np_heap_free(other_heap, block);
    np_free(block);
    np_free(block);
    np_heap_destroy(other_heap);
    np_set_error_handler(nullptr);
    ASSERT_EQ(received_reports.size(), 2U);
    for (const received_report& each : received_reports) {
        const std::string end = "xxx/orders.c:2000000000";
        ASSERT_GT(each.text.size(), end.size());
        EXPECT_EQ(each.text.substr(each.text.size() - end.size()), end);
    }
}

TEST(misuse_list, reports_the_number_of_omitted_reports)
{
    received_reports.clear();
    np_set_error_handler(&remember);
    void* const block = np_alloc(48);
    {
        memory_pool::np::misuse_list found;
        for (int i = 0; i != 18; ++i)
            found.add(memory_pool::error_kind::double_free, block, 48);
        EXPECT_TRUE(received_reports.empty());
    }
    np_set_error_handler(nullptr);
    np_free(block);
    ASSERT_EQ(received_reports.size(), 17U);
    EXPECT_EQ(received_reports[15].address, block);
    EXPECT_EQ(received_reports[16].address, nullptr);
    EXPECT_EQ(received_reports[16].kind, "double free");
    EXPECT_EQ(received_reports[16].where, "np_alloc");
    EXPECT_EQ(received_reports[16].text.find("memory_pool: 2 more at the same time, the last a double free: "), 0U);
}
} // namespace
