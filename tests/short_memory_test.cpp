// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Pools and resources with an upstream that has little memory: the share that they can use, the results of `bytes_for`,
// and the memory that they free before a request fails.
#include <memory_pool/arena_resource.hpp>
#include <memory_pool/block_pool.hpp>
#include <memory_pool/block_resource.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/concurrent_handle_pool.hpp>
#include <memory_pool/concurrent_object_pool.hpp>
#include <memory_pool/handle_pool.hpp>
#include <memory_pool/intrusive_pool.hpp>
#include <memory_pool/object_pool.hpp>
#include <memory_pool/pool_resource.hpp>
#include <memory_pool/pooled.hpp>
#include <memory_pool/recycling_pool.hpp>
#include <memory_pool/resource_adaptors.hpp>
#include <memory_pool/shared_pool.hpp>

#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <memory_resource>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace mp = memory_pool;

namespace {
constexpr std::size_t bytes = 48; // The size of an object.

struct plain
{
    std::array<char, bytes> data;
};

template <class References>
struct counted : mp::pooled<counted<References>, References>
{
    std::array<char, bytes - 8> data;
};

// Creates an object in each kind of pool. The result keeps the object alive.

struct blocks : mp::block_pool
{
    explicit blocks(std::pmr::memory_resource* upstream) : mp::block_pool(bytes, upstream) {}
    static void* make(blocks& pool) { return pool.allocate(); }
};

struct concurrent_blocks : mp::concurrent_block_pool
{
    explicit concurrent_blocks(std::pmr::memory_resource* upstream) : mp::concurrent_block_pool(bytes, upstream) {}
    static void* make(concurrent_blocks& pool) { return pool.allocate(); }
};

template <class Pool>
struct created : Pool
{
    using Pool::Pool;
    static auto make(Pool& pool) { return pool.create(); }
};

template <class Pool>
struct made : Pool
{
    using Pool::Pool;
    static auto make(Pool& pool) { return pool.make(); }
};

template <class Pool>
struct recycled : Pool
{
    using Pool::Pool;
    static auto make(Pool& pool) { return pool.allocate(); }
};

template <class Resource>
struct resource
{
    explicit resource(std::pmr::memory_resource* upstream) : pools(upstream) {}
    static void* make(resource& from) { return from.pools.allocate(bytes, 8); }
    std::size_t in_use() const { return pools.bytes_in_use() / bytes; }

