// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// What memory holds when it is allocated again, moved or given back to the system, by the interface alone.
#include <memory_pool/np_alloc.h>

#include <support/emulation.hpp>
#include <support/many_blocks.hpp>
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

/// Sizes of every kind, up to what has a mapping of its own anywhere.
std::vector<std::size_t> sizes_to_zero()
{
    std::vector<std::size_t> sizes(test::sizes_of_all_kinds.begin(), test::sizes_of_all_kinds.end());
    sizes.insert(sizes.end(), {mebibyte + 5, test::under_a_sanitizer ? 3 * mebibyte : 40 * mebibyte});
    return sizes;
}

/// Several blocks full of what is not zero.
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

TEST(np_memory, is_zero_from_calloc_when_it_was_used_before)
{
    for (std::size_t bytes : sizes_to_zero()) {
        const std::vector<unsigned char*> blocks = dirty_blocks(bytes);
        std::for_each(blocks.begin(), blocks.end(), np_free);
        expect_zeros(bytes);
    }
}

TEST(np_memory, is_zero_from_calloc_when_it_was_given_back_to_the_system)
{
    for (std::size_t bytes : sizes_to_zero()) {
        const std::vector<unsigned char*> blocks = dirty_blocks(bytes);
        std::for_each(blocks.begin(), blocks.end(), np_free);
        (void)np_trim();
        expect_zeros(bytes);
        (void)np_trim(); // what is zero again
        expect_zeros(bytes);
    }
}

TEST(np_memory, is_zero_from_calloc_when_others_have_freed_it)
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

TEST(np_memory, is_zero_from_calloc_where_blocks_were_that_grew_and_shrank)
{
    for (std::size_t bytes : sizes_to_zero()) {
        for (std::size_t becomes : {2 * bytes, bytes / 3 + 1, bytes + 64 * kibibyte}) {
            std::vector<unsigned char*> blocks = dirty_blocks(bytes);
            for (unsigned char*& block : blocks) {
                block = static_cast<unsigned char*>(np_realloc(block, becomes));
                std::memset(block, 0xFF, becomes);
            }
            // What was cut off, and then the rest.
            expect_zeros(bytes > becomes ? bytes - becomes : bytes);
            std::for_each(blocks.begin(), blocks.end(), np_free);
            expect_zeros(becomes);
            expect_zeros(bytes);
        }
    }
}

