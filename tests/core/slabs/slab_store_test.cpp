// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/slabs/slab_store.hpp>

#include <support/error_recorder.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <new>
#include <random>
#include <set>
#include <vector>

namespace core = memory_pool::detail::core;
using memory_pool::error_kind;

namespace {
constexpr std::size_t stride = 32;
constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

void trim(core::slab_store& store)
{
    const core::slab_store::detached_chunks detached = store.detach_free();
    store.chunks().leave(detached);
    store.chunks().give_back(detached);
}

class slab_store_test : public testing::Test
{
protected:
    /// Takes all free blocks, in spans and in batches.
    std::vector<void*> take_all(core::slab_store& store)
    {
        std::vector<void*> blocks;
        while (true) {
            const core::block_span span = store.take_span();
            for (char* block = span.begin; block != span.end; block += stride)
                blocks.push_back(block);
            if (!span.empty())
                continue;
            void* batch[50];
            const std::size_t taken = store.take(batch, 50);
            if (taken == 0)
                return blocks;
            blocks.insert(blocks.end(), batch, batch + taken);
        }
    }

    /// Returns the last outstanding block by address, without taking another block.
    void* take_last()
    {
        void* last = nullptr;
        for_each_outstanding(store_.chunks(), [&](void* block) { last = block; });
        return last;
    }

    test::accounting_upstream upstream_;
    const core::slab_layout layout_{stride, 16, unbounded};
    core::slab_store store_{layout_, unbounded, {false, false, false}, {"test", stride}, &upstream_};
};

TEST_F(slab_store_test, is_empty_initially)
{
    EXPECT_EQ(store_.capacity(), 0u);
    EXPECT_TRUE(store_.take_span().empty());
    void* block = nullptr;
    EXPECT_EQ(store_.take(&block, 1), 0u);
    EXPECT_EQ(store_.take_one_late(), nullptr);
    EXPECT_EQ(upstream_.calls(), 0u);
    EXPECT_TRUE(store_.verify());
}

TEST_F(slab_store_test, allocates_blocks_and_magazine_in_one_upstream_call)
{
    for (const std::size_t blocks : {std::size_t{1}, std::size_t{100}, std::size_t{1'000'000}}) {
        core::slab_store store(layout_, unbounded, {false, true, false}, {"test", stride}, &upstream_);
        EXPECT_EQ(store.chunks().room_for_magazine().array, nullptr);
        const std::size_t calls = upstream_.calls();
        store.grow(blocks);
        EXPECT_EQ(upstream_.calls(), calls + 1);
        EXPECT_GE(store.capacity(), blocks);
        EXPECT_EQ(store.chunks().slab_count(), 1u);
        EXPECT_EQ(upstream_.live_bytes(), store.chunks().bytes_reserved());

        const auto room = store.chunks().room_for_magazine();
        EXPECT_EQ(room.size, core::magazine::suitable_room(store.capacity(), stride, 0));
        std::fill(room.array, room.array + room.size, nullptr);
        const std::vector<void*> taken = take_all(store);
        EXPECT_EQ(taken.size(), store.capacity());
        EXPECT_LE(static_cast<void*>(static_cast<char*>(*std::max_element(taken.begin(), taken.end())) + stride),
                  static_cast<void*>(room.array));
        EXPECT_EQ(position_of(store.chunks(), room.array).home, nullptr);
        EXPECT_EQ(store.put(taken.data(), taken.size()), 0u);
        EXPECT_TRUE(store.verify());
    }
    EXPECT_EQ(upstream_.live_bytes(), 0u);
}

TEST_F(slab_store_test, keeps_the_first_chunk_until_its_magazine_has_moved)
{
    core::slab_store store(layout_, unbounded, {false, true, false}, {"test", stride}, &upstream_);
    store.grow(10);
    const std::size_t first = store.capacity();
    store.grow(1);
    std::vector<std::size_t> asked;
    store.chunks().give_back(store.detach_free([&](std::size_t left) {
        asked.push_back(left);
        EXPECT_EQ(store.capacity(), first);
        EXPECT_NE(store.chunks().room_for_magazine().array, nullptr);
    }));
    EXPECT_EQ(store.capacity(), 0u);
    EXPECT_EQ(store.chunks().room_for_magazine().array, nullptr);
    EXPECT_EQ(asked, std::vector<std::size_t>{0});
    EXPECT_EQ(upstream_.live_bytes(), 0u);
    store.grow(1);
    EXPECT_NE(store.chunks().room_for_magazine().array, nullptr) << "the next chunk is the first again";
    EXPECT_TRUE(store.verify());
}

TEST_F(slab_store_test, grows_in_increasing_chunks_up_to_the_usual_size)
{
    std::vector<std::size_t> chunks; // in blocks
    for (int i = 0; i != 12; ++i) {
        const std::size_t before = store_.capacity();
        store_.grow(1);
        chunks.push_back(store_.capacity() - before);
        EXPECT_EQ(upstream_.live_bytes(), store_.chunks().bytes_reserved());
    }
    EXPECT_LE(chunks.front() * stride, core::slab_layout::first_slab_bytes);
    for (std::size_t i = 1; i != chunks.size(); ++i)
        EXPECT_GE(chunks[i], chunks[i - 1]);
    EXPECT_EQ(chunks.back(), 16 * layout_.max_blocks()) << "sixteen adjacent slabs";
    EXPECT_TRUE(store_.verify());
}

TEST_F(slab_store_test, allocates_every_block_once_and_accepts_frees_in_any_order)
{
    for (int i = 0; i != 12; ++i)
        store_.grow(1);
    std::vector<void*> blocks = take_all(store_);
    EXPECT_EQ(blocks.size(), store_.capacity());
    EXPECT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), blocks.size());
    EXPECT_EQ(store_.outstanding(), blocks.size());

    std::shuffle(blocks.begin(), blocks.end(), std::mt19937(1));
    store_.put(blocks.data(), blocks.size());
    EXPECT_EQ(store_.outstanding(), 0u);
    EXPECT_TRUE(store_.verify());
    EXPECT_EQ(take_all(store_).size(), blocks.size());
}

