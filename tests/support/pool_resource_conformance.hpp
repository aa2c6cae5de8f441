// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The contract of every pool resource in addition to resource_conformance.hpp, single-threaded. Instantiate it for a
/// resource type with INSTANTIATE_TYPED_TEST_SUITE_P.
#pragma once

#include <memory_pool/arena_resource.hpp>
#include <memory_pool/base/poisoning.hpp>
#include <memory_pool/errors.hpp>

#include <support/error_recorder.hpp>
#include <support/filled_blocks.hpp>
#include <support/known_to_be_free.hpp>
#include <support/overflows.hpp>
#include <support/upstreams.hpp>
#include <support/what.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <random>
#include <stdexcept>
#include <vector>

namespace test {
inline std::pmr::pool_options with_blocks_up_to(std::size_t largest)
{
    std::pmr::pool_options options;
    options.largest_required_pool_block = largest;
    return options;
}

template <class Resource>
class pool_resource_conformance : public testing::Test
{
protected:
    /// Returns whether the resource allocates each block of that size from upstream.
    bool passes_upstream(Resource& resource, std::size_t bytes)
    {
        give_back(resource, allocate_filled(resource, bytes)); // Creates the pool, if the size has one.
        const std::size_t calls = upstream_.calls();
        give_back(resource, allocate_filled(resource, bytes));
        return upstream_.calls() != calls;
    }

