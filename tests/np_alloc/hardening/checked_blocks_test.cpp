// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The checked build: what is freed and is no block in use.
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

/// Each test reports what it says, and leaves everything in order.
struct checked_blocks : testing::Test
{
    test::error_recorder recorder;

    ~checked_blocks() override { EXPECT_EQ(np_verify(), 1); }

    /// Expects one report more, of `address`.
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

TEST_F(checked_blocks, are_freed_once)
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

TEST_F(checked_blocks, are_freed_once_whatever_was_freed_in_between)
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

TEST_F(checked_blocks, are_freed_once_by_any_thread)
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

TEST_F(checked_blocks, are_freed_once_also_when_two_threads_that_they_are_not_from_do_it)
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

TEST_F(checked_blocks, are_freed_by_one_of_several_threads_that_try_at_the_same_time)
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
        if (thread == 0) // so that they are its own
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

TEST_F(checked_blocks, count_with_what_lies_behind_what_was_asked_for)
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

TEST_F(checked_blocks, are_freed_once_also_those_of_heaps)
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

TEST_F(checked_blocks, are_resized_and_asked_for_their_size_only_while_they_are_in_use)
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

TEST_F(checked_blocks, are_freed_by_the_heap_that_they_are_of)
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

TEST_F(checked_blocks, have_no_size_if_they_are_nullptr)
{
    EXPECT_EQ(np_usable_size(nullptr), 0U);
    expect_no_report();
}

TEST_F(checked_blocks, become_smaller_where_they_are_when_there_is_no_memory)
{
    constexpr std::size_t small = 10;
    for (const std::size_t bytes : {1000U, 30'000U, 1'000'000U}) {
        void* const block = np_alloc(bytes);
        const test::system_calls calls;
        calls.refuse_from(test::system_call::map, 1);
        calls.refuse_from(test::system_call::protect, 1);
        std::vector<void*> all_there_is;
        // Large ones first: there may be gigabytes, if other tests had so much.
        for (std::size_t next = small << 27; next >= small; next /= 2)
            while (void* const each = np_alloc(next))
                all_there_is.push_back(each);
        EXPECT_EQ(np_realloc(block, small), block) << bytes;
        calls.refuse_nothing();
        EXPECT_EQ(np_usable_size(block), small);
        EXPECT_EQ(np_verify(), 1);
        for (void* const each : all_there_is)
            np_free(each);
        void* const larger = np_realloc(block, small + 100);
        EXPECT_EQ(np_usable_size(larger), small + 100);
        np_free(larger);
        expect_no_report();
    }
}

TEST_F(checked_blocks, are_freed_by_the_address_that_they_were_handed_out_with)
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

TEST_F(checked_blocks, are_none_where_none_was_allocated_yet)
{
    auto* const block = static_cast<std::byte*>(np_alloc(1000));
    const std::size_t usable = 1008; // with the byte behind
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

TEST_F(checked_blocks, are_none_far_from_all_that_was_allocated)
{
    auto* const block = static_cast<std::byte*>(np_alloc(64));
    std::byte* const far_away = block + (std::size_t{1} << 30);
    np_free(far_away);
    expect_report(error_kind::double_free, far_away, 64);
    np_free(block);
}

TEST_F(checked_blocks, are_named_with_what_is_wrong_and_what_to_do_about_it)
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

TEST_F(checked_blocks, have_the_requested_size_in_reports)
{
    const test::option_for_now none_wait(np_option_quarantine_bytes, 0);
    const test::option_for_now in_order(np_option_random_order, 0);
    for (const std::size_t bytes : {std::size_t{50}, std::size_t{100}, std::size_t{5'000}, std::size_t{32'000}}) {
        auto* const block = static_cast<unsigned char*>(np_alloc(bytes));
        np_free(block + 16);
        expect_report(error_kind::misaligned_pointer, block + 16, bytes);
        EXPECT_EQ(recorder.reports().back().block_size, bytes) << "of the block that it points into";
        np_free(block);
        np_free(block);
        expect_report(error_kind::double_free, block, bytes);
        EXPECT_EQ(recorder.reports().back().block_size, bytes);
        np_free(block + 16);
        expect_report(error_kind::misaligned_pointer, block + 16, bytes);
        EXPECT_EQ(recorder.reports().back().block_size, bytes) << "of the block that was freed";
        block[0] = 0;
        void* const again = np_alloc(bytes - 1);
        ASSERT_EQ(again, block);
        expect_report(error_kind::write_after_free, block, bytes);
        EXPECT_EQ(recorder.reports().back().block_size, bytes) << "of the block that was freed, not of the new one";
        np_free(again);
    }
    auto* const large = static_cast<unsigned char*>(np_alloc(100'000));
    np_free(large + 16);
    expect_report(error_kind::misaligned_pointer, large + 16, 100'000);
    EXPECT_EQ(recorder.reports().back().block_size, 100'000U);
    np_free(large);
}

TEST_F(checked_blocks, are_freed_with_the_size_that_was_asked_for)
{
    for (const std::size_t bytes : sizes_of_all_kinds) {
        for (const std::size_t wrong : {bytes - 1, bytes + 1, 2 * bytes}) {
            void* const block = np_alloc(bytes);
            np_free_sized(block, wrong);
            expect_report(error_kind::size_mismatch, block, bytes);
            EXPECT_EQ(recorder.reports().back().block_size, bytes) << "that was right";
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

TEST_F(checked_blocks, are_in_order_also_when_the_error_handler_leaves_by_a_long_jump)
{
    const test::option_for_now none_wait(np_option_quarantine_bytes, 0);
    const test::option_for_now in_order(np_option_random_order, 0);
    const test::no_guards_for_now accessible;
    for (const std::size_t bytes : sizes_of_all_kinds) {
        static unsigned char* block = nullptr;
        block = static_cast<unsigned char*>(np_alloc(bytes - 1));
        block[bytes - 1] = 0;
        EXPECT_TRUE(test::jumps_back([] { np_free(block); })) << "overflow";
        EXPECT_EQ(np_usable_size(block), bytes - 1) << "it is in use, and was mended";
        EXPECT_TRUE(test::jumps_back([] { np_free_sized(block, 1); }));
        EXPECT_EQ(np_usable_size(block), bytes - 1);
        EXPECT_EQ(np_verify(), 1) << bytes;
        np_free(block);
        block[16] = 0;
        static std::size_t wanted = 0;
        wanted = bytes - 1;
        EXPECT_TRUE(test::jumps_back([] { (void)np_alloc(wanted); })) << "write after free";
        EXPECT_EQ(np_verify(), 1) << bytes;
        np_free(block);
        expect_no_report();
    }
}

/// Calls a function with a block behind which something was written, and an error handler that frees the block then.
/// Returns: what was reported.
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

TEST_F(checked_blocks, are_freed_once_also_if_the_error_handler_frees_them)
{
    for (const std::size_t bytes : sizes_of_all_kinds)
        EXPECT_EQ(with_handler_that_frees(bytes, np_free),
                  (test::kinds{error_kind::buffer_overflow, error_kind::double_free}))
            << bytes;
    EXPECT_EQ(np_verify(), 1);
}

TEST_F(checked_blocks, are_not_resized_if_the_error_handler_has_freed_them)
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

TEST_F(checked_blocks, of_0_bytes_stay_where_they_are)
{
    void* const block = np_alloc(0);
    EXPECT_EQ(np_defrag_hint(block), 0);
    EXPECT_EQ(np_defrag_move(block), nullptr);
    np_free(block);
    expect_no_report();
}

TEST_F(checked_blocks, are_reported_with_their_allocation_sites)
{
    const auto expect_line = [this](error_kind kind) {
        const std::string end = "\n  allocated at orders.c:42";
        ASSERT_FALSE(recorder.reports().empty());
        const std::string& text = recorder.reports().back().text;
        EXPECT_EQ(recorder.kinds().back(), kind);
        ASSERT_GT(text.size(), end.size());
        EXPECT_EQ(text.substr(text.size() - end.size()), end) << text;
    };
    void* const neighbor = np_alloc_at(20, "main.c", 1); // The slab stays.
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
