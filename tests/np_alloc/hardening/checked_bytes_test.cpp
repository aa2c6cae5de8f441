// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The checked build: overflows, underflows and writes after free.
#include <memory_pool/np_alloc.h>

#include <np_alloc/engine/engine.hpp>
#include <np_alloc/hardening/checked_slice.hpp>

#include <support/child.hpp>
#include <support/error_recorder.hpp>
#include <support/np_blocks.hpp>
#include <support/np_guards.hpp>
#include <support/option_for_now.hpp>
#include <support/system_calls.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/mman.h>

namespace np = memory_pool::np;

namespace {
using memory_pool::error_kind;

constexpr std::array<std::size_t, 8> sizes_of_all_kinds{1, 16, 48, 1000, 4096, 9216, 100'001, 3'000'001};
constexpr std::array<std::size_t, 6> sizes_in_slabs{16, 48, 1000, 4096, 9216, 30'000};

/// Disables the quarantine and the random order, so that np_alloc reuses free blocks soon.
struct checked_writes : testing::Test
{
    const test::option_for_now no_quarantine{np_option_quarantine_bytes, 0};
    const test::option_for_now in_order{np_option_random_order, 0};
    test::error_recorder recorder;

    ~checked_writes() override { EXPECT_EQ(np_verify(), 1); }
};

unsigned char* some_block(std::size_t bytes)
{
    return static_cast<unsigned char*>(np_alloc(bytes));
}

/// Changes `by` bytes past the end of a block.
void overflow(unsigned char* block, std::size_t bytes, std::size_t by)
{
    for (std::size_t i = 0; i != by; ++i)
        block[bytes + i] = static_cast<unsigned char>(~block[bytes + i]);
}

TEST_F(checked_writes, past_the_end_are_reported_on_free)
{
    for (const std::size_t bytes : sizes_of_all_kinds) {
        unsigned char* const block = some_block(bytes);
        overflow(block, bytes, 1);
        np_free(block);
        ASSERT_EQ(recorder.kinds(), test::kinds(1, error_kind::buffer_overflow)) << bytes;
        EXPECT_EQ(recorder.reports()[0].address, block);
        EXPECT_EQ(recorder.reports()[0].block_size, bytes) << "the requested size, not the size of its class";
        const test::error_recorder next;
    }
}

/// Returns: two adjacent blocks, the lower one first.
std::pair<unsigned char*, unsigned char*> neighbors(std::size_t bytes)
{
    std::vector<unsigned char*> blocks(300);
    for (unsigned char*& each : blocks)
        each = some_block(bytes);
    std::sort(blocks.begin(), blocks.end());
    const std::ptrdiff_t distance = static_cast<std::ptrdiff_t>(test::counted_bytes(bytes));
    const auto lower = std::adjacent_find(blocks.begin(), blocks.end(), [distance](const auto* one, const auto* other) {
        return other - one == distance;
    });
    EXPECT_NE(lower, blocks.end());
    const std::pair found{lower[0], lower[1]};
    for (unsigned char* each : blocks)
        if (each != found.first && each != found.second)
            np_free(each);
    return found;
}

TEST_F(checked_writes, before_a_block_are_reported_on_free)
{
    for (const std::size_t bytes : sizes_in_slabs)
        for (const std::size_t by : {1U, 8U, 13U}) {
            const auto [before, block] = neighbors(bytes);
            overflow(block - by, 0, by);
            const test::error_recorder at_free;
            np_free(block);
            ASSERT_EQ(at_free.kinds().size(), 1U) << bytes << ", " << by;
            if (by == 1) { // A larger change may be reported as an overflow.
                EXPECT_EQ(at_free.reports()[0].kind, error_kind::buffer_underflow);
                EXPECT_EQ(at_free.reports()[0].address, block);
                EXPECT_EQ(at_free.reports()[0].block_size, bytes);
            }
            np_free(before);
        }
}

TEST_F(checked_writes, before_a_block_are_reported_next_to_a_free_block)
{
    for (const std::size_t bytes : sizes_in_slabs) {
        const test::option_for_now with_quarantine{np_option_quarantine_bytes, 1'000'000};
        const auto [before, block] = neighbors(bytes);
        np_free(before);
        block[-8] ^= 0x41U;
        const test::error_recorder at_free;
        np_free(block);
        ASSERT_EQ(at_free.kinds(), test::kinds(1, error_kind::buffer_underflow)) << bytes;
        EXPECT_EQ(at_free.reports()[0].address, block);
    }
}

TEST_F(checked_writes, before_a_block_are_reported_next_to_an_unused_block)
{
    np_heap* const heap = np_heap_create();
    std::array<unsigned char*, 3> blocks{};
    for (unsigned char*& each : blocks)
        each = static_cast<unsigned char*>(np_heap_alloc(heap, 2000));
    for (unsigned char* each : {blocks[1], blocks[2]}) {
        each[-1] ^= 1U;
        np_free(each);
    }
    np_free(blocks[0]);
    EXPECT_EQ(recorder.kinds(), test::kinds(2, error_kind::buffer_underflow));
    np_heap_destroy(heap);
}

TEST_F(checked_writes, from_the_preceding_block_are_reported_as_its_overflow)
{
    for (const std::size_t bytes : sizes_in_slabs) {
        const auto [before, block] = neighbors(bytes);
        overflow(before, bytes, test::counted_bytes(bytes) - bytes);
        const test::error_recorder at_free;
        np_free(block);
        ASSERT_EQ(at_free.kinds(), test::kinds(1, error_kind::buffer_overflow)) << bytes;
        EXPECT_EQ(at_free.reports()[0].address, before);
        EXPECT_EQ(at_free.reports()[0].block_size, bytes);
        np_free(before);
    }
}

TEST_F(checked_writes, before_a_block_are_reported_by_realloc_and_usable_size)
{
    const auto [before, block] = neighbors(1000);
    block[-1] ^= 1U;
    EXPECT_EQ(np_usable_size(block), 1000U);
    EXPECT_EQ(recorder.kinds(), test::kinds(1, error_kind::buffer_underflow));
    block[-1] ^= 1U;
    np_free(np_realloc(block, 5000));
    EXPECT_EQ(recorder.kinds(), test::kinds(2, error_kind::buffer_underflow));
    np_free(before);
}

TEST_F(checked_writes, before_a_large_block_are_reported_on_free)
{
    for (const std::size_t bytes : {std::size_t{40'000}, std::size_t{100'001}, std::size_t{3'000'001}})
        for (const std::size_t by : {1U, 8U, 13U}) {
            unsigned char* const block = some_block(bytes);
            overflow(block - by, 0, by);
            const test::error_recorder at_free;
            np_free(block);
            ASSERT_EQ(at_free.kinds(), test::kinds(1, error_kind::buffer_underflow)) << bytes << ", " << by;
            EXPECT_EQ(at_free.reports()[0].address, block);
            EXPECT_EQ(at_free.reports()[0].block_size, bytes);
        }
}

TEST_F(checked_writes, before_a_large_block_are_reported_by_realloc_and_usable_size)
{
    unsigned char* const block = some_block(100'001);
    block[-1] ^= 1U;
    EXPECT_EQ(np_usable_size(block), 100'001U);
    EXPECT_EQ(recorder.kinds(), test::kinds(1, error_kind::buffer_underflow));
    block[-1] ^= 1U;
    np_free(np_realloc(block, 200'000));
    EXPECT_EQ(recorder.kinds(), test::kinds(2, error_kind::buffer_underflow));
}

/// An error handler that frees the reported block.
void free_reported(const memory_pool::error_report& report)
{
    np_free(const_cast<void*>(report.address));
}

TEST_F(checked_writes, are_not_repaired_after_the_error_handler_frees_the_block)
{
    using operation = void (*)(void*);
    for (const std::size_t bytes : {std::size_t{100'001}, std::size_t{3'000'001}})
        for (const operation use : {operation{[](void* block) { (void)np_usable_size(block); }},
                                    operation{[](void* block) { (void)np_realloc(block, 200'000); }}}) {
            unsigned char* const block = some_block(bytes);
            block[-1] ^= 1U;
            const auto before = memory_pool::set_error_handler(&free_reported);
            use(block);
            (void)memory_pool::set_error_handler(before);
            EXPECT_EQ(np_verify(), 1) << bytes;
        }
}

TEST_F(checked_writes, past_the_end_are_reported_at_every_byte)
{
    unsigned char* const block = some_block(33); // Uses a block of 48 bytes.
    for (std::size_t offset = 33; offset != 48; ++offset) {
        block[offset] ^= 1U;
        EXPECT_EQ(np_usable_size(block), 33U);
        EXPECT_EQ(recorder.reports().size(), offset - 32) << "one report per byte";
    }
    np_free(block);
}

TEST_F(checked_writes, past_the_end_are_reported_once_by_realloc)
{
    for (const std::size_t bytes : sizes_of_all_kinds) {
        const test::error_recorder now;
        unsigned char* const block = some_block(bytes);
        overflow(block, bytes, 1);
        void* const moved = np_realloc(block, 2 * bytes + 100);
        EXPECT_EQ(now.kinds(), test::kinds(1, error_kind::buffer_overflow)) << bytes;
        np_free(moved);
        EXPECT_EQ(now.reports().size(), 1U) << bytes;
    }
}

TEST_F(checked_writes, past_the_end_are_reported_after_a_resize)
{
    for (const std::size_t bytes : sizes_of_all_kinds) {
        for (const std::size_t new_bytes : {bytes + 1, 2 * bytes, bytes / 2 + 1, 5 * bytes}) {
            const test::error_recorder now;
            auto* const block = static_cast<unsigned char*>(np_realloc(some_block(bytes), new_bytes));
            EXPECT_EQ(np_usable_size(block), new_bytes);
            std::memset(block, 7, new_bytes);
            EXPECT_EQ(np_usable_size(block), new_bytes);
            EXPECT_EQ(now.kinds(), test::kinds()) << bytes << " to " << new_bytes;
            const bool has_canary = reinterpret_cast<std::uintptr_t>(block + new_bytes) % 4096 != 0;
            if (has_canary)
                overflow(block, new_bytes, 1);
            np_free(block);
            EXPECT_EQ(now.reports().size(), has_canary ? 1U : 0U) << bytes << " to " << new_bytes;
        }
    }
}

TEST_F(checked_writes, past_aligned_and_heap_blocks_are_reported)
{
    np_heap* const heap = np_heap_create();
    for (void* const block : {np_aligned_alloc(64, 100), np_aligned_alloc(4096, 100), np_calloc(10, 10),
                              np_heap_alloc(heap, 100), np_alloc_at(100, "a.c", 1)}) {
        const test::error_recorder now;
        overflow(static_cast<unsigned char*>(block), 100, 1);
        np_free(block);
        EXPECT_EQ(now.kinds(), test::kinds(1, error_kind::buffer_overflow));
    }
    np_heap_destroy(heap);
}

TEST_F(checked_writes, of_common_values_never_match_the_canary)
{
    unsigned char* const block = some_block(17);
    for (std::size_t offset = 17; offset != 32; ++offset) {
        if (offset == 28) // This byte terminates strings that run into the canary.
            EXPECT_EQ(block[offset], 0);
        else
            EXPECT_TRUE(block[offset] > 1 && block[offset] != np::poison_byte && block[offset] != 0xFF) << offset;
    }
    np_free(block);
}

const np::checked_slice& slab_of(const void* block)
{
    const auto& region = np::registry().pages().region();
    return region.record(region.record_of(block).slab);
}

TEST_F(checked_writes, to_fresh_memory_are_reported_on_allocation)
{
    std::vector<np_heap*> heaps; // All stay alive, so that each heap gets fresh memory.
    for (const std::size_t bytes : {1U, 48U, 1000U, 4096U, 8000U, 20'000U, 32'000U}) {
        np_heap* const heap = heaps.emplace_back(np_heap_create());
        auto* const first = static_cast<unsigned char*>(np_heap_alloc(heap, bytes));
        const np::checked_slice& slab = slab_of(first);
        ASSERT_EQ(np_verify(), 1);
        // A block that is not cached: the last block of the slab, or the last but one.
        std::size_t number = slab.capacity - 1;
        number -= slab.blocks[number].is_in_use() ? 1U : 0U;
        auto* const written = reinterpret_cast<unsigned char*>(slab.begin + number * slab.block_bytes);
        written[3] = 7;
        const test::error_recorder now;
        std::vector<void*> all;
        while (now.reports().empty() && all.size() <= slab.capacity)
            all.push_back(np_heap_alloc(heap, bytes));
        ASSERT_EQ(now.kinds(), test::kinds(1, error_kind::write_after_free)) << bytes;
        EXPECT_EQ(now.reports()[0].address, written);
        EXPECT_NE(now.reports()[0].text.find("far past the end of a block"), std::string::npos);
    }
    std::for_each(heaps.begin(), heaps.end(), np_heap_destroy);
}

/// Effects: allocates one block from a new slab.
/// Returns: the last free block of this slab, which was never allocated.
unsigned char* untouched_block_of(np_heap* heap, std::size_t bytes)
{
    const np::checked_slice& slab = slab_of(np_heap_alloc(heap, bytes));
    const std::size_t number = slab.capacity - (slab.blocks[slab.capacity - 1].is_in_use() ? 2U : 1U);
    return reinterpret_cast<unsigned char*>(slab.begin + number * slab.block_bytes);
}

/// Effects: recycles memory. Allocates blocks of that size in a heap, fills and frees them, and destroys the heap.
/// Returns: the address of one of these blocks.
unsigned char* recycled_block(std::size_t bytes)
{
    np_heap* const heap = np_heap_create();
    std::vector<unsigned char*> blocks;
    for (int i = 0; i != 300; ++i) {
        blocks.push_back(static_cast<unsigned char*>(np_heap_alloc(heap, bytes)));
        std::memset(blocks.back(), 0x5A, bytes);
    }
    std::for_each(blocks.begin(), blocks.end(), np_free);
    np_heap_destroy(heap);
    return blocks[blocks.size() / 2];
}

TEST_F(checked_writes, to_recycled_memory_are_reported_on_allocation)
{
    for (const std::size_t bytes : {48U, 1000U, 4096U, 8000U}) {
        (void)recycled_block(500);
        np_heap* const heap = np_heap_create();
        unsigned char* const written = untouched_block_of(heap, bytes);
        written[3] = 7;
        const test::error_recorder now;
        for (int i = 0; now.reports().empty() && i != 2000; ++i)
            (void)np_heap_alloc(heap, bytes);
        ASSERT_EQ(now.kinds(), test::kinds(1, error_kind::write_after_free)) << bytes;
        EXPECT_EQ(now.reports()[0].address, written);
        np_heap_destroy(heap);
    }
}

TEST_F(checked_writes, to_recycled_memory_are_reported_by_np_verify)
{
    unsigned char* const written = recycled_block(500);
    EXPECT_EQ(np_verify(), 1);
    written[9] ^= 1U;
    EXPECT_EQ(np_verify(), 0);
    written[9] ^= 1U;
}

TEST_F(checked_writes, to_the_last_word_of_fresh_memory_are_reported_on_allocation)
{
    np_heap* const heap = np_heap_create();
    unsigned char* const written = untouched_block_of(heap, 1000);
    written[slab_of(written).block_bytes - 4] = 7; // The last word of the block has no canary yet.
    const test::error_recorder now;
    for (int i = 0; now.reports().empty() && i != 2000; ++i)
        (void)np_heap_alloc(heap, 1000);
    ASSERT_EQ(now.kinds(), test::kinds(1, error_kind::write_after_free));
    EXPECT_EQ(now.reports()[0].address, written);
    np_heap_destroy(heap);
}

TEST_F(checked_writes, after_a_remote_free_are_reported_on_reuse)
{
    for (const std::size_t offset : {16U, 50U, 99U}) {
        unsigned char* const block = some_block(100);
        std::thread([block] { np_free(block); }).join();
        block[offset] ^= 7U;
        const test::error_recorder now;
        std::vector<void*> all;
        while (now.reports().empty() && all.size() != 5000)
            all.push_back(some_block(100));
        ASSERT_EQ(now.kinds(), test::kinds(1, error_kind::write_after_free)) << offset;
        EXPECT_EQ(now.reports()[0].address, block);
        std::for_each(all.begin(), all.end(), np_free);
    }
}

TEST_F(checked_writes, by_the_library_are_not_visible_after_a_remote_free)
{
    std::vector<void*> blocks(10);
    for (void*& each : blocks)
        each = some_block(100);
    std::thread([&blocks] { std::for_each(blocks.begin(), blocks.end(), np_free); }).join();
    std::vector<void*> all;
    for (int i = 0; i != 5000; ++i) {
        all.push_back(some_block(100));
        const auto* const block = static_cast<unsigned char*>(all.back());
        if (std::find(blocks.begin(), blocks.end(), block) != blocks.end()) {
            ASSERT_EQ(std::count(block, block + 64, np::poison_byte), 64);
        }
    }
    std::for_each(all.begin(), all.end(), np_free);
}

TEST_F(checked_writes, to_earlier_blocks_are_not_visible_in_new_ones)
{
    for (const std::size_t held : {100U, 3000U, 8000U, 20'000U, 32'000U}) {
        (void)recycled_block(held);
        for (const std::size_t bytes : {64U, 1000U, 30'000U}) {
            np_heap* const heap = np_heap_create();
            for (int i = 0; i != 100; ++i) {
                const auto* const block = static_cast<unsigned char*>(np_heap_alloc(heap, bytes));
                // Single bytes of the canary may have the value 0x5A.
                ASSERT_EQ(std::search_n(block, block + bytes, 16, 0x5A), block + bytes) << held << ", " << bytes;
            }
            np_heap_destroy(heap);
        }
    }
}

TEST_F(checked_writes, after_free_are_reported_on_reuse)
{
    for (const std::size_t bytes : sizes_in_slabs) {
        for (const std::size_t written : {std::size_t{1}, bytes}) {
            const test::error_recorder now;
            unsigned char* const block = some_block(bytes);
            np_free(block);
            std::memset(block, 0, written);
            unsigned char* const again = some_block(bytes);
            ASSERT_EQ(again, block) << "the block freed last";
            ASSERT_EQ(now.kinds(), test::kinds(1, error_kind::write_after_free)) << bytes;
            EXPECT_EQ(now.reports()[0].address, block);
            np_free(again);
            EXPECT_EQ(now.reports().size(), 1U);
        }
    }
}

TEST_F(checked_writes, after_free_of_a_large_block_are_reported_on_reuse)
{
    for (const std::size_t bytes : {100'000U, 3'000'000U}) {
        const test::error_recorder now;
        const test::no_guards_for_now accessible;
        (void)np_trim(); // Otherwise np_alloc could purge the block and older free memory, which then read as zeros.
        unsigned char* const block = some_block(bytes);
        np_free(block);
        block[bytes / 2] = 0;
        EXPECT_EQ(np_verify(), 0) << bytes;
        unsigned char* const again = some_block(bytes);
        ASSERT_EQ(again, block);
        ASSERT_EQ(now.kinds(), test::kinds(1, error_kind::write_after_free)) << bytes;
        EXPECT_EQ(now.reports()[0].address, block + bytes / 2);
        np_free(again);
    }
}

TEST_F(checked_writes, after_a_remote_free_are_reported_in_the_owner)
{
    np_free(some_block(16)); // A thread without cached blocks of a class sends its first remote frees immediately.
    test::lasting_thread other;
    unsigned char* block = nullptr;
    other.does([&block] { block = some_block(16); });
    np_free(block);
    block[8] = 0;
    (void)np_trim(); // Sends the buffered remote frees.
    other.does([] {
        std::vector<void*> all(5000);
        std::generate(all.begin(), all.end(), [] { return np_alloc(16); });
        std::for_each(all.begin(), all.end(), np_free);
    });
    EXPECT_EQ(recorder.kinds(), test::kinds(1, error_kind::write_after_free));
}

TEST_F(checked_writes, of_the_program_are_overwritten_on_free)
{
    const test::no_guards_for_now accessible;
    for (const std::size_t bytes : {1U, 16U, 48U, 1000U, 4096U, 100'001U, 3'000'001U}) { // Other sizes keep some bytes.
        unsigned char* const block = some_block(bytes);
        std::memset(block, 0x5A, bytes);
        np_free(block);
        ASSERT_EQ(std::count(block, block + bytes, 0x5A), 0) << bytes;
    }
}

/// Creates a heap, fills blocks in it, and destroys it.
void fill_and_destroy_a_heap(std::size_t bytes)
{
    np_heap* const heap = np_heap_create();
    for (int i = 0; i != 3000; ++i)
        std::memset(np_heap_alloc(heap, bytes), 0x5A, bytes);
    np_heap_destroy(heap);
}

/// Expects that new blocks do not show the contents of the destroyed heap.
void expect_no_old_contents(std::size_t bytes)
{
    std::vector<void*> next(6000);
    for (void*& block : next) {
        block = np_alloc(bytes);
        const auto* const begin = static_cast<const unsigned char*>(block);
        ASSERT_LT(std::count(begin, begin + bytes, 0x5A), 8); // A byte of an address may have the value 0x5A.
    }
    std::for_each(next.begin(), next.end(), np_free);
}

TEST_F(checked_writes, to_a_destroyed_heap_are_not_visible_later)
{
    fill_and_destroy_a_heap(48);
    expect_no_old_contents(48);
}

TEST_F(checked_writes, to_a_destroyed_heap_are_not_visible_if_memory_is_locked)
{
    {
        const test::system_calls calls;
        calls.refuse_from(test::system_call::advise, 1);
        fill_and_destroy_a_heap(48);
    }
    expect_no_old_contents(48);
}

TEST_F(checked_writes, to_a_shrunk_block_are_not_visible_later)
{
    auto* const block = some_block(1'000'000);
    std::memset(block, 0x5A, 1'000'000);
    ASSERT_EQ(np_realloc(block, 100'000), block);
    unsigned char* const next = some_block(800'000);
    EXPECT_EQ(std::count(next, next + 800'000, 0x5A), 0);
    np_free(next);
    np_free(block);
}

TEST_F(checked_writes, past_a_shrunk_block_are_reported_by_np_verify)
{
    const test::no_guards_for_now accessible;
    auto* const block = some_block(9'000'000);
    ASSERT_EQ(np_realloc(block, 100'000), block);
    unsigned char& beyond_its_guard = block[5'000'000];
    const unsigned char before = std::exchange(beyond_its_guard, static_cast<unsigned char>(0x5A));
    EXPECT_EQ(np_verify(), 0);
    beyond_its_guard = before;
    EXPECT_EQ(np_verify(), 1);
    np_free(block);
}

TEST_F(checked_writes, are_reported_by_np_verify)
{
    const test::no_guards_for_now accessible;
    for (const std::size_t bytes : {std::size_t{40}, std::size_t{100'000}}) {
        unsigned char* const block = some_block(bytes);
        const unsigned char before = std::exchange(block[bytes], static_cast<unsigned char>(0));
        EXPECT_EQ(np_verify(), 0) << bytes;
        block[bytes] = before;
        EXPECT_EQ(np_verify(), 1);
        np_free(block);
        const unsigned char poison = std::exchange(block[3], static_cast<unsigned char>(0));
        EXPECT_EQ(np_verify(), 0) << bytes;
        block[3] = poison;
    }
}

TEST_F(checked_writes, before_a_large_block_are_reported_by_np_verify)
{
    unsigned char* const block = some_block(100'001);
    block[-1] ^= 1U;
    EXPECT_EQ(np_verify(), 0);
    block[-1] ^= 1U;
    EXPECT_EQ(np_verify(), 1);
    np_free(block);
}

#if TESTS_MAY_FORK
TEST_F(checked_writes, of_lost_threads_are_ignored_in_the_child_of_a_fork)
{
    test::lasting_thread other;
    unsigned char* block = nullptr;
    other.does([&block] { block = some_block(40); });
    const unsigned char before = block[40];
    block[40] = 0; // Imitates a thread in the middle of a call.
    EXPECT_EQ(np_verify(), 0);
    test::expect_in_child([] { return np_verify() == 1; });
    block[40] = before;
    np_free(block);
}

TEST_F(checked_writes, to_free_runs_are_reported_in_the_child_of_a_fork)
{
    const test::lasting_thread other;
    const test::no_guards_for_now accessible;
    unsigned char* const block = some_block(100'000);
    np_free(block);
    const unsigned char before = std::exchange(block[3], static_cast<unsigned char>(0));
    test::expect_in_child([] { return np_verify() == 0; });
    block[3] = before;
}

#if __has_include(<sys/single_threaded.h>)
/// The exiting child is single-threaded, like its parent.
struct checked_end_death : testing::Test
{
    const test::option_for_now no_quarantine{np_option_quarantine_bytes, 0};
};

TEST_F(checked_end_death, reports_a_write_after_free)
{
    const test::no_guards_for_now accessible;
    for (const std::size_t bytes : {std::size_t{40}, std::size_t{5000}, std::size_t{100'000}, std::size_t{1'000'000}})
        EXPECT_DEATH(
            {
                unsigned char* const block = some_block(bytes);
                np_free(block);
                block[3] = 0;
                std::exit(0);
            },
            "memory_pool: write after free: address 0x[0-9a-f]+, block size (" + std::to_string(bytes) + "|0) bytes")
            << bytes;
}

TEST_F(checked_end_death, reports_a_write_to_a_quarantined_block)
{
    const test::no_guards_for_now accessible;
    const test::option_for_now large_quarantine{np_option_quarantine_bytes, 65'536};
    for (const std::size_t bytes : {std::size_t{40}, std::size_t{5000}, std::size_t{100'000}})
        EXPECT_DEATH(
            {
                unsigned char* const block = some_block(bytes);
                np_free(block);
                block[3] = 0;
                std::exit(0);
            },
            "memory_pool: write after free: address")
            << bytes;
}

TEST_F(checked_end_death, reports_an_overflow_of_a_block_in_use)
{
    for (const std::size_t bytes : sizes_in_slabs)
        EXPECT_DEATH(
            {
                unsigned char* const block = some_block(bytes);
                overflow(block, bytes, 1);
                std::exit(0);
            },
            "memory_pool: buffer overflow: address 0x[0-9a-f]+, block size " + std::to_string(bytes) + " bytes")
            << bytes;
}

TEST_F(checked_end_death, does_not_access_protected_blocks)
{
    const auto end = [](std::size_t bytes) {
        void* const block = np_aligned_alloc(4096, bytes);
        std::exit(mprotect(block, bytes, PROT_NONE));
    };
    for (const std::size_t bytes : {5000U, 100'000U})
        EXPECT_EXIT(end(bytes), testing::ExitedWithCode(0), "^$") << bytes;
}

/// Exits without corruption, while another thread allocates and frees.
void exit_while_another_thread_runs()
{
    std::thread([] {
        for (std::size_t i = 0;; ++i)
            np_free(std::memset(np_alloc(i % 5000), 1, i % 5000));
    }).detach();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::exit(0);
}

TEST_F(checked_end_death, reports_nothing_while_another_thread_allocates)
{
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    for (int i = 0; i != 5; ++i)
        EXPECT_EXIT(exit_while_another_thread_runs(), testing::ExitedWithCode(0), "^$");
}

TEST_F(checked_end_death, skips_verification_if_verify_at_end_is_off)
{
    const auto end = [] {
        (void)np_option_set(np_option_verify_at_end, 0);
        unsigned char* const block = some_block(40);
        np_free(block);
        block[3] = 0;
        std::exit(0);
    };
    EXPECT_EXIT(end(), testing::ExitedWithCode(0), "^$");
}

void overflow_in_child()
{
    unsigned char* const block = some_block(40);
    const pid_t child = fork();
    if (child == 0) {
        const bool was_intact = np_verify() == 1;
        overflow(block, 40, 1);
        _exit(was_intact && np_verify() == 0 ? 0 : 1);
    }
    int status = 0;
    std::exit(waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 2);
}

TEST(checked_writes_death_test, are_reported_in_the_child_of_a_single_threaded_process)
{
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(overflow_in_child(), testing::ExitedWithCode(0), "np_verify");
}
#endif
#endif
} // namespace
