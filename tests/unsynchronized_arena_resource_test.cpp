// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/arena_resource.hpp>

#include <support/arena_resource_conformance.hpp>
#include <support/error_recorder.hpp>
#include <support/resource_conformance.hpp>
#include <support/sanitizers.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace mp = memory_pool;

namespace test {
using plain_arenas = mp::basic_unsynchronized_arena_resource<mp::default_policy>;
using checking_arenas = mp::basic_unsynchronized_arena_resource<mp::checking_policy>;
using unsynchronized_arenas = testing::Types<plain_arenas, checking_arenas>;
INSTANTIATE_TYPED_TEST_SUITE_P(unsynchronized_arenas, resource_conformance, unsynchronized_arenas, );
INSTANTIATE_TYPED_TEST_SUITE_P(unsynchronized_arenas, arena_resource_conformance, unsynchronized_arenas, );
INSTANTIATE_TYPED_TEST_SUITE_P(unsynchronized_arenas, checking_arena_conformance, testing::Types<checking_arenas>, );
} // namespace test

namespace {
using mp::error_kind;
using test::named_arenas;

TEST(unsynchronized_arena_resource, takes_one_line_of_the_cache_for_the_header_of_an_arena)
{
    const mp::unsynchronized_arena_resource arenas(test::with_arenas_of(1024));
    EXPECT_EQ(arenas.largest_block(), 1024u - 64u);
}

TEST(unsynchronized_arena_resource, reports_that_more_came_back_than_was_handed_out_and_ignores_it)
{
    const test::error_recorder recorder;
    mp::unsynchronized_arena_resource arenas(named_arenas("frames"));
    void* const block = arenas.allocate(40);
    arenas.deallocate(block, 40);
    arenas.deallocate(block, 40);
    ASSERT_EQ(recorder.kinds(), test::kinds{error_kind::double_free});
    EXPECT_EQ(recorder.reports()[0].pool_name, "frames");
    EXPECT_TRUE(arenas.verify());
    EXPECT_EQ(arenas.bytes_in_use(), 0u);
    EXPECT_EQ(arenas.allocate(40), block);
}

TEST(unsynchronized_arena_resource, stays_in_order_if_it_is_the_last_block_that_is_one_too_many)
{
    const test::error_recorder recorder;
    mp::unsynchronized_arena_resource arenas;
    void* const small = arenas.allocate(8, 8);
    void* const last = arenas.allocate(1000, 8);
    arenas.deallocate(small, 8, 8);
    arenas.deallocate(small, 8, 8); // Not detected yet: the arena has that many bytes in use.
    arenas.deallocate(last, 1000, 8);
    EXPECT_EQ(recorder.kinds(), test::kinds{error_kind::double_free});
    EXPECT_TRUE(arenas.verify());
    EXPECT_LE(arenas.bytes_in_use(), 1008u);
    arenas.clear();
    EXPECT_EQ(arenas.free_arenas(), 1u);
}

TEST(unsynchronized_arena_resource, reports_that_more_came_back_to_an_arena_that_is_free)
{
    const test::error_recorder recorder;
    mp::unsynchronized_arena_resource arenas(test::with_arenas_of(1024));
    const std::size_t whole = arenas.largest_block();
    void* const in_first = arenas.allocate(whole);
    void* const in_second = arenas.allocate(whole);
    arenas.deallocate(in_first, whole);
    arenas.deallocate(in_first, whole);
    EXPECT_EQ(recorder.kinds(), test::kinds{error_kind::double_free});
    EXPECT_TRUE(arenas.verify());
    EXPECT_EQ(arenas.free_arenas(), 1u);
    arenas.deallocate(in_second, whole);
    EXPECT_EQ(arenas.free_arenas(), 2u);
}

TEST(unsynchronized_arena_resource, reports_a_large_block_with_another_alignment)
{
    const test::error_recorder recorder;
    mp::unsynchronized_arena_resource arenas(test::with_arenas_of(1024));
    void* const large = arenas.allocate(100'000, 64);
    arenas.deallocate(large, 100'000, 128);
    EXPECT_EQ(recorder.kinds(), test::kinds{error_kind::foreign_pointer});
    arenas.deallocate(large, 100'000, 64);
    EXPECT_EQ(recorder.reports().size(), 1U);
    EXPECT_EQ(arenas.bytes_in_use(), 0U);
}

TEST(unsynchronized_arena_resource_death, ends_the_program_at_a_misuse_that_it_sees)
{
    mp::unsynchronized_arena_resource arenas(named_arenas("frames"));
    mp::unsynchronized_arena_resource others;
    void* const block = arenas.allocate(40);
    EXPECT_DEATH(others.deallocate(block, 40), "foreign pointer: address 0x[0-9a-f]+, block size 40 bytes");
    arenas.deallocate(block, 40);
    EXPECT_DEATH(arenas.deallocate(block, 40), "double free: .*pool 'frames'\n  remedy: ");
}

#if MEMORY_POOL_ASAN
TEST(address_sanitizer_death, stops_at_a_use_of_what_is_free_in_an_arena)
{
    test::expect_reports_without_names();
    const auto use_after_free = [] {
        mp::unsynchronized_arena_resource arenas;
        (void)arenas.allocate(40);
        auto* const block = static_cast<volatile char*>(arenas.allocate(40));
        arenas.deallocate(const_cast<char*>(block), 40);
        block[3] = 'x';
    };
    const auto overflow = [] {
        mp::unsynchronized_arena_resource arenas;
        static_cast<volatile char*>(arenas.allocate(40))[40] = 'x';
    };
    const auto use_after_clear = [] {
        mp::unsynchronized_arena_resource arenas;
        auto* const block = static_cast<volatile char*>(arenas.allocate(40));
        arenas.clear();
        block[3] = 'x';
    };
    EXPECT_DEATH(use_after_free(), "use-after-poison");
    EXPECT_DEATH(overflow(), "use-after-poison");
    EXPECT_DEATH(use_after_clear(), "use-after-poison");
}
#endif
} // namespace
