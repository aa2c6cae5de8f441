// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The contents of memory that is reused, moved or returned to the system. Uses the public interface only.
#include <memory_pool/np_alloc.h>

#include <support/block_batch.hpp>
#include <support/emulation.hpp>
#include <support/np_blocks.hpp>
#include <support/resident_memory.hpp>
#include <support/sanitizers.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace {
constexpr std::size_t kibibyte = 1024;
constexpr std::size_t mebibyte = 1024 * kibibyte;

bool is_zero(const unsigned char* block, std::size_t bytes)
{
    return std::all_of(block, block + bytes, [](unsigned char each) { return each == 0; });
}

/// Sizes of every kind, up to blocks for which any malloc creates separate mappings.
std::vector<std::size_t> sizes_to_zero()
{
    std::vector<std::size_t> sizes(test::sizes_of_all_kinds.begin(), test::sizes_of_all_kinds.end());
    sizes.insert(sizes.end(), {mebibyte + 5, test::under_a_sanitizer ? 3 * mebibyte : 40 * mebibyte});
    return sizes;
}

/// Several blocks filled with bytes that are not zero.
std::vector<unsigned char*> dirty_blocks(std::size_t bytes)
{
    std::vector<unsigned char*> blocks(bytes < mebibyte ? 10 : 2);
    for (unsigned char*& block : blocks)
        block = static_cast<unsigned char*>(std::memset(np_alloc(bytes), 0xFF, bytes));
    return blocks;
}

void expect_zeros(std::size_t bytes)
{
    std::vector<unsigned char*> blocks(bytes < mebibyte ? 10 : 2);
    for (unsigned char*& block : blocks) {
        block = static_cast<unsigned char*>(np_calloc(bytes, 1));
        EXPECT_TRUE(is_zero(block, bytes)) << bytes;
    }
    std::for_each(blocks.begin(), blocks.end(), np_free);
}

TEST(np_memory, is_zeroed_by_calloc_after_reuse)
{
    for (std::size_t bytes : sizes_to_zero()) {
        const std::vector<unsigned char*> blocks = dirty_blocks(bytes);
        std::for_each(blocks.begin(), blocks.end(), np_free);
        expect_zeros(bytes);
    }
}

TEST(np_memory, is_zeroed_by_calloc_after_it_was_returned_to_the_system)
{
    for (std::size_t bytes : sizes_to_zero()) {
        const std::vector<unsigned char*> blocks = dirty_blocks(bytes);
        std::for_each(blocks.begin(), blocks.end(), np_free);
        (void)np_trim();
        expect_zeros(bytes);
        (void)np_trim(); // From here on, the memory is zero.
        expect_zeros(bytes);
    }
}

TEST(np_memory, is_zeroed_by_calloc_after_a_remote_free)
{
    for (std::size_t bytes : sizes_to_zero()) {
        const std::vector<unsigned char*> blocks = dirty_blocks(bytes);
        test::in_a_thread([&] {
            std::for_each(blocks.begin(), blocks.end(), np_free);
            expect_zeros(bytes);
        });
        expect_zeros(bytes);
    }
}

TEST(np_memory, is_zeroed_by_calloc_after_blocks_were_resized)
{
    for (std::size_t bytes : sizes_to_zero()) {
        for (std::size_t becomes : {2 * bytes, bytes / 3 + 1, bytes + 64 * kibibyte}) {
            std::vector<unsigned char*> blocks = dirty_blocks(bytes);
            for (unsigned char*& block : blocks) {
                block = static_cast<unsigned char*>(np_realloc(block, becomes));
                std::memset(block, 0xFF, becomes);
            }
            // First the memory that realloc cut off, then all memory.
            expect_zeros(bytes > becomes ? bytes - becomes : bytes);
            std::for_each(blocks.begin(), blocks.end(), np_free);
            expect_zeros(becomes);
            expect_zeros(bytes);
        }
    }
}

TEST(np_memory, is_zeroed_by_calloc_after_a_block_shrank_a_little)
{
    (void)np_trim(); // Otherwise calloc may have to zero adjacent memory anyway.
    for (std::size_t bytes : sizes_to_zero()) {
        np_free(np_realloc(np_alloc(bytes), bytes - bytes / 8));
        expect_zeros(bytes);
    }
}

/// A block with a number on each page, and at its end.
class numbered_block
{
public:
    explicit numbered_block(std::size_t bytes) : bytes_(bytes), begin_(static_cast<unsigned char*>(np_alloc(bytes)))
    {
        number();
    }
    numbered_block(const numbered_block&) = delete;
    numbered_block& operator=(const numbered_block&) = delete;
    ~numbered_block() { np_free(begin_); }

