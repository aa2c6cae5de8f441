// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The checked build: guard pages, which end the program at an invalid access.
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
/// The dying child is single-threaded, like its parent.
struct checked_guards_death : testing::Test
{
    const test::option_for_now no_quarantine{np_option_quarantine_bytes, 0};

    void SetUp() override
    {
        if (memory_pool::detail::os::page_size() != np::guard_bytes)
            GTEST_SKIP() << "pages are too large for guards";
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

/// Writes `distance` bytes past the end of a block.
void write_behind(bytes_of_block* block, std::size_t bytes, std::size_t distance)
{
    for (std::size_t i = 0; i != distance; ++i)
        block[bytes + i] = 0x11;
}

TEST_F(checked_guards_death, stop_an_overflow_within_the_slab)
{
    for (const std::size_t bytes : {16U, 48U, 1000U, 5000U, 30'000U})
        EXPECT_DEATH(write_behind(some_block(bytes), bytes, np::slice_bytes * 8), "") << bytes;
}

TEST_F(checked_guards_death, stop_an_overflow_of_a_large_block)
{
    for (const std::size_t bytes : {40'000U, 100'000U, 3'000'000U})
        EXPECT_DEATH(write_behind(some_block(bytes), bytes, np::guard_bytes), "") << bytes;
}

TEST_F(checked_guards_death, cover_a_mebibyte_behind_a_large_block)
{
    for (const std::size_t bytes : {40'000U, 100'000U, 3'000'000U})
        for (const std::size_t distance : {np::guard_bytes, std::size_t{65'536}, std::size_t{999'999}, mebibyte})
            EXPECT_DEATH(some_block(bytes)[bytes + distance] = 1, "") << bytes << ", " << distance;
}

TEST_F(checked_guards_death, begin_as_close_to_a_large_block_as_alignment_allows)
{
    for (const std::size_t bytes : {40'000U, 65'536U, 100'001U, 3'000'016U})
        EXPECT_DEATH(some_block(bytes)[(bytes + 15) / 16 * 16] = 1, "") << bytes;
    EXPECT_DEATH(static_cast<bytes_of_block*>(np_aligned_alloc(512, 100'001))[100'352] = 1, "");
}

TEST_F(checked_guards_death, report_an_access_with_the_block_and_the_call_stack)
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

TEST_F(checked_guards_death, cover_the_end_of_a_run_that_has_grown)
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

TEST_F(checked_guards_death, do_not_report_a_fault_elsewhere)
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

TEST_F(checked_guards_death, follow_a_large_block_that_moves_to_grow)
{
    EXPECT_DEATH(static_cast<bytes_of_block*>(np_realloc(np_alloc(100), 100'001))[100'016] = 1, "");
    EXPECT_DEATH(
        {
            void* const block = np_alloc(40'000);
            (void)np_alloc(40'000); // Keeps the block from growing in place.
            if (void* const moved = np_realloc(block, 100'001); moved != block)
                static_cast<bytes_of_block*>(moved)[100'016] = 1;
        },
        "");
}

TEST_F(checked_guards_death, cover_the_page_before_a_large_block)
{
    for (const std::size_t bytes : {40'000U, 65'536U, 3'000'000U})
        EXPECT_DEATH(*(some_block(bytes) - np::guard_bytes) = 1, "") << bytes;
    EXPECT_DEATH(*(some_block(65'536) - 1) = 1, "");
}

TEST_F(checked_guards_death, precede_a_large_block_behind_free_memory)
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

TEST_F(checked_guards_death, precede_the_first_block_of_a_slab)
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

TEST_F(checked_guards_death, stop_an_overflow_of_a_resized_large_block)
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
    std::vector<void*> others(100); // They fill the gaps between existing blocks.
    std::generate(others.begin(), others.end(), [] { return np_alloc(100'000); });
    void* const block = np_alloc(100'000);
    void* const next_to_it = np_alloc(100'000);
    void* const grown = np_realloc(block, bytes); // Moves the block, and leaves room to grow further.
    if (next_to_it != nullptr && grown != block)
        write_behind(static_cast<unsigned char*>(grown), bytes, np::guard_bytes);
}

TEST_F(checked_guards_death, stop_an_overflow_into_room_to_grow)
{
    for (const std::size_t bytes : {200'000U, 1'000'000U, 10'000'000U})
        EXPECT_DEATH(write_behind_block_that_has_room_to_grow(bytes), "") << bytes;
}

TEST_F(checked_guards_death, are_reused_by_the_next_large_block_of_that_size)
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

TEST_F(checked_guards_death, are_reused_by_the_next_slab_of_that_length)
{
    constexpr std::size_t bytes = 5000;
    constexpr std::size_t of_other_class = 6000;
    // Purged memory loses its guards. Without decay, and with a large block in use, this test purges nothing.
    const test::option_for_now decay(np_option_decay_ms, NP_DECAY_NEVER);
    void* const more_than_slabs = np_alloc(std::size_t{20} << 20);
    constexpr std::size_t slabs = 40;
    std::vector<void*> blocks(slabs * np::class_info[np::sizes::of(bytes)].capacity);
    const auto allocate_and_free = [&blocks](std::size_t each) {
        std::generate(blocks.begin(), blocks.end(), [each] { return np_alloc(each); });
        std::for_each(blocks.begin(), blocks.end(), np_free);
    };
    allocate_and_free(bytes);
    const test::system_calls calls;
    allocate_and_free(bytes);
    EXPECT_LT(calls.made(test::system_call::guard), slabs / 4) << "most new slabs reuse the place of an old one";
    allocate_and_free(of_other_class);
    EXPECT_DEATH(
        write_behind(some_block(of_other_class), of_other_class, np::class_info[np::sizes::of(bytes)].slab_bytes), "");
    np_free(more_than_slabs);
    EXPECT_EQ(np_verify(), 1);
}

TEST_F(checked_guards_death, move_if_the_next_large_block_has_another_size)
{
    constexpr std::size_t room = 250'000; // All blocks use the same run.
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

TEST_F(checked_guards_death, protect_a_block_of_0_bytes)
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

TEST_F(checked_guards_death, leave_other_blocks_of_0_bytes_to_canaries)
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

TEST_F(checked_guards_death, leave_memory_usable_when_removed)
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

TEST_F(checked_guards_death, are_removed_after_guard_pages_was_turned_off)
{
    // As if the environment had set the option after the first allocations.
    const auto set_guard_pages = [](std::size_t value) { (void)np::the_options.set(np_option_guard_pages, value); };
    constexpr std::size_t bytes = 110'000;
    std::vector<void*> blocks(20);
    for (void*& block : blocks)
        block = np_alloc(bytes - 10'000);
    set_guard_pages(0);
    for (void* block : blocks)
        np_free(block);
    for (void*& block : blocks)
        block = std::memset(np_alloc(bytes), 1, bytes);
    for (void* block : blocks)
        np_free(block);
    set_guard_pages(1);
}

/// Returns: whether allocation works, and np_verify succeeds, if the system refuses to make guards.
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

TEST_F(checked_guards_death, may_be_refused_by_the_system)
{
    // Runs in a child process. Otherwise, the slabs would lack guards in other tests, too.
    EXPECT_EXIT(std::_Exit(works_without_guards() ? 0 : 1), testing::ExitedWithCode(0), "");
}

/// Returns: a batch in transit to another thread.
const void* batch_in_transit()
{
    const void* batch = nullptr;
    (void)np::this_thread.cache.heap().slabs.for_each_in_transit([&batch](const void* first) {
        batch = first;
        return false;
    });
    return batch;
}

TEST(checked_batches_death, are_not_followed_after_a_write)
{
    EXPECT_DEATH(
        {
            const test::immediate_reuse no_quarantine;
            test::lasting_thread owner;
            test::lasting_thread other; // A new thread: one with many remote frees caches others' small blocks.
            other.does([] { np_free(np_alloc(16)); }); // Gives the thread a heap.
            std::vector<void*> blocks(100);
            owner.does([&blocks] {
                for (void*& block : blocks)
                    block = np_alloc(16);
            });
            (void)np_trim();
            void* batch = nullptr;
            for (std::size_t i = 0; batch == nullptr && i != blocks.size(); ++i) { // Some blocks are sent immediately.
                other.does([&] {
                    np_free(blocks[i]);
                    batch = const_cast<void*>(batch_in_transit());
                });
            }
            std::memset(batch, 0x11, 100);
            other.does([] { (void)np_trim(); }); // Sends the batch, and drains remote frees to idle threads.
        },
        "write after free");
}
} // namespace