    Resource pools;
};

/// Returns: the number of objects that a pool creates until upstream has no more memory.
template <class Pool>
std::size_t fill(Pool& pool)
{
    std::vector<decltype(Pool::make(pool))> objects;
    const auto make_all = [&] {
        while (true)
            objects.push_back(Pool::make(pool));
    };
    EXPECT_THROW(make_all(), std::bad_alloc);
    const std::size_t count = objects.size();
    EXPECT_EQ(count, pool.in_use());
    return count;
}

/// Returns: the percentage of a limit of 1 MiB that a pool fills with objects.
template <class Pool>
std::size_t percentage_of_limit()
{
    constexpr std::size_t limit = std::size_t{1} << 20;
    mp::limit_resource upstream(limit);
    Pool pool(&upstream);
    return 100 * fill(pool) * bytes / limit;
}

/// Returns: the percentage of a limit of 1 MiB that a pool uses for its objects, with their tables and magazines;
///   without unused capacity.
template <class Pool>
std::size_t percentage_used()
{
    constexpr std::size_t limit = std::size_t{1} << 20;
    mp::limit_resource upstream(limit);
    Pool pool(&upstream);
    const std::size_t count = fill(pool);
    return 100 * (upstream.bytes_in_use() - (pool.capacity() - count) * bytes) / limit;
}

TEST(short_memory, one_thread_fills_95_percent_of_a_limit_with_objects)
{
    EXPECT_GE(percentage_of_limit<blocks>(), 95u);
    EXPECT_GE(percentage_of_limit<created<mp::object_pool<plain>>>(), 95u);
    EXPECT_GE(percentage_of_limit<resource<mp::unsynchronized_pool_resource>>(), 95u);
    EXPECT_GE(percentage_of_limit<resource<mp::unsynchronized_arena_resource>>(), 95u);
    EXPECT_GE(percentage_of_limit<made<mp::intrusive_pool<counted<mp::plain_references>>>>(), 95u);
    EXPECT_GE(percentage_of_limit<recycled<mp::recycling_pool<counted<mp::plain_references>>>>(), 95u);
}

TEST(short_memory, pools_with_tables_or_thread_caches_fill_90_percent_of_a_limit)
{
    EXPECT_GE(percentage_used<created<mp::handle_pool<plain>>>(), 90u);
    EXPECT_GE(percentage_used<concurrent_blocks>(), 90u);
    EXPECT_GE(percentage_used<created<mp::concurrent_object_pool<plain>>>(), 90u);
    EXPECT_GE(percentage_used<created<mp::concurrent_handle_pool<plain>>>(), 90u);
    EXPECT_GE(percentage_used<made<mp::intrusive_pool<counted<mp::atomic_references>>>>(), 90u);
    EXPECT_GE(percentage_used<recycled<mp::recycling_pool<counted<mp::atomic_references>>>>(), 90u);
    EXPECT_GE(percentage_used<made<mp::shared_pool<plain>>>(), 90u);
    EXPECT_GE(percentage_of_limit<resource<mp::synchronized_pool_resource>>(), 80u);
}

/// Returns: the percentage of a buffer that a pool with default options fills with objects, or with objects and tables.
template <class Pool>
std::size_t percentage_of_buffer(std::size_t size, bool counts_tables = false)
{
    alignas(64) static std::array<std::byte, 65'536> buffer;
    std::pmr::monotonic_buffer_resource upstream(buffer.data(), size, std::pmr::null_memory_resource());
    Pool pool(&upstream);
    const std::size_t count = fill(pool);
    if constexpr (std::is_base_of_v<mp::handle_pool<plain>, Pool>)
        if (counts_tables)
            return 100 * (pool.bytes_reserved() - (pool.capacity() - count) * bytes) / size;
    return 100 * count * bytes / size;
}

TEST(short_memory, one_thread_fills_a_small_buffer_with_objects)
{
    for (const auto& [size, least] : {std::pair{4096u, 85u}, std::pair{16'384u, 92u}, std::pair{65'536u, 92u}}) {
        EXPECT_GE(percentage_of_buffer<blocks>(size), least) << size;
        EXPECT_GE(percentage_of_buffer<created<mp::object_pool<plain>>>(size), least) << size;
        EXPECT_GE(percentage_of_buffer<created<mp::handle_pool<plain>>>(size, true), 85u) << size;
    }
    EXPECT_GE(percentage_of_buffer<resource<mp::unsynchronized_pool_resource>>(4096), 70u);
    EXPECT_GE(percentage_of_buffer<resource<mp::unsynchronized_pool_resource>>(16'384), 85u);
    EXPECT_GE(percentage_of_buffer<resource<mp::unsynchronized_pool_resource>>(65'536), 85u);
}

TEST(short_memory, a_capacity_that_leaves_room_for_a_small_magazine_only_succeeds)
{
    mp::limit_resource upstream(16'384);
    const mp::object_pool<plain> pool(mp::pool_options{}.with_initial_capacity(327), &upstream);
    EXPECT_EQ(pool.capacity(), 327u);
}

template <class Pool>
void expect_few_calls()
{
    test::accounting_upstream upstream;
    Pool pool(&upstream);
    for (int i = 0; i != 1000; ++i)
        (void)Pool::make(pool);
    upstream.fail_always();
    while (mp::detail::base::succeeds([&] { (void)Pool::make(pool); }))
        continue;
    const std::size_t before = upstream.calls();
    for (int i = 0; i != 100; ++i)
        EXPECT_THROW((void)Pool::make(pool), std::bad_alloc);
    EXPECT_LE(upstream.calls() - before, 400u);
}

TEST(short_memory, a_pool_without_memory_beyond_its_blocks_has_a_magazine)
{
    mp::limit_resource upstream(mp::block_pool::bytes_for(1000, bytes));
    mp::block_pool pool(bytes, mp::pool_options{}.with_initial_capacity(1000), &upstream);
    void* const first = pool.allocate();
    void* const second = pool.allocate();
    pool.deallocate(first);
    pool.deallocate(second);
    EXPECT_EQ(pool.allocate(), second) << "the last freed block, from the magazine";
    EXPECT_EQ(pool.allocate(), first);
}

TEST(short_memory, a_pool_frees_its_first_chunk_if_its_magazine_does_not_fit_elsewhere)
{
    mp::limit_resource upstream(53'788);
    mp::block_pool pool(bytes, mp::pool_options{}.with_initial_capacity(1000), &upstream);
    mp::block_resource resource(pool);
    std::vector<void*> blocks(1000);
    pool.allocate_bulk(blocks.data(), blocks.size());
    void* const kept = pool.allocate();
    pool.deallocate_bulk(blocks.data(), blocks.size());
    void* const large = resource.allocate(20'000);
    resource.deallocate(large, 20'000);
    EXPECT_TRUE(pool.owns(kept));
    EXPECT_TRUE(pool.verify());
}

TEST(short_memory, a_pool_at_its_limit_makes_few_upstream_calls_for_a_request)
{
    expect_few_calls<blocks>();
    expect_few_calls<concurrent_blocks>();
    expect_few_calls<created<mp::handle_pool<plain>>>();
    expect_few_calls<created<mp::concurrent_handle_pool<plain>>>();
    expect_few_calls<resource<mp::unsynchronized_pool_resource>>();
}

// bytes_for

/// Expects that a limit of `bytes_for(count)` holds `count` objects, for many counts.
template <class Pool>
void expect_exact_bytes(std::size_t every = 1)
{
    EXPECT_EQ(Pool::bytes_for(0), 0u);
    for (std::size_t count = 1; count <= 5000; count += every) {
        mp::limit_resource upstream(Pool::bytes_for(count));
        Pool pool(mp::pool_options{}.with_initial_capacity(count), &upstream);
        ASSERT_EQ(pool.capacity(), count);
        ASSERT_EQ(upstream.bytes_in_use(), upstream.limit());
        if (count % 251 != 1)
            continue;
        std::size_t created = 0;
        while (pool.try_create() != typename std::decay_t<decltype(pool.try_create())>{})
            ++created;
        ASSERT_EQ(created, count) << "not more";
    }
}

template <std::size_t Size>
struct sized
{
    std::array<char, Size> data;
};

TEST(short_memory, bytes_for_objects_are_exact)
{
    expect_exact_bytes<mp::object_pool<sized<1>>>();
    expect_exact_bytes<mp::object_pool<sized<8>>>();
    expect_exact_bytes<mp::object_pool<sized<48>>>();
    expect_exact_bytes<mp::object_pool<sized<100>>>();
    expect_exact_bytes<mp::object_pool<sized<1000>>>();
    expect_exact_bytes<mp::object_pool<sized<4096>>>();
    expect_exact_bytes<mp::object_pool<sized<48>, mp::checking_policy>>(499);
    expect_exact_bytes<mp::concurrent_object_pool<sized<48>>>(7);
    expect_exact_bytes<mp::handle_pool<sized<8>>>(3);
    expect_exact_bytes<mp::handle_pool<sized<48>>>(3);
    expect_exact_bytes<mp::concurrent_handle_pool<sized<48>>>(7);
}

TEST(short_memory, bytes_for_blocks_are_exact_in_a_buffer)
{
    struct shape
    {
        std::size_t block_size;
        std::size_t alignment;
    };
    for (const shape each : {shape{1, 0}, shape{8, 8}, shape{24, 0}, shape{48, 64}, shape{1000, 0}, shape{100, 4096}}) {
        for (const std::size_t count : {1u, 15u, 64u, 65u, 1000u, 5000u}) {
            const std::size_t size = mp::block_pool::bytes_for(count, each.block_size, each.alignment);
            const std::size_t alignment = std::max<std::size_t>(each.alignment, 16);
            void* const buffer = std::pmr::new_delete_resource()->allocate(size, alignment);
            std::pmr::monotonic_buffer_resource upstream(buffer, size, std::pmr::null_memory_resource());
            {
                mp::block_pool pool(each.block_size,
                                    mp::pool_options{}.with_alignment(each.alignment).with_initial_capacity(count),
                                    &upstream);
                std::size_t taken = 0;
                while (pool.try_allocate() != nullptr)
                    ++taken;
                EXPECT_EQ(taken, count);
            }
            std::pmr::new_delete_resource()->deallocate(buffer, size, alignment);
        }
    }
}

TEST(short_memory, bytes_for_arenas_are_exact)
{
    for (const std::size_t size : {1u, 1024u, 3000u, 65'536u}) {
        for (std::size_t count = 0; count != 50; ++count) {
            mp::limit_resource upstream(mp::unsynchronized_arena_resource::bytes_for(count, size));
            mp::unsynchronized_arena_resource arenas(mp::arena_options{}.with_arena_size(size).with_arena_count(count),
                                                     &upstream);
            EXPECT_EQ(arenas.arena_count(), count);
            EXPECT_EQ(upstream.bytes_in_use(), upstream.limit());
        }
    }
}

static_assert(mp::object_pool<int>::bytes_for(10) > 10 * sizeof(int), "a constant, for the size of a buffer");
static_assert(mp::concurrent_block_pool::bytes_for(10, 100) > 1000);
static_assert(mp::handle_pool<int>::bytes_for(10) > mp::object_pool<int>::bytes_for(10));
static_assert(mp::unsynchronized_arena_resource::bytes_for(3) == 3 * 65'536);

// Unused chunks are freed before a request fails.

/// Expects that blocks of one size class can be allocated once an equal number of bytes of another class is free.
template <class Resource>
void expect_memory_of_other_classes()
{
    constexpr std::size_t limit = std::size_t{1} << 20;
    mp::limit_resource upstream(limit);
    Resource pools(&upstream);
    const auto fill_and_free = [&](std::size_t size) {
        std::vector<void*> all;
        const auto take_all = [&] {
            while (true)
                all.push_back(pools.allocate(size, 8));
        };
        EXPECT_THROW(take_all(), std::bad_alloc);
        for (void* const block : all)
            pools.deallocate(block, size, 8);
        return 100 * all.size() * size / limit;
    };
    EXPECT_GE(fill_and_free(64), 80u);
    EXPECT_GE(fill_and_free(256), 80u);
    pools.deallocate(pools.allocate(800'000), 800'000);
    EXPECT_GE(fill_and_free(64), 80u);
}

TEST(short_memory, a_pool_resource_reuses_free_memory_of_other_size_classes)
{
    expect_memory_of_other_classes<mp::unsynchronized_pool_resource>();
    expect_memory_of_other_classes<mp::synchronized_pool_resource>();
}

template <class Resource>
void expect_memory_of_arenas_for_a_large_block()
{
    mp::limit_resource upstream(300'000);
    Resource arenas(&upstream);
    std::vector<void*> all;
    const auto take_all = [&] {
        while (true)
            all.push_back(arenas.allocate(1000));
    };
    EXPECT_THROW(take_all(), std::bad_alloc);
    for (void* const block : all)
        arenas.deallocate(block, 1000);
    void* const large = arenas.allocate(100'000);
    arenas.deallocate(large, 100'000);
    EXPECT_THROW((void)arenas.allocate(400'000), std::bad_alloc);
    EXPECT_THROW((void)arenas.allocate(std::numeric_limits<std::size_t>::max()), mp::size_overflow);
}

TEST(short_memory, an_arena_resource_frees_unused_arenas_for_a_large_block)
{
    expect_memory_of_arenas_for_a_large_block<mp::unsynchronized_arena_resource>();
    expect_memory_of_arenas_for_a_large_block<mp::synchronized_arena_resource>();
}

TEST(short_memory, a_block_resource_frees_unused_blocks_for_a_larger_request)
{
    mp::limit_resource upstream(100'000);
    mp::block_pool pool(100, &upstream);
    mp::block_resource resource(pool);
    pool.reserve(900);
    void* const large = resource.allocate(90'000);
    resource.deallocate(large, 90'000);
    EXPECT_THROW((void)resource.allocate(200'000), std::bad_alloc);
}

TEST(short_memory, a_handle_pool_frees_unused_blocks_for_its_table)
{
    mp::limit_resource upstream(mp::object_pool<sized<52>>::bytes_for(1000) + 4096);
    mp::handle_pool<plain> pool(&upstream);
    pool.reserve(64);
    std::vector<mp::handle_pool<plain>::handle> handles;
    for (int i = 0; i != 64; ++i)
        handles.push_back(pool.create());
    for (auto more = pool.try_create(); !more.is_null(); more = pool.try_create())
        handles.push_back(more);
    EXPECT_GT(handles.size(), 600u);
    for (const auto each : handles)
        EXPECT_TRUE(pool.destroy(each));
    EXPECT_TRUE(pool.verify());
}

// Bulk functions.

TEST(short_memory, a_bulk_request_beyond_the_address_space_fails_at_once)
{
    constexpr std::size_t absurd = std::numeric_limits<std::size_t>::max();
    mp::limit_resource upstream(std::size_t{64} << 10);
    std::array<void*, 4> places{};
    mp::basic_block_pool<mp::counting_policy> pool(bytes, &upstream);
    EXPECT_THROW((void)pool.allocate_bulk(places.data(), absurd), mp::size_overflow);
    EXPECT_EQ(pool.try_allocate_bulk(places.data(), absurd), 0u);
    EXPECT_EQ(pool.statistics().failures, 2u);
    EXPECT_EQ(upstream.bytes_in_use(), 0u);
    EXPECT_EQ(places[0], nullptr);

    mp::concurrent_block_pool bounded(bytes, mp::pool_options{}.with_max_capacity(10), &upstream);
    EXPECT_THROW((void)bounded.allocate_bulk(places.data(), 11), mp::pool_exhausted);
    EXPECT_EQ(bounded.capacity(), 0u);

    mp::handle_pool<plain> handles(&upstream);
    std::array<mp::handle_pool<plain>::handle, 4> found{};
    EXPECT_THROW((void)handles.create_bulk(found.data(), absurd), mp::size_overflow);
    EXPECT_EQ(handles.try_create_bulk(found.data(), absurd), 0u);
    EXPECT_THROW(handles.reserve(absurd), mp::size_overflow);
    EXPECT_EQ(upstream.bytes_in_use(), 0u);
}
} // namespace