TEST_F(slab_store_test, accepts_a_span)
{
    store_.grow(1);
    const core::block_span span = store_.take_span();
    store_.put(core::block_span{span.begin + 3 * stride, span.end});
    EXPECT_EQ(store_.outstanding(), 3u);
    store_.put(core::block_span{span.begin, span.begin + 3 * stride});
    store_.put(core::block_span{});
    EXPECT_EQ(store_.outstanding(), 0u);
    EXPECT_TRUE(store_.verify());
}

TEST_F(slab_store_test, finds_blocks_and_nothing_else)
{
    store_.grow(1);
    const core::block_span span = store_.take_span();
    EXPECT_EQ(position_of(store_.chunks(), span.begin + 5 * stride).index, 5u);
    EXPECT_TRUE(position_of(store_.chunks(), span.begin + 5 * stride).at_start);
    EXPECT_FALSE(position_of(store_.chunks(), span.begin + 5 * stride + 1).at_start);
    EXPECT_EQ(position_of(store_.chunks(), span.begin - 1).home, nullptr) << "the header";
    EXPECT_EQ(position_of(store_.chunks(), span.begin + store_.capacity() * stride).home, nullptr)
        << "past the last block";
    EXPECT_EQ(position_of(store_.chunks(), nullptr).home, nullptr);
    EXPECT_EQ(position_of(store_.chunks(), this).home, nullptr);
}

TEST_F(slab_store_test, visits_outstanding_blocks)
{
    for (int i = 0; i != 3; ++i)
        store_.grow(1);
    std::vector<void*> blocks = take_all(store_);
    std::shuffle(blocks.begin(), blocks.end(), std::mt19937(2));
    store_.put(blocks.data(), blocks.size() / 2);
    std::set<void*> visited;
    for_each_outstanding(store_.chunks(), [&](void* block) { visited.insert(block); });
    const auto half = blocks.begin() + static_cast<std::ptrdiff_t>(blocks.size() / 2);
    EXPECT_EQ(visited, std::set<void*>(half, blocks.end()));
    std::size_t free = 0;
    for_each_free(store_.chunks(), [&](void*) { ++free; });
    EXPECT_EQ(free + visited.size(), store_.capacity());
}

