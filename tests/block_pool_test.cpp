// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/block_pool.hpp>

#include <support/block_pool_conformance.hpp>
#include <support/error_recorder.hpp>
#include <support/options.hpp>
#include <support/overflows.hpp>
#include <support/sanitizers.hpp>
#include <support/upstreams.hpp>
#include <support/what.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <set>
#include <type_traits>
#include <vector>

namespace mp = memory_pool;
using mp::error_kind;

namespace test {
using every_policy = testing::Types<mp::basic_block_pool<mp::default_policy>, mp::basic_block_pool<mp::counting_policy>,
                                    mp::basic_block_pool<mp::checking_policy>>;
INSTANTIATE_TYPED_TEST_SUITE_P(every_policy, block_pool_conformance, every_policy, );
} // namespace test

namespace {
using counting_pool = mp::basic_block_pool<mp::counting_policy>;
using checking_pool = mp::basic_block_pool<mp::checking_policy>;

mp::pool_options named(const char* name)
{
    mp::pool_options options;
    options.name = name;
    return options;
}

TEST(block_pool, is_neither_copyable_nor_movable)
{
    EXPECT_FALSE(std::is_copy_constructible_v<mp::block_pool>);
    EXPECT_FALSE(std::is_move_constructible_v<mp::block_pool>);
    EXPECT_FALSE(std::is_copy_assignable_v<mp::block_pool>);
    EXPECT_FALSE(std::is_move_assignable_v<mp::block_pool>);
    EXPECT_LE(sizeof(mp::block_pool), sizeof(counting_pool));
}

TEST(block_pool, reuses_the_last_freed_block_first)
{
    mp::block_pool pool(32);
    void* const a = pool.allocate();
    void* const b = pool.allocate();
    pool.deallocate(a);
    pool.deallocate(b);
    EXPECT_EQ(pool.allocate(), b);
    EXPECT_EQ(pool.allocate(), a);
}

TEST(block_pool, allocates_fresh_blocks_in_address_order)
{
    mp::block_pool pool(32);
    auto* previous = static_cast<char*>(pool.allocate());
    for (int i = 0; i != 50; ++i) {
        auto* const next = static_cast<char*>(pool.allocate());
        EXPECT_EQ(next, previous + 32);
        previous = next;
    }
}

TEST(block_pool, allocates_initial_capacity_in_the_constructor)
{
    for (const std::size_t count : {std::size_t{2}, std::size_t{8}, std::size_t{1000}}) {
        mp::pool_options options;
        options.initial_capacity = count;
        EXPECT_EQ(mp::block_pool(64, options).capacity(), count);
    }
}

TEST(block_pool, has_an_overhead_below_an_eighth_of_the_blocks)
{
    constexpr std::size_t count = 10'000;
    mp::pool_options options;
    options.initial_capacity = count;
    mp::block_pool at_once(32, options);
    EXPECT_LE((at_once.bytes_reserved() - at_once.capacity() * 32) * 8, at_once.capacity() * 32);

    mp::block_pool grown(32);
    for (std::size_t i = 0; i != count; ++i)
        (void)grown.allocate();
    EXPECT_LE((grown.bytes_reserved() - grown.capacity() * 32) * 8, grown.capacity() * 32);
}

TEST(block_pool, allocates_in_address_order_beyond_the_magazine)
{
    const auto ascents = [](std::size_t max_cached_blocks) {
        mp::pool_options options;
        options.max_cached_blocks = max_cached_blocks;
        mp::block_pool pool(40, options);
        std::vector<void*> blocks(2000);
        pool.allocate_bulk(blocks.data(), blocks.size());
        std::shuffle(blocks.begin(), blocks.end(), std::mt19937(7)); // NOLINT: reproducible
        pool.deallocate_bulk(blocks.data(), blocks.size());
        pool.allocate_bulk(blocks.data(), blocks.size());
        std::ptrdiff_t count = 0;
        for (std::size_t i = 1; i != blocks.size(); ++i)
            count += std::less<>()(blocks[i - 1], blocks[i]) ? 1 : 0;
        pool.deallocate_bulk(blocks.data(), blocks.size());
        EXPECT_TRUE(pool.verify());
        return count;
    };
    EXPECT_GT(ascents(16), 1900);
    EXPECT_GT(ascents(1), 1900) << "as 16";
    EXPECT_LT(ascents(0), 1600);
}

TEST(block_pool, recognises_adjacent_frees_across_flushes_gaps_and_pops)
{
    // Frees blocks in order, with gaps of every length, and allocates others in between.
    mp::block_pool pool(32);
    for (std::size_t gap = 1; gap < 300; gap += 7) {
        std::vector<void*> blocks(5000);
        (void)pool.allocate_bulk(blocks.data(), blocks.size());
        std::vector<void*> left_out;
        std::vector<void*> extra;
        for (std::size_t i = 0; i != blocks.size(); ++i) {
            if (i % gap == gap - 1) {
                left_out.push_back(blocks[i]);
                extra.push_back(pool.allocate());
            } else {
                pool.deallocate(blocks[i]);
            }
        }
        ASSERT_TRUE(pool.verify()) << gap;
        ASSERT_EQ(pool.in_use(), left_out.size() + extra.size());
        const std::set<void*> in_use(left_out.begin(), left_out.end());
        for (void* const block : extra)
            ASSERT_EQ(in_use.count(block), 0u) << "allocated twice";
        pool.deallocate_bulk(left_out.data(), left_out.size());
        pool.deallocate_bulk(extra.data(), extra.size());
        ASSERT_EQ(pool.in_use(), 0u);
    }
    EXPECT_TRUE(pool.verify());
}

TEST(block_pool, keeps_its_magazine_when_upstream_has_no_memory_for_a_larger_one)
{
    /// Allocates only slabs, which are aligned more strictly than pointers.
    class slabs_only : public std::pmr::memory_resource
    {
        void* do_allocate(std::size_t bytes, std::size_t alignment) override
        {
            if (alignment < alignof(std::max_align_t))
                throw std::bad_alloc();
            return std::pmr::new_delete_resource()->allocate(bytes, alignment);
        }
        void do_deallocate(void* chunk, std::size_t bytes, std::size_t alignment) override
        {
            std::pmr::new_delete_resource()->deallocate(chunk, bytes, alignment);
        }
        bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
    } upstream;
    mp::block_pool pool(32, {}, &upstream);
    std::vector<void*> blocks(1000);
    for (int round = 0; round != 3; ++round) {
        (void)pool.allocate_bulk(blocks.data(), blocks.size());
        EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), blocks.size());
        pool.deallocate_bulk(blocks.data(), blocks.size());
        EXPECT_TRUE(pool.verify());
    }
}

