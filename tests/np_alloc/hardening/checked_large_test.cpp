// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The checked build: large blocks are revoked when they are freed.
#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>
#include <memory_pool/os/pages.hpp>
#include <np_alloc/engine/engine.hpp>
#include <np_alloc/hardening/checked_slice.hpp>
#include <np_alloc/hardening/revoked_runs.hpp>
#include <np_alloc/support/options.hpp>

#include <support/child.hpp>
#include <support/error_recorder.hpp>
#include <support/option_for_now.hpp>
#include <support/resident_memory.hpp>
#include <support/sanitizers.hpp>
#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>

// Other systems cannot move memory.
#if defined(__linux__)
#include <csignal>
#include <sys/mman.h>

namespace np = memory_pool::np;

namespace {
using memory_pool::error_kind;

constexpr std::size_t mebibyte = std::size_t{1} << 20;
/// Sizes of blocks whose freed memory stays in place, moves to a backing copy, or is purged, in this order.
constexpr std::array<std::size_t, 3> sizes_of_all_kinds{3 * mebibyte + 5, 9 * mebibyte + 5, 40 * mebibyte + 5};

unsigned char* some_block(std::size_t bytes)
{
    return static_cast<unsigned char*>(np_alloc(bytes));
}

unsigned char* freed_block(std::size_t bytes)
{
    unsigned char* const block = some_block(bytes);
    std::memset(block, 0x5A, bytes);
    np_free(block);
    return block;
}

bool is_revoked(const unsigned char* address)
{
    return np::registry().pages().large().freed_at(address) != nullptr;
}

void write(volatile unsigned char* at)
{
    *at = 1;
}

unsigned char read(const volatile unsigned char* at)
{
    return *at;
}

struct checked_large : testing::Test
{
    const test::option_for_now no_quarantine{np_option_quarantine_bytes, 0};
    test::error_recorder recorder;