    void resize(std::size_t bytes)
    {
        auto* const moved = static_cast<unsigned char*>(np_realloc(begin_, bytes));
        ASSERT_NE(moved, nullptr) << bytes_ << " to " << bytes;
        begin_ = moved;
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(begin_) % 16, 0U);
        ASSERT_GE(np_usable_size(begin_), bytes);
        for (std::size_t offset = 0; offset + sizeof offset <= std::min(bytes, bytes_); offset += step) {
            std::size_t found = 0;
            std::memcpy(&found, begin_ + offset, sizeof found);
            ASSERT_EQ(found, offset) << bytes_ << " to " << bytes;
        }
        ASSERT_TRUE(bytes < bytes_ || begin_[bytes_ - 1] == last) << bytes_ << " to " << bytes;
        bytes_ = bytes;
        number();
    }

private:
    static constexpr std::size_t step = 4096;
    static constexpr unsigned char last = 77;

    void number()
    {
        for (std::size_t offset = 0; offset + sizeof offset <= bytes_; offset += step)
            std::memcpy(begin_ + offset, &offset, sizeof offset);
        begin_[bytes_ - 1] = last;
    }

    std::size_t bytes_;
    unsigned char* begin_;
};

constexpr std::size_t largest_to_move = test::under_a_sanitizer ? 32 * mebibyte : 256 * mebibyte;

TEST(np_memory, keeps_its_contents_when_a_block_grows_and_shrinks)
{
    numbered_block block(4 * kibibyte);
    for (std::size_t bytes = 4 * kibibyte; bytes <= largest_to_move; bytes += bytes / 2) {
        block.resize(bytes);
        block.resize(bytes + 1);
        block.resize(bytes - 1);
        block.resize(bytes + 100);
        if (HasFatalFailure())
            return;
    }
    for (std::size_t bytes = largest_to_move; bytes >= kibibyte; bytes -= bytes / 3) {
        block.resize(bytes);
        block.resize(bytes - 100);
        if (HasFatalFailure())
            return;
    }
}

TEST(np_memory, keeps_its_contents_when_two_blocks_grow_in_turn)
{
    numbered_block one(4 * kibibyte);
    numbered_block other(4 * kibibyte);
    for (std::size_t bytes = 8 * kibibyte; bytes <= largest_to_move / 4; bytes = bytes * 5 / 4) {
        one.resize(bytes);
        other.resize(bytes / 2);
        if (HasFatalFailure())
            return;
    }
}

