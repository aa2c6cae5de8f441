// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The checked build: invalid arguments of free, realloc and usable_size.
#include <memory_pool/np_alloc.h>

#include <support/error_recorder.hpp>
#include <support/jumps_back.hpp>
#include <support/np_guards.hpp>
#include <support/option_for_now.hpp>
#include <support/system_calls.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <set>
#include <string>
#include <vector>

namespace {
using memory_pool::error_kind;

constexpr std::array<std::size_t, 7> sizes_of_all_kinds{16, 48, 1000, 4096, 9216, 262'144, 3'145'728};

/// Counts the reports of a test, and verifies np_alloc after the test.
struct checked_blocks : testing::Test
{
    test::error_recorder recorder;

    ~checked_blocks() override { EXPECT_EQ(np_verify(), 1); }

    /// Expects one more report, about `address`.
    void expect_report(error_kind kind, const void* address, std::size_t bytes)
    {
        ASSERT_EQ(recorder.reports().size(), reports_ + 1) << bytes << "\n" << texts();
        EXPECT_EQ(recorder.kinds().back(), kind) << bytes;
        EXPECT_EQ(recorder.reports().back().address, address) << bytes;
        ++reports_;
    }

    void expect_no_report() { EXPECT_EQ(recorder.reports().size(), reports_) << texts(); }

private:
    std::string texts() const
    {
        std::string all;
        for (const test::error_recorder::entry& report : recorder.reports())
            all += report.text + '\n';
        return all;
    }

    std::size_t reports_ = 0;
};

TEST_F(checked_blocks, report_a_double_free)
{
    for (const std::size_t bytes : sizes_of_all_kinds) {
        void* const block = np_alloc(bytes);
        np_free(block);
        np_free(block);
        expect_report(error_kind::double_free, block, bytes);
        np_free(block);
        expect_report(error_kind::double_free, block, bytes);
    }
}

TEST_F(checked_blocks, report_a_double_free_after_other_frees)
{
    for (const std::size_t bytes : sizes_of_all_kinds) {
        void* const block = np_alloc(bytes);
        void* const other = np_alloc(bytes);
        np_free(block);
        np_free(other);
        np_free(block);
        expect_report(error_kind::double_free, block, bytes);
        for (int i = 0; i != 1024; ++i)
            np_free(np_alloc(bytes));
        np_free(block);
        expect_report(error_kind::double_free, block, bytes);
    }
}

TEST_F(checked_blocks, report_a_double_free_by_another_thread)
{
    for (const std::size_t bytes : sizes_of_all_kinds) {
        void* const block = np_alloc(bytes);
        test::in_a_thread([block] { np_free(block); });
        np_free(block);
        expect_report(error_kind::double_free, block, bytes);
        test::in_a_thread([block] { np_free(block); });
        expect_report(error_kind::double_free, block, bytes);
    }
}

TEST_F(checked_blocks, report_a_double_free_by_two_other_threads)
{
    for (const std::size_t bytes : sizes_of_all_kinds) {
        void* block = nullptr;
        test::in_a_thread([&] { block = np_alloc(bytes); });
        test::lasting_thread one;
        test::lasting_thread other;
        one.does([block] { np_free(block); });
        other.does([block] { np_free(block); });
        expect_report(error_kind::double_free, block, bytes);
    }
}

TEST_F(checked_blocks, report_concurrent_double_frees)
{
    np_statistics before;
    np_get_statistics(&before);
    constexpr std::size_t threads = 4;
    constexpr std::size_t rounds = 500;
    static std::atomic<std::size_t> reports;
    reports = 0;
    const memory_pool::error_handler handler =
        memory_pool::set_error_handler([](const memory_pool::error_report&) { ++reports; });
    testing::internal::CaptureStderr();
    std::vector<void*> blocks(rounds);
    std::atomic<std::size_t> ready{0};
    test::in_threads(threads, [&](std::size_t thread) {
        if (thread == 0) // The other threads free remotely.
            for (void*& block : blocks)
                block = np_alloc(64);
        for (std::size_t i = 0; i != rounds; ++i) {
            ++ready;
            while (ready < (i + 1) * threads) {
            }
            np_free(blocks[i]);
        }
    });
    (void)testing::internal::GetCapturedStderr();
    memory_pool::set_error_handler(handler);
    EXPECT_EQ(reports, rounds * (threads - 1));
    np_statistics after;
    np_get_statistics(&after);
    EXPECT_EQ(after.bytes_in_use, before.bytes_in_use);
}

TEST_F(checked_blocks, count_their_canaries_as_bytes_in_use)
{
    const auto in_use = [] {
        np_statistics now;
        np_get_statistics(&now);
        return now.bytes_in_use;
    };
    const std::size_t before = in_use();
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, std::size_t{5000}, std::size_t{200'000}}) {
        void* const block = np_alloc(bytes);
        EXPECT_EQ(np_usable_size(block), bytes);
        EXPECT_GT(in_use() - before, bytes);
        np_free(block);
        EXPECT_EQ(in_use(), before);
    }
}

TEST_F(checked_blocks, report_a_double_free_in_a_heap)
{
    np_heap* const heap = np_heap_create();
    for (const std::size_t bytes : sizes_of_all_kinds) {
        void* const block = np_heap_alloc(heap, bytes);
        np_heap_free(heap, block);
        np_free(block);
        expect_report(error_kind::double_free, block, bytes);
    }
    void* const kept = np_heap_alloc(heap, 100);
    np_heap_destroy(heap);
    np_free(kept);
    expect_report(error_kind::double_free, kept, 100);
}

TEST_F(checked_blocks, report_realloc_and_usable_size_after_free)
{
    for (const std::size_t bytes : sizes_of_all_kinds) {
        void* const block = np_alloc(bytes);
        np_free(block);
        EXPECT_EQ(np_realloc(block, 2 * bytes), nullptr);
        expect_report(error_kind::double_free, block, bytes);
        EXPECT_EQ(np_usable_size(block), 0U);
        expect_report(error_kind::double_free, block, bytes);
    }
}

TEST_F(checked_blocks, report_a_free_to_another_heap)
{
    np_heap* const heap = np_heap_create();
    np_heap* const other = np_heap_create();
    for (const std::size_t bytes : sizes_of_all_kinds) {
        for (void* const block : {np_alloc(bytes), np_heap_alloc(other, bytes)}) {
            np_heap_free(heap, block);
            expect_report(error_kind::foreign_pointer, block, bytes);
            EXPECT_EQ(recorder.reports().back().block_size, bytes);
            np_free(block);
            expect_no_report();
        }
    }
    np_heap_destroy(heap);
    np_heap_destroy(other);
}

TEST_F(checked_blocks, have_usable_size_0_if_null)
{
    EXPECT_EQ(np_usable_size(nullptr), 0U);
    expect_no_report();
}

TEST_F(checked_blocks, shrink_in_place_when_out_of_memory)
{
    constexpr std::size_t small = 10;
    for (const std::size_t bytes : {1000U, 30'000U, 1'000'000U}) {
        void* const block = np_alloc(bytes);
        const test::system_calls calls;
        calls.refuse_from(test::system_call::map, 1);
        calls.refuse_from(test::system_call::protect, 1);
        std::vector<void*> fillers;
        // Large blocks first: earlier tests may have left gigabytes of free memory.
        for (std::size_t next = small << 27; next >= small; next /= 2)
            while (void* const each = np_alloc(next))
                fillers.push_back(each);
        EXPECT_EQ(np_realloc(block, small), block) << bytes;
        calls.refuse_nothing();
        EXPECT_EQ(np_usable_size(block), small);
        EXPECT_EQ(np_verify(), 1);
        for (void* const each : fillers)
            np_free(each);
        void* const larger = np_realloc(block, small + 100);
        EXPECT_EQ(np_usable_size(larger), small + 100);
        np_free(larger);
        expect_no_report();
    }
}

TEST_F(checked_blocks, report_a_free_of_an_interior_pointer)
{
    for (const std::size_t bytes : sizes_of_all_kinds) {
        auto* const block = static_cast<std::byte*>(np_alloc(bytes));
        for (const std::size_t offset : {1U, 8U, 15U}) {
            np_free(block + offset);
            expect_report(error_kind::misaligned_pointer, block + offset, bytes);
        }
        if (bytes > 16) {
            np_free(block + 16);
            expect_report(error_kind::misaligned_pointer, block + 16, bytes);
        }
        if (bytes > 100'000) {
            np_free(block + 65'536);
            expect_report(error_kind::misaligned_pointer, block + 65'536, bytes);
        }
        np_free(block);
        expect_no_report();
    }
}

TEST_F(checked_blocks, report_a_free_of_never_allocated_memory)
{
    auto* const block = static_cast<std::byte*>(np_alloc(1000));
    const std::size_t usable = 1008; // Includes the canary.
    std::set<void*> in_use{block};
    for (std::byte* next = block + usable; in_use.size() < 6; next += usable) {
        np_free(next);
        ASSERT_FALSE(recorder.reports().empty());
        EXPECT_TRUE(recorder.kinds().back() == error_kind::double_free ||
                    recorder.kinds().back() == error_kind::misaligned_pointer);
        in_use.insert(next);
    }
    EXPECT_EQ(recorder.reports().size(), 5U);
    np_free(block);
}

TEST_F(checked_blocks, report_a_free_far_from_any_block)
{
    auto* const block = static_cast<std::byte*>(np_alloc(64));
    std::byte* const far_away = block + (std::size_t{1} << 30);
    np_free(far_away);
    expect_report(error_kind::double_free, far_away, 64);
    np_free(block);
}

TEST_F(checked_blocks, are_reported_with_the_error_and_a_remedy)
{
    void* const block = np_alloc(40);
    np_free(block);
    np_free(block);
    ASSERT_EQ(recorder.reports().size(), 1U);
    EXPECT_EQ(recorder.reports()[0].block_size, 40U);
    EXPECT_NE(recorder.reports()[0].text.find("double free: address 0x"), std::string::npos);
    EXPECT_NE(recorder.reports()[0].text.find(", block size 40 bytes, "), std::string::npos);
    EXPECT_NE(recorder.reports()[0].text.find("\n  remedy: give each block back once"), std::string::npos);
}

TEST_F(checked_blocks, are_reported_with_their_requested_size)
{
    const test::option_for_now no_quarantine(np_option_quarantine_bytes, 0);
    const test::option_for_now in_order(np_option_random_order, 0);
    for (const std::size_t bytes : {std::size_t{50}, std::size_t{100}, std::size_t{5'000}, std::size_t{32'000}}) {
        auto* const block = static_cast<unsigned char*>(np_alloc(bytes));
        np_free(block + 16);
        expect_report(error_kind::misaligned_pointer, block + 16, bytes);
        EXPECT_EQ(recorder.reports().back().block_size, bytes) << "of the block in use";
        np_free(block);
        np_free(block);
        expect_report(error_kind::double_free, block, bytes);
        EXPECT_EQ(recorder.reports().back().block_size, bytes);
        np_free(block + 16);
        expect_report(error_kind::misaligned_pointer, block + 16, bytes);
        EXPECT_EQ(recorder.reports().back().block_size, bytes) << "of the freed block";
        block[0] = 0;
        void* const again = np_alloc(bytes - 1);
        ASSERT_EQ(again, block);
        expect_report(error_kind::write_after_free, block, bytes);
        EXPECT_EQ(recorder.reports().back().block_size, bytes) << "of the freed block, not of the new one";
        np_free(again);
    }
    auto* const large = static_cast<unsigned char*>(np_alloc(100'000));
    np_free(large + 16);
    expect_report(error_kind::misaligned_pointer, large + 16, 100'000);
    EXPECT_EQ(recorder.reports().back().block_size, 100'000U);
    np_free(large);
}

TEST_F(checked_blocks, report_a_wrong_size_in_free_sized)
{
    for (const std::size_t bytes : sizes_of_all_kinds) {
        for (const std::size_t wrong : {bytes - 1, bytes + 1, 2 * bytes}) {
            void* const block = np_alloc(bytes);
            np_free_sized(block, wrong);
            expect_report(error_kind::size_mismatch, block, bytes);
            EXPECT_EQ(recorder.reports().back().block_size, bytes) << "the requested size";
            void* const aligned = np_aligned_alloc(64, bytes);
            np_free_aligned_sized(aligned, 64, wrong);
            expect_report(error_kind::size_mismatch, aligned, bytes);
        }
        np_free_sized(np_alloc(bytes), bytes);
        np_free_aligned_sized(np_aligned_alloc(4096, bytes), 4096, bytes);
        np_free_sized(np_realloc(np_alloc(10), bytes), bytes);
        np_free_sized(np_calloc(1, bytes), bytes);
        expect_no_report();
    }
}

TEST_F(checked_blocks, stay_consistent_after_longjmp_from_the_error_handler)
{
    const test::option_for_now no_quarantine(np_option_quarantine_bytes, 0);
    const test::option_for_now in_order(np_option_random_order, 0);
    const test::no_guards_for_now accessible;
    for (const std::size_t bytes : sizes_of_all_kinds) {
        static unsigned char* block = nullptr;
        block = static_cast<unsigned char*>(np_alloc(bytes - 1));
        block[bytes - 1] = 0;
        EXPECT_TRUE(test::jumps_back([] { np_free(block); })) << "overflow";
        EXPECT_EQ(np_usable_size(block), bytes - 1) << "still in use, with its canary repaired";
        EXPECT_TRUE(test::jumps_back([] { np_free_sized(block, 1); }));
        EXPECT_EQ(np_usable_size(block), bytes - 1);
        EXPECT_EQ(np_verify(), 1) << bytes;
        np_free(block);
        block[16] = 0;
        static std::size_t requested = 0;
        requested = bytes - 1;
        EXPECT_TRUE(test::jumps_back([] { (void)np_alloc(requested); })) << "write after free";
        EXPECT_EQ(np_verify(), 1) << bytes;
        np_free(block);
        expect_no_report();
    }
}

/// Calls `action` with a block that has overflowed, and with an error handler that frees this block.
/// Returns: the kinds of the reports.
template <class Action>
test::kinds with_handler_that_frees(std::size_t bytes, Action&& action)
{
    static unsigned char* block = nullptr;
    static test::kinds seen;
    block = static_cast<unsigned char*>(np_alloc(bytes - 1));
    block[bytes - 1] = 0;
    seen.clear();
    const memory_pool::error_handler before =
        memory_pool::set_error_handler([](const memory_pool::error_report& report) {
            seen.push_back(report.kind);
            if (report.kind == error_kind::buffer_overflow)
                np_free(block);
        });
    action(block);
    memory_pool::set_error_handler(before);
    return seen;
}

TEST_F(checked_blocks, report_a_double_free_if_the_error_handler_frees)
{
    for (const std::size_t bytes : sizes_of_all_kinds)
        EXPECT_EQ(with_handler_that_frees(bytes, np_free),
                  (test::kinds{error_kind::buffer_overflow, error_kind::double_free}))
            << bytes;
    EXPECT_EQ(np_verify(), 1);
}

TEST_F(checked_blocks, are_not_resized_after_the_error_handler_frees_them)
{
    for (const std::size_t bytes : sizes_of_all_kinds) {
        const auto resize = [bytes](void* block) { EXPECT_EQ(np_realloc(block, bytes - 1), nullptr); };
        EXPECT_EQ(with_handler_that_frees(bytes, resize), test::kinds{error_kind::buffer_overflow}) << bytes;
    }
    EXPECT_EQ(np_verify(), 1);
}

TEST_F(checked_blocks, of_0_bytes_are_distinct_and_can_be_freed_and_resized)
{
    std::set<void*> all;
    while (all.size() != 10'000)
        ASSERT_TRUE(all.insert(np_alloc(0)).second);
    for (void* each : all) {
        ASSERT_EQ(np_usable_size(each), 0U);
        np_free_sized(each, 0);
    }
    void* const few_bytes = np_realloc(np_alloc(0), 12);
    np_free_sized(std::memset(few_bytes, 1, 12), 12);
    void* const grown = np_realloc(np_alloc(0), 100);
    EXPECT_EQ(np_usable_size(grown), 100U);
    void* const shrunk = np_realloc(grown, 0);
    EXPECT_EQ(np_usable_size(shrunk), 0U);
    np_free(shrunk);
    expect_no_report();
    np_free(shrunk);
    expect_report(error_kind::double_free, shrunk, 0);
}

TEST_F(checked_blocks, of_0_bytes_are_not_defragmented)
{
    void* const block = np_alloc(0);
    EXPECT_EQ(np_defrag_hint(block), 0);
    EXPECT_EQ(np_defrag_move(block), nullptr);
    np_free(block);
    expect_no_report();
}

TEST_F(checked_blocks, are_reported_with_their_call_sites)
{
    const auto expect_line = [this](error_kind kind) {
        const std::string end = "\n  allocated at orders.c:42";
        ASSERT_FALSE(recorder.reports().empty());
        const std::string& text = recorder.reports().back().text;
        EXPECT_EQ(recorder.kinds().back(), kind);
        ASSERT_GT(text.size(), end.size());
        EXPECT_EQ(text.substr(text.size() - end.size()), end) << text;
    };
    void* const neighbor = np_alloc_at(20, "main.c", 1); // Keeps the slab in use.
    auto* const block = static_cast<char*>(np_alloc_at(20, "orders.c", 42));
    block[20] ^= 1;
    EXPECT_EQ(np_usable_size(block), 20U);
    expect_line(error_kind::buffer_overflow);
    np_free_sized(block, 21);
    expect_line(error_kind::size_mismatch);
    np_free(block);
    expect_line(error_kind::double_free);
    block[3] = 1;
    std::vector<void*> others;
    const std::size_t reports = recorder.reports().size();
    while (recorder.reports().size() == reports && others.size() != 10'000)
        others.push_back(np_alloc_at(20, "other.c", 1));
    expect_line(error_kind::write_after_free);
    for (void* const each : others)
        np_free(each);
    np_free(neighbor);
}
} // namespace
