// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/diagnostics/end_verification.hpp>

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>
#include <np_alloc/os/single_thread.hpp>

#include <support/error_recorder.hpp>
#include <support/np_guards.hpp>
#include <support/option_for_now.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>

namespace np = memory_pool::np;
using memory_pool::error_kind;

namespace {
constexpr std::array<std::size_t, 3> sizes_in_slabs{100, 5000, 30'000};

struct checked_end_verification : testing::Test
{
    const test::option_for_now no_quarantine{np_option_quarantine_bytes, 0};
    const test::no_guards_for_now accessible;
    test::error_recorder recorder;

    void SetUp() override
    {
        if (!memory_pool::detail::os::has_one_thread())
            GTEST_SKIP() << "there is another thread, perhaps of a sanitizer";
        np::verify_at_end();
        ASSERT_TRUE(recorder.reports().empty());
    }

    /// Expects a report about `address` while the byte at `place` is changed.
    void expect_report_of(const void* address, std::byte& place, error_kind kind)
    {
        const test::error_recorder anew;
        place ^= std::byte{0x55};
        np::verify_at_end();
        place ^= std::byte{0x55};
        ASSERT_EQ(anew.kinds(), test::kinds{kind});
        EXPECT_EQ(anew.reports()[0].address, address);
        np::verify_at_end();
        EXPECT_EQ(anew.reports().size(), 1U) << "no report after the byte was restored";
    }
};

std::byte* some_block(std::size_t bytes)
{
    return static_cast<std::byte*>(std::memset(np_alloc(bytes), 0x5A, bytes));
}

TEST_F(checked_end_verification, finds_overflows_of_blocks_in_use)
{
    np_heap* const heap = np_heap_create();
    for (const std::size_t bytes : sizes_in_slabs) {
        std::byte* const block = some_block(bytes);
        expect_report_of(block, block[bytes], error_kind::buffer_overflow);
        np_free(block);
        auto* const in_heap = static_cast<std::byte*>(np_heap_alloc(heap, bytes));
        expect_report_of(in_heap, in_heap[bytes], error_kind::buffer_overflow);
    }
    np_heap_destroy(heap);
}

TEST_F(checked_end_verification, finds_writes_to_free_blocks)
{
    for (const std::size_t bytes : sizes_in_slabs) {
        std::byte* const kept = some_block(bytes);
        std::byte* const block = some_block(bytes);
        np_free(block);
        expect_report_of(block, block[bytes / 2], error_kind::write_after_free);
        np_free(kept);
    }
}

TEST_F(checked_end_verification, finds_writes_to_free_runs)
{
    constexpr std::size_t bytes = 500'000;
    std::byte* const large = some_block(bytes);
    np_free(large);
    expect_report_of(large + 100'000, large[100'000], error_kind::write_after_free);
}

TEST_F(checked_end_verification, reports_only_the_first_error)
{
    std::byte* const first = some_block(100);
    std::byte* const second = some_block(100);
    for (std::byte* const each : {first, second})
        each[100] ^= std::byte{1};
    np::verify_at_end();
    EXPECT_EQ(recorder.kinds(), test::kinds{error_kind::buffer_overflow});
    for (std::byte* const each : {first, second}) {
        each[100] ^= std::byte{1};
        np_free(each);
    }
}

TEST_F(checked_end_verification, is_skipped_if_off_or_if_there_are_other_threads)
{
    std::byte* const block = some_block(100);
    block[100] ^= std::byte{1};
    {
        const test::option_for_now off(np_option_verify_at_end, 0);
        np::verify_at_end();
    }
    test::in_a_thread([] { np::verify_at_end(); });
    EXPECT_TRUE(recorder.reports().empty());
    block[100] ^= std::byte{1};
    np_free(block);
}
} // namespace