TEST_F(slab_store_test, finds_every_block_of_a_chunk_of_many_slabs)
{
    while (store_.chunks().slab_count() < 50)
        store_.grow(1);
    for (void* const block : take_all(store_)) {
        const auto position = position_of(store_.chunks(), block);
        ASSERT_NE(position.home, nullptr);
        ASSERT_EQ(position.home->block(position.index, stride), block);
    }
    const char* const last_slab = reinterpret_cast<const char*>(core::slab::of(take_last(), layout_));
    EXPECT_EQ(position_of(store_.chunks(), last_slab + 8).home, nullptr) << "the header of a slab inside a chunk";
}

TEST_F(slab_store_test, trims_only_wholly_free_chunks)
{
    for (int i = 0; i != 5; ++i)
        store_.grow(1);
    std::vector<void*> blocks = take_all(store_);
    void* const kept = blocks[blocks.size() / 2];
    for (void* block : blocks)
        if (block != kept)
            store_.put(&block, 1);
    trim(store_);
    EXPECT_EQ(store_.chunks().slab_count(), 1u);
    EXPECT_EQ(upstream_.live_bytes(), store_.chunks().bytes_reserved());
    EXPECT_TRUE(store_.verify());
    store_.put(&kept, 1);
    trim(store_);
    EXPECT_EQ(upstream_.live_bytes(), 0u);
    EXPECT_EQ(store_.chunks().bytes_reserved(), 0u);
    store_.grow(1);
    EXPECT_TRUE(store_.verify()) << "usable after the trim";
}

TEST_F(slab_store_test, reset_keeps_the_slabs)
{
    store_.grow(1);
    const std::size_t capacity = store_.capacity();
    (void)take_all(store_);
    store_.reset();
    EXPECT_EQ(store_.outstanding(), 0u);
    EXPECT_EQ(take_all(store_).size(), capacity);
    EXPECT_TRUE(store_.verify());
}

TEST_F(slab_store_test, never_exceeds_its_limit)
{
    const core::slab_layout layout(stride, 16, 100);
    core::slab_store bounded(layout, 100, {false, false, false}, {"bounded", stride}, &upstream_);
    while (bounded.may_grow())
        bounded.grow(1);
    EXPECT_EQ(bounded.capacity(), 100u);
    EXPECT_EQ(take_all(bounded).size(), 100u);
}

TEST_F(slab_store_test, is_consistent_when_upstream_fails_at_any_call)
{
    for (std::size_t call = 1;; ++call) {
        const std::size_t capacity = store_.capacity();
        const std::size_t bytes = upstream_.live_bytes();
        upstream_.fail_from(call);
        try {
            store_.grow(1);
            break;
        } catch (const std::bad_alloc&) {
            EXPECT_EQ(store_.capacity(), capacity);
            EXPECT_GE(upstream_.live_bytes(), bytes);
            EXPECT_EQ(upstream_.live_bytes(), store_.chunks().bytes_reserved());
            EXPECT_TRUE(store_.verify());
        }
    }
    upstream_.never_fail();
    EXPECT_GT(store_.capacity(), 0u);
}

