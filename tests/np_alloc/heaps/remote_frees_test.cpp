// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/heaps/remote_frees.hpp>
#include <np_alloc/heaps/heap_registry.hpp>
#include <np_alloc/support/pointer_encoding.hpp>

#include <support/error_recorder.hpp>
#include <support/np_heaps.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace mp = memory_pool;
namespace np = memory_pool::np;

namespace {
using remote_frees = test::heap_fixture;

TEST_F(remote_frees, are_drained_after_they_are_sent)
{
    for (void* block : take(mine, 3, 10))
        put(other, block);
    EXPECT_EQ(in_transit(other), 11U) << "the batch counts, too";
    (void)mine.drain();
    EXPECT_EQ(outstanding(mine), 10U) << "not sent yet";
    other.send_all();
    EXPECT_EQ(in_transit(other), 0U);
    EXPECT_EQ(in_transit(mine), 11U);
    (void)mine.drain();
    EXPECT_EQ(outstanding(mine), 0U);
    (void)other.drain();
    EXPECT_EQ(outstanding(other), 0U) << "the batch was returned";
    EXPECT_EQ(sent_minus_received(mine) + sent_minus_received(other), 0U);
}

TEST_F(remote_frees, are_drained_in_batches_of_every_length)
{
    for (std::uint32_t length = 1; length <= 200; length += length < 5 ? 1 : 13) {
        for (void* block : take(mine, 0, length))
            put(other, block);
        other.send_all();
        (void)mine.drain();
        ASSERT_EQ(outstanding(mine), 0U) << length;
        const std::vector<void*> again = take(mine, 0, length);
        EXPECT_EQ(std::set<void*>(again.begin(), again.end()).size(), length);
        for (void* block : again)
            put(mine, block);
    }
}

TEST_F(remote_frees, are_sent_when_their_slot_is_needed)
{
    std::vector<std::unique_ptr<test::heap>> owners = make_heaps(1000);
    for (const std::unique_ptr<test::heap>& each : owners)
        for (void* block : take(*each, 63, 5))
            put(other, block);
    EXPECT_LE(in_transit(other), 64U * (5 + 1));
    other.send_all();
    for (const std::unique_ptr<test::heap>& each : owners) {
        each->drain();
        EXPECT_EQ(outstanding(*each), 0U);
    }
    (void)other.drain();
    EXPECT_EQ(outstanding(other), 0U);
}

TEST_F(remote_frees, take_no_more_memory_than_the_freed_blocks)
{
    std::vector<std::unique_ptr<test::heap>> owners = make_heaps(1000);
    for (int round = 0; round != 10; ++round)
        for (const std::unique_ptr<test::heap>& each : owners)
            for (void* block : take(*each, 3, 2))
                put(other, block);
    EXPECT_LE(outstanding(other), 64U) << "only open batches take memory";
    other.send_all();
    std::size_t of_owners = 0;
    for (const std::unique_ptr<test::heap>& each : owners) {
        each->drain();
        EXPECT_EQ(outstanding(*each), 0U);
        of_owners += sent_minus_received(*each);
    }
    (void)other.drain();
    EXPECT_EQ(outstanding(other), 0U);
    EXPECT_EQ(of_owners + sent_minus_received(other), 0U);
}

TEST_F(remote_frees, use_a_block_as_its_own_batch_when_out_of_memory)
{
    const std::vector<void*> blocks = take(mine, 0, 5);
    const auto all = static_cast<std::uint32_t>(page_heap.region().slices());
    const auto used =
        page_heap.source().with_runs([](const auto& runs) { return static_cast<std::uint32_t>(runs.used()); });
    const np::run rest = page_heap.large().take_large(std::size_t{all - used} * np::slice_bytes, 1);
    ASSERT_NE(rest.first, np::no_slice);
    for (void* block : blocks)
        put(other, block);
    EXPECT_EQ(in_transit(other), 0U);
    EXPECT_EQ(in_transit(mine), 5U);
    (void)mine.drain();
    EXPECT_EQ(outstanding(mine), 0U);
    EXPECT_EQ(sent_minus_received(mine) + sent_minus_received(other), 0U);
    page_heap.large().give_large(rest.first);
}

TEST_F(remote_frees, report_a_double_free_by_two_heaps)
{
    test::error_recorder recorder;
    void* const block = take(mine, 5, 2)[0];
    test::heap third(page_heap);
    put(other, block);
    put(third, block);
    other.send_all();
    third.send_all();
    (void)mine.drain();
    EXPECT_EQ(recorder.kinds(), (test::kinds{mp::error_kind::double_free}));
    EXPECT_EQ(outstanding(mine), 1U);
}

// A slab of this class is freed as soon as none of its blocks is outstanding.
constexpr std::size_t class_of_large_slabs = np::sizes::of(5000);

TEST_F(remote_frees, report_a_double_free_after_the_slab_is_gone)
{
    test::error_recorder recorder;
    void* const block = take(mine, class_of_large_slabs, 1)[0];
    EXPECT_FALSE(mine.put(class_of_large_slabs, block).has_value());
    EXPECT_EQ(mine.slabs(), 0U);
    mine.put(class_of_large_slabs, &block, 1);
    EXPECT_EQ(recorder.kinds(), (test::kinds{mp::error_kind::double_free}));
    EXPECT_EQ(mine.put(class_of_large_slabs, block), mp::error_kind::double_free);
    ASSERT_EQ(take(other, class_of_large_slabs, 1)[0], block);
    EXPECT_EQ(mine.put(class_of_large_slabs, block), mp::error_kind::double_free);
    EXPECT_EQ(outstanding(other), 1U) << "the new owner keeps the block";
}

TEST_F(remote_frees, report_a_double_free_by_two_heaps_after_the_slab_is_gone)
{
    test::error_recorder recorder;
    void* const block = take(mine, class_of_large_slabs, 1)[0];
    test::heap third(page_heap);
    put(other, block);
    put(third, block);
    other.send_all();
    (void)mine.drain();
    EXPECT_EQ(mine.slabs(), 0U);
    ASSERT_EQ(take(other, class_of_large_slabs, 1)[0], block);
    third.send_all();
    (void)mine.drain();
    EXPECT_EQ(recorder.kinds(), (test::kinds{mp::error_kind::double_free}));
    mine.send_all();
    (void)other.drain();
    EXPECT_EQ(other.outstanding(class_of_large_slabs), 1U) << "the new owner keeps the block";
}

TEST_F(remote_frees, report_a_double_free_of_a_block_as_its_own_batch)
{
    test::error_recorder recorder;
    const std::vector<void*> blocks = take(mine, 5, 3);
    for (const std::size_t each : {0U, 1U, 0U}) // The list of batches becomes a cycle.
        mine.send_one(blocks[each]);
    (void)mine.drain();
    EXPECT_EQ(recorder.kinds(), (test::kinds{mp::error_kind::double_free}));
    EXPECT_EQ(outstanding(mine), 1U);
    void* const only_one = take(mine, class_of_large_slabs, 1)[0];
    mine.send_one(only_one);
    mine.send_one(only_one);
    (void)mine.drain();
    EXPECT_EQ(recorder.kinds(), test::kinds(2, mp::error_kind::double_free));
    EXPECT_EQ(outstanding(mine), 1U);
}

TEST_F(remote_frees, report_the_block_size_after_the_slab_is_gone)
{
    test::error_recorder recorder;
    constexpr std::size_t size_class = 75;
    void* const block = take(mine, size_class, 1)[0];
    put(mine, block);
    mine.give_back_empty_slabs();
    mine.put(size_class, &block, 1);
    ASSERT_EQ(recorder.kinds(), test::kinds{mp::error_kind::double_free});
    EXPECT_EQ(recorder.reports()[0].block_size, np::sizes::size(size_class));
}

void* encoded(void* address)
{
    return np::the_pointer_encoding.encode(address);
}

TEST_F(remote_frees, report_and_discard_a_corrupted_batch)
{
    ASSERT_TRUE(np::registry().heaps().start()) << "draws the key of addresses";
    int local = 0;
    // A null encoded_first stands for the block in the batch.
    const test::batch sound{nullptr, np::the_pointer_encoding.convert_count(1), nullptr};
    std::vector<test::batch> written(6, sound);
    written[0].encoded_next = encoded(&local);
    written[1].encoded_count = np::the_pointer_encoding.convert_count(1000);
    written[2].encoded_first = encoded(&local);
    written[3].encoded_first = reinterpret_cast<void*>(std::uintptr_t{0x4141'4141'4141'4141});
    written[4].encoded_first = take(mine, 5, 1)[0]; // An attacker who knows an address, but not the key.
    written[5].encoded_count = 0;                   // An overflow with zeros.
    for (const test::batch& each : written) {
        test::error_recorder recorder;
        void* const block = take(mine, 5, 1)[0];
        put(other, block);
        const std::size_t away_before = outstanding(mine);
        test::batch& sent = test::batch_in(other);
        other.send_all();
        sent = each;
        sent.encoded_first = each.encoded_first != nullptr ? each.encoded_first : encoded(block);
        (void)mine.drain();
        ASSERT_EQ(recorder.kinds(), test::kinds{mp::error_kind::write_after_free});
        EXPECT_EQ(recorder.reports()[0].address, &sent);
        EXPECT_EQ(in_transit(mine), 0U);
        EXPECT_EQ(outstanding(mine), away_before);
    }
}

TEST_F(remote_frees, do_not_write_to_neighbors_of_a_corrupted_block)
{
    ASSERT_TRUE(np::registry().heaps().start()) << "draws the key of addresses";
    constexpr std::size_t smallest = 0;
    const std::vector<void*> blocks = take(mine, smallest, 8);
    for (void* each : blocks)
        std::memset(each, 0x41, np::sizes::size(smallest));
    mine.send_one(blocks[0]);
    static_cast<test::batch*>(blocks[0])->encoded_count = np::the_pointer_encoding.convert_count(3);
    test::error_recorder recorder;
    (void)mine.drain();
    EXPECT_EQ(recorder.kinds(), test::kinds{mp::error_kind::write_after_free});
    for (std::size_t i = 1; i != blocks.size(); ++i)
        EXPECT_EQ(*static_cast<unsigned char*>(blocks[i]), 0x41);
}

TEST_F(remote_frees, report_a_corrupted_batch_when_its_slot_is_needed)
{
    ASSERT_TRUE(np::registry().heaps().start()) << "draws the key of addresses";
    const std::vector<std::unique_ptr<test::heap>> owners = make_heaps(1000);
    int local = 0;
    void* const own_block = take(other, 5, 1)[0]; // As if its slab had belonged to another heap before.
    for (void* written : {static_cast<void*>(&local), own_block}) {
        test::error_recorder recorder;
        put(other, take(mine, 5, 1)[0]);
        test::batch& open = test::batch_in(other);
        open.encoded_first = encoded(written);
        for (const std::unique_ptr<test::heap>& each : owners)
            put(other, take(*each, 5, 1)[0]);
        const bool is_block = written == own_block;
        ASSERT_EQ(recorder.kinds(),
                  test::kinds{is_block ? mp::error_kind::double_free : mp::error_kind::write_after_free});
        EXPECT_EQ(recorder.reports()[0].address, is_block ? written : &open);
        EXPECT_EQ(local, 0);
        other.send_all();
    }
}

TEST_F(remote_frees, keep_their_count_out_of_reach_of_the_program)
{
    const std::vector<void*> blocks = take(mine, 5, 2);
    put(other, blocks[0]);
    (void)other.for_each_in_transit([](const void* batch) {
        std::memset(const_cast<void*>(batch), 0x41, 16);
        return false;
    });
    put(other, blocks[1]);
    EXPECT_EQ(in_transit(other), 3U) << "the batch counts, too";
}

TEST_F(remote_frees, lose_nothing_with_many_threads)
{
    constexpr std::size_t threads = 4;
    constexpr int rounds = 300;
    constexpr std::uint32_t blocks_each = 50;
    std::array<std::atomic<std::vector<void*>*>, threads> hand_over{};
    std::array<std::unique_ptr<test::heap>, threads> heaps;
    for (std::unique_ptr<test::heap>& each : heaps)
        each = std::make_unique<test::heap>(page_heap);
    std::vector<std::thread> freeing;
    freeing.reserve(threads);
    for (std::size_t thread = 0; thread != threads; ++thread) {
        freeing.emplace_back([&, thread] {
            np::heap& own = *heaps[thread];
            for (int round = 0; round != rounds; ++round) {
                std::vector<void*>* blocks = nullptr;
                while ((blocks = hand_over[thread].exchange(nullptr)) == nullptr)
                    std::this_thread::yield();
                for (void* block : *blocks) {
                    std::uint64_t marked = 0;
                    std::memcpy(&marked, block, sizeof marked);
                    EXPECT_EQ(marked, reinterpret_cast<std::uintptr_t>(block));
                    put(own, block);
                }
                delete blocks; // NOLINT: this thread owns it now
            }
            own.send_all();
        });
    }
    std::mt19937 random(3); // NOLINT: every run is the same
    for (std::size_t i = 0; i != threads * rounds; ++i) {
        auto* const blocks =
            std::make_unique<std::vector<void*>>(take(mine, random() % 5, blocks_each)).release(); // Handed off below.
        for (void* block : *blocks) {
            const auto mark = reinterpret_cast<std::uintptr_t>(block);
            std::memcpy(block, &mark, sizeof mark);
        }
        std::vector<void*>* none = nullptr;
        while (!hand_over[i % threads].compare_exchange_weak(none, blocks)) {
            none = nullptr;
            std::this_thread::yield();
        }
    }
    for (std::thread& each : freeing)
        each.join();
    (void)mine.drain();
    EXPECT_EQ(outstanding(mine), 0U);
    mine.give_back_empty_slabs();
    EXPECT_EQ(mine.slabs(), 0U);
}
} // namespace
