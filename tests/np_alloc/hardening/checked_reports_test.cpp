// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/engine/checked_reports.hpp>

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>
#include <np_alloc/engine/block_lookup.hpp>

#include <support/error_recorder.hpp>
#include <support/np_guards.hpp>
#include <support/option_for_now.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>

namespace np = memory_pool::np;
namespace checked = memory_pool::np::checked;
using memory_pool::error_kind;
using np::allocated_by;
using np::freed_by;

namespace {
/// A block in use, and its lookup.
struct checked_reports : testing::Test
{
    static constexpr std::size_t bytes = 100;

    std::byte* block = static_cast<std::byte*>(np_alloc(bytes));
    checked::checked_block where = checked::find_block(np::tag_of(block), block).value();
    test::error_recorder recorder;

    ~checked_reports() override
    {
        if (checked::is_in_use(where))
            np_free(block);
        EXPECT_EQ(np_verify(), 1);
    }

    void expect_one(error_kind kind, const void* address, std::size_t block_bytes)
    {
        ASSERT_EQ(recorder.kinds(), test::kinds(seen_ + 1, kind));
        EXPECT_EQ(recorder.reports().back().address, address);
        EXPECT_EQ(recorder.reports().back().block_size, block_bytes);
        ++seen_;
    }

private:
    std::size_t seen_ = 0;
};

TEST_F(checked_reports, distinguish_interior_freed_and_foreign_pointers)
{
    EXPECT_EQ(checked::locate(block)->begin, block);
    EXPECT_TRUE(recorder.reports().empty());
    EXPECT_FALSE(checked::locate(block + 16));
    expect_one(error_kind::misaligned_pointer, block + 16, bytes);
    std::byte* const nowhere = block + (std::size_t{1} << 30);
    const test::error_recorder anew;
    EXPECT_FALSE(checked::locate(nowhere));
    int on_the_stack = 0;
    EXPECT_FALSE(checked::locate(&on_the_stack));
    EXPECT_EQ(anew.kinds(), (test::kinds{error_kind::double_free, error_kind::foreign_pointer}));
}

TEST_F(checked_reports, are_made_for_the_size_of_a_freed_block)
{
    EXPECT_EQ(checked::asked_bytes(where), bytes);
    EXPECT_TRUE(recorder.reports().empty());
    np_free(block);
    EXPECT_EQ(checked::asked_bytes(where), std::nullopt);
    expect_one(error_kind::double_free, block, bytes);
}

TEST_F(checked_reports, are_made_once_for_an_overflow)
{
    checked::look_at_canaries(where, bytes);
    EXPECT_TRUE(recorder.reports().empty());
    block[bytes] ^= std::byte{1};
    checked::look_at_canaries(where, bytes);
    expect_one(error_kind::buffer_overflow, block, bytes);
    checked::look_at_canaries(where, bytes);
    EXPECT_EQ(recorder.reports().size(), 1U);
}

TEST_F(checked_reports, stop_after_the_error_handler_frees_the_block)
{
    const test::no_guards_for_now accessible;
    constexpr std::size_t large_bytes = 100'001;
    auto* const large = static_cast<std::byte*>(np_alloc(large_bytes));
    const checked::checked_block where_large = checked::find_block(np::tag_of(large), large).value();
    recorder.handle_by([large, is_freed = false]() mutable {
        if (!is_freed) {
            is_freed = true;
            np_free(large);
        }
    });
    large[large_bytes] ^= std::byte{1};
    checked::report_wrong_free(where_large, large_bytes, large_bytes + 1, freed_by::free_aligned_sized);
    EXPECT_EQ(recorder.kinds(), test::kinds{error_kind::buffer_overflow});
    EXPECT_FALSE(checked::is_in_use(where_large));
}

TEST_F(checked_reports, are_made_for_a_mismatch_unless_pairs_is_off)
{
    EXPECT_EQ(checked::function_of(where), allocated_by::malloc);
    checked::look_at_pair(where, bytes, freed_by::free);
    EXPECT_TRUE(recorder.reports().empty());
    checked::look_at_pair(where, bytes, freed_by::free_aligned_sized);
    expect_one(error_kind::mismatched_deallocation, block, bytes);
    checked::set_function(where, allocated_by::aligned_alloc);
    checked::look_at_pair(where, bytes, freed_by::free_aligned_sized);
    const test::option_for_now off(np_option_pairs, 0);
    checked::look_at_pair(where, bytes, freed_by::free_less_aligned);
    EXPECT_EQ(recorder.reports().size(), 1U);
    checked::set_function(where, allocated_by::malloc);
}

TEST_F(checked_reports, are_made_for_each_error_of_a_free)
{
    checked::report_wrong_free(where, bytes, checked::any_size, freed_by::free);
    EXPECT_TRUE(recorder.reports().empty());
    block[bytes] ^= std::byte{1};
    checked::report_wrong_free(where, bytes, bytes + 1, freed_by::free_aligned_sized);
    EXPECT_EQ(recorder.kinds(), (test::kinds{error_kind::buffer_overflow, error_kind::mismatched_deallocation,
                                             error_kind::size_mismatch}));
}
} // namespace
