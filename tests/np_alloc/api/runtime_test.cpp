// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The functions that pools and reports call by weak symbols, and the reports at exit.
#include <memory_pool/np_alloc.h>

#include <np_alloc/engine/engine.hpp>
#include <np_alloc/heaps/fork_handlers.hpp>
#include <np_alloc/support/callbacks.hpp>

#include <support/option_for_now.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

namespace np = memory_pool::np;

extern "C" {
void memory_pool_np_add_pools(np::trim_function* trim) noexcept;
void memory_pool_np_remove_pools(np::trim_function* trim) noexcept;
void memory_pool_np_add_reports(np::visit_function* visit) noexcept;
void memory_pool_np_remove_reports(np::visit_function* visit) noexcept;
void memory_pool_np_visit_heaps(void (*each)(const void* view, std::size_t bytes, void* argument), void* argument);
void memory_pool_np_get_statistics(np_statistics* statistics, std::size_t bytes) noexcept;
void memory_pool_np_print_statistics(np_format format,
                                     void (*write)(const char* text, std::size_t length, void* argument),
                                     void* argument);
void memory_pool_np_print_slabs(void (*write)(const char* text, std::size_t length, void* argument), void* argument);
}

namespace {
void trim_nothing() {}
void visit_nothing(void (*)(const void*, std::size_t, void*), void*) {}

void append(const char* text, std::size_t length, void* to)
{
    static_cast<std::string*>(to)->append(text, length);
}

/// Returns: how often a function is registered.
template <class Function>
std::ptrdiff_t times_in(np::callbacks<Function*>& registered, Function* function)
{
    std::vector<Function*> all;
    registered.for_each([&all](Function* each) { all.push_back(each); });
    return std::count(all.begin(), all.end(), function);
}

TEST(np_runtime, registers_and_removes_the_callbacks_of_pools)
{
    np::heap_maintenance& maintenance = np::registry().maintenance();
    memory_pool_np_add_pools(&trim_nothing);
    memory_pool_np_add_reports(&visit_nothing);
    EXPECT_EQ(times_in<np::trim_function>(maintenance.pools(), &trim_nothing), 1);
    EXPECT_EQ(times_in<np::visit_function>(maintenance.reports(), &visit_nothing), 1);
    memory_pool_np_remove_pools(&trim_nothing);
    memory_pool_np_remove_reports(&visit_nothing);
    EXPECT_EQ(times_in<np::trim_function>(maintenance.pools(), &trim_nothing), 0);
    EXPECT_EQ(times_in<np::visit_function>(maintenance.reports(), &visit_nothing), 0);
}

TEST(np_runtime, has_a_heap_for_each_thread_that_has_allocated)
{
    np_free(np_alloc(1));
    const np::thread_heap* const mine = np::heap_of_this_thread();
    ASSERT_NE(mine, nullptr);
    EXPECT_EQ(mine, &np::this_thread.cache.heap());
    test::in_a_thread([mine] {
        EXPECT_EQ(np::heap_of_this_thread(), nullptr);
        np_free(np_alloc(1));
        EXPECT_TRUE(np::heap_of_this_thread() != nullptr && np::heap_of_this_thread() != mine);
    });
}

TEST(np_runtime, passes_reports_named_heaps_and_the_statistics_they_have_room_for)
{
    np_heap* const heap = np_heap_create_named("of runtime");
    std::size_t heaps = 0;
    const auto count = [](const void*, std::size_t, void* argument) { ++*static_cast<std::size_t*>(argument); };
    memory_pool_np_visit_heaps(count, &heaps);
    EXPECT_EQ(heaps, 1U);
    np_heap_destroy(heap);
    void* const block = np_alloc(1'000'000);
    np_statistics whole{};
    memory_pool_np_get_statistics(&whole, sizeof whole);
    EXPECT_GE(whole.bytes_in_use, 1'000'000U);
    np_free(block);
    std::array<unsigned char, sizeof(np_statistics)> part{};
    part.fill(0xAB);
    memory_pool_np_get_statistics(reinterpret_cast<np_statistics*>(part.data()), sizeof(std::size_t));
    EXPECT_TRUE(std::all_of(part.begin() + sizeof(std::size_t), part.end(), [](auto each) { return each == 0xAB; }));
}

TEST(np_runtime, prints_statistics_and_slabs_for_reports)
{
    std::string text;
    memory_pool_np_print_statistics(np_format_json, &append, &text);
    EXPECT_EQ(text.find('{'), 0U);
    EXPECT_NE(text.find("bytes_in_use"), std::string::npos);
    text.clear();
    memory_pool_np_print_slabs(&append, &text);
    EXPECT_EQ(text, "") << "the option is off";
    const test::option_for_now asked_for(np_option_report_slabs, 1);
    memory_pool_np_print_slabs(&append, &text);
    EXPECT_EQ(text.find(", \"slabs\": "), 0U);
}

void end_with(std::size_t statistics, std::size_t status_of_leaks)
{
    (void)np_option_set(np_option_statistics_at_end, statistics);
    (void)np_option_set(np_option_leaks_exit, status_of_leaks);
    (void)np_alloc_at(1'000, "leaked.c", 7);
    std::exit(0);
}

TEST(np_runtime_death_test, prints_the_requested_reports_at_exit_and_sets_the_exit_status)
{
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(end_with(1, 0), testing::ExitedWithCode(0), "in use");
    EXPECT_EXIT(end_with(0, 77), testing::ExitedWithCode(77), "leaked.c:7");
    EXPECT_EXIT(end_with(0, 0), testing::ExitedWithCode(0), "^$");
}
} // namespace
