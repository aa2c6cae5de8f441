// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The checked build: samples are verified like other blocks. sampled_blocks_test.cpp tests faults at their guards.
#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>

#include <support/error_recorder.hpp>
#include <support/np_samples.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace {
using memory_pool::error_kind;
using test::sample;

TEST(checked_samples, have_exactly_the_requested_size)
{
    for (const std::size_t bytes : {1U, 15U, 16U, 60U, 1000U, 5000U, 32'760U}) {
        unsigned char* const block = sample(bytes);
        EXPECT_EQ(np_usable_size(block), bytes);
        std::memset(block, 1, bytes);
        np_free_sized(block, bytes);
    }
}

TEST(checked_samples, report_an_overflow_on_free)
{
    const test::error_recorder recorder;
    for (const std::size_t bytes : {1U, 60U, 5000U}) {
        unsigned char* const block = sample(bytes);
        block[bytes] = static_cast<unsigned char>(~block[bytes]);
        np_free(block);
        ASSERT_EQ(recorder.kinds(), test::kinds{error_kind::buffer_overflow}) << bytes;
        EXPECT_EQ(recorder.reports()[0].address, block);
        const test::error_recorder anew;
    }
    EXPECT_EQ(np_verify(), 1);
}

TEST(checked_samples, report_an_overflow_once_in_usable_size)
{
    const test::error_recorder recorder;
    unsigned char* const block = sample(60);
    block[61] = static_cast<unsigned char>(~block[61]);
    EXPECT_EQ(np_usable_size(block), 60U);
    EXPECT_EQ(recorder.kinds(), test::kinds{error_kind::buffer_overflow});
    np_free(block);
    EXPECT_EQ(recorder.kinds(), test::kinds{error_kind::buffer_overflow}) << "once";
}

TEST(checked_samples, report_a_size_mismatch)
{
    const test::error_recorder recorder;
    np_free_sized(sample(60), 61);
    EXPECT_EQ(recorder.kinds(), test::kinds{error_kind::size_mismatch});
}

TEST(checked_samples, report_a_mismatched_deallocation)
{
    const test::error_recorder recorder;
    memory_pool::np::free_block(sample(60), memory_pool::np::freed_by::delete_array);
    EXPECT_EQ(recorder.kinds(), test::kinds{error_kind::mismatched_deallocation});
    EXPECT_EQ(np_verify(), 1);
}

/// Uses up the region, so that blocks of 0 bytes are like other blocks.
[[noreturn]] void free_empty_samples()
{
    const test::error_recorder recorder;
    bool is_right = np_option_set(np_option_region_bytes, std::size_t{16} << 20) == 0;
    np_free(np_alloc(1));
    memory_pool::np::page_heap& memory = memory_pool::np::registry().pages();
    while (memory.source().take_bytes(1, 1).first != memory_pool::np::no_slice) {
    }
    void* const one = sample(0);
    void* const other = sample(0);
    is_right = is_right && one != nullptr && other != nullptr;
    np_free_sized(one, 0);
    np_free(other);
    is_right = is_right && recorder.reports().empty() && test::samples_in_use() == 0;
    std::exit(is_right ? 0 : 1); // NOLINT(concurrency-mt-unsafe): there is one thread
}

TEST(checked_samples_death_test, of_0_bytes_can_be_freed_with_their_size)
{
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(free_empty_samples(), testing::ExitedWithCode(0), "");
}

TEST(checked_samples, have_the_requested_size_after_realloc)
{
    for (const std::size_t bytes : {20U, 50U, 61U, 64U, 1000U}) {
        void* const resized = np_realloc(sample(60), bytes);
        EXPECT_EQ(np_usable_size(resized), bytes);
        np_free_sized(resized, bytes);
    }
}
} // namespace
