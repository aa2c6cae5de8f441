// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/resources/arena_store.hpp>

#include <support/cpu_time.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <set>
#include <vector>

namespace mp = memory_pool;
namespace core = memory_pool::detail::core;

namespace {
constexpr std::size_t arena_size = 1024;

mp::arena_options small_arenas(std::size_t max_arenas = mp::arena_options::unbounded)
{
    mp::arena_options options;
    options.arena_size = arena_size;
    options.max_arenas = max_arenas;
    return options;
}

class arena_store_test : public testing::Test
{
protected:
    std::vector<core::arena*> take(std::size_t count)
    {
        std::vector<core::arena*> arenas(count);
        for (core::arena*& arena : arenas)
            arena = &store_.take(this);
        return arenas;
    }

    test::accounting_upstream upstream_;
    core::arena_store<core::arena> store_{small_arenas(), false, &upstream_};
};

TEST_F(arena_store_test, aligns_arenas_to_their_size)
{
    std::set<core::arena*> all;
    for (core::arena* const arena : take(100)) {
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena) % arena_size, 0u);
        EXPECT_EQ(arena->bytes_in_use(), 0u);
        EXPECT_EQ(arena->owner, this);
        EXPECT_EQ(store_.arena_of(store_.start_of(*arena)), arena);
        EXPECT_EQ(store_.arena_of(store_.end_of(*arena) - 1), arena);
        EXPECT_TRUE(all.insert(arena).second);
    }
    EXPECT_TRUE(store_.verify());
}

TEST_F(arena_store_test, reuses_arenas_in_lifo_order)
{
    const std::vector<core::arena*> arenas = take(5);
    store_.put(*arenas[1]);
    store_.put(*arenas[3]);
    EXPECT_EQ(&store_.take(this), arenas[3]);
    EXPECT_EQ(&store_.take(this), arenas[1]);
    EXPECT_TRUE(store_.verify());
}

TEST_F(arena_store_test, counts_unused_arenas_as_free)
{
    take(3); // From chunks of 1, 1 and 2.
    EXPECT_EQ(store_.arena_count(), 4u);
    EXPECT_EQ(store_.free_count(), 1u);
    store_.reserve(10);
    EXPECT_EQ(store_.arena_count(), 10u);
    EXPECT_EQ(store_.free_count(), 7u);
    EXPECT_EQ(store_.bytes_reserved(), 10 * arena_size);
    EXPECT_EQ(upstream_.live_bytes(), store_.bytes_reserved());
}

TEST_F(arena_store_test, visits_each_arena_used_so_far)
{
    const std::vector<core::arena*> arenas = take(3);
    std::set<core::arena*> visited;
    store_.for_each_arena([&](core::arena& arena) { visited.insert(&arena); });
    EXPECT_EQ(visited, std::set<core::arena*>(arenas.begin(), arenas.end()));
}

TEST_F(arena_store_test, trims_whole_chunks)
{
    const std::vector<core::arena*> arenas = take(16); // From chunks of 1, 1, 2, 4 and 8.
    for (const std::size_t i : {0u, 4u, 5u, 6u, 7u, 8u, 10u})
        store_.put(*arenas[i]);
    EXPECT_EQ(store_.trim(), 5 * arena_size);
    EXPECT_EQ(store_.arena_count(), 11u);
    EXPECT_EQ(store_.free_count(), 2u);
    EXPECT_TRUE(store_.verify());
    EXPECT_EQ(&store_.take(this), arenas[10]);
    EXPECT_EQ(&store_.take(this), arenas[8]);
    EXPECT_EQ(upstream_.live_bytes(), 11 * arena_size);
    take(1);
    EXPECT_TRUE(store_.verify());
}

TEST_F(arena_store_test, trims_unused_arenas)
{
    take(1);
    store_.reserve(20);
    EXPECT_EQ(store_.trim(), 19 * arena_size);
    EXPECT_TRUE(store_.verify());
    take(5);
    EXPECT_TRUE(store_.verify());
}

TEST_F(arena_store_test, clear_keeps_and_release_frees_the_chunks)
{
    const std::vector<core::arena*> arenas = take(4);
    store_.put(*arenas[2]);
    store_.clear();
    EXPECT_EQ(store_.free_count(), 4u);
    EXPECT_TRUE(store_.verify());
    store_.release();
    EXPECT_EQ(store_.arena_count(), 0u);
    EXPECT_EQ(upstream_.live_bytes(), 0u);
    take(2);
    EXPECT_TRUE(store_.verify());
}