TEST(block_pool, reports_a_double_free_when_the_magazine_is_flushed)
{
    mp::block_pool pool(32, named("late"));
    void* const block = pool.allocate();
    void* const other = pool.allocate();
    const test::error_recorder recorder;
    pool.deallocate(block);
    pool.deallocate(other);
    pool.deallocate(block);
    EXPECT_EQ(recorder.reports().empty(), MEMORY_POOL_ASAN == 0) << "the default policy does not check yet";
    pool.trim();
    ASSERT_EQ(recorder.kinds(), test::kinds{error_kind::double_free});
    EXPECT_EQ(recorder.reports()[0].address, block);
    EXPECT_EQ(recorder.reports()[0].pool_name, "late");
}

TEST(block_pool, reports_a_double_free_of_a_block_that_is_unused_again)
{
    constexpr std::size_t count = 4096;
    // Adjacent blocks in the middle of the blocks allocated next, and up to their end.
    for (const std::size_t last : {std::size_t{400}, count}) {
        const test::error_recorder recorder;
        mp::pool_options options;
        options.initial_capacity = count;
        mp::block_pool pool(64, options);
        std::vector<void*> blocks(count);
        pool.allocate_bulk(blocks.data(), count);
        pool.deallocate_bulk(blocks.data(), count); // The last 4,000 are adjacent, and are allocated next.
        std::vector<void*> out(97);
        pool.allocate_bulk(out.data(), out.size());
        pool.deallocate_bulk(out.data(), 96);
        pool.deallocate_bulk(blocks.data() + 200, last - 200); // A double free.
        pool.deallocate(out.back());                           // Not adjacent.

        pool.for_each([](void*) {});
        EXPECT_EQ(pool.in_use(), 0u);
        EXPECT_TRUE(pool.verify());
        EXPECT_FALSE(recorder.reports().empty());
        for (const mp::error_kind kind : recorder.kinds())
            EXPECT_EQ(kind, mp::error_kind::double_free);

        pool.deallocate(blocks[1000]);
        pool.for_each([](void*) {});
        EXPECT_EQ(recorder.kinds().back(), mp::error_kind::double_free);
        EXPECT_EQ(recorder.reports().back().address, blocks[1000]);
    }
}