TEST(np_memory, keeps_its_contents_when_several_threads_resize_a_block)
{
    numbered_block block(100);
    std::mt19937 random(4); // NOLINT: deterministic
    for (int i = 0; i != 50; ++i)
        test::in_a_thread([&] { block.resize(1 + random() % (i % 3 == 0 ? 2 * mebibyte : 20'000)); });
}

#if TESTS_MAY_ASK_FOR_RESIDENT_MEMORY
test::np_resource np;

/// Returns: the resident bytes without free memory.
std::size_t resident_bytes_in_use()
{
    (void)np_trim();
    return test::resident_bytes();
}

/// Allocates and frees blocks until no more than `enough` bytes are resident, for at most 10 seconds.
/// Returns: the resident bytes.
std::size_t wait_for_resident_bytes(std::size_t enough)
{
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (test::resident_bytes() > enough && std::chrono::steady_clock::now() < end) {
        for (std::size_t bytes : test::sizes_of_all_kinds)
            test::give_back(np, test::allocate_filled(np, bytes));
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return test::resident_bytes();
}

constexpr std::size_t bytes_to_fill = 256 * mebibyte;

TEST(np_memory, goes_back_to_the_system_after_the_decay_time)
{
    for (int round = 0; round != 2; ++round) {
        const std::size_t before = resident_bytes_in_use();
        std::size_t peak = 0;
        {
            const test::block_batch all(bytes_to_fill);
            peak = test::resident_bytes() - before;
        }
        EXPECT_GE(peak, bytes_to_fill);
        EXPECT_LE(wait_for_resident_bytes(before + peak / 20), before + peak / 20);
    }
    expect_zeros(30'000);
}

void expect_memory_of_threads_that_end_goes_back()
{
    constexpr std::size_t threads = 4;
    const std::size_t before = resident_bytes_in_use();
    std::atomic<std::size_t> peak{0};
    test::in_threads(threads, [&](std::size_t) {
        const test::block_batch all(bytes_to_fill / threads);
        peak = std::max(peak.load(), test::resident_bytes());
    });
    EXPECT_GE(peak, before + bytes_to_fill / threads);
    const std::size_t in_quarantine = test::blocks_are_checked() ? 64 * mebibyte : 0; // Includes guard pages.
    const std::size_t enough = before + bytes_to_fill / 20 + in_quarantine;
    EXPECT_LE(wait_for_resident_bytes(enough), enough);
}

TEST(np_memory, goes_back_to_the_system_after_its_threads_have_ended)
{
    expect_memory_of_threads_that_end_goes_back();
}

TEST(np_memory, goes_back_to_the_system_no_later_with_many_heaps)
{
    test::in_threads_at_the_same_time(100, [] { np_free(np_alloc(1)); });
    expect_memory_of_threads_that_end_goes_back();
}

TEST(np_memory, goes_back_to_the_system_from_the_caches_of_ended_threads)
{
    if (test::system_is_emulated())
        GTEST_SKIP() << "resident memory includes the emulator";
    constexpr std::size_t threads = 100;
    constexpr std::size_t max_bytes_per_thread = 128 * kibibyte;
    const std::size_t before = resident_bytes_in_use();
    test::in_threads_at_the_same_time(threads, [] {
        for (std::size_t bytes = 16; bytes <= kibibyte; bytes += 16)
            np_free(np_alloc(bytes));
    });
    EXPECT_LE(resident_bytes_in_use(), before + threads * max_bytes_per_thread);
}

#if defined(__linux__)
TEST(np_memory, may_be_inaccessible_when_it_is_freed)
{
    if (test::blocks_are_checked())
        GTEST_SKIP() << "the checked build fills free blocks";
    constexpr std::size_t pages = 64 * kibibyte; // A multiple of any page size.
    for (int i = 0; i != 10; ++i) {
        auto* const block = static_cast<std::byte*>(np_aligned_alloc(pages, 8 * mebibyte));
        ASSERT_EQ(mprotect(block + pages, 7 * mebibyte, PROT_NONE), 0);
        np_free(block);
        ASSERT_EQ(mprotect(block + pages, 7 * mebibyte, PROT_READ | PROT_WRITE), 0); // Later blocks reuse the memory.
    }
}
#endif

TEST(np_memory, goes_back_to_the_system_on_trim)
{
    const std::size_t before = resident_bytes_in_use();
    std::size_t peak = 0;
    {
        const test::block_batch all(bytes_to_fill);
        peak = test::resident_bytes() - before;
    }
    (void)np_trim();
    EXPECT_LE(test::resident_bytes(), before + peak / 20);
    const test::block_batch again(bytes_to_fill / 8);
}

TEST(np_memory, stays_untouched_in_a_large_zeroed_block)
{
    if (np_option_get(np_option_poison) != 0)
        GTEST_SKIP() << "the checked build fills free blocks";
    constexpr std::size_t bytes = 64 * mebibyte;
    (void)np_trim();
    std::size_t fresh = 0;
    for (int round = 0; round != 3; ++round) {
        auto* const block = static_cast<unsigned char*>(np_calloc(bytes, 1));
        for (std::size_t offset = 0; offset < bytes; offset += mebibyte)
            EXPECT_EQ(std::exchange(block[offset], static_cast<unsigned char>(1)), 0);
        fresh = round == 0 ? test::resident_bytes() : fresh;
        EXPECT_LE(test::resident_bytes(), fresh + bytes / 8) << round;
        np_free(block);
    }
}

TEST(np_memory, goes_back_to_the_system_on_trim_between_blocks_in_use)
{
    const std::size_t before = resident_bytes_in_use();
    std::vector<void*> blocks(64 * kibibyte);
    for (void*& block : blocks)
        block = std::memset(np_alloc(kibibyte), 1, kibibyte);
    const std::size_t peak = test::resident_bytes() - before;
    for (std::size_t i = 0; i != blocks.size(); ++i)
        if (i % 64 != 0)
            np_free(blocks[i]);
    (void)np_trim();
    EXPECT_LE(test::resident_bytes(), before + peak / 5);
    for (std::size_t i = 0; i < blocks.size(); i += 64) {
        EXPECT_EQ(*static_cast<unsigned char*>(blocks[i]), 1);
        np_free(blocks[i]);
    }
    expect_zeros(30'000);
}

TEST(np_memory, of_large_blocks_goes_back_to_the_system_after_the_decay_time)
{
    constexpr std::size_t bytes = 8 * mebibyte;
    const std::size_t before = resident_bytes_in_use();
    for (int round = 0; round != 2; ++round) {
        std::vector<void*> blocks(16);
        for (void*& block : blocks)
            block = std::memset(np_alloc(bytes), 1, bytes);
        std::for_each(blocks.begin(), blocks.end(), np_free);
        // In the checked build, some memory is in guard pages, and some in quarantine.
        const std::size_t some = blocks.size() * bytes / (test::blocks_are_checked() ? 2 : 20);
        EXPECT_LE(wait_for_resident_bytes(before + some), before + some);
    }
}
#endif
} // namespace
