// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/hardening/guarded_slots.hpp>

#include <memory_pool/base/errors.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/pages.hpp>

#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>

namespace np = memory_pool::np;
namespace os = memory_pool::detail::os;
using memory_pool::error_kind;
using np::guarded_slots;
using np::wrong_access;

namespace {
struct guarded_slots_test : testing::Test
{
    guarded_slots slots;

    ~guarded_slots_test() override { slots.release(); }

    std::byte* take(std::size_t bytes) { return slots.take(bytes, {}); }

    /// Returns: a block at the end of its slot, or at the beginning if `end` is false.
    std::byte* take_at(bool end, std::size_t bytes)
    {
        for (std::size_t i = 0; i != guarded_slots::count; ++i)
            if (std::byte* const block = take(bytes);
                (reinterpret_cast<std::uintptr_t>(block) % guarded_slots::slot_bytes != 0) == end)
                return block;
        return nullptr;
    }

    void expect_zeros_each_time()
    {
        constexpr std::ptrdiff_t bytes = 5120;
        for (std::size_t i = 0; i != guarded_slots::count + 10; ++i) {
            std::byte* const block = take(bytes);
            ASSERT_EQ(std::count(block, block + bytes, std::byte{0}), bytes);
            std::memset(block, 1, bytes);
            slots.give(block, {});
        }
    }

    wrong_access kind_at(const std::byte* address) const
    {
        return guarded_slots::kind_of(*slots.nearest(address), address);
    }
};

TEST_F(guarded_slots_test, are_limited_in_number)
{
    std::set<std::byte*> blocks;
    for (std::size_t i = 0; i != guarded_slots::count; ++i)
        EXPECT_TRUE(blocks.insert(take(64)).second);
    EXPECT_EQ(blocks.count(nullptr), 0U);
    EXPECT_EQ(take(64), nullptr);
    slots.give(*blocks.begin(), {});
    EXPECT_NE(take(64), nullptr);
}

TEST_F(guarded_slots_test, are_reused_after_all_other_free_slots)
{
    std::byte* const first = take(64);
    slots.give(first, {});
    for (std::size_t i = 1; i != guarded_slots::count; ++i) {
        std::byte* const other = take(64);
        EXPECT_NE(slots.nearest(other), slots.nearest(first));
        slots.give(other, {});
    }
    EXPECT_EQ(slots.nearest(take(64)), slots.nearest(first));
}

TEST_F(guarded_slots_test, are_zero_when_reused)
{
    expect_zeros_each_time();
}

TEST_F(guarded_slots_test, are_zero_when_reused_in_locked_memory)
{
    const test::system_calls calls;
    calls.refuse_from(test::system_call::advise, 1);
    expect_zeros_each_time();
}

TEST_F(guarded_slots_test, are_inaccessible_after_free)
{
    std::byte* const block = take(64);
    std::byte* const other = take(64);
    slots.give(block, {});
    EXPECT_DEATH(*block = std::byte{1}, "");
    slots.give(other, {});
    EXPECT_DEATH(*other = std::byte{1}, "");
}

TEST_F(guarded_slots_test, classify_a_wrong_access)
{
    std::byte* const block = take_at(true, 64);
    EXPECT_EQ(slots.nearest(block - 1)->begin, block);
    EXPECT_EQ(slots.nearest(block + 64)->begin, block);
    EXPECT_EQ(kind_at(block - 1), wrong_access::underflow);
    EXPECT_EQ(kind_at(block + 64), wrong_access::overflow);
    slots.give(block, {});
    EXPECT_EQ(kind_at(block), wrong_access::use_after_free);
    std::byte* const other = take_at(false, 64);
    EXPECT_EQ(slots.nearest(other - 1)->begin, other);
    EXPECT_EQ(kind_at(other - 1), wrong_access::underflow);
    EXPECT_EQ(kind_at(other + 4096), wrong_access::overflow);
}

TEST_F(guarded_slots_test, attribute_an_access_to_the_nearer_block)
{
    std::byte* const first = take(guarded_slots::slot_bytes);
    std::byte* const second = take(guarded_slots::slot_bytes);
    std::byte* const guard = first + guarded_slots::slot_bytes;
    ASSERT_EQ(guard + guarded_slots::slot_bytes, second);
    EXPECT_EQ(slots.nearest(guard)->begin, first);
    EXPECT_EQ(kind_at(guard), wrong_access::overflow);
    EXPECT_EQ(slots.nearest(second - 1)->begin, second);
    EXPECT_EQ(kind_at(second - 1), wrong_access::underflow);
}

TEST_F(guarded_slots_test, contain_only_blocks_and_guards)
{
    EXPECT_FALSE(slots.contain(&slots)) << "before the first block";
    std::byte* const block = take(64);
    EXPECT_TRUE(slots.contain(block));
    EXPECT_TRUE(slots.contain(block - guarded_slots::slot_bytes / 2));
    EXPECT_TRUE(slots.contain(block + 64));
    EXPECT_FALSE(slots.contain(&slots));
    EXPECT_FALSE(slots.contain(nullptr));
}

TEST_F(guarded_slots_test, shrink_a_block_towards_its_guard)
{
    std::byte* const block = take_at(true, 80);
    EXPECT_EQ(slots.fit(block, 60, 16), block + 16);
    EXPECT_EQ(slots.nearest(block + 16)->bytes, 60U);
    std::byte* const other = take_at(false, 80);
    EXPECT_EQ(slots.fit(other, 60, 16), other);
    EXPECT_EQ(slots.nearest(other)->bytes, 60U);
}

TEST_F(guarded_slots_test, detect_writes_to_the_rest_of_a_page)
{
    for (const bool is_at_the_end : {true, false}) {
        std::byte* const block = take_at(is_at_the_end, 80);
        EXPECT_EQ(slots.mend_canary(block), std::nullopt);
        std::byte& beside = *(is_at_the_end ? block - 1 : block + 80);
        beside = ~beside;
        EXPECT_EQ(slots.mend_canary(block), is_at_the_end ? error_kind::buffer_underflow : error_kind::buffer_overflow);
        EXPECT_EQ(slots.mend_canary(block), std::nullopt) << "once";
    }
}

TEST_F(guarded_slots_test, are_unavailable_without_addresses_or_memory)
{
    const test::system_calls calls;
    for (const auto refused : {test::system_call::map, test::system_call::protect}) {
        for (std::size_t call = 1; call <= 2; ++call) {
            calls.refuse_nothing();
            calls.refuse_from(refused, call);
            (void)take(64);
            const auto [in_use, all_are_there] = slots.in_use();
            EXPECT_TRUE(all_are_there) << in_use;
            slots.release();
        }
    }
    calls.refuse_nothing();
    EXPECT_NE(take(64), nullptr);
}
} // namespace
