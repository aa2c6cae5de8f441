// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/slabs/chunk_list.hpp>

#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <new>
#include <set>
#include <vector>

namespace core = memory_pool::detail::core;

namespace {
constexpr std::size_t stride = 32;
constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

class chunk_list_test : public testing::Test
{
protected:
    ~chunk_list_test() override
    {
        chunks_.release();
        EXPECT_EQ(upstream_.live_bytes(), 0U);
        EXPECT_EQ(upstream_.mismatched(), 0U);
    }

    /// Adds a chunk and fills each of its slabs with blocks.
    core::slab* add(std::size_t blocks)
    {
        core::chunk_shape shape{};
        core::slab* const chunk = chunks_.allocate(blocks, shape);
        chunks_.for_each_slab_in(chunk, [&shape](core::slab* home) { home->extend(shape.room_each); });
        chunks_.insert(chunk, shape);
        return chunk;
    }

    std::size_t count_slabs() const
    {
        std::size_t count = 0;
        chunks_.for_each_slab([&count](const core::slab*) { ++count; });
        return count;
    }

    test::accounting_upstream upstream_;
    const core::slab_layout layout_{stride, 16, unbounded};
    core::chunk_list chunks_{layout_, unbounded, {false, false, false}, {"test", stride}, &upstream_};
};

TEST_F(chunk_list_test, allocates_nothing_from_upstream_at_construction)
{
    EXPECT_EQ(upstream_.calls(), 0U);
    EXPECT_EQ(chunks_.capacity(), 0U);
    EXPECT_EQ(chunks_.slab_count(), 0U);
    EXPECT_EQ(chunks_.bytes_reserved(), 0U);
    EXPECT_EQ(chunks_.slab_to_extend(), nullptr);
    EXPECT_EQ(chunks_.look_up(this), nullptr);
    EXPECT_FALSE(chunks_.is_bounded());
    EXPECT_TRUE(chunks_.may_grow());
    EXPECT_TRUE(chunks_.is_consistent());
}

TEST_F(chunk_list_test, counts_blocks_slabs_and_bytes)
{
    std::size_t blocks = 0;
    for (const std::size_t wanted : {100U, 3000U, 200'000U}) {
        core::slab* const chunk = add(wanted);
        chunks_.for_each_slab_in(chunk, [&blocks](const core::slab* home) { blocks += home->block_count(); });
        EXPECT_EQ(chunks_.capacity(), blocks);
        EXPECT_EQ(chunks_.slab_count(), count_slabs());
        EXPECT_EQ(chunks_.bytes_reserved(), upstream_.live_bytes());
        EXPECT_TRUE(chunks_.is_consistent());
    }
}

TEST_F(chunk_list_test, finds_the_slab_of_each_block)
{
    for (const std::size_t wanted : {10U, 20U, 3000U, 200'000U})
        (void)add(wanted);
    chunks_.for_each_slab([this](core::slab* home) {
        for (std::size_t i = 0; i != home->block_count(); ++i) {
            ASSERT_EQ(chunks_.slab_of(home->block(i, stride)), home);
            ASSERT_EQ(chunks_.look_up(home->block(i, stride)), home);
        }
        EXPECT_EQ(home->owner(), chunks_.owner());
    });
    EXPECT_EQ(chunks_.look_up(nullptr), nullptr);
    EXPECT_EQ(chunks_.look_up(&upstream_), nullptr);
}

TEST_F(chunk_list_test, halves_the_request_until_upstream_succeeds)
{
    upstream_.allow_chunks_of_at_most(64 * 1024);
    EXPECT_FALSE(chunks_.is_short());
    (void)add(100'000);
    EXPECT_TRUE(chunks_.is_short());
    EXPECT_LE(chunks_.bytes_reserved(), 64U * 1024);
    const std::size_t calls = upstream_.calls();
    (void)add(100'000);
    EXPECT_EQ(upstream_.calls(), calls + 1) << "remembers the size that succeeded";
    upstream_.fail_always();
    core::chunk_shape shape{};
    EXPECT_THROW((void)chunks_.allocate(1, shape), std::bad_alloc);
    EXPECT_TRUE(chunks_.is_consistent());
    upstream_.never_fail();
}

TEST_F(chunk_list_test, detaches_and_frees_wholly_free_chunks)
{
    core::slab* const first = add(100);
    core::slab* const used = add(3000);
    (void)add(3000);
    (void)used->take_span(stride);
    std::vector<std::size_t> left;
    std::set<const core::slab*> unlisted;
    const core::chunk_list::detached_chunks detached = chunks_.detach_free(
        [&](std::size_t capacity) { left.push_back(capacity); }, [&](core::slab* home) { unlisted.insert(home); });
    EXPECT_EQ(left, std::vector<std::size_t>{used->block_count()}) << "called once, before it detaches the first chunk";
    EXPECT_EQ(unlisted.count(first), 1U);
    EXPECT_EQ(unlisted.count(used), 0U);
    EXPECT_EQ(chunks_.capacity(), used->block_count());
    EXPECT_NE(upstream_.live_bytes(), chunks_.bytes_reserved()) << "detached chunks are not freed yet";
    chunks_.give_back(detached);
    EXPECT_EQ(upstream_.live_bytes(), chunks_.bytes_reserved());
    EXPECT_EQ(chunks_.look_up(used->first_block()), used);
    EXPECT_TRUE(chunks_.is_consistent());
}

TEST_F(chunk_list_test, requests_full_chunks_again_after_a_free)
{
    upstream_.allow_chunks_of_at_most(64 * 1024);
    (void)add(100'000);
    EXPECT_TRUE(chunks_.is_short());
    chunks_.give_back(chunks_.detach_free([](std::size_t) {}, [](core::slab*) {}));
    EXPECT_FALSE(chunks_.is_short());
    EXPECT_EQ(upstream_.live_bytes(), 0U);
}

TEST_F(chunk_list_test, extends_a_slab_with_room)
{
    core::chunk_shape shape{};
    core::slab* const chunk = chunks_.allocate(100, shape);
    chunk->extend(shape.room_each - 3);
    chunks_.insert(chunk, shape);
    ASSERT_EQ(chunks_.slab_to_extend(), chunk);
    chunk->extend(1);
    chunks_.note_extended(1);
    EXPECT_EQ(chunks_.slab_to_extend(), chunk);
    chunk->extend(2);
    chunks_.note_extended(2);
    EXPECT_EQ(chunks_.slab_to_extend(), nullptr);
    EXPECT_TRUE(chunks_.is_consistent());
}
} // namespace
