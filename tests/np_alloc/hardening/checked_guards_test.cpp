// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The checked build: what ends the program at once.
#include <memory_pool/np_alloc.h>

#include <memory_pool/os/pages.hpp>
#include <np_alloc/engine/engine.hpp>
#include <np_alloc/support/options.hpp>

#include <support/np_blocks.hpp>
#include <support/option_for_now.hpp>
#include <support/sanitizers.hpp>
#include <support/system_calls.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <sys/mman.h>

namespace np = memory_pool::np;

namespace {
/// The process that is to end has one thread, as the one that makes it has.
struct checked_guards_death : testing::Test
{
    const test::option_for_now none_wait{np_option_quarantine_bytes, 0};

    void SetUp() override
    {
        if (memory_pool::detail::os::page_size() != np::guard_bytes)
            GTEST_SKIP() << "pages are too large to be guards";
    }
};

using bytes_of_block = volatile unsigned char;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

bytes_of_block* some_block(std::size_t bytes)
{
    return static_cast<unsigned char*>(np_alloc(bytes));
}

std::uintptr_t page_of(const void* address)
{
    return reinterpret_cast<std::uintptr_t>(address) / np::guard_bytes;
}

/// Writes behind a block, up to a distance of `distance` bytes.
void write_behind(bytes_of_block* block, std::size_t bytes, std::size_t distance)
{
    for (std::size_t i = 0; i != distance; ++i)
        block[bytes + i] = 0x11;
}

TEST_F(checked_guards_death, who_writes_on_behind_a_block_does_not_get_out_of_its_slab)
{
    for (const std::size_t bytes : {16U, 48U, 1000U, 5000U, 30'000U})
        EXPECT_DEATH(write_behind(some_block(bytes), bytes, np::slice_bytes * 8), "") << bytes;
}

TEST_F(checked_guards_death, who_writes_on_behind_a_large_block_does_not_get_far)
{
    for (const std::size_t bytes : {40'000U, 100'000U, 3'000'000U})
        EXPECT_DEATH(write_behind(some_block(bytes), bytes, np::guard_bytes), "") << bytes;
}

TEST_F(checked_guards_death, no_byte_in_the_mebibyte_behind_a_large_block_can_be_written)
{
    for (const std::size_t bytes : {40'000U, 100'000U, 3'000'000U})
        for (const std::size_t distance : {np::guard_bytes, std::size_t{65'536}, std::size_t{999'999}, mebibyte})
            EXPECT_DEATH(some_block(bytes)[bytes + distance] = 1, "") << bytes << ", " << distance;
}

TEST_F(checked_guards_death, a_large_block_ends_as_close_to_its_guard_as_its_alignment_allows)
{
    for (const std::size_t bytes : {40'000U, 65'536U, 100'001U, 3'000'016U})
        EXPECT_DEATH(some_block(bytes)[(bytes + 15) / 16 * 16] = 1, "") << bytes;
    EXPECT_DEATH(static_cast<bytes_of_block*>(np_aligned_alloc(512, 100'001))[100'352] = 1, "");
}

TEST_F(checked_guards_death, an_access_to_the_guard_of_a_large_block_is_reported_with_the_block_and_the_call_stack)
{
    const std::string calls = "pool 'np_alloc'\n  remedy: find the access (past the end|before the beginning) of this "
                              "block, in the calls below\n  an? .* the block, by thread .*\n  accessed by:\n    "
                              ".*unit_np_alloc_checked.*\\+0x[0-9a-f]+";
    EXPECT_DEATH(some_block(100'001)[100'016] = 1,
                 "memory_pool: buffer overflow: access to address 0x[0-9a-f]+000, block 0x[0-9a-f]+, "
                 "block size 100001 bytes, " +
                     calls);
    EXPECT_DEATH((void)some_block(100'001)[500'000], "memory_pool: buffer overflow: .*, block size 100001 bytes");
    EXPECT_DEATH(
        {
            void* const before = np_alloc(200'000);
            bytes_of_block* const block = some_block(65'536);
            if (before < block)
                block[-1] = 1;
        },
        "memory_pool: buffer underflow: access to address 0x[0-9a-f]+fff, block 0x[0-9a-f]+000, "
        "block size 65536 bytes, " +
            calls);
}

TEST_F(checked_guards_death, a_run_that_has_grown_is_guarded_to_its_end_even_if_its_block_ends_in_the_same_page)
{
    EXPECT_DEATH(
        {
            auto* const grown = static_cast<bytes_of_block*>(np_realloc(np_realloc(np_alloc(53'200), 53'201), 53'249));
            bytes_of_block* const next = some_block(65'536);
            if (grown < next)
                next[-1] = 1;
        },
        "memory_pool: buffer underflow");
}

TEST_F(checked_guards_death, a_fault_elsewhere_is_not_reported)
{
    if (MEMORY_POOL_ASAN)
        GTEST_SKIP() << "AddressSanitizer reports it";
    EXPECT_DEATH(
        {
            auto* const block = static_cast<unsigned char*>(np_aligned_alloc(np::guard_bytes, 100'000));
            (void)mprotect(block, np::guard_bytes, PROT_NONE);
            *static_cast<bytes_of_block*>(block) = 1;
        },
        "^$");
}

TEST_F(checked_guards_death, a_large_block_that_moves_to_grow_ends_at_its_guard_too)
{
    EXPECT_DEATH(static_cast<bytes_of_block*>(np_realloc(np_alloc(100), 100'001))[100'016] = 1, "");
    EXPECT_DEATH(
        {
            void* const block = np_alloc(40'000);
            (void)np_alloc(40'000); // in its way
            if (void* const moved = np_realloc(block, 100'001); moved != block)
                static_cast<bytes_of_block*>(moved)[100'016] = 1;
        },
        "");
}

TEST_F(checked_guards_death, no_byte_in_the_page_before_the_first_page_of_a_large_block_can_be_written)
{
    for (const std::size_t bytes : {40'000U, 65'536U, 3'000'000U})
        EXPECT_DEATH(*(some_block(bytes) - np::guard_bytes) = 1, "") << bytes;
    EXPECT_DEATH(*(some_block(65'536) - 1) = 1, "");
}

TEST_F(checked_guards_death, no_byte_before_a_large_block_can_be_written_that_lies_behind_free_memory)
{
    EXPECT_DEATH(
        {
            std::vector<void*> blocks(20);
            for (void*& each : blocks)
                each = std::memset(np_alloc(mebibyte), 1, mebibyte);
            for (void* each : blocks)
                np_free(each);
            auto* const aligned = static_cast<bytes_of_block*>(np_aligned_alloc(8 * mebibyte, 100'000));
            aligned[-1] = 1;
        },
        "");
}

TEST_F(checked_guards_death, no_byte_before_the_first_block_of_a_slab_can_be_written)
{
    for (const std::size_t bytes : {16U, 1000U, 5000U, 30'000U})
        EXPECT_DEATH(
            {
                std::vector<unsigned char*> blocks(100'000 / bytes + 100);
                for (unsigned char*& each : blocks)
                    each = static_cast<unsigned char*>(np_alloc(bytes));
                *(static_cast<bytes_of_block*>(*std::min_element(blocks.begin(), blocks.end())) - 1) = 1;
            },
            "")
            << bytes;
}

TEST_F(checked_guards_death, who_writes_on_behind_a_large_block_that_was_resized_does_not_get_far)
{
    for (const std::size_t bytes : {50'000U, 90'000U, 200'000U, 1'000'000U}) {
        EXPECT_DEATH(
            {
                auto* const resized = static_cast<unsigned char*>(np_realloc(np_alloc(100'000), bytes));
                write_behind(resized, bytes, np::guard_bytes);
            },
            "")
            << bytes;
        auto* const block = static_cast<unsigned char*>(np_realloc(np_alloc(100'000), bytes));
        std::memset(block, 1, bytes);
        np_free(block);
    }
}

void write_behind_block_that_has_room_to_grow(std::size_t bytes)
{
    std::vector<void*> others(100); // so that no room is left between those that are there already
    std::generate(others.begin(), others.end(), [] { return np_alloc(100'000); });
    void* const block = np_alloc(100'000);
    void* const next_to_it = np_alloc(100'000);
    void* const grown = np_realloc(block, bytes); // where there is room, with more than it was asked for
    if (next_to_it != nullptr && grown != block)
        write_behind(static_cast<unsigned char*>(grown), bytes, np::guard_bytes);
}

TEST_F(checked_guards_death, who_writes_on_behind_a_large_block_that_has_room_to_grow_does_not_get_far)
{
    for (const std::size_t bytes : {200'000U, 1'000'000U, 10'000'000U})
        EXPECT_DEATH(write_behind_block_that_has_room_to_grow(bytes), "") << bytes;
}

TEST_F(checked_guards_death, the_guard_behind_a_large_block_is_there_for_the_next_one_of_that_size)
{
    constexpr std::size_t bytes = 100'000;
    void* const before = np_alloc(bytes);
    np_free(before);
    const test::system_calls calls;
    bytes_of_block* const block = some_block(bytes);
    ASSERT_EQ(block, before);
    EXPECT_EQ(calls.made(test::system_call::guard), 0U);
    EXPECT_DEATH(write_behind(block, bytes, np::guard_bytes), "");
    np_free(const_cast<unsigned char*>(block));
}

TEST_F(checked_guards_death, the_guard_at_the_end_of_a_slab_is_there_for_the_next_one_of_that_length)
{
    constexpr std::size_t bytes = 5000;
    constexpr std::size_t of_other_class = 6000;
    // Memory that goes back to the system has no guard: nothing is to go back now, or because most is free.
    const test::option_for_now decay(np_option_decay_ms, NP_DECAY_NEVER);
    void* const more_than_slabs = np_alloc(std::size_t{20} << 20);
    constexpr std::size_t slabs = 40;
    std::vector<void*> blocks(slabs * np::facts[np::sizes::of(bytes)].capacity);
    const auto come_and_go = [&blocks](std::size_t each) {
        std::generate(blocks.begin(), blocks.end(), [each] { return np_alloc(each); });
        std::for_each(blocks.begin(), blocks.end(), np_free);
    };
    come_and_go(bytes);
    const test::system_calls calls;
    come_and_go(bytes);
    EXPECT_LT(calls.made(test::system_call::guard), slabs / 4) << "most are where others were";
    come_and_go(of_other_class);
    EXPECT_DEATH(write_behind(some_block(of_other_class), of_other_class, np::facts[np::sizes::of(bytes)].slab_bytes),
                 "");
    np_free(more_than_slabs);
    EXPECT_EQ(np_verify(), 1);
}

TEST_F(checked_guards_death, the_guard_behind_a_large_block_does_not_stay_where_the_next_one_is_larger_or_smaller)
{
    constexpr std::size_t room = 250'000; // The same run for each.
    void* const before = np_alloc(room);
    np_free(before);
    for (const std::size_t bytes : {room, room - 9000, room - 30'000, room - 4000, room - 40'000, room}) {
        void* const block = np_alloc(bytes);
        ASSERT_EQ(page_of(block), page_of(before));
        std::memset(block, 1, bytes);
        EXPECT_DEATH(write_behind(static_cast<unsigned char*>(block), bytes, np::guard_bytes), "") << bytes;
        void* const resized = np_realloc(block, bytes - 20'000);
        ASSERT_EQ(resized, block);
        EXPECT_DEATH(write_behind(static_cast<unsigned char*>(block), bytes - 20'000, np::guard_bytes), "") << bytes;
        np_free(resized);
    }
    EXPECT_EQ(np_verify(), 1);
}

TEST_F(checked_guards_death, guards_a_block_of_0_bytes)
{
    EXPECT_DEATH(*some_block(0) = 1, "");
    EXPECT_DEATH((void)*some_block(0), "");
    EXPECT_DEATH(*static_cast<bytes_of_block*>(np_realloc(np_alloc(16), 0)) = 1, "");
    EXPECT_DEATH(
        {
            np_free(np_alloc(0));
            *some_block(0) = 1;
        },
        "");
}

TEST_F(checked_guards_death, a_write_into_another_block_of_0_bytes_is_found_when_that_is_freed)
{
    np_heap* const heap = np_heap_create();
    for (void* const nothing : {np_aligned_alloc(32, 0), np_alloc_at(0, "here.cpp", 7), np_heap_alloc(heap, 0)}) {
        EXPECT_DEATH(
            {
                *static_cast<bytes_of_block*>(nothing) = 1;
                np_free(nothing);
            },
            "overflow: .* block size 0 bytes");
        np_free(nothing);
    }
    np_heap_destroy(heap);
}

TEST_F(checked_guards_death, memory_can_be_used_for_something_else_where_guards_were)
{
    std::vector<void*> blocks;
    for (std::size_t bytes = 0; bytes != 200'000; bytes += 1000)
        blocks.push_back(std::memset(np_alloc(bytes), 1, bytes)); // NOLINT(performance-inefficient-vector-operation)
    for (void* each : blocks)
        np_free(each);
    (void)np_trim();
    constexpr std::size_t all = std::size_t{20} << 20;
    np_free(std::memset(np_alloc(all), 1, all));
    EXPECT_EQ(np_verify(), 1);
}

TEST_F(checked_guards_death, memory_can_be_used_where_guards_were_also_when_none_were_wanted_since)
{
    // As if it were in an environment that was not there yet when the first blocks were asked for.
    const auto want_guards = [](std::size_t value) { (void)np::the_options.set(np_option_guard_pages, value); };
    constexpr std::size_t bytes = 110'000;
    std::vector<void*> blocks(20);
    for (void*& block : blocks)
        block = np_alloc(bytes - 10'000);
    want_guards(0);
    for (void* block : blocks)
        np_free(block);
    for (void*& block : blocks)
        block = std::memset(np_alloc(bytes), 1, bytes);
    for (void* block : blocks)
        np_free(block);
    want_guards(1);
}

/// Returns: whether blocks can be used, and are in order, in a process whose system makes no guards.
bool works_without_guards()
{
    const test::system_calls calls;
    test::system_calls::refuse_from(test::system_call::guard, 1);
    for (const std::size_t bytes : {16U, 5000U, 100'000U}) {
        std::vector<void*> blocks(1000);
        for (void*& block : blocks)
            block = std::memset(np_alloc(bytes), 1, bytes);
        for (void* block : blocks)
            np_free(block);
    }
    void* const nothing = np_alloc(0);
    np_free(nothing);
    return np_verify() == 1;
}

TEST_F(checked_guards_death, a_system_that_has_no_guards_is_a_system_without_them)
{
    // In a process of its own: its slabs would have no guards for other tests, either.
    EXPECT_EXIT(std::_Exit(works_without_guards() ? 0 : 1), testing::ExitedWithCode(0), "");
}

/// Finds what is in transit to another thread.
const void* batch_in_transit()
{
    const void* batch = nullptr;
    (void)np::this_thread.cache.heap().slabs.for_each_in_transit([&batch](const void* first) {
        batch = first;
        return false;
    });
    return batch;
}

TEST(checked_batches_death, are_not_followed_when_they_were_written_to)
{
    EXPECT_DEATH(
        {
            const test::nothing_waits nothing_waits;
            test::lasting_thread owner;
            test::lasting_thread other; // A new one: with threads that freed many small blocks of others, those stay.
            other.does([] { np_free(np_alloc(16)); }); // so that it has a heap
            std::vector<void*> blocks(100);
            owner.does([&blocks] {
                for (void*& block : blocks)
                    block = np_alloc(16);
            });
            (void)np_trim();
            void* batch = nullptr;
            for (std::size_t i = 0; batch == nullptr && i != blocks.size(); ++i) { // Now and then, one is sent at once.
                other.does([&] {
                    np_free(blocks[i]);
                    batch = const_cast<void*>(batch_in_transit());
                });
            }
            std::memset(batch, 0x11, 100);
            other.does([] { (void)np_trim(); }); // sends it, and reads what was sent to threads that are idle
        },
        "write after free");
}
} // namespace