TEST(block_pool, reports_adjacent_blocks_of_another_pool)
{
    counting_pool pool(64, named("ours"));
    counting_pool other(64, named("theirs"));
    (void)pool.allocate();
    std::vector<void*> blocks(400);
    (void)other.allocate_bulk(blocks.data(), blocks.size());
    const test::error_recorder recorder;
    pool.deallocate_bulk(blocks.data(), blocks.size());
    pool.trim();
    for (const error_kind kind : recorder.kinds())
        EXPECT_EQ(kind, error_kind::foreign_pointer);
    EXPECT_EQ(pool.in_use(), 1u);
    EXPECT_EQ(pool.statistics().deallocations, 0u) << "rejected frees do not count";
    EXPECT_TRUE(pool.verify());
    EXPECT_TRUE(other.verify());
}

TEST(block_pool, reports_adjacent_misaligned_pointers)
{
    mp::block_pool pool(64, named("ours"));
    std::vector<void*> blocks(400);
    (void)pool.allocate_bulk(blocks.data(), blocks.size());
    const test::error_recorder recorder;
    for (void* const block : blocks)
        pool.deallocate(static_cast<char*>(block) + 8);
    pool.trim();
    EXPECT_FALSE(recorder.reports().empty());
    EXPECT_EQ(pool.in_use(), 400u);
    EXPECT_TRUE(pool.verify());
}

#if !MEMORY_POOL_ASAN // AddressSanitizer stops at the first error itself.
TEST(block_pool, reports_adjacent_frees_past_the_end_of_a_slab)
{
    for (const bool upwards : {true, false}) {
        mp::pool_options options = named("ours");
        options.initial_capacity = 400;
        options.max_capacity = 400;
        counting_pool pool(64, options);
        std::vector<void*> blocks(400);
        (void)pool.allocate_bulk(blocks.data(), blocks.size());
        std::sort(blocks.begin(), blocks.end());
        if (!upwards)
            std::reverse(blocks.begin(), blocks.end());
        const test::error_recorder recorder;
        pool.deallocate_bulk(blocks.data(), blocks.size());
        for (std::ptrdiff_t past = 1; past != 20; ++past) {
            void* const stray = static_cast<char*>(blocks.back()) + (upwards ? past : -past) * 64;
            pool.deallocate(stray);
        }
        pool.trim();
        ASSERT_EQ(recorder.kinds(), test::kinds(17, error_kind::foreign_pointer));
        EXPECT_TRUE(test::contains(recorder.reports().back().text, "3 more at the same time"));
        EXPECT_EQ(pool.in_use(), 0u);
        EXPECT_EQ(pool.statistics().deallocations, 400u);
        EXPECT_TRUE(pool.verify());
    }
}

#endif

/// The error handler allocates blocks. Expects that the pool stays consistent, and allocates no block twice.
template <class Misuse>
void expect_order_in_the_error_handler(mp::block_pool& pool, std::set<void*> in_use, Misuse&& misuse)
{
    test::error_recorder recorder;
    recorder.handle_by([&] {
        for (int i = 0; i != 100; ++i)
            EXPECT_TRUE(in_use.insert(pool.allocate()).second) << "allocated twice";
    });
    misuse(in_use);
    EXPECT_FALSE(recorder.reports().empty());
    EXPECT_EQ(pool.in_use(), in_use.size());
    EXPECT_TRUE(pool.verify());
}

TEST(block_pool, lets_the_error_handler_use_it_during_a_flush)
{
    mp::pool_options options;
    options.max_cached_blocks = 16;
    mp::block_pool pool(32, options);
    std::vector<void*> blocks(100);
    (void)pool.allocate_bulk(blocks.data(), blocks.size());
    expect_order_in_the_error_handler(pool, {blocks.begin(), blocks.end()}, [&](std::set<void*>& in_use) {
        pool.deallocate(blocks[0]);
        in_use.erase(blocks[0]);
        pool.deallocate(blocks[0]);
        for (std::size_t i = 2; pool.in_use() <= blocks.size(); i += 2) { // No two are adjacent.
            in_use.erase(blocks[i]);
            pool.deallocate(blocks[i]);
        }
    });
}