TEST_F(arena_store_test, contains_addresses_in_used_arenas)
{
    const std::vector<core::arena*> arenas = take(3);
    EXPECT_TRUE(store_.contains(arenas[2]));
    EXPECT_TRUE(store_.contains(store_.end_of(*arenas[2]) - 1));
    EXPECT_FALSE(store_.contains(store_.end_of(*arenas[2]))) << "the next arena was never used";
    EXPECT_FALSE(store_.contains(nullptr));
    EXPECT_FALSE(store_.contains(this));
}

TEST_F(arena_store_test, contains_addresses_after_trims_and_growth)
{
    const std::vector<core::arena*> arenas = take(40);
    for (std::size_t i = 0; i != arenas.size(); ++i)
        if (i % 8 < 6)
            store_.put(*arenas[i]);
    (void)store_.trim();
    take(100);
    std::set<core::arena*> held;
    store_.for_each_arena([&](core::arena& each) { held.insert(&each); });
    for (core::arena* const each : held)
        EXPECT_TRUE(store_.contains(each) && store_.contains(store_.end_of(*each) - 1));
    store_.release();
    EXPECT_FALSE(store_.contains(arenas[7]));
}

/// A store with chunks of one arena each.
struct chunks
{
    explicit chunks(std::size_t count) : arenas(count)
    {
        for (core::arena*& each : arenas)
            each = &store.take(nullptr);
    }

    core::arena_store<core::arena> store{mp::arena_options{}.with_arena_size(std::size_t{1} << 20), false,
                                         std::pmr::new_delete_resource()};
    std::vector<core::arena*> arenas;
};

TEST(arena_store, finds_an_arena_without_a_linear_search)
{
    const chunks many(512);
    const chunks few(16);
    const auto look_up = [&](std::size_t count) {
        const chunks& these = count == 512 ? many : few;
        for (std::size_t i = 0; i != 200'000; ++i)
            ASSERT_TRUE(these.store.contains(these.arenas[i % count] + 1));
    };
    EXPECT_LT(test::ratio_of_times(512, 16, look_up), 12) << "would be 32 for linear searches";
}

TEST_F(arena_store_test, checks_size_and_alignment_of_a_request)
{
    EXPECT_EQ(store_.largest_extent(), arena_size - 64);
    EXPECT_TRUE(store_.fits(arena_size - 64, 1));
    EXPECT_TRUE(store_.fits(arena_size - 64, 64));
    EXPECT_FALSE(store_.fits(arena_size - 56, 8));
    EXPECT_TRUE(store_.fits(512, 512));
    EXPECT_FALSE(store_.fits(520, 512));
    EXPECT_FALSE(store_.fits(8, 1024));
    EXPECT_FALSE(store_.fits(8, std::size_t{1} << 40));
}

TEST_F(arena_store_test, limits_chunks_to_1_mib)
{
    take(5000);
    EXPECT_EQ(store_.arena_count() % 1024, 0u);
    EXPECT_LE(store_.arena_count(), 6144u);
    EXPECT_EQ(upstream_.live_chunks(), 11u + 4u) << "1, 1, 2, 4 ... 512, and then 1024 each";
}

TEST(bounded_arena_store, stops_exactly_at_the_limit)
{
    core::arena_store<core::arena> store(small_arenas(3), false, std::pmr::new_delete_resource());
    for (int i = 0; i != 3; ++i)
        (void)store.take(nullptr);
    EXPECT_THROW((void)store.take(nullptr), mp::pool_exhausted);
    EXPECT_EQ(store.arena_count(), 3u);
    EXPECT_TRUE(store.verify());
}

TEST(checked_arena_store, keeps_marks_behind_the_headers)
{
    core::arena_store<core::arena> store(small_arenas(), true, std::pmr::new_delete_resource());
    EXPECT_EQ(store.largest_extent(), arena_size - 192) << "64 for the header, 128 for the marks";
    core::arena& arena = store.take(nullptr);
    store.marks_of(arena).add(store.start_of(arena), {48, 8}, 64);
    EXPECT_TRUE(store.marks_of(arena).is_start(store.start_of(arena)));
    store.clear();
    EXPECT_FALSE(store.marks_of(arena).is_start(store.start_of(arena)));
}
} // namespace