TEST_F(slab_store_test, halves_the_request_until_upstream_succeeds)
{
    for (int i = 0; i != 8; ++i)
        store_.grow(1);
    const std::size_t before = store_.capacity();
    upstream_.allow_chunks_of_at_most(10'000);
    std::size_t calls = upstream_.calls();
    store_.grow(1);
    const std::size_t added = store_.capacity() - before;
    EXPECT_GE(added, layout_.blocks_within(10'000) / 2) << "at least half of the available bytes";
    EXPECT_LE(upstream_.calls() - calls, 12u);
    EXPECT_TRUE(store_.chunks().is_short());
    EXPECT_TRUE(store_.verify());

    calls = upstream_.calls();
    store_.grow(1);
    EXPECT_LE(upstream_.calls() - calls, 2u) << "remembers the size that failed";
    EXPECT_EQ(store_.capacity() - before, 2 * added);
}

TEST_F(slab_store_test, makes_one_upstream_call_per_growth_while_upstream_fails)
{
    for (int i = 0; i != 5; ++i)
        store_.grow(1);
    upstream_.fail_always();
    EXPECT_THROW(store_.grow(1), std::bad_alloc);
    const std::size_t calls = upstream_.calls();
    for (int i = 0; i != 100; ++i)
        EXPECT_THROW(store_.grow(1), std::bad_alloc);
    EXPECT_EQ(upstream_.calls() - calls, 100u);
}

TEST_F(slab_store_test, increases_its_growth_again_when_upstream_recovers)
{
    for (int i = 0; i != 5; ++i)
        store_.grow(1);
    upstream_.fail_always();
    EXPECT_THROW(store_.grow(1), std::bad_alloc);
    upstream_.never_fail();
    std::size_t step = 0;
    while (store_.chunks().is_short()) {
        const std::size_t before = store_.capacity();
        store_.grow(1);
        EXPECT_GE(store_.capacity() - before, step);
        step = store_.capacity() - before;
    }
    EXPECT_GE(step, store_.capacity() / 4) << "the usual growth";
}

TEST_F(slab_store_test, trim_and_release_reset_the_shortage)
{
    store_.grow(1000);
    upstream_.fail_always();
    EXPECT_THROW(store_.grow(1), std::bad_alloc);
    trim(store_);
    EXPECT_FALSE(store_.chunks().is_short());
    EXPECT_THROW(store_.grow(1), std::bad_alloc);
    store_.release();
    EXPECT_FALSE(store_.chunks().is_short());
}

/// Allocates parts of one array from alternating ends, so that chunks of one kind lie between chunks of the other.
class two_ended_upstream final : public std::pmr::memory_resource
{
    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        is_low_ = !is_low_;
        const auto align = [alignment](std::uintptr_t at) { return at & ~(std::uintptr_t{alignment} - 1); };
        const std::uintptr_t begin = is_low_ ? align(low_ + alignment - 1) : align(high_ - bytes);
        if (begin < low_ || begin + bytes > high_)
            throw std::bad_alloc();
        (is_low_ ? low_ : high_) = is_low_ ? begin + bytes : begin;
        return reinterpret_cast<void*>(begin);
    }
    void do_deallocate(void*, std::size_t, std::size_t) override {}
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

    std::vector<std::byte> memory_ = std::vector<std::byte>(std::size_t{1} << 20);
    std::uintptr_t low_ = reinterpret_cast<std::uintptr_t>(memory_.data());
    std::uintptr_t high_ = low_ + memory_.size();
    bool is_low_ = false;
};

TEST_F(slab_store_test, finds_blocks_with_any_placement_of_chunks)
{
    for (int round = 0; round != 2; ++round) {
        two_ended_upstream upstream;
        core::slab_store store(layout_, unbounded, {false, true, false}, {"test", stride}, &upstream);
        // Grows by small and large chunks until upstream is exhausted.
        for (std::size_t wanted = 100; memory_pool::detail::base::succeeds([&] { store.grow(wanted); });
             wanted = wanted == 100 ? 5000 : 100) {
            std::vector<void*> blocks = take_all(store);
            std::shuffle(blocks.begin(), blocks.end(), std::mt19937(3));
            for (void* const block : blocks) {
                const auto position = position_of(store.chunks(), block);
                ASSERT_NE(position.home, nullptr);
                ASSERT_EQ(store.chunks().slab_of(block), position.home);
                ASSERT_EQ(position.home->block(position.index, stride), block);
            }
            ASSERT_EQ(store.put(blocks.data(), blocks.size()), 0u);
            ASSERT_EQ(store.outstanding(), 0u);
            ASSERT_TRUE(store.verify());
        }
        trim(store);
        EXPECT_EQ(store.chunks().bytes_reserved(), 0u);
    }
}

TEST_F(slab_store_test, reports_a_double_free)
{
    store_.grow(1);
    const core::block_span span = store_.take_span();
    void* const block = span.begin + 2 * stride;
    void* const other = span.begin + 3 * stride;
    const test::error_recorder recorder;
    void* const twice_in_a_batch[] = {block, other, block};
    store_.put(twice_in_a_batch, 3);
    EXPECT_EQ(recorder.kinds(), test::kinds{error_kind::double_free});
    store_.put(&block, 1);
    EXPECT_EQ(recorder.kinds(), (test::kinds{error_kind::double_free, error_kind::double_free}));
    EXPECT_EQ(recorder.reports().back().address, block);
    EXPECT_TRUE(store_.verify()) << "the store ignores the second free";
    EXPECT_EQ(store_.outstanding(), store_.capacity() - 2);
}

TEST_F(slab_store_test, reports_a_double_free_in_a_span)
{
    store_.grow(1);
    const core::block_span span = store_.take_span();
    void* const block = span.begin + 70 * stride;
    store_.put(&block, 1);
    const test::error_recorder recorder;
    store_.put(span);
    ASSERT_EQ(recorder.kinds(), test::kinds{error_kind::double_free});
    EXPECT_EQ(recorder.reports()[0].address, block);
    EXPECT_EQ(store_.outstanding(), 0u);
    EXPECT_TRUE(store_.verify());
}

TEST_F(slab_store_test, reports_foreign_and_misaligned_pointers)
{
    store_.grow(1);
    core::slab_store other(layout_, unbounded, {false, false, false}, {"other", stride}, &upstream_);
    other.grow(1);
    const core::block_span theirs = other.take_span();
    const core::block_span ours = store_.take_span();
    const test::error_recorder recorder;
    void* const batch[] = {ours.begin, theirs.begin, ours.begin + stride, ours.begin + stride + 8};
    store_.put(batch, 4);
    EXPECT_EQ(recorder.kinds(), (test::kinds{error_kind::foreign_pointer, error_kind::misaligned_pointer}));
    EXPECT_EQ(recorder.reports().front().address, theirs.begin);
    EXPECT_EQ(store_.outstanding(), store_.capacity() - 2);
    EXPECT_TRUE(store_.verify());
    EXPECT_TRUE(other.verify());
}

TEST_F(slab_store_test, finds_the_next_outstanding_block_from_any_address)
{
    while (store_.chunks().slab_count() < 30)
        store_.grow(1);
    std::vector<void*> blocks = take_all(store_);
    std::sort(blocks.begin(), blocks.end());
    std::vector<void*> kept;
    for (std::size_t i = 0; i != blocks.size(); ++i) {
        if (i % 97 == 5)
            kept.push_back(blocks[i]);
        else
            EXPECT_EQ(store_.put(&blocks[i], 1), 0u);
    }
    std::vector<void*> found;
    for (void* block = next_outstanding(store_.chunks(), nullptr); block != nullptr;
         block = next_outstanding(store_.chunks(), block))
        found.push_back(block);
    EXPECT_EQ(found, kept);
    EXPECT_EQ(next_outstanding(store_.chunks(), static_cast<char*>(kept[0]) - 1), kept[0]);
    EXPECT_EQ(next_outstanding(store_.chunks(), static_cast<char*>(kept[0]) + 1), kept[1]);
    for (void* const block : kept)
        EXPECT_EQ(store_.put(&block, 1), 0u);
    trim(store_);
    EXPECT_EQ(next_outstanding(store_.chunks(), kept[0]), nullptr) << "the trim has freed its slab";
}

TEST_F(slab_store_test, prefaults_slabs)
{
    core::slab_store store(core::slab_layout(4096, 16, unbounded), unbounded, {true, false, false}, {"prefault", 4096},
                           &upstream_);
    store.grow(1);
    EXPECT_TRUE(store.verify()) << "the headers are written after the pages are touched";
}

TEST_F(slab_store_test, verify_detects_damaged_bits)
{
    store_.grow(1);
    core::slab* const slab = position_of(store_.chunks(), store_.take_span().begin).home;
    EXPECT_TRUE(store_.verify());
    *slab->word_of(0) ^= 1;
    EXPECT_FALSE(store_.verify());
    *slab->word_of(0) ^= 1;
    EXPECT_TRUE(store_.verify());
}

TEST(slab_store, grows_in_steps_and_counts_them)
{
    test::accounting_upstream upstream;
    core::slab_store store(core::slab_layout(stride, 16, 25, 10), 25, {false, false, false, 10, nullptr},
                           {"test", stride}, &upstream);
    store.enlarge();
    EXPECT_EQ(store.capacity(), 10u);
    store.enlarge();
    store.enlarge();
    EXPECT_EQ(store.capacity(), 25u);
    EXPECT_FALSE(store.may_grow());
    EXPECT_EQ(store.steps(), 3u);
    EXPECT_TRUE(store.verify());
    store.release();
    EXPECT_EQ(store.steps(), 0u);
}

TEST(slab_store, keeps_a_partial_step_when_upstream_fails)
{
    constexpr std::size_t large = 20'000; // a step needs more than one chunk
    test::accounting_upstream upstream;
    core::slab_store store(core::slab_layout(large, 16, unbounded, 200), unbounded, {false, false, false, 200, nullptr},
                           {"test", large}, &upstream);
    store.grow(1);
    upstream.fail_from(2);
    store.enlarge();
    EXPECT_GT(store.capacity(), 1u);
    EXPECT_LT(store.capacity(), 201u);
    EXPECT_THROW(store.enlarge(), std::bad_alloc);
    EXPECT_TRUE(store.verify());
}

/// Counts added and removed blocks, and fails on request.
class recording_listener final : public core::slab_listener
{
public:
    explicit recording_listener(bool expensive = false) : slab_listener(nullptr, expensive) {}

    std::size_t prepared = 0;
    std::size_t left = 0;
    std::size_t until_failure = unbounded;

private:
    void add_blocks(core::slab& home, std::size_t count, std::size_t) override
    {
        if (until_failure-- == 0)
            throw std::bad_alloc();
        home.extend(count);
        prepared += count;
    }
    void leave(core::slab& leaving, std::size_t) noexcept override { left += leaving.block_count(); }
    void survivor_returned(void*) noexcept override {}
};

class slab_store_with_listener : public testing::Test
{
protected:
    explicit slab_store_with_listener(std::size_t growth_step = 0, std::size_t limit = unbounded)
        : store_(core::slab_layout(stride, 16, limit, growth_step != 0 ? growth_step : unbounded, core::slab_granule),
                 limit, {false, false, false, growth_step, &listener_}, {"test", stride}, &upstream_)
    {
    }

    test::accounting_upstream upstream_;
    recording_listener listener_;
    core::slab_store store_;
};

TEST_F(slab_store_with_listener, notifies_the_listener_of_added_and_trimmed_slabs)
{
    while (store_.capacity() < 100'000)
        store_.grow(1);
    EXPECT_EQ(listener_.prepared, store_.capacity());
    void* const block = store_.take_one_late();
    EXPECT_EQ(&store_.chunks().slab_of(block)->listener(), &listener_);
    trim(store_);
    EXPECT_EQ(listener_.prepared - listener_.left, store_.capacity());
    EXPECT_GT(store_.capacity(), 0u); // the chunk with the block
    EXPECT_TRUE(store_.verify());
}

TEST(slab_store, adds_only_the_requested_blocks_when_they_are_expensive)
{
    test::accounting_upstream upstream;
    recording_listener listener(true);
    core::slab_store store(core::slab_layout(stride, 16, unbounded, unbounded, core::slab_granule), unbounded,
                           {false, false, false, 0, &listener}, {"test", stride}, &upstream);
    store.grow(3);
    EXPECT_EQ(listener.prepared, 3u);
    store.enlarge();
    EXPECT_EQ(listener.prepared, 6u);
}

TEST_F(slab_store_with_listener, allocates_the_largest_chunks_on_request)
{
    store_.grow(1);
    const std::size_t chunks = upstream_.live_chunks();
    const std::size_t bytes = upstream_.live_bytes();
    store_.grow(1'000'000);
    EXPECT_EQ(upstream_.live_chunks(), chunks + 1);
    EXPECT_GT(upstream_.live_bytes() - bytes, core::slab_layout::largest_chunk_bytes * 9 / 10);
    EXPECT_LE(upstream_.live_bytes() - bytes, core::slab_layout::largest_chunk_bytes);
    store_.grow(1);
    EXPECT_LE(upstream_.live_bytes() - bytes,
              core::slab_layout::largest_chunk_bytes + core::slab_layout::usual_chunk_bytes)
        << "automatic growth uses smaller chunks";
    EXPECT_TRUE(store_.verify());
}

class slab_store_in_small_steps : public slab_store_with_listener
{
protected:
    slab_store_in_small_steps() : slab_store_with_listener(3, 200) {}
};

TEST_F(slab_store_in_small_steps, reserves_room_for_later_steps)
{
    while (store_.may_grow()) {
        const std::size_t before = store_.capacity();
        store_.enlarge();
        EXPECT_EQ(store_.capacity(), std::min<std::size_t>(before + 3, 200));
        EXPECT_EQ(listener_.prepared, store_.capacity());
        ASSERT_TRUE(store_.verify());
    }
    EXPECT_LE(upstream_.calls(), 10u);
    EXPECT_LE(store_.chunks().slab_count(), 8u) << "slabs of 3, 3, 6, 12, 24, 48, 96 and 8 blocks";
    std::set<void*> blocks;
    while (void* const block = store_.take_one_late())
        blocks.insert(block);
    EXPECT_EQ(blocks.size(), 200u);
}

TEST_F(slab_store_in_small_steps, allocates_blocks_added_to_a_slab_in_use)
{
    for (int step = 0; step != 20; ++step) {
        store_.enlarge();
        for (int i = 0; i != 3; ++i) {
            void* const block = store_.take_one_late();
            ASSERT_NE(block, nullptr);
            ASSERT_TRUE(is_outstanding(store_.chunks(), block));
        }
        ASSERT_EQ(store_.take_one_late(), nullptr);
        ASSERT_TRUE(store_.verify());
    }
}

TEST_F(slab_store_in_small_steps, adds_nothing_if_the_listener_fails)
{
    store_.grow(6);
    store_.enlarge(); // in a slab with room for 6
    listener_.until_failure = 0;
    const std::size_t slabs = store_.chunks().slab_count();
    EXPECT_THROW(store_.enlarge(), std::bad_alloc);
    EXPECT_EQ(store_.capacity(), 9u);
    EXPECT_TRUE(store_.verify());
    listener_.until_failure = unbounded;
    store_.enlarge();
    EXPECT_EQ(store_.capacity(), 12u);
    EXPECT_EQ(store_.chunks().slab_count(), slabs);
    EXPECT_TRUE(store_.verify());
}

TEST_F(slab_store_in_small_steps, trims_a_slab_with_room_left)
{
    store_.grow(6);
    store_.enlarge();
    trim(store_);
    EXPECT_EQ(store_.capacity(), 0u);
    EXPECT_EQ(listener_.left, 9u);
    store_.enlarge();
    EXPECT_EQ(store_.capacity(), 3u);
    EXPECT_TRUE(store_.verify());
    store_.release();
    EXPECT_EQ(upstream_.live_bytes(), 0u);
}

TEST_F(slab_store_with_listener, aligns_each_slab_to_the_granule)
{
    while (store_.capacity() < 100'000)
        store_.grow(1);
    while (void* const block = store_.take_one_late())
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(store_.chunks().slab_of(block)) % core::slab_granule, 0u);
}

TEST_F(slab_store_with_listener, frees_a_chunk_if_no_block_can_be_initialized)
{
    while (store_.capacity() < 50'000)
        store_.grow(1);
    const std::size_t before = store_.capacity();
    const std::size_t bytes = upstream_.live_bytes();
    listener_.until_failure = 0;
    EXPECT_THROW(store_.grow(50'000), std::bad_alloc);
    EXPECT_EQ(listener_.prepared, before);
    EXPECT_EQ(store_.capacity(), before);
    EXPECT_EQ(upstream_.live_bytes(), bytes);
    EXPECT_TRUE(store_.verify());
}

TEST_F(slab_store_with_listener, keeps_a_chunk_if_some_blocks_can_be_initialized)
{
    while (store_.capacity() < 50'000)
        store_.grow(1);
    const std::size_t before = store_.capacity();
    listener_.until_failure = 3; // a chunk has several slabs by now
    EXPECT_THROW(store_.grow(50'000), std::bad_alloc);
    EXPECT_GT(listener_.prepared, before);
    EXPECT_EQ(listener_.left, 0u);
    EXPECT_EQ(listener_.prepared, store_.capacity());
    EXPECT_TRUE(store_.verify());
    listener_.until_failure = unbounded;
    const std::size_t calls = upstream_.calls();
    const std::size_t slabs = store_.chunks().slab_count();
    store_.grow(1000);
    EXPECT_GE(listener_.prepared, before + 1000);
    EXPECT_EQ(upstream_.calls(), calls);
    EXPECT_EQ(store_.chunks().slab_count(), slabs);
    EXPECT_TRUE(store_.verify());
    trim(store_);
    EXPECT_EQ(listener_.left, listener_.prepared);
    EXPECT_EQ(store_.capacity(), 0u);
    EXPECT_TRUE(store_.verify());
}
} // namespace