TEST(block_pool, lets_the_error_handler_use_it_during_trim)
{
    mp::block_pool pool(32);
    std::vector<void*> blocks(100);
    (void)pool.allocate_bulk(blocks.data(), blocks.size());
    expect_order_in_the_error_handler(pool, {blocks.begin() + 1, blocks.end()}, [&](std::set<void*>&) {
        pool.deallocate(blocks[0]);
        pool.deallocate(blocks[0]);
        pool.trim();
    });
}

#if !MEMORY_POOL_ASAN // AddressSanitizer stops at the first error itself.
TEST(block_pool, lets_the_error_handler_use_it_after_adjacent_frees_past_a_slab)
{
    mp::pool_options options;
    options.initial_capacity = 400;
    options.max_capacity = 600;
    mp::block_pool pool(64, options);
    std::vector<void*> blocks(400);
    (void)pool.allocate_bulk(blocks.data(), blocks.size());
    std::sort(blocks.begin(), blocks.end());
    expect_order_in_the_error_handler(pool, {}, [&](std::set<void*>& in_use) {
        pool.deallocate_bulk(blocks.data(), blocks.size());
        pool.deallocate(static_cast<char*>(blocks.back()) + 64);
        while (void* const block = pool.try_allocate())
            EXPECT_TRUE(in_use.insert(block).second) << "allocated twice";
    });
}
#endif

TEST(block_pool, leaks_nothing_when_its_constructor_throws)
{
    for (std::size_t call = 1; call != 12; ++call) {
        test::accounting_upstream upstream;
        upstream.fail_at(call);
        mp::pool_options options;
        options.initial_capacity = 4; // With this block size, each block needs a separate chunk.
        try {
            const mp::block_pool pool(std::size_t{40} << 20, options, &upstream);
        } catch (const std::bad_alloc&) {
            EXPECT_EQ(upstream.live_chunks(), 0u) << call;
        }
        EXPECT_EQ(upstream.live_chunks(), 0u);
    }
}

TEST(block_pool, trim_never_allocates_from_upstream)
{
    test::accounting_upstream upstream;
    mp::pool_options options;
    options.initial_capacity = 512;
    mp::block_pool pool(64, options, &upstream);
    void* const block = pool.allocate();
    upstream.fail_at(2); // The slab is allocated; the larger magazine is not.
    pool.reserve(4000);
    upstream.never_fail();
    const std::size_t before = pool.bytes_reserved();
    pool.trim();
    EXPECT_EQ(upstream.live_bytes(), pool.bytes_reserved());
    EXPECT_LT(pool.bytes_reserved(), before);
    EXPECT_EQ(pool.trim(), 0u);
    pool.deallocate(block);
}

TEST(block_pool, trims_its_first_chunk_when_only_later_chunks_are_in_use)
{
    test::accounting_upstream upstream;
    mp::pool_options options;
    options.initial_capacity = 6000; // The magazine has its maximum size, and stays when the pool grows.
    mp::block_pool pool(64, options, &upstream);
    std::vector<void*> first(pool.capacity());
    pool.allocate_bulk(first.data(), first.size());
    void* const kept = pool.allocate(); // From the next chunk.
    pool.deallocate_bulk(first.data(), first.size());

    upstream.fail_always(); // The magazine cannot be moved, and is freed with the first chunk.
    EXPECT_GT(pool.trim(), 0u);
    EXPECT_LT(pool.capacity(), 6000u);
    void* const without_magazine = pool.allocate();
    pool.deallocate(without_magazine);
    upstream.never_fail();
    EXPECT_EQ(pool.trim(), 0u);
    EXPECT_EQ(upstream.live_bytes(), pool.bytes_reserved());
    EXPECT_TRUE(pool.verify());

    pool.allocate_bulk(first.data(), first.size());
    pool.deallocate_bulk(first.data(), first.size());
    EXPECT_TRUE(pool.verify());
    pool.deallocate(kept);
    EXPECT_GT(pool.trim(), 0u);
    EXPECT_EQ(upstream.live_chunks(), 0u);
    pool.deallocate(pool.allocate());
    EXPECT_TRUE(pool.verify());
}

