// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Sampled blocks, which lie between guard pages. Tests the misuse that they detect, and that they otherwise behave like
// ordinary blocks.
#include <memory_pool/np_alloc.h>

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/os/pages.hpp>
#include <np_alloc/engine/engine.hpp>

#include <support/child.hpp>
#include <support/error_recorder.hpp>
#include <support/np_blocks.hpp>
#include <support/np_samples.hpp>
#include <support/option_for_now.hpp>
#include <support/sanitizers.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#if defined(__unix__)
#include <csignal>
#include <unistd.h>

namespace np = memory_pool::np;

namespace {
using memory_pool::error_kind;
using np::guarded_slots;

using test::held_blocks;
using test::is_sample;
using test::sample;
using test::sample_at_the_begin;
using test::sample_at_the_end;
using test::samples_in_use;

constexpr std::uintptr_t nowhere = 64;

MEMORY_POOL_NOINLINE void write(volatile unsigned char* at)
{
    *at = 1;
}

MEMORY_POOL_NOINLINE unsigned char read(const volatile unsigned char* at)
{
    return *at;
}

/// Writes to an invalid address that the compiler does not know.
void write_nowhere()
{
    unsigned char* const volatile address = reinterpret_cast<unsigned char*>(nowhere);
    write(address);
}

unsigned char* freed_sample(std::size_t bytes)
{
    unsigned char* const block = sample(bytes);
    np_free(block);
    return block;
}

struct sampled_blocks_death : testing::Test
{
#if MEMORY_POOL_ASAN
    void SetUp() override { test::expect_reports_without_names(); }
#endif
};

TEST_F(sampled_blocks_death, catch_an_access_behind_the_block)
{
    for (const std::size_t bytes : {16U, 64U, 1024U, 4096U})
        EXPECT_DEATH(write(sample_at_the_end(bytes) + bytes), "memory_pool: buffer overflow: access to address")
            << bytes;
    EXPECT_DEATH((void)read(sample_at_the_end(64) + 64), "memory_pool: buffer overflow: access to address");
}

TEST_F(sampled_blocks_death, catch_some_accesses_before_the_block)
{
    for (const std::size_t bytes : {16U, 1000U})
        EXPECT_DEATH(write(sample_at_the_begin(bytes) - 1), "memory_pool: buffer underflow: access to address")
            << bytes;
}

TEST_F(sampled_blocks_death, catch_a_use_after_free)
{
    EXPECT_DEATH((void)read(freed_sample(48) + 47), "memory_pool: use after free: access to address");
    EXPECT_DEATH(write(freed_sample(20'480)), "memory_pool: use after free: access to address");
}

TEST_F(sampled_blocks_death, report_the_block_its_size_and_the_remedy)
{
    EXPECT_DEATH(write(sample_at_the_end(64) + 64),
                 "overflow: access to address 0x[0-9a-f]+, block 0x[0-9a-f]+, block size 64 bytes, pool 'np_alloc'\n"
                 "  remedy: find the access past the end of this block, in the calls below\n"
                 "  an? (write|access) 0 bytes past the end of the block, by thread [0-9]+ of process [0-9]+\n");
    EXPECT_DEATH((void)read(freed_sample(64) + 3), "  an? (read|access) at byte 3 of the block, by thread");
    EXPECT_DEATH(write(sample_at_the_begin(64) - 2), "  an? (write|access) 2 bytes before the block, by thread");
}

TEST_F(sampled_blocks_death, report_a_double_free_with_all_three_call_stacks)
{
    EXPECT_DEATH(np_free(freed_sample(64)), "double free(.|\n)*  thread [0-9]+ of process [0-9]+\n"
                                            "  called by:\n    .*unit_np_alloc(.|\n)*"
                                            "  allocated by:\n    .*unit_np_alloc(.|\n)*"
                                            "  freed by:\n    .*unit_np_alloc");
}

TEST_F(sampled_blocks_death, report_the_call_stacks_of_the_access_the_allocation_and_the_free)
{
    EXPECT_DEATH(write(freed_sample(64)), "  accessed by:\n    .*unit_np_alloc.*\\+0x[0-9a-f]+.*\n"
                                          "  allocated by:\n    .*unit_np_alloc.*\\+0x[0-9a-f]+.*\n"
                                          "  freed by:\n    .*unit_np_alloc.*\\+0x[0-9a-f]+");
}

#if !MEMORY_POOL_ASAN && !MEMORY_POOL_TSAN // Sanitizers end the process in their own way.
/// Ends the process with the error kind, which is below 256, as its exit status.
void end_with_kind(const np_error_report* report)
{
    const bool is_whole = std::strncmp(report->text, "memory_pool: ", 13) == 0 &&
                          std::strncmp(report->text + 13, report->name, std::strlen(report->name)) == 0 &&
                          report->block_size == 64;
    _exit(is_whole ? static_cast<int>(report->kind) : 1);
}

TEST_F(sampled_blocks_death, pass_the_kind_to_an_error_handler_in_C)
{
    const auto ends_with = [](np_error kind) { return testing::ExitedWithCode(static_cast<int>(kind)); };
    np_set_error_handler(&end_with_kind);
    EXPECT_EXIT(write(sample_at_the_end(64) + 64), ends_with(np_error_buffer_overflow), "overflow");
    EXPECT_EXIT(write(sample_at_the_begin(64) - 1), ends_with(np_error_buffer_underflow), "underflow");
    EXPECT_EXIT((void)read(freed_sample(64)), ends_with(np_error_use_after_free), "use after free");
    np_set_error_handler([](const np_error_report*) {});
    EXPECT_EXIT((void)read(freed_sample(64)), testing::KilledBySignal(SIGSEGV), "use after free");
    np_set_error_handler(nullptr);
}

TEST_F(sampled_blocks_death, end_the_process_by_SIGSEGV)
{
    EXPECT_EXIT(write(sample_at_the_end(64) + 64), testing::KilledBySignal(SIGSEGV), "overflow");
}

TEST_F(sampled_blocks_death, leave_other_faults_to_the_system)
{
    EXPECT_EXIT(
        {
            np_free(sample(64));
            std::signal(SIGABRT, SIG_DFL);
            write_nowhere();
        },
        testing::KilledBySignal(SIGSEGV), "^$");
    EXPECT_EXIT(
        {
            np_free(sample(64));
            (void)std::raise(SIGSEGV);
        },
        testing::KilledBySignal(SIGSEGV), "^$");
}
#endif

void end_with_7(int)
{
    constexpr char text[] = "the handler of the program";
    (void)!::write(2, text, sizeof text - 1);
    _exit(7);
}

void end_with_8(int, siginfo_t* about, void*)
{
    _exit(about->si_addr == reinterpret_cast<void*>(nowhere) ? 8 : 1);
}

std::size_t reports_so_far()
{
    np_statistics statistics;
    np_get_statistics(&statistics);
    return statistics.misuse_reports;
}

std::size_t reports_before = 0;

/// Returns from the first signal, which repeats the access. Then exits with 10 plus the number of reports.
void end_with_10_and_reports(int)
{
    static bool is_repeated = false;
    if (std::exchange(is_repeated, true))
        _exit(static_cast<int>(10 + reports_so_far() - reports_before));
}

/// Installs the program's handler before np_alloc installs its own.
void set_handler(struct sigaction action)
{
    np::registry().stop_watching_accesses();
    (void)sigaction(SIGSEGV, &action, nullptr);
    np_free(sample(64));
}

TEST_F(sampled_blocks_death, call_the_signal_handler_of_the_program_afterwards)
{
    EXPECT_EXIT(
        {
            struct sigaction action = {};
            action.sa_handler = end_with_7;
            set_handler(action);
            write(sample_at_the_end(64) + 64);
        },
        testing::ExitedWithCode(7), "overflow(.|\n)*the handler of the program");
}

TEST_F(sampled_blocks_death, report_an_access_once_if_the_handler_returns)
{
    EXPECT_EXIT(
        {
            reports_before = reports_so_far();
            struct sigaction action = {};
            action.sa_handler = end_with_10_and_reports;
            set_handler(action);
            write(sample_at_the_end(64) + 64);
        },
        testing::ExitedWithCode(11), "overflow");
}

TEST_F(sampled_blocks_death, pass_other_faults_to_the_handler_of_the_program)
{
    EXPECT_EXIT(
        {
            struct sigaction action = {};
            action.sa_sigaction = end_with_8;
            action.sa_flags = SA_SIGINFO;
            set_handler(action);
            write_nowhere();
        },
        testing::ExitedWithCode(8), "^$");
}

struct sample_counts
{
    std::size_t taken;
    std::size_t skipped;
};

/// Returns: the sample counts of `work()`.
template <class Work>
sample_counts samples_of(Work&& work)
{
    np_statistics before;
    np_get_statistics(&before);
    work();
    np_statistics after;
    np_get_statistics(&after);
    return {after.samples - before.samples, after.samples_skipped - before.samples_skipped};
}

constexpr std::size_t period = 65'536;

/// Six standard deviations of a number of samples, plus the effect of rounding.
double tolerance(double expected)
{
    return 6 * std::sqrt(expected) + expected / 50;
}

/// Runs `work(blocks, bytes)` with as many blocks as should yield `count` samples. Returns: the sample counts.
template <class Work>
sample_counts samples_among(std::size_t count, std::size_t bytes, Work&& work)
{
    const test::option_for_now unlimited_rate(np_option_samples_per_second, 0);
    const test::option_for_now some(np_option_sample_bytes, period);
    return samples_of([&] { work(count * period / test::counted_bytes(bytes), bytes); });
}

TEST(sampled_blocks, match_the_rate_for_new_blocks)
{
    constexpr std::size_t count = 200;
    for (const std::size_t bytes : {64U, 5120U}) {
        const auto [taken, skipped] = samples_among(count, bytes, [](std::size_t blocks, std::size_t each_bytes) {
            held_blocks all;
            all.blocks.resize(blocks);
            for (void*& each : all.blocks)
                each = np_alloc(each_bytes);
        });
        EXPECT_NEAR(static_cast<double>(taken + skipped), count, tolerance(count)) << bytes;
    }
}

TEST(sampled_blocks, match_the_rate_for_reused_blocks)
{
    constexpr std::size_t count = 500;
    for (const std::size_t bytes : {64U, 5120U}) {
        const auto [taken, skipped] = samples_among(count, bytes, [](std::size_t blocks, std::size_t each_bytes) {
            for (; blocks != 0; --blocks)
                np_free(np_alloc(each_bytes));
        });
        EXPECT_NEAR(static_cast<double>(taken), count, tolerance(count)) << bytes;
        EXPECT_EQ(skipped, 0U);
    }
}

TEST(sampled_blocks, are_uniform_for_a_fixed_order_of_allocations)
{
    const test::option_for_now unlimited_rate(np_option_samples_per_second, 0);
    const test::option_for_now some(np_option_sample_bytes, period);
    std::array<std::size_t, 4> samples{};
    for (int times = 0; times != 100'000; ++times) {
        std::array<void*, 4> blocks{};
        for (std::size_t i = 0; i != blocks.size(); ++i)
            samples[i] += is_sample(blocks[i] = np_alloc(128)) ? 1U : 0U;
        for (void* const each : blocks)
            np_free(each);
    }
    const double expected = 100'000.0 * static_cast<double>(test::counted_bytes(128)) / period;
    for (const std::size_t each : samples)
        EXPECT_NEAR(static_cast<double>(each), expected, tolerance(expected));
}

TEST(sampled_blocks, are_skipped_and_counted_beyond_the_limit_per_second)
{
    const test::option_for_now slowly(np_option_samples_per_second, 10);
    const test::option_for_now every(np_option_sample_bytes, 1);
    constexpr std::size_t blocks = 1000;
    const sample_counts samples = samples_of([] {
        for (std::size_t i = 0; i != blocks; ++i)
            np_free(np_alloc(64));
    });
    EXPECT_EQ(samples.taken + samples.skipped, blocks);
    EXPECT_GT(samples.taken, 0U);
    EXPECT_GT(samples.skipped, 0U);
}

TEST(sampled_blocks, stop_in_another_thread_that_reuses_one_block)
{
    const test::option_for_now unlimited_rate(np_option_samples_per_second, 0);
    test::lasting_thread other;
    const auto allocate = [] {
        for (int times = 0; times != 100'000; ++times)
            np_free(np_alloc(64));
    };
    {
        const test::option_for_now some(np_option_sample_bytes, period);
        EXPECT_GT(samples_of([&] { other.does(allocate); }).taken, 0U);
    }
    other.does(allocate); // The thread notices the change by its next sample.
    EXPECT_EQ(samples_of([&] { other.does(allocate); }).taken, 0U);
}

TEST(sampled_blocks, report_damaged_padding_when_they_are_freed)
{
    const test::error_recorder recorder;
    unsigned char* const at_the_end = sample_at_the_end(64);
    at_the_end[-1] ^= 1U;
    np_free(at_the_end);
    unsigned char* const at_the_begin = sample_at_the_begin(64);
    at_the_begin[64] ^= 1U;
    np_free(at_the_begin);
    EXPECT_EQ(recorder.kinds(), (test::kinds{error_kind::buffer_underflow, error_kind::buffer_overflow}));
    EXPECT_EQ(recorder.reports()[0].address, at_the_end);
    EXPECT_EQ(recorder.reports()[1].block_size, 64U);
}

TEST(sampled_blocks, are_off_by_default)
{
    held_blocks all;
    all.blocks.resize(10'000);
    for (void*& each : all.blocks)
        each = np_alloc(64);
    for (const void* each : all.blocks)
        ASSERT_FALSE(is_sample(each));
}

TEST(sampled_blocks, become_ordinary_blocks_when_all_slots_are_taken)
{
    const test::all_are_samples now;
    held_blocks all;
    all.blocks.resize(3000);
    for (void*& each : all.blocks)
        ASSERT_NE(each = np_alloc(64), nullptr);
    EXPECT_EQ(samples_in_use(), guarded_slots::count);
    EXPECT_EQ(np_verify(), 1);
}

TEST(sampled_blocks, are_counted_visited_and_owned)
{
    np_statistics before;
    np_get_statistics(&before);
    unsigned char* const block = sample(64);
    (void)np_trim();
    np_statistics after;
    np_get_statistics(&after);
    EXPECT_EQ(after.bytes_in_use, before.bytes_in_use + 64);
    EXPECT_EQ(after.bytes_large, before.bytes_large + 64);
    EXPECT_EQ(after.large_blocks, before.large_blocks + 1);
    EXPECT_EQ(np_usable_size(block), 64U);
    EXPECT_EQ(np_owns(block + 63), 1);
    EXPECT_EQ(np_owns(block - 1) + np_owns(block + 64), 0);
    std::pair<const void*, std::size_t> wanted{block, 0};
    (void)np_heap_visit(
        nullptr,
        [](void* visited, std::size_t bytes, void* argument) {
            auto& [address, size] = *static_cast<std::pair<const void*, std::size_t>*>(argument);
            size += visited == address ? bytes : 0;
            return 1;
        },
        &wanted);
    EXPECT_EQ(wanted.second, 64U);
    EXPECT_EQ(np_verify(), 1);
    np_free(block);
    EXPECT_EQ(np_owns(block), 0);
    EXPECT_EQ(np_verify(), 1);
}

TEST(sampled_blocks, are_aligned_and_have_the_requested_size)
{
    const test::all_are_samples now;
    held_blocks all;
    std::size_t samples = 0;
    for (std::size_t alignment = 16; alignment <= 32'768; alignment *= 2) {
        for (const std::size_t bytes : {1U, 100U, 5000U}) {
            void* const block = np_aligned_alloc(alignment, bytes);
            all.blocks.push_back(block);
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0U);
            std::memset(block, 1, np_usable_size(block));
            samples += is_sample(block) ? 1U : 0U;
        }
    }
    EXPECT_GT(samples, 10U);
}

TEST(sampled_blocks, are_zeroed_by_calloc)
{
    const test::all_are_samples now;
    for (int i = 0; i != 300; ++i) { // Enough blocks to reuse slots.
        auto* const block = static_cast<unsigned char*>(np_calloc(1, 2000));
        for (std::size_t j = 0; j != 2000; ++j)
            ASSERT_EQ(block[j], 0);
        std::memset(block, 1, 2000);
        np_free(block);
    }
}

TEST(sampled_blocks, keep_their_contents_when_resized)
{
    for (const std::size_t bytes : {10U, 60U, 64U, 65U, 1000U, 100'000U}) {
        unsigned char* const block = sample(64);
        std::memset(block, 0x5A, 64);
        auto* const resized = static_cast<unsigned char*>(np_realloc(block, bytes));
        for (std::size_t i = 0; i != std::min<std::size_t>(bytes, 64); ++i)
            ASSERT_EQ(resized[i], 0x5A);
        std::memset(resized, 1, bytes);
        np_free(resized);
    }
}

TEST(sampled_blocks, may_be_freed_by_any_thread)
{
    unsigned char* const block = sample(64);
    test::in_a_thread([block] { np_free(block); });
    EXPECT_EQ(np_owns(block), 0);
    test::in_a_thread([&] { std::memset(sample(64), 1, 64); });
    EXPECT_EQ(samples_in_use(), 1U) << "a block of an ended thread";
    held_blocks left;
    (void)np_heap_visit(
        nullptr,
        [](void* visited, std::size_t, void* argument) {
            if (is_sample(visited))
                static_cast<held_blocks*>(argument)->blocks.push_back(visited); // NOLINT: uses malloc
            return 1;
        },
        &left);
    EXPECT_EQ(left.blocks.size(), 1U);
}

TEST(sampled_blocks, report_double_frees_and_interior_pointers)
{
    const test::error_recorder recorder;
    unsigned char* const block = sample(64);
    np_free(block + 16);
    np_free(block + 1);
    np_free(block);
    np_free(block);
    EXPECT_EQ(np_realloc(block, 100), nullptr);
    EXPECT_EQ(recorder.kinds(), (test::kinds{error_kind::misaligned_pointer, error_kind::misaligned_pointer,
                                             error_kind::double_free, error_kind::double_free}));
    for (const test::error_recorder::entry& each : recorder.reports())
        EXPECT_EQ(each.block_size, 64U);
    EXPECT_EQ(np_verify(), 1);
}

TEST(sampled_blocks, report_a_double_free_by_two_threads)
{
    const test::error_recorder recorder;
    for (int i = 0; i != 20; ++i) {
        unsigned char* const block = sample(64);
        test::lasting_thread other;
        other.does([block] { np_free(block); });
        np_free(block);
    }
    EXPECT_EQ(recorder.kinds(), test::kinds(20, error_kind::double_free));
}

TEST(sampled_blocks, report_a_concurrent_double_free_once)
{
    if (np::is_checked)
        GTEST_SKIP() << "the checked build reads the memory behind a sample, which may be inaccessible by then";
    const test::error_recorder recorder;
    constexpr int times = 100;
    for (int i = 0; i != times; ++i) {
        unsigned char* const block = sample(64);
        test::in_threads(2, [block](std::size_t) { np_free(block); });
    }
    EXPECT_EQ(recorder.kinds(), test::kinds(times, error_kind::double_free));
}

#if TESTS_MAY_FORK
TEST(sampled_blocks, work_in_the_child_of_a_fork)
{
    unsigned char* const block = sample(64);
    std::memset(block, 0x5A, 64);
    test::expect_in_child([block] {
        const bool is_cached = block[0] == 0x5A && block[63] == 0x5A;
        np_free(block);
        np_free(sample(64));
        return is_cached && np_verify() == 1;
    });
    EXPECT_EQ(block[63], 0x5A);
    np_free(block);
}
#endif
} // namespace
#endif
