// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/resources/class_pools.hpp>

#include <memory_pool/core/resources/block_classes.hpp>

#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <memory_resource>
#include <new>
#include <stdexcept>

namespace mp = memory_pool;
namespace core = memory_pool::detail::core;

namespace {
/// A pool that records its constructor arguments and allocates nothing.
struct noted_pool
{
    noted_pool(std::size_t size, const mp::pool_options& asked, std::pmr::memory_resource* from)
        : bytes(size), options(asked), upstream(from)
    {
        if (fails)
            throw std::runtime_error("made to fail");
        ++alive;
    }
    noted_pool(const noted_pool&) = delete;
    noted_pool& operator=(const noted_pool&) = delete;
    ~noted_pool() { --alive; }

    std::size_t block_size() const { return bytes; }
    std::size_t in_use() const { return 3; }
    std::size_t bytes_reserved() const { return 1000; }
    std::size_t trim() const { return 100; }
    bool verify() const { return bytes != 24; }

    static inline int alive = 0;
    static inline bool fails = false;
    std::size_t bytes;
    mp::pool_options options;
    std::pmr::memory_resource* upstream;
};

class class_pools_test : public testing::Test
{
protected:
    test::accounting_upstream upstream_;
    test::accounting_upstream upstream_of_pools_;
    core::class_pools<noted_pool> pools_{{}, &upstream_, &upstream_of_pools_, "pools"};
};

TEST_F(class_pools_test, creates_a_pool_on_first_use)
{
    EXPECT_EQ(pools_.find(5), nullptr);
    noted_pool& made = pools_.make(5);
    EXPECT_EQ(pools_.find(5), &made);
    EXPECT_EQ(&pools_.make(5), &made);
    EXPECT_EQ(made.bytes, core::block_sizes::size(5));
    EXPECT_EQ(made.options.alignment, core::block_class_alignment(5));
    EXPECT_EQ(made.upstream, &upstream_of_pools_);
    EXPECT_EQ(upstream_.live_bytes(), sizeof(noted_pool));
    EXPECT_EQ(noted_pool::alive, 1);
}

TEST_F(class_pools_test, frees_the_memory_if_a_pool_cannot_be_created)
{
    noted_pool::fails = true;
    EXPECT_THROW(pools_.make(5), std::runtime_error);
    noted_pool::fails = false;
    EXPECT_EQ(upstream_.live_bytes(), 0u);
    EXPECT_EQ(pools_.find(5), nullptr);
    upstream_.fail_at(1);
    EXPECT_THROW(pools_.make(5), std::bad_alloc);
    EXPECT_EQ(pools_.make(5).bytes, core::block_sizes::size(5));
}

TEST_F(class_pools_test, sums_over_its_pools)
{
    pools_.make(0);
    pools_.make(1);
    EXPECT_EQ(pools_.bytes_in_pools(), 3u * 8 + 3u * 16);
    EXPECT_EQ(pools_.bytes_for_pools(), 2 * (1000 + sizeof(noted_pool)));
    EXPECT_EQ(pools_.trim(), 200u);
    EXPECT_TRUE(pools_.verify());
    pools_.make(2);
    EXPECT_FALSE(pools_.verify()) << "the pool of 24 bytes is invalid";
}

TEST_F(class_pools_test, release_destroys_its_pools)
{
    pools_.make(0);
    pools_.make(core::block_sizes::count - 1);
    (void)pools_.large().allocate(100'000, 16);
    pools_.release();
    EXPECT_EQ(noted_pool::alive, 0);
    EXPECT_EQ(upstream_.live_bytes(), 0u);
    EXPECT_EQ(pools_.find(0), nullptr);
    EXPECT_EQ(pools_.make(0).bytes, 8u);
}

TEST_F(class_pools_test, limits_growth_steps_to_max_blocks_per_chunk)
{
    const auto step = [&](std::size_t max_blocks, std::size_t number) {
        std::pmr::pool_options options;
        options.max_blocks_per_chunk = max_blocks;
        core::class_pools<noted_pool> pools(options, &upstream_, &upstream_of_pools_, "pools");
        return pools.make(number).options.growth_step;
    };
    const std::size_t of_64_bytes = core::block_sizes::of(64);
    EXPECT_EQ(step(0, of_64_bytes), 0u) << "the pool chooses";
    EXPECT_EQ(step(10, of_64_bytes), 10u);
    EXPECT_EQ(step(5000, of_64_bytes), 1024u) << "limited to 64 KiB";
    EXPECT_EQ(step(1'000'000, of_64_bytes), 0u);
    EXPECT_EQ(step(1, core::block_sizes::count - 1), 0u) << "one block fills the default chunk of 1 MiB";
}
} // namespace