    ~checked_large() override
    {
        EXPECT_EQ(np_verify(), 1);
        (void)np_trim();
        np_free(np_alloc(200 * mebibyte)); // Restores revoked memory, so that tests are independent.
    }
};

struct checked_large_death : checked_large
{
    void SetUp() override
    {
#if MEMORY_POOL_ASAN
        test::expect_reports_without_names();
#endif
    }
};

TEST_F(checked_large_death, reports_use_after_free)
{
    for (const std::size_t bytes : sizes_of_all_kinds) {
        EXPECT_DEATH((void)read(freed_block(bytes)), "memory_pool: use after free: access to address") << bytes;
        EXPECT_DEATH(write(freed_block(bytes) + bytes - 1), "memory_pool: use after free: access to address") << bytes;
    }
}

TEST_F(checked_large_death, reports_use_after_free_with_size_and_call_stacks)
{
    EXPECT_DEATH(write(freed_block(9 * mebibyte + 5) + 4096),
                 "memory_pool: use after free: access to address 0x[0-9a-f]+1ff0, block 0x[0-9a-f]+0ff0, "
                 "block size 9437189 bytes, pool 'np_alloc'\n"
                 "  remedy: find the access through an old pointer, in the calls below\n"
                 "  an? .* at byte 4096 of the block, by thread [0-9]+ of process [0-9]+\n"
                 "  accessed by:\n    .*unit_np_alloc_checked.*\\+0x[0-9a-f]+.*\n"
                 "  freed by:\n    .*unit_np_alloc_checked.*\\+0x[0-9a-f]+");
}

TEST_F(checked_large_death, revokes_a_block_that_has_grown)
{
    EXPECT_DEATH(
        {
            auto* const grown = static_cast<unsigned char*>(np_realloc(some_block(mebibyte), 20 * mebibyte));
            np_free(grown);
            write(grown + 19 * mebibyte);
        },
        "memory_pool: use after free: access to address");
}

TEST_F(checked_large_death, revokes_the_old_memory_of_a_moved_block)
{
    EXPECT_DEATH(
        {
            unsigned char* const block = some_block(10 * mebibyte);
            void* const behind = np_alloc(mebibyte);
            if (np_realloc(block, 30 * mebibyte) != block && behind != nullptr)
                write(block);
        },
        "memory_pool: use after free: access to address");
}

TEST_F(checked_large_death, revokes_blocks_of_a_destroyed_heap)
{
    EXPECT_DEATH(
        {
            np_heap* const heap = np_heap_create();
            auto* const block = static_cast<unsigned char*>(np_heap_alloc(heap, 10 * mebibyte));
            np_heap_destroy(heap);
            write(block);
        },
        "memory_pool: use after free: access to address");
}

TEST_F(checked_large, reports_free_realloc_and_usable_size_after_free)
{
    for (const std::size_t bytes : sizes_of_all_kinds) {
        const test::error_recorder now;
        unsigned char* const block = freed_block(bytes);
        ASSERT_TRUE(is_revoked(block));
        np_free(block);
        np_free_sized(block, bytes);
        EXPECT_EQ(np_realloc(block, 100), nullptr);
        EXPECT_EQ(np_usable_size(block), 0U);
        EXPECT_EQ(now.kinds(), test::kinds(4, error_kind::double_free)) << bytes;
    }
}

/// Returns: the number of other blocks of that size, at most `max_count`, that are allocated before the addresses of a
///   freed block are reused.
std::size_t blocks_until_reuse(std::size_t bytes, std::size_t max_count)
{
    unsigned char* const freed = some_block(bytes);
    np_free(freed);
    for (std::size_t count = 0; count != max_count; ++count) {
        unsigned char* const block = some_block(bytes);
        np_free(block);
        if (block == freed)
            return count;
    }
    return max_count;
}

TEST_F(checked_large, delays_reuse_of_freed_blocks)
{
    EXPECT_EQ(blocks_until_reuse(100'000, 100), 0U) << "without a quarantine";
    const test::option_for_now with_quarantine{np_option_quarantine_bytes, 65'536};
    EXPECT_GE(blocks_until_reuse(100'000, 100), 30U);
    for (const std::size_t bytes : {mebibyte, 9 * mebibyte, 100 * mebibyte})
        EXPECT_GE(blocks_until_reuse(bytes, 100), 1U) << bytes;
    EXPECT_EQ(np_verify(), 1);
}

TEST_F(checked_large, is_not_accessed_by_np_verify_after_free)
{
    unsigned char* const block = freed_block(9 * mebibyte);
    unsigned char* const larger = freed_block(40 * mebibyte);
    EXPECT_TRUE(is_revoked(block) || is_revoked(larger));
    EXPECT_EQ(np_verify(), 1);
    const auto visit = [](void*, std::size_t bytes, void*) { return bytes < 9 * mebibyte ? 1 : 0; };
    EXPECT_EQ(np_heap_visit(nullptr, visit, nullptr), 1) << "revoked blocks are not visited";
    np_statistics statistics;
    np_get_statistics(&statistics);
    (void)np_trim();
    EXPECT_EQ(np_verify(), 1);
}

TEST_F(checked_large, reuses_revoked_addresses)
{
    for (const std::size_t bytes : sizes_of_all_kinds) {
        unsigned char* const before = freed_block(bytes);
        unsigned char* const block = some_block(bytes);
        ASSERT_EQ(block, before);
        EXPECT_FALSE(is_revoked(block));
        if (bytes > 32 * mebibyte) {
            EXPECT_EQ(std::count(block, block + bytes, 0x5A), 0) << bytes;
        }
        std::memset(block, 1, bytes);
        np_free(block);
        auto* const zeros = static_cast<unsigned char*>(np_calloc(bytes, 1));
        ASSERT_EQ(zeros, before);
        EXPECT_EQ(std::count(zeros, zeros + bytes, 0), static_cast<std::ptrdiff_t>(bytes));
        np_free(zeros);
    }
    EXPECT_EQ(recorder.kinds(), test::kinds());
}

TEST_F(checked_large, leaves_the_rest_revoked_after_partial_reuse)
{
    unsigned char* const before = freed_block(20 * mebibyte);
    unsigned char* const block = some_block(10 * mebibyte);
    ASSERT_GT(block, before) << "the new block ends where the old one did, at its guard";
    ASSERT_LT(block, before + 20 * mebibyte);
    EXPECT_TRUE(is_revoked(before + 5 * mebibyte));
    std::memset(block, 1, 10 * mebibyte);
    auto* const grown = static_cast<unsigned char*>(np_realloc(block, 18 * mebibyte));
    EXPECT_EQ(std::count(grown, grown + 10 * mebibyte, 1), static_cast<std::ptrdiff_t>(10 * mebibyte));
    std::memset(grown, 1, 18 * mebibyte);
    np_free(grown);
    EXPECT_EQ(recorder.kinds(), test::kinds());
}

TEST_F(checked_large, revokes_a_limited_number_of_blocks)
{
    constexpr std::size_t bytes = 40 * mebibyte; // The test does not touch these blocks.
    std::array<unsigned char*, np::revoked_runs::max_count + 3> blocks{};
    for (unsigned char*& each : blocks)
        each = some_block(bytes);
    for (unsigned char* each : blocks)
        np_free(each);
    const auto revoked = std::count_if(blocks.begin(), blocks.end(), is_revoked);
    EXPECT_EQ(revoked, static_cast<std::ptrdiff_t>(np::revoked_runs::max_count));
    EXPECT_EQ(read(blocks.back()), 0);
    for (unsigned char*& each : blocks)
        write(each = some_block(bytes));
    for (unsigned char* each : blocks)
        np_free(each);
}

TEST_F(checked_large, is_verified_instead_if_memory_cannot_be_moved)
{
    for (const test::system_call kind : {test::system_call::map, test::system_call::move}) {
        const test::error_recorder now;
        unsigned char* const block = some_block(9 * mebibyte);
        std::memset(block, 0x5A, 9 * mebibyte);
        {
            const test::system_calls calls;
            calls.refuse_from(kind, 1);
            np_free(block);
        }
        ASSERT_FALSE(is_revoked(block));
        block[5 * mebibyte] = 0;
        EXPECT_EQ(np_verify(), 0);
        np_free(np_alloc(9 * mebibyte));
        EXPECT_EQ(now.kinds(), test::kinds(1, error_kind::write_after_free));
    }
}

TEST_F(checked_large, is_allocated_elsewhere_if_memory_cannot_be_restored)
{
    unsigned char* const before = freed_block(40 * mebibyte);
    unsigned char* block = nullptr;
    {
        const test::system_calls calls;
        calls.refuse(test::system_call::protect, 1);
        block = some_block(40 * mebibyte);
    }
    ASSERT_NE(block, nullptr);
    EXPECT_NE(block, before);
    std::memset(block, 1, 40 * mebibyte);
    EXPECT_EQ(np_verify(), 1);
    np_free(block);
}

[[noreturn]] void write_to_a_freed_block_that_is_not_filled()
{
    bool is_right = np_option_set(np_option_poison, 0) == 0;
    unsigned char* const block = freed_block(300'000);
    is_right = is_right && !is_revoked(block) && np_verify() == 1;
    *block ^= 1U;
    is_right = is_right && np_verify() == 1;
    np_free(some_block(300'000));
    std::exit(is_right ? 0 : 1); // NOLINT(concurrency-mt-unsafe): there is one thread
}

TEST(checked_large_death_test, is_not_verified_if_poison_is_off)
{
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(write_to_a_freed_block_that_is_not_filled(), testing::ExitedWithCode(0), "");
}

/// Effects: allocates slabs in free memory, several times.
/// Returns: whether there was no report and np_verify succeeds.
bool are_slabs_intact(std::size_t bytes)
{
    const test::error_recorder now;
    for (int times = 0; times != 4; ++times) {
        np_heap* const heap = np_heap_create();
        for (std::size_t taken = 0; taken < bytes; taken += 20'000)
            std::memset(np_heap_alloc(heap, 20'000), 0x5A, 20'000);
        np_heap_destroy(heap);
    }
    return now.reports().empty() && np_verify() == 1;
}

[[noreturn]] void grow_and_make_slabs()
{
    bool is_right = np_option_set(np_option_guard_pages, 0) == 0;
    for (std::size_t times = 0; times != 20; ++times) {
        void* const block = np_alloc(40'000);
        void* const behind = np_alloc(40'000);
        void* const grown = np_realloc(block, 100'000 + times * 7'000);
        np_free(behind);
        np_free(grown);
        is_right = is_right && are_slabs_intact(4 * mebibyte);
    }
    std::_Exit(is_right ? 0 : 1);
}

TEST_F(checked_large, leaves_memory_for_slabs_after_growing_without_guards)
{
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(grow_and_make_slabs(), testing::ExitedWithCode(0), "");
}

TEST_F(checked_large, leaves_memory_for_slabs_after_revocation)
{
    (void)freed_block(3 * mebibyte);
    EXPECT_TRUE(are_slabs_intact(5 * mebibyte));
}

TEST_F(checked_large, leaves_memory_for_slabs_if_it_cannot_be_purged)
{
    unsigned char* const block = some_block(3 * mebibyte);
    std::memset(block, 0x5A, 3 * mebibyte);
    if (::mlock(block, 3 * mebibyte) != 0)
        GTEST_SKIP() << "memory cannot be locked";
    np_free(block);
    (void)np_trim();
    EXPECT_TRUE(are_slabs_intact(5 * mebibyte));
    (void)::munlock(block, 3 * mebibyte);
}

TEST_F(checked_large, does_not_grow_into_corrupted_memory)
{
    unsigned char* const block = some_block(300'000);
    unsigned char* const behind = some_block(400'000);
    np_free(behind);
    behind[7] ^= 1U;
    EXPECT_FALSE(np_expand(block, 500'000));
    EXPECT_EQ(np_verify(), 0) << "the corrupted memory is still free";
    behind[7] ^= 1U;
    EXPECT_TRUE(np_expand(block, 500'000));
    np_free(block);
}

TEST_F(checked_large, detects_zeros_written_after_free)
{
    unsigned char* const block = freed_block(300'000);
    EXPECT_EQ(np_verify(), 1);
    std::memset(block + 80'000, 0, 8);
    EXPECT_EQ(np_verify(), 0);
    std::memset(block + 80'000, np::poison_byte, 8);
}

TEST_F(checked_large, stays_accessible_if_guard_pages_is_off)
{
    (void)np::the_options.set(np_option_guard_pages, 0); // As if set by the environment.
    unsigned char* const block = freed_block(9 * mebibyte);
    (void)np::the_options.set(np_option_guard_pages, 1);
    EXPECT_FALSE(is_revoked(block));
    EXPECT_EQ(read(block), 0xDF);
}

#if TESTS_MAY_ASK_FOR_RESIDENT_MEMORY
TEST_F(checked_large, counts_as_resident_after_free_while_memory_is_kept)
{
    (void)np_trim();
    const std::size_t before = np_resident_bytes();
    for (const std::size_t bytes : {sizes_of_all_kinds[0], sizes_of_all_kinds[1]}) {
        (void)freed_block(bytes);
        EXPECT_GE(np_resident_bytes(), before + bytes) << bytes;
        (void)np_trim();
    }
}

TEST_F(checked_large, returns_memory_to_the_system_on_trim)
{
    unsigned char* const block = freed_block(30 * mebibyte);
    ASSERT_TRUE(is_revoked(block));
    const std::size_t before = test::resident_bytes();
    EXPECT_GE(np_trim(), 30 * mebibyte);
    EXPECT_LE(test::resident_bytes() + 29 * mebibyte, before);
    EXPECT_TRUE(is_revoked(block)) << "after np_trim";
    unsigned char* const again = some_block(30 * mebibyte);
    std::memset(again, 1, 30 * mebibyte);
    np_free(again);
}
#endif

#if TESTS_MAY_FORK
TEST_F(checked_large, reuses_revoked_addresses_in_the_child_of_a_fork)
{
    unsigned char* const before = freed_block(9 * mebibyte);
    ASSERT_TRUE(is_revoked(before));
    test::expect_in_child([before] {
        unsigned char* const block = some_block(9 * mebibyte);
        const bool is_restored = block == before && block[64] == 0x5A;
        std::memset(block, 1, 9 * mebibyte);
        np_free(block);
        return is_restored && is_revoked(block) && np_verify() == 1;
    });
    EXPECT_TRUE(is_revoked(before));
}
#endif
TEST_F(checked_large, reuses_memory_where_a_guard_was)
{
    // The guard is at the beginning of a huge page, whose first touch the plain build would measure.
    constexpr std::size_t huge = 2 * mebibyte;
    const auto begin = reinterpret_cast<std::uintptr_t>(np_alloc(40 * mebibyte));
    np_free(reinterpret_cast<void*>(begin));
    const std::size_t bytes = ((begin + 44 * mebibyte) & ~(huge - 1)) - begin;
    np_free(np_alloc(bytes));
    void* const first = np_alloc(bytes - mebibyte);
    for (std::size_t more = 4; more != 8; ++more) {
        void* const block = np_alloc(more * mebibyte);
        ASSERT_NE(block, nullptr);
        np_free(std::memset(block, 1, more * mebibyte));
    }
    np_free(first);
}
} // namespace
#endif