TEST(block_pool, frees_all_memory_in_trim_and_release_when_no_block_is_in_use)
{
    test::accounting_upstream upstream;
    mp::block_pool pool(64, {}, &upstream);
    std::vector<void*> blocks(10'000);
    pool.allocate_bulk(blocks.data(), blocks.size());
    pool.deallocate_bulk(blocks.data(), blocks.size());
    pool.trim();
    EXPECT_EQ(upstream.live_bytes(), 0u);
    (void)pool.allocate_bulk(blocks.data(), blocks.size());
    pool.release();
    EXPECT_EQ(upstream.live_bytes(), 0u);
}

TEST(block_pool, grows_by_a_normal_chunk_after_a_trim)
{
    mp::block_pool pool(64);
    std::vector<void*> blocks(200'000);
    pool.allocate_bulk(blocks.data(), blocks.size());
    std::sort(blocks.begin(), blocks.end());
    const std::size_t before = pool.capacity();
    // When the first chunk is freed, the next one becomes the first.
    for (std::size_t i = 0; i != 20'000; ++i)
        pool.deallocate(blocks[i]);
    pool.trim();
    while (pool.available() != 0)
        (void)pool.allocate();
    const std::size_t reserved = pool.bytes_reserved();
    (void)pool.allocate();
    EXPECT_LE(pool.bytes_reserved() - reserved, 2u << 20);
    EXPECT_LE(pool.capacity(), before + (2u << 20) / 64);
}

TEST(block_pool, reports_a_block_of_another_pool_without_reading_adjacent_memory)
{
    const test::error_recorder recorder;
    mp::pool_options large;
    large.initial_capacity = 100'000; // A separate mapping, with inaccessible memory around it.
    mp::block_pool other(32, large);
    mp::block_pool pool(32);
    void* const own = pool.allocate();
    pool.deallocate(other.allocate());
    pool.trim();
    EXPECT_EQ(recorder.kinds(), test::kinds{error_kind::foreign_pointer});
    pool.deallocate(own);
    EXPECT_TRUE(pool.verify());
}

TEST(block_pool, makes_one_upstream_request_until_it_grows)
{
    test::accounting_upstream upstream;
    mp::pool_options options;
    options.initial_capacity = 1000;
    mp::block_pool pool(64, options, &upstream);
    std::vector<void*> blocks(1000);
    pool.allocate_bulk(blocks.data(), blocks.size());
    pool.deallocate_bulk(blocks.data(), blocks.size());
    EXPECT_EQ(upstream.calls(), 1u);
    pool.release();
    EXPECT_EQ(upstream.live_chunks(), 0u);
    pool.deallocate(pool.allocate());
    EXPECT_TRUE(pool.verify());
}

TEST(counting_policy, corrects_its_counts_after_a_misuse)
{
    counting_pool pool(64);
    void* const block = pool.allocate();
    const test::error_recorder recorder;
    for (int i = 0; i != 4; ++i)
        pool.deallocate(block);
    pool.trim();
    EXPECT_EQ(recorder.kinds(), test::kinds(3, error_kind::double_free));
    (void)pool.allocate();
    const mp::pool_statistics statistics = pool.statistics();
    EXPECT_EQ(statistics.in_use, 1u);
    EXPECT_EQ(statistics.peak_in_use, 1u);
    EXPECT_EQ(statistics.deallocations, 1u);
    EXPECT_TRUE(pool.verify());
}

TEST(counting_policy, counts_exactly)
{
    test::accounting_upstream upstream;
    counting_pool pool(32, test::bounded_to(100), &upstream);
    std::vector<void*> blocks(100);
    (void)pool.allocate_bulk(blocks.data(), 60);
    pool.deallocate_bulk(blocks.data(), 50);
    (void)pool.allocate_bulk(blocks.data(), 90);
    EXPECT_EQ(pool.try_allocate(), nullptr);
    EXPECT_THROW((void)pool.allocate(), mp::pool_exhausted);
    pool.deallocate(nullptr);

    const mp::pool_statistics statistics = pool.statistics();
    EXPECT_EQ(statistics.allocations, 150u);
    EXPECT_EQ(statistics.deallocations, 50u);
    EXPECT_EQ(statistics.in_use, 100u);
    EXPECT_EQ(statistics.in_use, pool.in_use());
    EXPECT_EQ(statistics.peak_in_use, 100u);
    EXPECT_EQ(statistics.failures, 2u);
    EXPECT_EQ(statistics.slabs, pool.slab_count());
    EXPECT_EQ(statistics.bytes_reserved, upstream.live_bytes());
}

TEST(counting_policy, counts_upstream_failures_and_blocks_freed_by_release)
{
    test::accounting_upstream upstream;
    counting_pool pool(32, {}, &upstream);
    upstream.fail_always();
    EXPECT_THROW((void)pool.allocate(), std::bad_alloc);
    EXPECT_EQ(pool.try_allocate(), nullptr);
    EXPECT_EQ(pool.statistics().failures, 2u);
    upstream.never_fail();
    for (int i = 0; i != 10; ++i)
        (void)pool.allocate();
    pool.clear();
    EXPECT_EQ(pool.statistics().deallocations, 10u);
    (void)pool.allocate();
    pool.release();
    const mp::pool_statistics statistics = pool.statistics();
    EXPECT_EQ(statistics.deallocations, 11u);
    EXPECT_EQ(statistics.in_use, 0u);
    EXPECT_EQ(statistics.peak_in_use, 10u);
    EXPECT_EQ(statistics.bytes_reserved, 0u);
}

/// Each misuse, with an error handler that returns: one report, and the pool stays consistent.
class checking_policy_test : public testing::Test
{
protected:
    /// A stray write. Unpoisons the byte first, so that no tool reports the write itself.
    static void write_to(void* address, std::size_t offset)
    {
        char* const target = static_cast<char*>(address) + offset;
        mp::detail::base::permit_access(target, 1);
        *target = 'x';
    }

    void expect_one_report(error_kind kind, const void* address, const char* what)
    {
        ASSERT_EQ(recorder_.kinds(), test::kinds{kind});
        const auto& report = recorder_.reports().front();
        EXPECT_EQ(report.address, address);
        EXPECT_EQ(report.block_size, 40u);
        EXPECT_EQ(report.pool_name, "orders");
        EXPECT_TRUE(test::contains(report.text, what)) << report.text;
        EXPECT_TRUE(test::contains(report.text, "block size 40 bytes")) << report.text;
        EXPECT_TRUE(test::contains(report.text, "pool 'orders'")) << report.text;
        EXPECT_TRUE(pool_.verify());
    }

    test::error_recorder recorder_; // Outlives the pool, whose destructor checks for corruption.
    checking_pool pool_{40, named("orders")};
};

TEST_F(checking_policy_test, reports_nothing_for_correct_use)
{
    std::vector<void*> blocks(3000);
    for (int round = 0; round != 3; ++round) {
        (void)pool_.allocate_bulk(blocks.data(), blocks.size());
        for (void* const block : blocks)
            std::memset(block, round, pool_.block_size());
        EXPECT_TRUE(pool_.verify());
        pool_.deallocate_bulk(blocks.data(), blocks.size());
    }
    pool_.trim();
    pool_.clear();
    pool_.release();
    EXPECT_TRUE(recorder_.reports().empty());
}

TEST_F(checking_policy_test, reports_a_double_free)
{
    void* const block = pool_.allocate();
    pool_.deallocate(block);
    pool_.deallocate(block);
    expect_one_report(error_kind::double_free, block, "double free");
    EXPECT_EQ(pool_.in_use(), 0u);
}

TEST_F(checking_policy_test, reports_a_double_free_after_other_frees)
{
    void* const block = pool_.allocate();
    void* const other = pool_.allocate();
    pool_.deallocate(block);
    pool_.deallocate(other);
    pool_.deallocate(block);
    expect_one_report(error_kind::double_free, block, "double free");
}

TEST_F(checking_policy_test, reports_a_block_that_was_never_allocated)
{
    auto* const block = static_cast<char*>(pool_.allocate());
    constexpr std::size_t stride = 56; // 40 bytes and a canary of 16.
    pool_.deallocate(block + stride);
    expect_one_report(error_kind::double_free, block + stride, "double free");
}

TEST_F(checking_policy_test, reports_a_foreign_pointer)
{
    (void)pool_.allocate();
    int local = 0;
    pool_.deallocate(&local);
    expect_one_report(error_kind::foreign_pointer, &local, "foreign pointer");
}

TEST_F(checking_policy_test, reports_a_block_of_another_pool)
{
    checking_pool other(40, named("trades"));
    void* const block = other.allocate();
    pool_.deallocate(block);
    expect_one_report(error_kind::foreign_pointer, block, "foreign pointer");
    EXPECT_EQ(other.in_use(), 1u);
}

TEST_F(checking_policy_test, reports_arbitrary_addresses)
{
    (void)pool_.allocate();
    for (const std::uintptr_t address :
         {std::uintptr_t{1}, std::uintptr_t{8}, ~std::uintptr_t{15}, std::uintptr_t{0x8000} << 48})
        pool_.deallocate(reinterpret_cast<void*>(address));
    EXPECT_EQ(recorder_.kinds(), test::kinds(4, error_kind::foreign_pointer));
    EXPECT_TRUE(pool_.verify());
}

TEST_F(checking_policy_test, reports_a_misaligned_pointer)
{
    auto* const block = static_cast<char*>(pool_.allocate());
    pool_.deallocate(block + 8);
    expect_one_report(error_kind::misaligned_pointer, block + 8, "misaligned pointer");
    EXPECT_EQ(pool_.in_use(), 1u);
}

TEST_F(checking_policy_test, reports_an_overflow_of_one_byte)
{
    void* const block = pool_.allocate();
    write_to(block, 40);
    EXPECT_FALSE(pool_.verify()) << "found before the block is freed";
    pool_.deallocate(block);
    ASSERT_EQ(recorder_.kinds(), test::kinds{error_kind::buffer_overflow});
    EXPECT_EQ(recorder_.reports()[0].address, block);
    EXPECT_EQ(pool_.in_use(), 1u) << "ignored";
}

TEST_F(checking_policy_test, reports_each_overflow_once)
{
    test::expect_one_report_of_each_overflow<checking_pool>();
}

TEST_F(checking_policy_test, reports_a_second_overflow_of_the_same_block)
{
    void* const block = pool_.allocate();
    for (int i = 0; i != 2; ++i) {
        write_to(block, 40);
        pool_.deallocate(block);
    }
    EXPECT_EQ(recorder_.kinds(), test::kinds(2, error_kind::buffer_overflow));
    pool_.deallocate(block);
    EXPECT_EQ(pool_.in_use(), 0u);
}

TEST_F(checking_policy_test, reports_a_write_after_free_when_the_block_is_reused)
{
    mp::pool_options options = test::bounded_to(1);
    options.name = "orders";
    checking_pool pool(40, options);
    void* const block = pool.allocate();
    pool.deallocate(block);
    write_to(block, 3);
    EXPECT_FALSE(pool.verify());
    EXPECT_EQ(pool.allocate(), block);
    expect_one_report(error_kind::write_after_free, block, "write after free");
}

TEST_F(checking_policy_test, reports_corruption_in_the_destructor_at_the_latest)
{
    void* freed = nullptr;
    void* overflown = nullptr;
    {
        checking_pool pool(40, named("orders"));
        freed = pool.allocate();
        overflown = pool.allocate();
        pool.deallocate(freed);
        write_to(freed, 39);
        write_to(overflown, 41);
    }
    EXPECT_EQ(recorder_.kinds(), (test::kinds{error_kind::write_after_free, error_kind::buffer_overflow}));
}

TEST_F(checking_policy_test, is_consistent_when_it_reports_a_write_after_free)
{
    void* const block = pool_.allocate();
    pool_.deallocate(block);
    write_to(block, 39);
    std::size_t handed_out = 0;
    recorder_.handle_by([&] {
        ++handed_out; // The corrupted block.
        EXPECT_TRUE(pool_.verify());
        EXPECT_EQ(pool_.in_use(), handed_out);
    });
    for (; recorder_.reports().empty(); ++handed_out)
        (void)pool_.allocate();
    recorder_.handle_by(nullptr);
}

TEST_F(checking_policy_test, reports_corruption_once_if_the_error_handler_calls_release)
{
    for (const bool keeps_slabs : {true, false}) {
        void* const overflown = pool_.allocate();
        pool_.reserve(100'000); // In a separate slab.
        write_to(overflown, 41);
        const std::size_t reports = recorder_.reports().size();
        recorder_.handle_by([&] {
            EXPECT_EQ(pool_.in_use(), 0u);
            EXPECT_TRUE(pool_.verify());
            if (recorder_.reports().size() < 10) {
                pool_.trim();
                pool_.clear();
                pool_.release();
            }
        });
        keeps_slabs ? pool_.clear() : pool_.release();
        EXPECT_EQ(recorder_.reports().size(), reports + 1);
        EXPECT_TRUE(pool_.verify());
    }
    recorder_.handle_by(nullptr);
}

TEST_F(checking_policy_test, delays_the_reuse_of_freed_blocks)
{
    std::vector<void*> blocks(30);
    (void)pool_.allocate_bulk(blocks.data(), blocks.size());
    pool_.deallocate(blocks[0]);
    for (int i = 0; i != 10; ++i)
        EXPECT_NE(pool_.allocate(), blocks[0]);
}

/// Each misuse in a separate process, with the default error handler.
class checking_policy_death : public testing::Test
{
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
    checking_pool pool_{40, named("orders")};
};

TEST_F(checking_policy_death, ends_the_program_at_a_double_free)
{
    void* const block = pool_.allocate();
    pool_.deallocate(block);
    EXPECT_EXIT(pool_.deallocate(block), testing::KilledBySignal(SIGABRT),
                "double free: address 0x[0-9a-f]+, block size 40 bytes, pool 'orders'\n  remedy: ");
}

TEST_F(checking_policy_death, ends_the_program_at_a_foreign_pointer)
{
    int local = 0;
    EXPECT_EXIT(pool_.deallocate(&local), testing::KilledBySignal(SIGABRT), "foreign pointer: .*pool 'orders'");
}

TEST_F(checking_policy_death, ends_the_program_at_a_misaligned_pointer)
{
    auto* const block = static_cast<char*>(pool_.allocate());
    EXPECT_EXIT(pool_.deallocate(block + 1), testing::KilledBySignal(SIGABRT), "misaligned pointer: .*pool 'orders'");
}

TEST_F(checking_policy_death, ends_the_program_at_an_overflow)
{
    const auto overflow = [this] {
        auto* const block = static_cast<char*>(pool_.allocate());
        mp::detail::base::permit_access(block, 41);
        block[40] = 'x';
        pool_.deallocate(block);
    };
    EXPECT_EXIT(overflow(), testing::KilledBySignal(SIGABRT), "overflow: .*pool 'orders'");
}

TEST_F(checking_policy_death, ends_the_program_at_a_write_after_free)
{
    const auto write_after_free = [] {
        checking_pool pool(40, named("orders"));
        auto* const block = static_cast<char*>(pool.allocate());
        pool.deallocate(block);
        mp::detail::base::permit_access(block, 1);
        block[0] = 'x';
        pool.release();
    };
    EXPECT_EXIT(write_after_free(), testing::KilledBySignal(SIGABRT), "write after free: .*pool 'orders'");
}

#if MEMORY_POOL_ASAN
TEST(address_sanitizer_death, detects_a_use_of_a_free_block_under_every_policy)
{
    test::expect_reports_without_names();
    const auto use_after_free = [](auto& pool) {
        auto* const block = static_cast<volatile char*>(pool.allocate());
        pool.deallocate(const_cast<char*>(block));
        block[0] = 'x';
    };
    const auto overflow = [](auto& pool) {
        auto* const block = static_cast<volatile char*>(pool.allocate());
        block[pool.block_size()] = 'x';
    };
    mp::block_pool plain(40);
    counting_pool counting(40);
    checking_pool checking(40);
    EXPECT_DEATH(use_after_free(plain), "use-after-poison");
    EXPECT_DEATH(use_after_free(counting), "use-after-poison");
    EXPECT_DEATH(use_after_free(checking), "use-after-poison");
    EXPECT_DEATH(overflow(plain), "use-after-poison");
    EXPECT_DEATH(overflow(counting), "use-after-poison");
    EXPECT_DEATH(overflow(checking), "use-after-poison");
}
#endif
} // namespace