    accounting_upstream upstream_;
};

TYPED_TEST_SUITE_P(pool_resource_conformance);

TYPED_TEST_P(pool_resource_conformance, allocates_nothing_from_upstream_at_construction)
{
    const TypeParam resource(&this->upstream_);
    EXPECT_EQ(this->upstream_.calls(), 0u);
    EXPECT_EQ(resource.bytes_reserved(), 0u);
}

TYPED_TEST_P(pool_resource_conformance, has_pools_up_to_largest_required_pool_block)
{
    struct example
    {
        std::size_t requested;
        std::size_t effective;
    };
    for (const auto& [requested, effective] :
         {example{0, 4096}, example{1, 8}, example{8, 8}, example{65, 80}, example{5000, 5120},
          example{1u << 20, 1u << 20}, example{1u << 30, 1u << 20}}) {
        TypeParam resource(with_blocks_up_to(requested), &this->upstream_);
        EXPECT_EQ(resource.options().largest_required_pool_block, effective);
        EXPECT_GT(resource.options().max_blocks_per_chunk, 0u) << "the effective default";
        give_back(resource, allocate_filled(resource, effective, 8));
        const std::size_t calls = this->upstream_.calls();
        give_back(resource, allocate_filled(resource, effective, 8));
        EXPECT_EQ(this->upstream_.calls(), calls);
        EXPECT_TRUE(this->passes_upstream(resource, effective + 1));
    }
}

TYPED_TEST_P(pool_resource_conformance, limits_chunks_to_max_blocks_per_chunk)
{
    std::pmr::pool_options options;
    options.max_blocks_per_chunk = 10;
    TypeParam resource(options, &this->upstream_);
    std::size_t reserved = 0;
    for (int i = 0; i != 1000; ++i) {
        (void)resource.allocate(1024);
        const std::size_t grown = this->upstream_.live_bytes() - reserved;
        EXPECT_TRUE(i == 0 || grown <= 65'536) << grown;
        reserved = this->upstream_.live_bytes();
    }
    EXPECT_TRUE(resource.verify());
}

TYPED_TEST_P(pool_resource_conformance, counts_the_block_sizes_of_its_pools)
{
    TypeParam resource(&this->upstream_);
    std::size_t expected = 0;
    struct example
    {
        std::size_t bytes;
        std::size_t alignment;
        std::size_t in_use;
    };
    for (const example& each : {example{1, 1, 8}, example{8, 8, 8}, example{9, 8, 16}, example{50, 8, 56},
                                example{50, 16, 64}, example{65, 1, 80}, example{300, 16, 320}, example{1, 64, 64},
                                example{100, 64, 128}, example{4096, 4096, 4096}, example{5000, 8, 5000}}) {
        (void)resource.allocate(each.bytes, each.alignment);
        expected += each.in_use;
        EXPECT_EQ(resource.bytes_in_use(), expected) << each.bytes << " aligned to " << each.alignment;
    }
}

TYPED_TEST_P(pool_resource_conformance, reuses_freed_blocks_between_blocks_in_use)
{
    TypeParam resource(&this->upstream_);
    std::vector<filled_block> blocks;
    for (int i = 0; i != 5000; ++i)
        blocks.push_back(allocate_filled(resource, 48));
    const std::size_t reserved = this->upstream_.live_bytes();
    for (int round = 0; round != 5; ++round) {
        for (std::size_t i = 0; i < blocks.size(); i += 2)
            EXPECT_TRUE(give_back(resource, blocks[i]));
        for (std::size_t i = 0; i < blocks.size(); i += 2)
            blocks[i] = allocate_filled(resource, 48);
    }
    EXPECT_LE(this->upstream_.live_bytes(), reserved + reserved / 4);
    EXPECT_TRUE(give_back_all(resource, blocks));
}

TYPED_TEST_P(pool_resource_conformance, can_use_arenas_as_upstream)
{
    memory_pool::basic_unsynchronized_arena_resource<typename TypeParam::policy> arenas(&this->upstream_);
    {
        TypeParam resource(&arenas);
        std::vector<filled_block> blocks;
        for (std::size_t i = 0; i != 3000; ++i)
            blocks.push_back(allocate_filled(resource, i % 700));
        std::shuffle(blocks.begin(), blocks.end(), std::mt19937(1));
        EXPECT_TRUE(give_back_all(resource, blocks));
        resource.trim();
        EXPECT_TRUE(resource.verify() && arenas.verify());
    }
    EXPECT_EQ(arenas.bytes_in_use(), 0u);
}

TYPED_TEST_P(pool_resource_conformance, owns_its_blocks_and_nothing_else)
{
    TypeParam resource(&this->upstream_);
    TypeParam other;
    const int local = 0;
    EXPECT_FALSE(resource.owns(nullptr));
    EXPECT_FALSE(resource.owns(&local));
    for (const std::size_t bytes : {1u, 50u, 4096u, 100'000u}) {
        const filled_block block = allocate_filled(resource, bytes);
        EXPECT_TRUE(resource.owns(block.address)) << bytes;
        EXPECT_FALSE(resource.owns(block.address + 1)) << bytes;
        EXPECT_FALSE(other.owns(block.address)) << bytes;
    }
    void* const large = resource.allocate(5000);
    resource.deallocate(large, 5000);
    EXPECT_FALSE(resource.owns(large));
    resource.release();
    EXPECT_EQ(this->upstream_.live_bytes(), 0u);
}

TYPED_TEST_P(pool_resource_conformance, keeps_its_memory_in_clear)
{
    TypeParam resource(&this->upstream_);
    const auto fill = [&resource] {
        for (std::size_t i = 0; i != 3000; ++i)
            (void)allocate_filled(resource, i % 700);
    };
    fill();
    const std::size_t calls = this->upstream_.calls();
    const std::size_t reserved = resource.bytes_reserved();
    const void* const large = resource.allocate(100'000);
    EXPECT_GT(resource.bytes_reserved(), reserved);
    resource.clear();
    EXPECT_EQ(resource.bytes_in_use(), 0u);
    EXPECT_EQ(resource.bytes_reserved(), reserved) << "frees the large block";
    EXPECT_FALSE(resource.owns(large));
    fill();
    EXPECT_EQ(this->upstream_.calls(), calls + 1) << "one call, for the large block";
    EXPECT_TRUE(resource.verify());
    resource.clear();
}

TYPED_TEST_P(pool_resource_conformance, good_size_is_the_usable_size)
{
    TypeParam resource(&this->upstream_);
    EXPECT_EQ(resource.good_size(50), 64u) << "aligned to 16";
    EXPECT_EQ(resource.good_size(50, 8), 56u);
    EXPECT_EQ(resource.good_size(50, 64), 64u);
    EXPECT_EQ(resource.good_size(100, 8), 112u);
    EXPECT_EQ(resource.good_size(5000), 5000u) << "a large block";
    for (const std::size_t alignment : {1u, 8u, 16u, 32u, 4096u, 8192u})
        for (std::size_t bytes = 0; bytes <= 5000; bytes += 3) {
            const std::size_t good = resource.good_size(bytes, alignment);
            ASSERT_GE(good, bytes);
            ASSERT_EQ(resource.good_size(good, alignment), good);
            void* const block = resource.allocate(bytes, alignment);
            const std::size_t in_use = resource.bytes_in_use();
            resource.deallocate(block, bytes, alignment);
            void* const better = resource.allocate(good, alignment);
            ASSERT_EQ(resource.bytes_in_use(), in_use);
            resource.deallocate(better, good, alignment);
        }
}

TYPED_TEST_P(pool_resource_conformance, has_a_name)
{
    const TypeParam named({}, &this->upstream_, "orders");
    EXPECT_STREQ(named.name(), "orders");
    const TypeParam unnamed({}, &this->upstream_, nullptr);
    EXPECT_STREQ(unnamed.name(), TypeParam().name());
}

TYPED_TEST_P(pool_resource_conformance, reports_a_double_free_that_checks_or_asan_detect)
{
    if (!TypeParam::policy::checks && MEMORY_POOL_ASAN == 0)
        GTEST_SKIP() << "not detected, or only later";
    expect_double_frees_found<TypeParam>();
}

TYPED_TEST_P(pool_resource_conformance, accepts_a_block_poisoned_by_the_program)
{
    expect_poisoned_blocks_taken_back<TypeParam>();
}

REGISTER_TYPED_TEST_SUITE_P(pool_resource_conformance, allocates_nothing_from_upstream_at_construction,
                            has_pools_up_to_largest_required_pool_block, limits_chunks_to_max_blocks_per_chunk,
                            counts_the_block_sizes_of_its_pools, reuses_freed_blocks_between_blocks_in_use,
                            can_use_arenas_as_upstream, owns_its_blocks_and_nothing_else, keeps_its_memory_in_clear,
                            good_size_is_the_usable_size, has_a_name, reports_a_double_free_that_checks_or_asan_detect,
                            accepts_a_block_poisoned_by_the_program);

// Misuse, with a policy that checks.

template <class Resource>
class checking_pool_resource_conformance : public testing::Test
{
protected:
    /// Expects one report of this kind and address, and that the resource is still valid and usable.
    void expect_report(memory_pool::error_kind kind, const void* address)
    {
        ASSERT_EQ(recorder_.kinds(), kinds{kind});
        EXPECT_EQ(recorder_.reports()[0].address, address);
        EXPECT_EQ(recorder_.reports()[0].pool_name, "of a pool resource");
        EXPECT_TRUE(pools_.verify());
        EXPECT_TRUE(give_back(pools_, allocate_filled(pools_, 40)));
        EXPECT_EQ(recorder_.kinds().size(), 1u);
    }

    error_recorder recorder_;
    Resource pools_;
    filled_block block_ = allocate_filled(pools_, 100);
};

TYPED_TEST_SUITE_P(checking_pool_resource_conformance);

TYPED_TEST_P(checking_pool_resource_conformance, reports_a_double_free)
{
    EXPECT_TRUE(give_back(this->pools_, this->block_));
    this->pools_.deallocate(this->block_.address, 100);
    this->expect_report(memory_pool::error_kind::double_free, this->block_.address);
}

TYPED_TEST_P(checking_pool_resource_conformance, reports_a_foreign_pointer)
{
    int local = 0;
    this->pools_.deallocate(&local, 100); // A pool of that size exists.
    this->expect_report(memory_pool::error_kind::foreign_pointer, &local);
}

TYPED_TEST_P(checking_pool_resource_conformance, reports_a_size_without_a_pool_yet)
{
    this->pools_.deallocate(this->block_.address, 300);
    this->expect_report(memory_pool::error_kind::size_mismatch, this->block_.address);
    EXPECT_TRUE(give_back(this->pools_, this->block_));
}

TYPED_TEST_P(checking_pool_resource_conformance, reports_a_block_freed_with_another_size)
{
    const filled_block other = allocate_filled(this->pools_, 300);
    this->pools_.deallocate(this->block_.address, 300);
    this->expect_report(memory_pool::error_kind::size_mismatch, this->block_.address);
    EXPECT_TRUE(give_back(this->pools_, this->block_) && give_back(this->pools_, other));
}

TYPED_TEST_P(checking_pool_resource_conformance, reports_a_block_freed_as_a_large_one)
{
    this->pools_.deallocate(this->block_.address, 100'000);
    this->expect_report(memory_pool::error_kind::size_mismatch, this->block_.address);
    EXPECT_TRUE(give_back(this->pools_, this->block_));
}

TYPED_TEST_P(checking_pool_resource_conformance, reports_a_block_freed_with_another_alignment)
{
    this->pools_.deallocate(this->block_.address, 100, 256);
    this->expect_report(memory_pool::error_kind::size_mismatch, this->block_.address);
    EXPECT_TRUE(give_back(this->pools_, this->block_));
}

TYPED_TEST_P(checking_pool_resource_conformance, reports_a_large_block_freed_as_a_small_one)
{
    const filled_block large = allocate_filled(this->pools_, 100'000);
    this->pools_.deallocate(large.address, 100); // A pool of that size exists,
    this->expect_report(memory_pool::error_kind::size_mismatch, large.address);
    this->pools_.deallocate(large.address, 300); // but no pool of this size.
    EXPECT_EQ(this->recorder_.kinds(), kinds(2, memory_pool::error_kind::size_mismatch));
    EXPECT_TRUE(
        contains(this->recorder_.reports()[1].text, "block of 100000 bytes aligned to 16, given back as one of 300"));
    EXPECT_TRUE(give_back(this->pools_, large));
}

TYPED_TEST_P(checking_pool_resource_conformance, reports_a_large_block_freed_with_another_size)
{
    const filled_block large = allocate_filled(this->pools_, 100'000);
    this->pools_.deallocate(large.address, 300'000);
    this->expect_report(memory_pool::error_kind::size_mismatch, large.address);
    EXPECT_TRUE(give_back(this->pools_, large));
}

TYPED_TEST_P(checking_pool_resource_conformance, reports_a_double_free_of_a_large_block)
{
    const filled_block large = allocate_filled(this->pools_, 100'000);
    EXPECT_TRUE(give_back(this->pools_, large));
    this->pools_.deallocate(large.address, 100'000);
    this->expect_report(memory_pool::error_kind::foreign_pointer, large.address);
}

TYPED_TEST_P(checking_pool_resource_conformance, reports_a_pointer_into_a_block)
{
    this->pools_.deallocate(this->block_.address + 8, 100);
    this->expect_report(memory_pool::error_kind::misaligned_pointer, this->block_.address + 8);
    EXPECT_TRUE(give_back(this->pools_, this->block_));
}

TYPED_TEST_P(checking_pool_resource_conformance, reports_a_write_past_the_capacity_of_a_block)
{
    unsigned char* const behind = this->block_.address + 112; // The pool has blocks of 112 bytes.
    memory_pool::detail::base::permit_access(behind, 1);
    *behind = 'x';
    this->pools_.deallocate(this->block_.address, 100);
    ASSERT_EQ(this->recorder_.kinds(), kinds{memory_pool::error_kind::buffer_overflow});
    EXPECT_EQ(this->recorder_.reports()[0].address, this->block_.address);
}

TYPED_TEST_P(checking_pool_resource_conformance, reports_each_write_past_the_capacity_of_a_block_once)
{
    const filled_block large = allocate_filled(this->pools_, 100'000);
    for (const filled_block& block : {this->block_, large}) {
        write_behind(block.address, block.bytes == 100 ? 112 : block.bytes);
        for (int i = 0; i != 2; ++i)
            this->pools_.deallocate(block.address, block.bytes);
    }
    EXPECT_EQ(this->recorder_.kinds(), kinds(2, memory_pool::error_kind::buffer_overflow));
    EXPECT_EQ(this->pools_.bytes_in_use(), 0u) << "the second call freed the blocks";
}

TYPED_TEST_P(checking_pool_resource_conformance, reports_a_write_past_the_end_of_a_block_once_in_release)
{
    write_behind(this->block_.address, 112);
    this->pools_.deallocate(this->block_.address, 100);
    this->pools_.release();
    EXPECT_EQ(this->recorder_.kinds(), kinds{memory_pool::error_kind::buffer_overflow});
}

TYPED_TEST_P(checking_pool_resource_conformance, rejects_an_alignment_that_is_no_power_of_two)
{
    for (const std::size_t alignment : {0u, 3u, 24u, 100'000u})
        for (const std::size_t bytes : {0u, 100u, 100'000u})
            EXPECT_THROW((void)this->pools_.allocate(bytes, alignment), std::invalid_argument)
                << bytes << "@" << alignment;
}

TYPED_TEST_P(checking_pool_resource_conformance, frees_blocks_that_the_error_handler_allocates)
{
    accounting_upstream upstream;
    {
        TypeParam pools(&upstream);
        auto* const block = static_cast<unsigned char*>(pools.allocate(100));
        memory_pool::detail::base::permit_access(block + 112, 1);
        block[112] = 'x';
        this->recorder_.handle_by([&pools] { (void)pools.allocate(8); });
    }
    EXPECT_EQ(this->recorder_.kinds(), kinds{memory_pool::error_kind::buffer_overflow});
    EXPECT_EQ(upstream.live_bytes(), 0u);
    this->recorder_.handle_by(nullptr);
}

TYPED_TEST_P(checking_pool_resource_conformance, ends_the_program_with_a_message_by_default)
{
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto misuse = [](auto&& how) {
        memory_pool::set_error_handler(nullptr);
        TypeParam pools;
        how(pools, pools.allocate(100));
    };
    EXPECT_DEATH(misuse([](auto& pools, void* block) {
                     pools.deallocate(block, 100);
                     pools.deallocate(block, 100);
                 }),
                 "double free: address 0x[0-9a-f]+, block size 112 bytes, pool 'of a pool resource'\n  remedy: ");
    EXPECT_DEATH(
        misuse([](auto& pools, void* block) { pools.deallocate(block, 100'000); }),
        "size mismatch: .*, block of 112 bytes aligned to 16, given back as one of 100000 bytes aligned to 16, "
        "pool 'of a pool resource'");
}

REGISTER_TYPED_TEST_SUITE_P(checking_pool_resource_conformance, reports_a_double_free, reports_a_foreign_pointer,
                            reports_a_size_without_a_pool_yet, reports_a_block_freed_with_another_size,
                            reports_a_block_freed_as_a_large_one, reports_a_block_freed_with_another_alignment,
                            reports_a_large_block_freed_as_a_small_one, reports_a_large_block_freed_with_another_size,
                            reports_a_double_free_of_a_large_block, reports_a_pointer_into_a_block,
                            reports_a_write_past_the_capacity_of_a_block,
                            reports_each_write_past_the_capacity_of_a_block_once,
                            reports_a_write_past_the_end_of_a_block_once_in_release,
                            rejects_an_alignment_that_is_no_power_of_two, frees_blocks_that_the_error_handler_allocates,
                            ends_the_program_with_a_message_by_default);
} // namespace test
