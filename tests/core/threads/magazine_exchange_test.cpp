// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/threads/magazine_exchange.hpp>

#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <limits>
#include <set>

namespace core = memory_pool::detail::core;

namespace {
constexpr std::size_t room = 4;

/// The parameter: whether the exchange uses a barrier of the whole process.
class magazine_exchange_test : public testing::TestWithParam<bool>
{
protected:
    struct cache_of_a_thread
    {
        explicit cache_of_a_thread(std::size_t shard)
        {
            cache.slot = &slot;
            cache.shard = shard;
        }

        core::cache_slot slot;
        core::thread_cache cache;
    };

    core::thread_cache& open(cache_of_a_thread& opened)
    {
        EXPECT_TRUE(exchange_.equip(opened.cache));
        exchange_.open(opened.cache);
        return opened.cache;
    }

    /// Returns the number of accepted blocks.
    std::size_t put(core::thread_cache& cache, std::size_t first, std::size_t count)
    {
        std::size_t done = 0;
        while (done != count && exchange_.put(cache, &blocks_[first + done]))
            ++done;
        return done;
    }

    std::set<void*> take_all(core::thread_cache& cache)
    {
        std::set<void*> taken;
        while (void* const block = exchange_.take(cache))
            EXPECT_TRUE(taken.insert(block).second) << "the same block twice";
        return taken;
    }

