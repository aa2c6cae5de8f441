// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The checked build: mismatched deallocation.
#include <memory_pool/np_alloc.h>

#include <np_alloc/engine/engine.hpp>
#include <np_alloc/hardening/dealloc_mismatch.hpp>

#include <support/error_recorder.hpp>
#include <support/jumps_back.hpp>
#include <support/np_heaps.hpp>
#include <support/option_for_now.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace np = memory_pool::np;

namespace {
using memory_pool::error_kind;
using np::allocated_by;
using np::freed_by;

constexpr std::array<std::size_t, 8> sizes_of_all_kinds{0, 16, 48, 1000, 4096, 9216, 262'144, 3'145'728};
constexpr std::array<allocated_by, 6> all_allocations{allocated_by::malloc,      allocated_by::aligned_alloc,
                                                      allocated_by::new_object,  allocated_by::new_array,
                                                      allocated_by::new_aligned, allocated_by::new_aligned_array};
constexpr std::array<freed_by, 7> all_deallocations{
    freed_by::free,         freed_by::free_aligned_sized, freed_by::free_less_aligned,   freed_by::delete_object,
    freed_by::delete_array, freed_by::delete_aligned,     freed_by::delete_aligned_array};

/// Counts the reports of a test, and verifies np_alloc after the test.
struct dealloc_mismatch : testing::Test
{
    test::error_recorder recorder;

    ~dealloc_mismatch() override { EXPECT_EQ(np_verify(), 1); }

    /// Expects one more report: a mismatched deallocation, whose message contains `text`.
    void expect_mismatch(const void* block, std::size_t bytes, const std::string& text)
    {
        ASSERT_EQ(recorder.reports().size(), reports_ + 1) << bytes << ": " << text;
        ++reports_;
        const test::error_recorder::entry& last = recorder.reports().back();
        EXPECT_EQ(last.kind, error_kind::mismatched_deallocation) << last.text;
        EXPECT_EQ(last.address, block);
        EXPECT_EQ(last.block_size, bytes) << last.text;
        EXPECT_NE(last.text.find("memory_pool: mismatched deallocation: "), std::string::npos) << last.text;
        EXPECT_NE(last.text.find(text), std::string::npos) << last.text;
    }

    void expect_no_report()
    {
        EXPECT_EQ(recorder.reports().size(), reports_) << recorder.reports().back().text;
        reports_ = recorder.reports().size();
    }

private:
    std::size_t reports_ = 0;
};

/// Returns: whether the functions match.
bool is_match(allocated_by from, freed_by by)
{
    switch (by) {
    case freed_by::free:
    case freed_by::realloc: return from == allocated_by::malloc || from == allocated_by::aligned_alloc;
    case freed_by::free_less_aligned: return from == allocated_by::malloc;
    case freed_by::free_aligned_sized: return from == allocated_by::aligned_alloc;
    case freed_by::delete_object: return from == allocated_by::new_object;
    case freed_by::delete_array: return from == allocated_by::new_array;
    case freed_by::delete_aligned: return from == allocated_by::new_aligned;
    case freed_by::delete_aligned_array: break;
    }
    return from == allocated_by::new_aligned_array;
}

TEST_F(dealloc_mismatch, follows_the_standards)
{
    for (const std::size_t bytes : sizes_of_all_kinds)
        for (const std::size_t alignment : {std::size_t{16}, std::size_t{64}})
            for (const allocated_by from : all_allocations)
                for (const freed_by by : all_deallocations) {
                    void* const block = np::checked_paths::allocate_aligned(alignment, bytes, from);
                    np::free_block(block, by);
                    if (is_match(from, by))
                        expect_no_report();
                    else
                        expect_mismatch(block, bytes,
                                        std::string("it was allocated by ") + np::name_of(from) + ", but freed by " +
                                            np::name_of(by) + ": free it with " + np::partner_of(from));
                    np::free_sized(np::checked_paths::allocate_aligned(alignment, bytes, from), bytes, by);
                    if (is_match(from, by))
                        expect_no_report();
                    else
                        expect_mismatch(recorder.reports().back().address, bytes, np::name_of(by));
                }
}

TEST_F(dealloc_mismatch, is_ignored_if_pairs_is_off)
{
    const test::option_for_now ignored(np_option_pairs, 0);
    for (const std::size_t bytes : sizes_of_all_kinds) {
        np::free_block(np::allocate(bytes, allocated_by::new_array), freed_by::delete_object);
        np_free(np_realloc(np::allocate(bytes, allocated_by::new_object), bytes + 1));
        np_free_aligned_sized(np_alloc(bytes), 64, bytes);
    }
    expect_no_report();
}

TEST_F(dealloc_mismatch, accepts_all_c_functions_for_plain_and_aligned_blocks)
{
    for (const std::size_t bytes : sizes_of_all_kinds) {
        for (const std::size_t alignment : {8U, 16U, 64U, 4096U, 65536U}) {
            np_free(np_aligned_alloc(alignment, bytes));
            np_free_aligned_sized(np_aligned_alloc(alignment, bytes), alignment, bytes);
            np_free_aligned_sized(np_aligned_calloc(alignment, 1, bytes), alignment, bytes);
            np_free_aligned_sized(np_aligned_realloc(np_alloc(bytes), alignment, bytes + 1), alignment, bytes + 1);
            np_free(np_realloc(np_aligned_alloc(alignment, bytes), bytes + 1));
            void* block = nullptr;
            ASSERT_EQ(np_posix_memalign(&block, alignment, bytes), 0);
            np_free(block);
        }
        np_free(np_calloc(1, bytes));
        np_free(np_alloc_at(bytes, "a.c", 1));
        np_free_sized(np_alloc(bytes), bytes);
        np_free_aligned_sized(np_alloc(bytes), 8, bytes);
    }
    expect_no_report();
}

TEST_F(dealloc_mismatch, is_reported_in_heaps)
{
    np_heap* const heap = np_heap_create();
    for (const std::size_t bytes : sizes_of_all_kinds) {
        np_free(np_heap_alloc(heap, bytes));
        np_heap_free(heap, np_heap_aligned_alloc(heap, 64, bytes));
        np_heap_free_aligned_sized(heap, np_heap_aligned_alloc(heap, 64, bytes), 64, bytes);
        np_heap_free_aligned_sized(heap, np_heap_aligned_calloc(heap, 64, 1, bytes), 64, bytes);
        expect_no_report();
        void* const block = np_heap_alloc(heap, bytes);
        np_heap_free_aligned_sized(heap, block, 64, bytes);
        expect_mismatch(block, bytes, "allocated by malloc, but freed by free_aligned_sized");
    }
    np_heap_destroy(heap);
}

TEST_F(dealloc_mismatch, is_reported_for_a_wrong_alignment)
{
    for (const std::size_t bytes : sizes_of_all_kinds) {
        void* block = np_alloc(bytes);
        np_free_aligned_sized(block, 64, bytes);
        expect_mismatch(block, bytes, "allocated by malloc, but freed by free_aligned_sized: free it with free;");
        block = np_aligned_alloc(64, bytes);
        np_free_aligned_sized(block, 8, bytes);
        expect_mismatch(block, bytes, "freed by free_aligned_sized with a smaller alignment");
        block = np_realloc(np_aligned_alloc(64, bytes), bytes + 1); // Counts as allocated by malloc.
        np_free_aligned_sized(block, 64, bytes + 1);
        expect_mismatch(block, bytes + 1, "allocated by malloc");
    }
}

TEST_F(dealloc_mismatch, is_reported_for_realloc_of_new)
{
    for (const std::size_t bytes : sizes_of_all_kinds)
        for (const std::size_t new_bytes : {bytes, bytes + 1, 2 * bytes, bytes / 3}) {
            void* const block = np::allocate(bytes, allocated_by::new_array);
            void* const moved = np_realloc(block, new_bytes);
            expect_mismatch(block, bytes, "it was allocated by new[], but freed by realloc: free it with delete[]");
            ASSERT_NE(moved, nullptr);
            np_free(moved);
            expect_no_report();
        }
}

TEST_F(dealloc_mismatch, makes_realloc_fail_if_the_error_handler_frees_the_block)
{
    void* const block = np::allocate(100, allocated_by::new_array);
    recorder.handle_by([block] { np::free_block(block, freed_by::delete_array); });
    EXPECT_EQ(np_realloc(block, 200), nullptr);
    expect_mismatch(block, 100, "allocated by new[], but freed by realloc");
}

TEST_F(dealloc_mismatch, is_not_reported_after_np_expand)
{
    for (const std::size_t bytes : sizes_of_all_kinds) {
        void* const block = np::allocate(bytes, allocated_by::new_array);
        (void)np_expand(block, bytes + 1);
        np::free_block(block, freed_by::delete_array);
    }
    expect_no_report();
}

TEST_F(dealloc_mismatch, is_not_reported_after_np_defrag_move)
{
    constexpr std::size_t count = 20'000;
    std::vector<void*> blocks(count);
    for (void*& each : blocks)
        each = np::allocate(100, allocated_by::new_array);
    for (std::size_t i = 0; i != count; ++i)
        if (i % 20 != 0)
            np::free_block(std::exchange(blocks[i], nullptr), freed_by::delete_array);
    np_trim();
    std::size_t moves = 0;
    for (void*& each : blocks)
        if (void* const moved = np_defrag_move(each)) {
            each = moved;
            ++moves;
        }
    EXPECT_NE(moves, 0U);
    for (void* each : blocks)
        np::free_block(each, freed_by::delete_array);
    expect_no_report();
}

TEST_F(dealloc_mismatch, is_reported_with_other_errors)
{
    void* const block = np::allocate(100, allocated_by::new_object);
    np::free_sized(block, 60, freed_by::delete_array);
    EXPECT_EQ(recorder.kinds(), (test::kinds{error_kind::mismatched_deallocation, error_kind::size_mismatch}));
}

TEST_F(dealloc_mismatch, leaves_a_block_in_use_after_longjmp_from_the_error_handler)
{
    for (const std::size_t bytes : sizes_of_all_kinds) {
        static void* block = nullptr;
        block = np::allocate(bytes, allocated_by::new_object);
        EXPECT_TRUE(test::jumps_back([] { np_free(block); }));
        EXPECT_TRUE(test::jumps_back([] { np_free(block); })) << "the second time";
        EXPECT_EQ(np_usable_size(block), bytes);
        np::free_block(block, freed_by::delete_object);
    }
}

TEST_F(dealloc_mismatch, uses_the_function_noted_after_allocation)
{
    for (const std::size_t bytes : sizes_of_all_kinds) {
        void* const block = np_alloc(bytes);
        np::checked_paths::note_function(block, allocated_by::new_object);
        np::free_block(block, freed_by::delete_object);
        np::checked_paths::note_function(block, allocated_by::new_object);
        np_free(np_alloc(bytes));
    }
    int none = 0;
    np::checked_paths::note_function(&none, allocated_by::new_object);
    np::checked_paths::note_function(nullptr, allocated_by::new_object);
    expect_no_report();
}
} // namespace
