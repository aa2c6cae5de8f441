// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/engine/reallocate.hpp>

#include <memory_pool/np_alloc.h>

#include <support/option_for_now.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

namespace np = memory_pool::np;

namespace {
/// Blocks of np_alloc, of which the test says what can be done with them where they are.
struct told_blocks
{
    struct block
    {
        void* begin;
        std::size_t held;
    };

    static inline bool are_known = true;
    static inline bool are_large = false;
    static inline bool may_be_resized = false;
    static inline np::shared_heap* home = nullptr;
    static inline std::size_t shrunk_to = 0;
    static inline std::size_t has_room_behind = 0;

    static std::optional<block> find(void* pointer)
    {
        return are_known ? std::optional(block{pointer, np_usable_size(pointer)}) : std::nullopt;
    }
    static np::shared_heap* home_of(const block&) { return home; }
    static bool is_large(const block&) { return are_large; }
    static bool resize_in_place(const block&, std::size_t) { return may_be_resized; }
    static void* move_memory(const block&, std::size_t) { return nullptr; }
    static void shrink_in_place(const block&, std::size_t bytes) { shrunk_to = bytes; }
    static void leave_room(void*, std::size_t bytes) { has_room_behind = bytes; }
};

struct reallocate_block : testing::Test
{
    void* block = np_alloc(1000);

    reallocate_block()
    {
        told_blocks::are_known = true;
        told_blocks::are_large = told_blocks::may_be_resized = false;
        told_blocks::home = nullptr;
        told_blocks::shrunk_to = told_blocks::has_room_behind = 0;
        errno = 0;
        std::memset(block, 0x5A, 1000);
    }
    ~reallocate_block() override { np_free(block); }

    static void* resized(void* from, std::size_t bytes, std::size_t alignment = np::alignment_of_all)
    {
        return np::reallocate_block<told_blocks>(from, bytes, alignment);
    }
};

TEST_F(reallocate_block, stays_where_it_can_be_resized_if_it_is_aligned)
{
    told_blocks::may_be_resized = true;
    EXPECT_EQ(resized(block, 1008), block);
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    const std::size_t alignment = 2 * (address & (~address + 1)); // More than it has.
    void* const aligned = resized(block, 1000, alignment);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned) % alignment, 0U);
    EXPECT_EQ(std::memcmp(aligned, std::vector<char>(1000, 0x5A).data(), 1000), 0);
    block = aligned;
}

TEST_F(reallocate_block, refuses_what_is_no_block_and_allocates_for_none)
{
    told_blocks::are_known = false;
    EXPECT_EQ(resized(block, 10), nullptr);
    EXPECT_EQ(errno, EINVAL);
    void* const first = resized(nullptr, 10, 64);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0U);
    np_free(first);
}

TEST_F(reallocate_block, gets_room_to_grow_if_it_is_large_and_grows_and_exactly_what_it_needs_if_there_is_no_more)
{
    told_blocks::are_large = true;
    const told_blocks::block from{block, 100'000};
    std::vector<std::size_t> asked;
    const auto refuse = [&asked](std::size_t bytes) -> void* { return asked.push_back(bytes), nullptr; };
    EXPECT_EQ(np::allocate_for<told_blocks>(from, 200'000, refuse), nullptr);
    EXPECT_EQ(asked, (std::vector<std::size_t>{200'000 + np::room_to_grow(200'000), 200'000}));
    EXPECT_EQ(told_blocks::has_room_behind, 0U);
    const auto give = [this](std::size_t) { return block; };
    EXPECT_EQ(np::allocate_for<told_blocks>(from, 200'000, give), block);
    EXPECT_EQ(told_blocks::has_room_behind, 200'000U);
    asked.clear();
    EXPECT_EQ(np::allocate_for<told_blocks>(from, 90'000, refuse), nullptr);
    EXPECT_EQ(asked, std::vector<std::size_t>{90'000}) << "it shrinks";
}

TEST_F(reallocate_block, is_unchanged_without_memory_and_may_still_become_smaller)
{
    constexpr std::size_t large = 1'000'000;
    void* const its = np_alloc(large);
    const test::option_for_now no_memory(np_option_limit_bytes, 1);
    EXPECT_EQ(resized(its, std::numeric_limits<std::size_t>::max() / 2), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_EQ(told_blocks::shrunk_to, 0U);
    EXPECT_EQ(resized(its, large / 2), its);
    EXPECT_EQ(told_blocks::shrunk_to, large / 2);
    np_free(its);
}

TEST_F(reallocate_block, is_expanded_only_where_it_is)
{
    EXPECT_TRUE(np::expand_block<told_blocks>(block, 1000));
    EXPECT_FALSE(np::expand_block<told_blocks>(block, 2000));
    EXPECT_EQ(errno, ENOMEM);
    told_blocks::may_be_resized = true;
    EXPECT_TRUE(np::expand_block<told_blocks>(block, 2000));
    EXPECT_FALSE(np::expand_block<told_blocks>(nullptr, 1));
    EXPECT_EQ(errno, EINVAL);
}
} // namespace
