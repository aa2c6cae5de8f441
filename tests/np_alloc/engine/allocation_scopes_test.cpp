// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/no_allocation_scope.hpp>
#include <memory_pool/np_alloc.h>

#include <support/emulation.hpp>
#include <support/error_recorder.hpp>
#include <support/memory_limit.hpp>
#include <support/option_for_now.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

namespace {
using memory_pool::allocating;
using memory_pool::no_allocation_scope;

constexpr std::size_t MiB = std::size_t{1} << 20U;

/// Returns: how many allocations `action` makes.
template <class Action>
std::size_t allocations_of(Action&& action)
{
    const no_allocation_scope guard("test", allocating::counted);
    action();
    return guard.allocations();
}

TEST(allocation_scopes, count_each_block)
{
    std::array<void*, 100> blocks{};
    const no_allocation_scope guard("test", allocating::counted);
    for (void*& block : blocks)
        block = np_alloc(50);
    EXPECT_EQ(guard.allocations(), 100U);
    EXPECT_EQ(guard.bytes(), 5'000U);
    for (void* const block : blocks)
        np_free(block);
    EXPECT_EQ(guard.allocations(), 100U) << "frees do not count";
}

TEST(allocation_scopes, count_blocks_from_the_cache)
{
    np_free(np_alloc(50)); // Fills the cache.
    EXPECT_EQ(allocations_of([] { np_free(np_alloc(50)); }), 1U);
}

TEST(allocation_scopes, count_each_allocation_function_once)
{
    EXPECT_EQ(allocations_of([] { np_free(np_alloc(0)); }), 1U);
    EXPECT_EQ(allocations_of([] { np_free(np_alloc(20'000)); }), 1U);
    EXPECT_EQ(allocations_of([] { np_free(np_alloc(3 * MiB)); }), 1U);
    EXPECT_EQ(allocations_of([] { np_free(np_calloc(10, 10)); }), 1U);
    EXPECT_EQ(allocations_of([] { np_free(np_calloc(10, MiB)); }), 1U);
    EXPECT_EQ(allocations_of([] { np_free(np_aligned_alloc(256, 1'000)); }), 1U);
    EXPECT_EQ(allocations_of([] { np_free(np_aligned_alloc(4'096, MiB)); }), 1U);
    EXPECT_EQ(allocations_of([] { np_free(np_alloc_at(50, __FILE__, __LINE__)); }), 1U);
    EXPECT_EQ(allocations_of([] { np_free(np_realloc(nullptr, 50)); }), 1U);
}

TEST(allocation_scopes, count_reallocations_that_grow)
{
    void* block = np_alloc(50);
    EXPECT_EQ(allocations_of([&] { block = np_realloc(block, 5'000); }), 1U);
    EXPECT_EQ(allocations_of([&] { block = np_realloc(block, MiB); }), 1U);
    EXPECT_EQ(allocations_of([&] { block = np_realloc(block, 30 * MiB); }), 1U);
    EXPECT_EQ(allocations_of([&] { block = np_realloc(block, 30 * MiB); }), 0U);
    np_free(block);
}

TEST(allocation_scopes, count_blocks_of_heaps)
{
    np_heap* const heap = np_heap_create();
    ASSERT_NE(heap, nullptr);
    EXPECT_EQ(allocations_of([=] { np_heap_free(heap, np_heap_alloc(heap, 50)); }), 1U);
    EXPECT_EQ(allocations_of([=] { np_heap_free(heap, np_heap_alloc(heap, 2 * MiB)); }), 1U);
    np_heap_destroy(heap);
}

TEST(allocation_scopes, do_not_count_failed_allocations)
{
    const volatile std::size_t unknown = ~std::size_t{0} / 2; // GCC warns about products that it can compute.
    const std::size_t too_much = unknown;
    const volatile std::size_t three = 3;
    void* const block = np_alloc(10);
    void* const large = np_alloc(MiB);
    np_heap* const heap = np_heap_create();
    void* const of_heap = np_heap_alloc(heap, 10);
    const test::error_recorder recorder;
    const no_allocation_scope guard("test", allocating::fatal);
    EXPECT_EQ(np_alloc(too_much), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_EQ(np_calloc(too_much, 4), nullptr);
    EXPECT_EQ(np_calloc(too_much, 1), nullptr);
    EXPECT_EQ(np_aligned_alloc(three, 8), nullptr);
    EXPECT_EQ(np_aligned_alloc(4'096, too_much), nullptr);
    EXPECT_EQ(np_aligned_calloc(64, too_much, 4), nullptr);
    EXPECT_EQ(np_alloc_at(too_much, __FILE__, __LINE__), nullptr);
    EXPECT_EQ(np_realloc(block, too_much), nullptr);
    EXPECT_EQ(np_realloc(large, too_much), nullptr);
    EXPECT_EQ(np_realloc(of_heap, too_much), nullptr);
    EXPECT_EQ(np_aligned_realloc(block, 64, too_much), nullptr);
    EXPECT_EQ(np_expand(block, 100'000), nullptr);
    EXPECT_EQ(np_expand(large, too_much), nullptr);
    EXPECT_EQ(np_heap_alloc(heap, too_much), nullptr);
    EXPECT_EQ(np_heap_calloc(heap, too_much, 4), nullptr);
    EXPECT_EQ(guard.allocations(), 0U);
    EXPECT_EQ(guard.bytes(), 0U);
    EXPECT_EQ(recorder.reports().size(), 0U);
    np_free(block);
    np_free(large);
    np_heap_destroy(heap);
}

#if TESTS_MAY_LIMIT_MEMORY
TEST(allocation_scopes, do_not_count_small_allocations_that_fail)
{
    if (test::system_is_emulated())
        GTEST_SKIP() << "the emulator ignores memory limits";
    std::vector<void*> blocks(std::size_t{1} << 20U);
    std::size_t count = 0;
    std::size_t counted = 0;
    {
        const test::memory_limit limit(64 * MiB);
        const no_allocation_scope guard("test", allocating::counted);
        while (count != blocks.size() && (blocks[count] = np_alloc(1'000)) != nullptr)
            ++count;
        counted = guard.allocations();
    }
    EXPECT_EQ(counted, count);
    for (std::size_t i = 0; i != count; ++i)
        np_free(blocks[i]);
    if (count == blocks.size())
        GTEST_SKIP() << "earlier tests in this process have left a gigabyte";
}
#endif

TEST(allocation_scopes, count_in_a_thread_that_has_not_allocated_yet)
{
    std::size_t counted = 0;
    std::thread([&] { counted = allocations_of([] { np_free(np_alloc(50)); }); }).join();
    EXPECT_EQ(counted, 1U);
}

TEST(allocation_scopes, count_nothing_after_they_end)
{
    np_free(np_alloc(50));
    np_no_allocation_scope scope{"test", np_allocating_counted, 0, 0, nullptr};
    EXPECT_EQ(np_set_no_allocation_scope(&scope), nullptr);
    EXPECT_EQ(np_set_no_allocation_scope(nullptr), &scope);
    for (int i = 0; i != 1'000; ++i)
        np_free(np_alloc(50));
    EXPECT_EQ(scope.allocations, 0U);
    EXPECT_EQ(np_verify(), 1);
}

TEST(allocation_scopes, count_while_profiling)
{
    const test::option_for_now profiled(np_option_profile_bytes, 1'000);
    EXPECT_EQ(allocations_of([] {
                  for (int i = 0; i != 1'000; ++i)
                      np_free(np_alloc(50));
              }),
              1'000U);
}

TEST(allocation_scopes, call_the_callback_of_the_program)
{
    static std::size_t last_bytes = 0;
    static std::string last_allocator;
    np_no_allocation_scope scope{"test", np_allocating_counted, 0, 0,
                                 [](np_no_allocation_scope*, std::size_t bytes, const char* allocator) {
                                     last_bytes = bytes;
                                     last_allocator = allocator;
                                     np_free(np_alloc(10)); // Not counted.
                                 }};
    np_no_allocation_scope* const outer = np_set_no_allocation_scope(&scope);
    errno = EDOM;
    void* const block = np_alloc(77);
    EXPECT_EQ(errno, EDOM);
    (void)np_set_no_allocation_scope(outer);
    np_free(block);
    EXPECT_EQ(scope.allocations, 1U);
    EXPECT_EQ(last_bytes, 77U);
    EXPECT_EQ(last_allocator, "np_alloc");
}

TEST(allocation_scopes, report_with_a_call_stack)
{
    np_no_allocation_scope scope{"audio callback", np_allocating_reported, 0, 0, nullptr};
    testing::internal::CaptureStderr();
    np_no_allocation_scope* const outer = np_set_no_allocation_scope(&scope);
    for (int i = 0; i != 3; ++i)
        np_free(np_alloc(77));
    (void)np_set_no_allocation_scope(outer);
    const std::string text = testing::internal::GetCapturedStderr();
    const std::string line = "memory_pool: forbidden allocation: 77 bytes, pool 'np_alloc', in no_allocation_scope "
                             "'audio callback'\n  remedy: ";
    EXPECT_EQ(text.find(line), 0U) << text;
    EXPECT_NE(text.find("\n  called by:\n    "), std::string::npos) << text;
    EXPECT_EQ(text.find("forbidden", line.size()), std::string::npos) << "reported more than once\n" << text;
    EXPECT_EQ(scope.allocations, 3U);
}

TEST(allocation_scopes, call_the_error_handler_if_allocations_are_fatal)
{
    test::error_recorder recorder;
    testing::internal::CaptureStderr();
    {
        const no_allocation_scope guard("test", allocating::fatal);
        np_free(np_alloc(77));
    }
    (void)testing::internal::GetCapturedStderr();
    ASSERT_EQ(recorder.kinds(), test::kinds{memory_pool::error_kind::forbidden_allocation});
    EXPECT_EQ(recorder.reports()[0].block_size, 77U);
    EXPECT_EQ(recorder.reports()[0].pool_name, "np_alloc");
}
} // namespace
