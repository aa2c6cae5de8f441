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
/// A policy of stubs, which the test configures.
struct stub_blocks
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
        stub_blocks::are_known = true;
        stub_blocks::are_large = stub_blocks::may_be_resized = false;
        stub_blocks::home = nullptr;
        stub_blocks::shrunk_to = stub_blocks::has_room_behind = 0;
        errno = 0;
        std::memset(block, 0x5A, 1000);
    }
    ~reallocate_block() override { np_free(block); }

    static void* resized(void* from, std::size_t bytes, std::size_t alignment = np::alignment_of_all)
    {
        return np::reallocate_block<stub_blocks>(from, bytes, alignment);
    }
};

TEST_F(reallocate_block, resizes_in_place_if_aligned)
{
    stub_blocks::may_be_resized = true;
    EXPECT_EQ(resized(block, 1008), block);
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    const std::size_t alignment = 2 * (address & (~address + 1)); // More than the alignment of the block.
    void* const aligned = resized(block, 1000, alignment);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned) % alignment, 0U);
    EXPECT_EQ(std::memcmp(aligned, std::vector<char>(1000, 0x5A).data(), 1000), 0);
    block = aligned;
}

TEST_F(reallocate_block, rejects_invalid_pointers_and_allocates_for_nullptr)
{
    stub_blocks::are_known = false;
    EXPECT_EQ(resized(block, 10), nullptr);
    EXPECT_EQ(errno, EINVAL);
    void* const first = resized(nullptr, 10, 64);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0U);
    np_free(first);
}

TEST_F(reallocate_block, adds_room_to_grow_to_large_blocks_if_memory_allows)
{
    stub_blocks::are_large = true;
    const stub_blocks::block from{block, 100'000};
    std::vector<std::size_t> requested;
    const auto refuse = [&requested](std::size_t bytes) -> void* { return requested.push_back(bytes), nullptr; };
    EXPECT_EQ(np::allocate_for<stub_blocks>(from, 200'000, refuse), nullptr);
    EXPECT_EQ(requested, (std::vector<std::size_t>{200'000 + np::room_to_grow(200'000), 200'000}));
    EXPECT_EQ(stub_blocks::has_room_behind, 0U);
    const auto give = [this](std::size_t) { return block; };
    EXPECT_EQ(np::allocate_for<stub_blocks>(from, 200'000, give), block);
    EXPECT_EQ(stub_blocks::has_room_behind, 200'000U);
    requested.clear();
    EXPECT_EQ(np::allocate_for<stub_blocks>(from, 90'000, refuse), nullptr);
    EXPECT_EQ(requested, std::vector<std::size_t>{90'000}) << "no room for a block that shrinks";
}

TEST_F(reallocate_block, can_still_shrink_when_out_of_memory)
{
    constexpr std::size_t large = 1'000'000;
    void* const large_block = np_alloc(large);
    const test::option_for_now no_memory(np_option_limit_bytes, 1);
    EXPECT_EQ(resized(large_block, std::numeric_limits<std::size_t>::max() / 2), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_EQ(stub_blocks::shrunk_to, 0U);
    EXPECT_EQ(resized(large_block, large / 2), large_block);
    EXPECT_EQ(stub_blocks::shrunk_to, large / 2);
    np_free(large_block);
}

TEST_F(reallocate_block, expands_only_in_place)
{
    EXPECT_TRUE(np::expand_block<stub_blocks>(block, 1000));
    EXPECT_FALSE(np::expand_block<stub_blocks>(block, 2000));
    EXPECT_EQ(errno, ENOMEM);
    stub_blocks::may_be_resized = true;
    EXPECT_TRUE(np::expand_block<stub_blocks>(block, 2000));
    EXPECT_FALSE(np::expand_block<stub_blocks>(nullptr, 1));
    EXPECT_EQ(errno, EINVAL);
}
} // namespace
