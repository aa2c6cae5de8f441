// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/slabs/block_queries.hpp>
#include <memory_pool/base/poisoning.hpp>
#include <memory_pool/core/slabs/slab_store.hpp>

#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace core = memory_pool::detail::core;
using memory_pool::error_kind;

namespace {
constexpr std::size_t stride = 32;
constexpr std::size_t block_size = 24;
constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

class block_queries : public testing::Test
{
protected:
    /// Fills free blocks, as a checking policy does.
    block_queries()
    {
        while (store_.chunks().slab_count() < 3)
            store_.grow(1);
        for (std::size_t i = 0; i != 1000; ++i) {
            used_.push_back(store_.take_one_late());
            core::checks_of(chunks()).mark_in_use(used_.back());
        }
        std::sort(used_.begin(), used_.end());
    }

    const core::chunk_list& chunks() const { return store_.chunks(); }

    /// Frees every third block.
    void free_some()
    {
        std::vector<void*> kept;
        for (std::size_t i = 0; i != used_.size(); ++i) {
            if (i % 3 != 0) {
                kept.push_back(used_[i]);
                continue;
            }
            core::checks_of(chunks()).mark_free(used_[i]);
            (void)store_.put(&used_[i], 1);
            freed_.push_back(used_[i]);
        }
        used_ = kept;
    }

    std::vector<std::pair<error_kind, const void*>> damaged() const
    {
        std::vector<std::pair<error_kind, const void*>> all;
        core::for_each_damaged(chunks(), [&](error_kind kind, const void* block) { all.emplace_back(kind, block); });
        return all;
    }

    test::accounting_upstream upstream_;
    const core::slab_layout layout_{stride, 16, unbounded};
    core::slab_store store_{layout_, unbounded, {false, false, true}, {"test", block_size}, &upstream_};
    std::vector<void*> used_;
    std::vector<void*> freed_;
};

TEST_F(block_queries, find_the_block_that_contains_an_address)
{
    for (void* const block : used_) {
        const core::block_position at_start = core::position_of(chunks(), block);
        ASSERT_NE(at_start.home, nullptr);
        EXPECT_TRUE(at_start.at_start);
        EXPECT_EQ(at_start.home->block(at_start.index, stride), block);
        const core::block_position inside = core::position_of(chunks(), static_cast<char*>(block) + stride - 1);
        EXPECT_EQ(inside.index, at_start.index);
        EXPECT_FALSE(inside.at_start);
    }
    EXPECT_EQ(core::position_of(chunks(), this).home, nullptr);
}

TEST_F(block_queries, classify_any_address)
{
    free_some();
    for (void* const block : used_) {
        EXPECT_TRUE(core::is_outstanding(chunks(), block));
        EXPECT_EQ(core::misuse_at(chunks(), block), std::nullopt);
        EXPECT_FALSE(core::has_block_at(chunks(), static_cast<char*>(block) + 1));
        EXPECT_EQ(core::misuse_at(chunks(), static_cast<char*>(block) + 1), error_kind::misaligned_pointer);
    }
    for (void* const block : freed_) {
        EXPECT_TRUE(core::has_block_at(chunks(), block));
        EXPECT_FALSE(core::is_outstanding(chunks(), block));
        EXPECT_EQ(core::misuse_at(chunks(), block), error_kind::double_free);
    }
    EXPECT_EQ(core::misuse_at(chunks(), this), error_kind::foreign_pointer);
}

TEST_F(block_queries, visit_blocks_in_use_and_free_blocks)
{
    free_some();
    std::vector<void*> visited;
    core::for_each_outstanding(chunks(), [&](void* block) { visited.push_back(block); });
    EXPECT_EQ(visited, used_);
    std::vector<void*> one_by_one;
    for (void* each = nullptr; (each = core::next_outstanding(chunks(), each)) != nullptr;)
        one_by_one.push_back(each);
    EXPECT_EQ(one_by_one, used_);
    std::size_t free = 0;
    core::for_each_free(chunks(), [&](void* block) {
        ++free;
        EXPECT_FALSE(core::is_outstanding(chunks(), block));
    });
    EXPECT_EQ(free, store_.capacity() - used_.size());
}

TEST_F(block_queries, find_overflows_and_writes_after_free)
{
    free_some();
    EXPECT_TRUE(damaged().empty());
    EXPECT_FALSE(core::has_damage(chunks()));
    auto* const behind = static_cast<char*>(used_[5]) + block_size;
    auto* const inside = static_cast<char*>(freed_[7]) + 3;
    const auto change = [](char* address) {
        memory_pool::detail::base::permit_access(address, 1); // Hides the write from sanitizers.
        *address = static_cast<char>(~*address);
    };
    change(behind);
    change(inside);
    const std::vector<std::pair<error_kind, const void*>> expected{{error_kind::write_after_free, freed_[7]},
                                                                   {error_kind::buffer_overflow, used_[5]}};
    EXPECT_EQ(damaged(), expected);
    EXPECT_TRUE(core::has_damage(chunks()));
    change(behind);
    change(inside);
    EXPECT_FALSE(core::has_damage(chunks()));
}

TEST_F(block_queries, verify_that_cached_blocks_are_handed_out_once)
{
    const auto are_once = [this](const std::vector<void*>& cached) {
        return core::are_cached_blocks_valid(
            chunks(), [&cached](auto&& visit) { std::for_each(cached.begin(), cached.end(), visit); });
    };
    free_some();
    EXPECT_TRUE(are_once({}));
    EXPECT_TRUE(are_once({used_[0], used_[9], used_[100]}));
    EXPECT_FALSE(are_once({used_[0], used_[9], used_[0]}));
    EXPECT_FALSE(are_once({used_[0], freed_[9]}));
    EXPECT_FALSE(are_once({static_cast<char*>(used_[0]) + 1}));
    EXPECT_TRUE(are_once({used_[0], used_[9]})) << "leaves the bits unchanged";
    EXPECT_TRUE(store_.verify());
}
} // namespace