    std::array<int, 64> blocks_{};
    test::accounting_upstream upstream_;
    core::magazine_exchange exchange_{room, GetParam(), &upstream_};
    cache_of_a_thread mine_{0};
    cache_of_a_thread other_{1};
};

TEST_P(magazine_exchange_test, equips_a_cache_once_magazines_are_available)
{
    EXPECT_FALSE(exchange_.equip(mine_.cache));
    exchange_.provide(0, 1);
    EXPECT_FALSE(exchange_.is_equipped(mine_.cache));
    EXPECT_TRUE(exchange_.equip(mine_.cache));
    const void* const bottom = exchange_.bottom_of(mine_.cache);
    EXPECT_TRUE(exchange_.equip(mine_.cache));
    EXPECT_EQ(exchange_.bottom_of(mine_.cache), bottom) << "it keeps its magazine";
    EXPECT_EQ(exchange_.bytes_reserved(), upstream_.live_bytes());
}

TEST_P(magazine_exchange_test, fills_two_magazines_before_it_uses_the_depot)
{
    exchange_.provide(3 * room, 1);
    core::thread_cache& cache = open(mine_);
    EXPECT_EQ(put(cache, 0, 2 * room), 2 * room);
    EXPECT_EQ(exchange_.blocks_in(cache), 2 * room);
    EXPECT_EQ(exchange_.blocks_in_depot(), 0u);
    EXPECT_EQ(put(cache, 2 * room, 1), 1u);
    EXPECT_EQ(exchange_.blocks_in(cache), room + 1);
    EXPECT_EQ(exchange_.blocks_in_depot(), room);
    EXPECT_EQ(take_all(cache).size(), 2 * room + 1);
    EXPECT_EQ(exchange_.blocks_in(cache) + exchange_.blocks_in_depot(), 0u);
}

TEST_P(magazine_exchange_test, does_not_use_the_depot_at_a_magazine_boundary)
{
    exchange_.provide(3 * room, 1);
    core::thread_cache& cache = open(mine_);
    (void)put(cache, 0, room);
    for (int i = 0; i != 10; ++i) {
        EXPECT_EQ(put(cache, room, 2), 2u);
        EXPECT_EQ(exchange_.take(cache), &blocks_[room + 1]);
        EXPECT_EQ(exchange_.take(cache), &blocks_[room]);
        EXPECT_EQ(exchange_.take(cache), &blocks_[room - 1]) << "from the other magazine";
        EXPECT_EQ(put(cache, room - 1, 1), 1u);
        EXPECT_EQ(exchange_.blocks_in_depot(), 0u);
    }
}

TEST_P(magazine_exchange_test, passes_blocks_between_threads_through_the_depot)
{
    exchange_.provide(4 * room, 2);
    core::thread_cache& cache = open(mine_);
    EXPECT_EQ(put(cache, 0, 4 * room), 4 * room);
    EXPECT_EQ(take_all(open(other_)).size(), 2 * room) << "the blocks in the depot";
    EXPECT_EQ(take_all(cache).size(), 2 * room);
}

TEST_P(magazine_exchange_test, rejects_a_block_without_an_empty_magazine)
{
    exchange_.provide(0, 1);
    core::thread_cache& cache = open(mine_);
    const std::size_t accepted = put(cache, 0, blocks_.size());
    EXPECT_LT(accepted, blocks_.size());
    EXPECT_EQ(exchange_.blocks_in(cache) + exchange_.blocks_in_depot(), accepted);
    EXPECT_EQ(take_all(cache).size(), accepted);
}

TEST_P(magazine_exchange_test, empties_a_closed_cache_that_accepts_nothing)
{
    exchange_.provide(4 * room, 1);
    core::thread_cache& cache = open(mine_);
    (void)put(cache, 0, 3 * room + 1);
    mine_.slot.close();
    EXPECT_FALSE(exchange_.put(cache, &blocks_[3 * room + 1]));
    EXPECT_EQ(exchange_.take(cache), nullptr);
    std::set<void*> left;
    const auto keep = [&left](void* const* blocks, std::size_t count) { left.insert(blocks, blocks + count); };
    exchange_.empty(cache, mine_.slot.wait_for_top(), keep);
    EXPECT_EQ(left.size(), room + 1);
    while (exchange_.empty_one_of_depot(keep))
        continue;
    EXPECT_EQ(left.size(), 3 * room + 1);
    exchange_.open(cache);
    EXPECT_EQ(exchange_.blocks_in(cache), 0u);
}

TEST_P(magazine_exchange_test, moves_blocks_in_bulk_up_to_a_magazine)
{
    exchange_.provide(3 * room, 1);
    core::thread_cache& cache = open(mine_);
    std::array<int*, 3 * room> blocks{};
    for (std::size_t i = 0; i != blocks.size(); ++i)
        blocks[i] = i == 1 ? nullptr : &blocks_[i];
    std::size_t accepted = 0;
    const auto accept = [&accepted](void*) { ++accepted; };
    EXPECT_EQ(exchange_.put(cache, blocks.data(), 3, accept), 3u);
    EXPECT_EQ(accepted, 2u) << "without the nullptr";
    std::size_t done = 3;
    EXPECT_EQ(exchange_.put(cache, blocks.data() + done, blocks.size() - done, accept), room - 2) << "the rest";
    done += room - 2;
    EXPECT_EQ(exchange_.put(cache, blocks.data() + done, blocks.size() - done, accept), room) << "a full magazine";
    done += room;
    EXPECT_EQ(exchange_.put(cache, blocks.data() + done, blocks.size() - done, accept), blocks.size() - done);
    EXPECT_EQ(exchange_.blocks_in(cache) + exchange_.blocks_in_depot(), blocks.size() - 1);
    EXPECT_EQ(exchange_.blocks_in_depot(), room);

    std::set<int*> taken;
    std::array<int*, 3 * room> out{};
    std::size_t times = 0;
    while (const std::size_t some = exchange_.take(cache, out.data(), out.size())) {
        EXPECT_LE(some, room);
        taken.insert(out.begin(), out.begin() + some);
        ++times;
    }
    EXPECT_EQ(times, 3u);
    EXPECT_EQ(taken.size(), blocks.size() - 1);
    mine_.slot.close();
    EXPECT_EQ(exchange_.put(cache, blocks.data(), 1, accept), 0u);
    EXPECT_EQ(exchange_.take(cache, out.data(), 1), 0u);
}

INSTANTIATE_TEST_SUITE_P(, magazine_exchange_test, testing::Bool(), [](const testing::TestParamInfo<bool>& barrier) {
    return barrier.param ? "with_barrier" : "without_barrier";
});

TEST(magazine_exchange, sizes_magazines_to_32_kib_within_bounds)
{
    constexpr std::size_t any = std::numeric_limits<std::size_t>::max();
    EXPECT_EQ(core::magazine_exchange::suitable_room(256, any, 0), 128u);
    EXPECT_EQ(core::magazine_exchange::suitable_room(8, any, 0), 256u);
    EXPECT_EQ(core::magazine_exchange::suitable_room(std::size_t{1} << 20, any, 0), 4u);
    EXPECT_EQ(core::magazine_exchange::suitable_room(256, 160, 0), 10u) << "a sixteenth of a bounded pool";
    EXPECT_EQ(core::magazine_exchange::suitable_room(256, any, 40), 20u) << "a thread has two magazines";
    EXPECT_EQ(core::magazine_exchange::suitable_room(24, 160, 0), 16u) << "whole cache lines";
}
} // namespace
