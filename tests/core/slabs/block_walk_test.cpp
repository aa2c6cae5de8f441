// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/slabs/block_walk.hpp>
#include <memory_pool/core/slabs/slab_store.hpp>

#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>
#include <vector>

namespace core = memory_pool::detail::core;
namespace base = memory_pool::detail::base;

namespace {
constexpr std::size_t stride = 48;
constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

/// Free blocks whose bits are set as if in use: a span, and some scattered blocks.
struct some_caches
{
    core::block_span span;
    std::vector<char*> others; ///< Sorted by address.

    bool has(const char* block) const
    {
        return (block >= span.begin && block < span.end) || std::binary_search(others.begin(), others.end(), block);
    }

    std::uint64_t cached_bits(const char* first) const
    {
        std::uint64_t bits = 0;
        for (std::size_t i = 0; i != base::bits_per_word; ++i)
            bits |= has(first + i * stride) ? base::bit_in_word(i) : 0;
        return bits;
    }
    const char* lowest_cached(const char* begin, const char* end) const
    {
        for (const char* each = begin; each < end; each += stride)
            if (has(each))
                return each;
        return end;
    }
    core::block_span span_from(char* first) const
    {
        return first >= span.begin && first < span.end ? core::block_span{first, span.end} : core::block_span{};
    }
};

class block_walk : public testing::Test
{
protected:
    /// Takes `count` blocks and frees all but about one in `one_of`.
    void use(std::size_t count, unsigned one_of)
    {
        while (store_.capacity() - store_.outstanding() < count)
            store_.grow(count);
        for (std::size_t i = 0; i != count; ++i)
            used_.push_back(static_cast<char*>(store_.take_one_late()));
        std::sort(used_.begin(), used_.end());
        std::vector<char*> kept;
        for (char* const block : used_) {
            if (random_() % one_of == 0)
                kept.push_back(block);
            else
                put_back(block);
        }
        used_ = kept;
    }

    void put_back(void* block) { ASSERT_EQ(store_.put(&block, 1), 0U); }

    /// Visits blocks one by one.
    template <class Each>
    void walk(const some_caches& caches, Each&& each)
    {
        const core::block_walk walk(store_.chunks(), caches);
        for (core::blocks_in_use at = walk.next({}); at.home != nullptr; at = walk.next(at))
            each(at.first + base::lowest_bit(at.bits) * stride);
    }
    std::vector<char*> by_words(const some_caches& caches)
    {
        const core::block_walk walk(store_.chunks(), caches);
        std::vector<char*> all;
        for (core::blocks_in_use at = walk.next({}); at.home != nullptr; at = walk.next_behind(at))
            for (std::uint64_t bits = at.bits; bits != 0; bits &= bits - 1)
                all.push_back(at.first + base::lowest_bit(bits) * stride);
        return all;
    }
    std::vector<char*> one_by_one(const some_caches& caches)
    {
        std::vector<char*> all;
        walk(caches, [&all](char* block) { all.push_back(block); });
        return all;
    }

    test::accounting_upstream upstream_;
    const core::slab_layout layout_{stride, 16, unbounded};
    core::slab_store store_{layout_, unbounded, {false, false, false}, {"test", stride}, &upstream_};
    std::vector<char*> used_;
    std::mt19937 random_{3};
};

TEST_F(block_walk, finds_nothing_without_slabs)
{
    EXPECT_TRUE(one_by_one({}).empty());
    EXPECT_TRUE(by_words({}).empty());
}

TEST_F(block_walk, visits_blocks_in_use_in_address_order)
{
    for (const unsigned one_of : {1U, 2U, 50U, 1000U}) {
        use(3000, one_of);
        std::sort(used_.begin(), used_.end());
        EXPECT_EQ(one_by_one({}), used_) << one_of;
        EXPECT_EQ(by_words({}), used_) << one_of;
    }
}

TEST_F(block_walk, skips_cached_blocks)
{
    use(1000, 1);
    for (const std::size_t length : {0U, 1U, 63U, 64U, 65U, 300U}) {
        for (const std::size_t first : {0U, 1U, 100U, 500U}) {
            some_caches caches;
            caches.span = {used_[first], used_[first] + length * stride};
            for (std::size_t i = 3; i < used_.size(); i += 97)
                caches.others.push_back(used_[i]);
            std::vector<char*> expected;
            std::copy_if(used_.begin(), used_.end(), std::back_inserter(expected),
                         [&caches](char* block) { return !caches.has(block); });
            ASSERT_EQ(one_by_one(caches), expected) << first << ' ' << length;
            ASSERT_EQ(by_words(caches), expected) << first << ' ' << length;
        }
    }
}

TEST_F(block_walk, allows_the_visitor_to_free_the_block)
{
    use(2000, 2);
    std::vector<char*> visited;
    walk({}, [&](char* block) {
        visited.push_back(block);
        put_back(block);
    });
    EXPECT_EQ(visited, used_);
    EXPECT_TRUE(one_by_one({}).empty());
}

TEST_F(block_walk, allows_the_visitor_to_allocate)
{
    use(100, 1);
    std::size_t visits = 0;
    walk({}, [&](char*) {
        if (++visits == 1)
            use(1000, 1);
    });
    EXPECT_GE(visits, 100U);
    EXPECT_LE(visits, 1100U);
}
} // namespace
