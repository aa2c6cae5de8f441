// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/hardening/checked_slice.hpp>

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>
#include <np_alloc/engine/engine.hpp>
#include <np_alloc/heaps/shared_heap.hpp>
#include <np_alloc/page_heap/page_heap.hpp>

#include <support/option_for_now.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <optional>

namespace np = memory_pool::np;
using memory_pool::error_kind;

namespace {
/// A page heap, and two adjacent blocks in a slab.
struct checked_slice : testing::Test
{
    static constexpr std::size_t size_class = np::sizes::of(128);
    static constexpr std::size_t requested = 100;

    const test::option_for_now in_order{np_option_random_order, 0};
    np::page_heap all;
    np::shared_heap home{all};
    std::byte* block = nullptr;
    std::byte* next = nullptr;

    checked_slice()
    {
        EXPECT_TRUE(np::registry().heaps().start()) << "draws the canary";
        EXPECT_TRUE(all.source().start(std::size_t{256} << 20));
        block = static_cast<std::byte*>(home.allocate(size_class, requested));
        next = static_cast<std::byte*>(home.allocate(size_class, requested));
        EXPECT_EQ(next, block + np::sizes::size(size_class));
    }
    ~checked_slice() override
    {
        home.free_all();
        all.source().stop();
    }

    np::slice_index slab() { return all.region().slice_of(block); }
    np::checked_slice& record() { return all.region().record(slab()); }
    np::block_state& state(std::size_t number) { return record().blocks[number]; }
    std::optional<error_kind> damage_of(std::size_t number) { return all.checks().damage_of(slab(), number); }

    /// Marks the first block as in use, and writes its canary.
    void use()
    {
        (void)state(0).hand_out(requested);
        np::the_canary.write(block + requested, next);
        state(0).begin_use();
    }
};

TEST_F(checked_slice, finds_an_overflow_and_a_write_after_free)
{
    use();
    EXPECT_EQ(damage_of(0), std::nullopt);
    block[requested] ^= std::byte{1};
    EXPECT_EQ(damage_of(0), error_kind::buffer_overflow);
    EXPECT_EQ(all.checks().verify(slab(), 0, false).where, block);
    EXPECT_EQ(state(0).take_back(), requested);
    np::poison_block(block, np::sizes::size(size_class));
    state(0).end_use();
    EXPECT_EQ(damage_of(0), std::nullopt);
    block[10] = std::byte{1};
    EXPECT_EQ(damage_of(0), error_kind::write_after_free);
}

TEST_F(checked_slice, distinguishes_and_mends_overflow_and_underflow)
{
    use();
    EXPECT_FALSE(all.checks().mend_front(next));
    std::memset(block + requested, 0, np::sizes::size(size_class) - requested);
    const auto overflow = all.checks().mend_front(next);
    ASSERT_TRUE(overflow);
    EXPECT_EQ(overflow->kind, error_kind::buffer_overflow);
    EXPECT_EQ(overflow->address, block);
    EXPECT_EQ(overflow->block_size, requested);
    EXPECT_FALSE(all.checks().mend_front(next));
    use();
    next[-1] ^= std::byte{1};
    const auto underflow = all.checks().mend_front(next);
    ASSERT_TRUE(underflow);
    EXPECT_EQ(underflow->kind, error_kind::buffer_underflow);
    EXPECT_EQ(underflow->address, next);
}

TEST_F(checked_slice, places_large_blocks_between_canaries_before_a_guard)
{
    if (!all.checks().wants_guards())
        GTEST_SKIP() << "the page size does not allow guards";
    constexpr std::size_t bytes = 100'001;
    const np::slice_index first = all.large().take_large(bytes, 1).first;
    np::page_heap::checks_type& checks = all.checks();
    std::byte* const large = checks.begin_of_large(first);
    EXPECT_EQ(checks.bytes_of_large(first), bytes);
    EXPECT_TRUE(checks.is_guarded(large + checks.bytes_with_canary(first)));
    EXPECT_FALSE(checks.verify_large(first));
    large[bytes] ^= std::byte{1};
    EXPECT_EQ(checks.verify_large(first).where, large);
    large[-1] ^= std::byte{1};
    EXPECT_TRUE(checks.mend_front_of_large(first));
    EXPECT_FALSE(checks.mend_front_of_large(first));
    all.large().give_large(first);
}

TEST_F(checked_slice, makes_no_slab_without_memory_for_block_states)
{
    constexpr std::size_t other_class = np::sizes::of(16);
    const np::run taken = all.source().take(1, 1);
    all.checks().slab_taken(taken.first, other_class, [] { return np::no_slice; }, [](np::slice_index) { FAIL(); });
    EXPECT_EQ(all.region().record(taken.first).blocks, nullptr);
    all.region().record(taken.first).start(taken.first, all.region().address(taken.first), other_class);
    EXPECT_FALSE(all.checks().slab_made(taken.first, 1, taken.is_zeroed));
    (void)all.source().give(taken.first, true, [] { return 1U; });
}
} // namespace