TEST(np_memory, is_zero_from_calloc_where_a_block_was_that_became_a_little_smaller)
{
    (void)np_trim(); // so that no memory beside it has to be filled with zeros anyway
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

TEST(np_memory, is_kept_when_a_block_grows_and_shrinks_by_half_and_by_little)
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

TEST(np_memory, is_kept_when_a_block_grows_beside_another_that_grows)
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

TEST(np_memory, is_kept_when_a_block_changes_its_size_in_another_thread_each_time)
{
    numbered_block block(100);
    std::mt19937 random(4); // NOLINT: the same in each run
    for (int i = 0; i != 50; ++i)
        test::in_a_thread([&] { block.resize(1 + random() % (i % 3 == 0 ? 2 * mebibyte : 20'000)); });
}

#if TESTS_MAY_ASK_FOR_RESIDENT_MEMORY
test::np_resource np;

/// Returns: what is in memory without what is free.
std::size_t resident_bytes_in_use()
{
    (void)np_trim();
    return test::resident_bytes();
}

/// Lets time pass, in which the program does what programs do, until no more than that is in memory; but not for ever.
/// Returns: how much is then.
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

TEST(np_memory, goes_back_to_the_system_a_while_after_it_was_freed)
{
    for (int round = 0; round != 2; ++round) {
        const std::size_t before = resident_bytes_in_use();
        std::size_t most = 0;
        {
            const test::many_blocks all(bytes_to_fill);
            most = test::resident_bytes() - before;
        }
        EXPECT_GE(most, bytes_to_fill);
        EXPECT_LE(wait_for_resident_bytes(before + most / 20), before + most / 20);
    }
    expect_zeros(30'000);
}

void expect_memory_of_threads_that_end_goes_back()
{
    constexpr std::size_t threads = 4;
    const std::size_t before = resident_bytes_in_use();
    std::atomic<std::size_t> most{0};
    test::in_threads(threads, [&](std::size_t) {
        const test::many_blocks all(bytes_to_fill / threads);
        most = std::max(most.load(), test::resident_bytes());
    });
    EXPECT_GE(most, before + bytes_to_fill / threads);
    const std::size_t in_quarantine = test::blocks_are_checked() ? 64 * mebibyte : 0; // And under guards.
    const std::size_t enough = before + bytes_to_fill / 20 + in_quarantine;
    EXPECT_LE(wait_for_resident_bytes(enough), enough);
}

TEST(np_memory, goes_back_to_the_system_a_while_after_the_threads_have_ended_that_used_it)
{
    expect_memory_of_threads_that_end_goes_back();
}

TEST(np_memory, goes_back_to_the_system_as_soon_where_many_heaps_are_maintained)
{
    test::in_threads_at_the_same_time(100, [] { np_free(np_alloc(1)); });
    expect_memory_of_threads_that_end_goes_back();
}

TEST(np_memory, of_what_threads_had_cached_goes_back_to_the_system_when_they_have_ended)
{
    if (test::system_is_emulated())
        GTEST_SKIP() << "the memory of the emulator counts";
    constexpr std::size_t threads = 100;
    constexpr std::size_t most_of_each = 128 * kibibyte;
    const std::size_t before = resident_bytes_in_use();
    test::in_threads_at_the_same_time(threads, [] {
        for (std::size_t bytes = 16; bytes <= kibibyte; bytes += 16)
            np_free(np_alloc(bytes));
    });
    EXPECT_LE(resident_bytes_in_use(), before + threads * most_of_each);
}

#if defined(__linux__)
TEST(np_memory, of_a_block_that_is_aligned_to_a_page_may_be_inaccessible_when_it_is_freed)
{
    if (test::blocks_are_checked())
        GTEST_SKIP() << "where blocks are checked, free ones are filled";
    constexpr std::size_t pages = 64 * kibibyte; // Of any system.
    for (int i = 0; i != 10; ++i) {
        auto* const block = static_cast<std::byte*>(np_aligned_alloc(pages, 8 * mebibyte));
        ASSERT_EQ(mprotect(block + pages, 7 * mebibyte, PROT_NONE), 0);
        np_free(block);
        ASSERT_EQ(mprotect(block + pages, 7 * mebibyte, PROT_READ | PROT_WRITE), 0); // Others get it.
    }
}
#endif

TEST(np_memory, goes_back_to_the_system_at_once_if_that_is_asked_for)
{
    const std::size_t before = resident_bytes_in_use();
    std::size_t most = 0;
    {
        const test::many_blocks all(bytes_to_fill);
        most = test::resident_bytes() - before;
    }
    (void)np_trim();
    EXPECT_LE(test::resident_bytes(), before + most / 20);
    const test::many_blocks again(bytes_to_fill / 8);
}

TEST(np_memory, is_not_brought_for_what_of_a_zeroed_block_had_none)
{
    if (np_option_get(np_option_poison) != 0)
        GTEST_SKIP() << "where blocks are checked, the bytes of free ones are known";
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

TEST(np_memory, of_pages_between_blocks_in_use_goes_back_to_the_system_if_that_is_asked_for)
{
    const std::size_t before = resident_bytes_in_use();
    std::vector<void*> blocks(64 * kibibyte);
    for (void*& block : blocks)
        block = std::memset(np_alloc(kibibyte), 1, kibibyte);
    const std::size_t most = test::resident_bytes() - before;
    for (std::size_t i = 0; i != blocks.size(); ++i)
        if (i % 64 != 0)
            np_free(blocks[i]);
    (void)np_trim();
    EXPECT_LE(test::resident_bytes(), before + most / 5);
    for (std::size_t i = 0; i < blocks.size(); i += 64) {
        EXPECT_EQ(*static_cast<unsigned char*>(blocks[i]), 1);
        np_free(blocks[i]);
    }
    expect_zeros(30'000);
}

TEST(np_memory, of_large_blocks_goes_back_to_the_system_a_while_after_they_were_freed)
{
    constexpr std::size_t bytes = 8 * mebibyte;
    const std::size_t before = resident_bytes_in_use();
    for (int round = 0; round != 2; ++round) {
        std::vector<void*> blocks(16);
        for (void*& block : blocks)
            block = std::memset(np_alloc(bytes), 1, bytes);
        std::for_each(blocks.begin(), blocks.end(), np_free);
        // In the checked build, some memory is under guards, and some in quarantine.
        const std::size_t some = blocks.size() * bytes / (test::blocks_are_checked() ? 2 : 20);
        EXPECT_LE(wait_for_resident_bytes(before + some), before + some);
    }
}
#endif
} // namespace
