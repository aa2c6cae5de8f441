// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/block_resource.hpp>

#include <memory_pool/allocator.hpp>
#include <memory_pool/block_pool.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/errors.hpp>
#include <memory_pool/policies.hpp>
#include <support/error_recorder.hpp>
#include <support/upstreams.hpp>
#include <support/what.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace mp = memory_pool;

namespace {
template <class Pool>
struct block_resource_of : testing::Test
{
    test::shared_accounting_upstream upstream;
    Pool pool{40, {}, &upstream};
    mp::block_resource<Pool> blocks{pool};
};

using pools = testing::Types<mp::block_pool, mp::basic_block_pool<mp::checking_policy>, mp::concurrent_block_pool,
                             mp::basic_concurrent_block_pool<mp::counting_policy>>;
TYPED_TEST_SUITE(block_resource_of, pools, );

TYPED_TEST(block_resource_of, allocates_fitting_requests_from_the_pool)
{
    std::pmr::memory_resource& resource = this->blocks;
    void* const exact = resource.allocate(40, 8);
    void* const none = resource.allocate(0, 1);
    EXPECT_NE(none, nullptr);
    EXPECT_TRUE(this->pool.owns(exact));
    EXPECT_TRUE(this->pool.owns(none));
    EXPECT_EQ(this->pool.in_use(), 2U);
    resource.deallocate(exact, 40, 8);
    resource.deallocate(none, 0, 1);
    EXPECT_EQ(this->pool.in_use(), 0U);
}

TYPED_TEST(block_resource_of, forwards_large_and_over_aligned_requests_upstream)
{
    const std::size_t before = this->upstream.live_bytes();
    void* const large = this->blocks.allocate(41, 8);
    void* const aligned = this->blocks.allocate(8, 64);
    EXPECT_EQ(this->upstream.live_bytes(), before + 41 + 8);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(aligned) % 64, 0U);
    EXPECT_EQ(this->pool.in_use(), 0U);
    this->blocks.deallocate(large, 41, 8);
    this->blocks.deallocate(aligned, 8, 64);
    this->blocks.deallocate(nullptr, 41, 8);
    this->blocks.deallocate(nullptr, 8, 8);
    EXPECT_EQ(this->upstream.live_bytes(), before);
    EXPECT_EQ(this->upstream.mismatched(), 0U);
}

TYPED_TEST(block_resource_of, serves_a_list)
{
    {
        std::pmr::list<std::uint64_t> numbers(&this->blocks);
        for (std::uint64_t i = 0; i != 1000; ++i)
            numbers.push_back(i);
        EXPECT_EQ(this->pool.in_use(), 1000U);
        std::uint64_t expected = 0;
        for (const std::uint64_t number : numbers)
            EXPECT_EQ(number, expected++);
    }
    EXPECT_EQ(this->pool.in_use(), 0U);
    using allocator = mp::resource_allocator<std::uint64_t, mp::block_resource<TypeParam>>;
    std::list<std::uint64_t, allocator> direct{allocator(this->blocks)};
    direct.assign(100, 7);
    EXPECT_EQ(this->pool.in_use(), 100U);
}

TEST(block_resource, rejects_requests_that_do_not_fit_if_configured_to)
{
    mp::pool_options options;
    options.max_capacity = 1;
    mp::block_pool pool(16, options);
    mp::block_resource strict(pool, std::pmr::null_memory_resource());
    EXPECT_THROW((void)strict.allocate(17), std::bad_alloc);
    void* const only = strict.allocate(16);
    EXPECT_THROW((void)strict.allocate(16), mp::pool_exhausted);
    strict.deallocate(only, 16);
    EXPECT_EQ(&strict.pool(), &pool);
    EXPECT_EQ(strict.upstream_resource(), std::pmr::null_memory_resource());
}

template <class Pool>
void expect_report_of_a_wrong_size()
{
    Pool pool(40);
    mp::block_resource<Pool> blocks(pool);
    void* const block = blocks.allocate(40, 8);
    const test::error_recorder recorder;
    blocks.deallocate(block, 100);
    blocks.deallocate(block, 40, 64);
    EXPECT_EQ(recorder.kinds(), test::kinds(2, mp::error_kind::size_mismatch));
    EXPECT_TRUE(
        test::contains(recorder.reports()[0].text, "block of 40 bytes aligned to 8, given back as one of 100 bytes"));
    blocks.deallocate(block, 40, 8);
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_EQ(recorder.reports().size(), 2u);
}

TEST(block_resource, reports_a_block_freed_with_a_size_that_does_not_fit)
{
    expect_report_of_a_wrong_size<mp::basic_block_pool<mp::checking_policy>>();
    expect_report_of_a_wrong_size<mp::basic_concurrent_block_pool<mp::checking_policy>>();
}

TEST(block_resource, forwards_stricter_alignments_than_that_of_the_blocks_upstream)
{
    test::accounting_upstream upstream;
    mp::block_pool pool(24);
    mp::block_resource blocks(pool, &upstream);
    void* const strict = blocks.allocate(24, 16);
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_EQ(upstream.live_chunks(), 1u);
    blocks.deallocate(strict, 24, 16);
    void* const natural = blocks.allocate(24, 8);
    EXPECT_EQ(pool.in_use(), 1u);
    blocks.deallocate(natural, 24, 8);
}

TEST(block_resource, requires_an_upstream)
{
    mp::block_pool pool(16);
    const std::string text =
        test::what_of<std::invalid_argument>([&] { const mp::block_resource none(pool, nullptr); });
    EXPECT_TRUE(test::contains(text, "upstream is nullptr")) << text;
}

TEST(block_resource, compares_equal_to_itself_only)
{
    mp::block_pool pool(16);
    const mp::block_resource one(pool);
    const mp::block_resource other(pool);
    EXPECT_TRUE(one.is_equal(one));
    EXPECT_FALSE(one.is_equal(other));
}

TEST(block_resource, reports_the_usable_size_of_a_request)
{
    mp::block_pool pool(48);
    const mp::block_resource blocks(pool);
    EXPECT_EQ(blocks.good_size(10), 48u);
    EXPECT_EQ(blocks.good_size(10, 64), 10u);
    EXPECT_EQ(blocks.good_size(50), 50u);
}

TEST(block_resource, has_a_noexcept_deallocate_like_every_resource)
{
    EXPECT_TRUE(noexcept(std::declval<mp::block_resource<mp::block_pool>&>().deallocate(nullptr, 8)));
}
} // namespace
