// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Reports of accesses to guarded memory, and the call stacks in reports of misuse.
#include <memory_pool/np_alloc.h>

#include <memory_pool/base/config.hpp>
#include <np_alloc/support/misuse.hpp>

#include <support/np_samples.hpp>
#include <support/sanitizers.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#if defined(__unix__)
#include <csetjmp>

namespace np = memory_pool::np;

namespace {
constexpr std::size_t bytes = 64;

bool has(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

#if !MEMORY_POOL_ASAN && !MEMORY_POOL_TSAN // Sanitizers handle faults themselves.
/// The report of an access.
struct access_report : testing::Test
{
    std::string printed;
    static inline std::string handled;

    /// Writes a byte. The error handler continues after the access.
    void write_to(volatile unsigned char* address)
    {
        const np_error_handler before = np_set_error_handler(&record_and_continue);
        testing::internal::CaptureStderr();
        write_unless_reported(address);
        printed = testing::internal::GetCapturedStderr();
        (void)np_set_error_handler(before);
    }

    bool contains(const std::string& part) const { return has(printed, part); }

private:
    static inline sigjmp_buf behind;

    static void record_and_continue(const np_error_report* report)
    {
        handled = report->text;
        siglongjmp(behind, 1);
    }
    MEMORY_POOL_NOINLINE static void write_unless_reported(volatile unsigned char* address)
    {
        if (sigsetjmp(behind, 1) == 0)
            *address = 1;
    }
};

TEST_F(access_report, names_the_distance_past_the_end_of_the_block)
{
    unsigned char* const block = test::sample_at_the_end(bytes);
    const std::size_t before = np::misuse_reports;
    write_to(block + bytes + 3);
    EXPECT_EQ(printed.find("memory_pool: buffer overflow: access to address 0x"), 0U) << printed;
    EXPECT_TRUE(contains(", block size 64 bytes, pool 'np_alloc'\n")) << printed;
    EXPECT_TRUE(contains("\n  remedy: find the access past the end of this block")) << printed;
    EXPECT_TRUE(contains(" 3 bytes past the end of the block, by thread ")) << printed;
    EXPECT_TRUE(contains("\n  accessed by:\n") && contains("\n  allocated by:\n")) << printed;
    EXPECT_FALSE(contains("\n  freed by:\n")) << printed;
    EXPECT_EQ(np::misuse_reports, before + 1);
    np_free(block);
}

TEST_F(access_report, names_the_distance_before_the_block)
{
    unsigned char* const block = test::sample_at_the_begin(bytes);
    write_to(block - 5);
    EXPECT_EQ(printed.find("memory_pool: buffer underflow: access to address 0x"), 0U) << printed;
    EXPECT_TRUE(contains("\n  remedy: find the access before the beginning of this block")) << printed;
    EXPECT_TRUE(contains(" 5 bytes before the block, by thread ")) << printed;
    np_free(block);
}

TEST_F(access_report, names_the_byte_of_a_freed_block)
{
    unsigned char* const block = test::sample(bytes);
    np_free(block);
    write_to(block + 9);
    EXPECT_EQ(printed.find("memory_pool: use after free: access to address 0x"), 0U) << printed;
    EXPECT_TRUE(contains(" at byte 9 of the block, by thread ")) << printed;
    EXPECT_TRUE(contains("\n  allocated by:\n") && contains("\n  freed by:\n")) << printed;
    EXPECT_FALSE(handled.empty());
    EXPECT_EQ(printed.find(handled), 0U) << "the error handler gets the message without the call stacks";
}
#endif

/// Returns: the output of print_context().
std::string context_of(const void* block)
{
    testing::internal::CaptureStderr();
    np::print_context(block);
    return testing::internal::GetCapturedStderr();
}

TEST(print_context, prints_the_thread_and_its_call_stack)
{
    void* const block = np_alloc(bytes);
    const std::string text = context_of(block);
    EXPECT_EQ(text.find("  thread "), 0U) << text;
    EXPECT_TRUE(has(text, " of process ")) << text;
    EXPECT_TRUE(has(text, "\n  called by:\n")) << text;
    EXPECT_FALSE(has(text, "allocated by")) << text;
    np_free(block);
}

TEST(print_context, prints_where_a_sample_was_allocated_and_freed)
{
    unsigned char* const block = test::sample(bytes);
    EXPECT_TRUE(has(context_of(block), "\n  allocated by:\n"));
    EXPECT_FALSE(has(context_of(block), "\n  freed by:\n"));
    np_free(block);
    EXPECT_TRUE(has(context_of(block + 1), "\n  freed by:\n"));
}
} // namespace
#endif
