// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Threads that use np_alloc and are delayed at every hand-off: batches of remote frees, heaps of ended threads, runs
// being purged, blocks of the program's heaps, locks before a fork. Each block has one owner at a time, stays intact
// and is returned. The np_alloc in this program is compiled with these delay points.
#include "support/delays.hpp"

#include <memory_pool/np_alloc.h>

#include <support/child.hpp>
#include <support/error_recorder.hpp>
#include <support/np_conservation.hpp>
#include <support/parcels.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <new>
#include <random>
#include <thread>
#include <vector>

#if TESTS_MAY_FORK
#include <unistd.h>
#endif

namespace {
constexpr std::size_t thread_count = 4;

/// Slots through which threads exchange blocks: putting a block frees the previous one.
class exchange
{
public:
    exchange() = default;
    exchange(const exchange&) = delete;
    exchange& operator=(const exchange&) = delete;
    ~exchange() { np_heap_destroy(common_); }

    std::uint64_t faults() const { return faults_; }

    void work(std::uint64_t seed, unsigned steps)
    {
        std::mt19937_64 random(seed);
        for (; steps != 0; --steps)
            step(random);
    }

    void free_all()
    {
        for (std::atomic<test::parcel*>& place : places_)
            free(place.exchange(nullptr));
    }

private:
    void step(std::mt19937_64& random)
    {
        std::atomic<test::parcel*>& place = places_[random() % places_.size()];
        const std::size_t bytes = random_size(random);
        switch (random() % 16) {
        case 0: return put(place, resized(place.exchange(nullptr), bytes, random()));
        case 1: return put(place, filled(np_alloc_at(sizeof(test::parcel) + bytes, __FILE__, 1), bytes, random()));
        case 2: return put(place, filled(zeros(sizeof(test::parcel) + bytes), bytes, random()));
        case 3: return use_heap(bytes, random);
        case 5: return put(place, filled(np_heap_alloc(common_, sizeof(test::parcel) + bytes), bytes, random()));
        case 6: return put(place, filled(np_heap_alloc(common_, 33'000 + bytes), bytes, random()));
        case 7: return put(place, filled(np_alloc_at(33'000 + bytes, __FILE__, 2), bytes, random()));
        case 4: return (void)(random() % 8 != 0 || np_trim() != 0);
        default: return put(place, filled(np_alloc(sizeof(test::parcel) + bytes), bytes, random()));
        }
    }

    /// Most blocks are so small that their remote frees are sent at once; few are whole slices.
    static std::size_t random_size(std::mt19937_64& random)
    {
        const std::uint64_t drawn = random();
        return (drawn >> 16) % (drawn % 4 != 0 ? 32 : drawn % 64 != 0 ? 3000 : 200'000);
    }

    /// The block starts with a description of its contents.
    static test::parcel* filled(void* block, std::size_t bytes, std::uint64_t seed)
    {
        auto* const made = ::new (block) test::parcel;
        made->block = reinterpret_cast<std::byte*>(made + 1);
        made->bytes = bytes;
        made->seed = seed;
        test::fill(*made);
        return made;
    }

    void check(const test::parcel& parcel)
    {
        const bool is_right =
            parcel.block == reinterpret_cast<const std::byte*>(&parcel + 1) && test::is_intact(parcel);
        faults_ += is_right ? 0U : 1U;
    }

    void put(std::atomic<test::parcel*>& place, test::parcel* made) { free(place.exchange(made)); }

    void free(test::parcel* old)
    {
        if (old == nullptr)
            return;
        check(*old);
        np_free(old);
    }

    test::parcel* resized(test::parcel* old, std::size_t bytes, std::uint64_t seed)
    {
        if (old == nullptr)
            return nullptr;
        check(*old);
        return filled(np_realloc(old, sizeof(test::parcel) + bytes), bytes, seed);
    }

    void* zeros(std::size_t bytes)
    {
        auto* const block = static_cast<std::byte*>(np_calloc(1, bytes));
        const bool all_are = std::all_of(block, block + bytes, [](std::byte each) { return each == std::byte{0}; });
        faults_ += all_are ? 0U : 1U;
        return block;
    }

    void use_heap(std::size_t bytes, std::mt19937_64& random)
    {
        np_heap* const heap = np_heap_create();
        for (std::uint64_t left = random() % 8; left != 0; --left) {
            test::parcel* const made = filled(np_heap_alloc(heap, sizeof(test::parcel) + bytes), bytes, left);
            if (left % 2 == 0)
                free(made);
        }
        np_heap_destroy(heap);
    }

    np_heap* const common_ = np_heap_create();
    std::array<std::atomic<test::parcel*>, 64> places_{};
    std::atomic<std::uint64_t> faults_{0};
};

class delayed_np_alloc : public testing::Test
{
protected:
    delayed_np_alloc() { nothing_is_lost_.OnTestStart(this_test_); }
    ~delayed_np_alloc() override
    {
        all_.free_all();
        EXPECT_EQ(all_.faults(), 0U);
        nothing_is_lost_.OnTestEnd(this_test_);
    }

    /// Runs threads, each replaced by a new one `lives` times.
    void run(unsigned lives, unsigned steps, std::size_t threads = thread_count)
    {
        for (std::size_t number = delays_.size(); number < lives * threads; ++number)
            delays_.emplace_back(number);
        test::in_threads(threads, [&](std::size_t thread) {
            for (unsigned life = 0; life != lives; ++life)
                test::in_a_thread([&, number = life * threads + thread] {
                    test::delay_to_the_end(delays_[number]);
                    all_.work(number, steps);
                });
        });
        std::uint64_t passed = 0;
        for (const test::random_delays& each : delays_)
            passed += each.passed();
        EXPECT_GT(passed, threads * lives * steps / 4) << "np_alloc was not compiled with delay points";
    }

    exchange all_;

private:
    test::np_conservation nothing_is_lost_;
    const testing::TestInfo& this_test_ = *testing::UnitTest::GetInstance()->current_test_info();
    std::deque<test::random_delays> delays_; ///< outlive their threads
};

TEST_F(delayed_np_alloc, loses_nothing_while_threads_exchange_blocks)
{
    run(1, 20'000);
}

TEST_F(delayed_np_alloc, loses_nothing_while_threads_adopt_heaps_of_ended_threads)
{
    run(1, 500, 2 * thread_count); // half of these heaps stay without a thread
    run(150, 60);
    run(10, 1500);
}

TEST_F(delayed_np_alloc, returns_zeroed_memory_during_purges)
{
    const std::size_t before = np_option_get(np_option_decay_ms);
    ASSERT_EQ(np_option_set(np_option_decay_ms, 0), 0);
    run(2, 5000);
    ASSERT_EQ(np_option_set(np_option_decay_ms, before), 0);
}

TEST_F(delayed_np_alloc, reports_a_concurrent_double_free_of_a_large_block)
{
    test::random_delays delays(98);
    const test::delayed_by hook(delays);
    const test::error_recorder recorder;
    np_heap* const heap = np_heap_create();
    std::vector<void*> blocks(2000);
    for (std::size_t i = 0; i != blocks.size(); ++i)
        blocks[i] = i % 2 == 0 ? np_alloc(300'000) : np_heap_alloc(heap, 300'000);
    std::atomic<std::size_t> at_work{0};
    test::in_threads(2, [&](std::size_t) {
        for (std::size_t i = 0; i != blocks.size(); ++i) {
            ++at_work;
            while (at_work < 2 * i + 2) // both threads meet here
                std::this_thread::yield();
            np_free(blocks[i]);
        }
    });
    EXPECT_EQ(recorder.kinds(), test::kinds(blocks.size(), memory_pool::error_kind::double_free));
    np_heap_destroy(heap);
}

#if TESTS_MAY_FORK
TEST_F(delayed_np_alloc, works_in_the_child_of_a_fork_amid_other_threads_calls)
{
    std::atomic<bool> has_ended{false};
    std::thread forker([&] {
        test::random_delays delays(99);
        const test::delayed_by hook(delays);
        for (std::uint64_t i = 0; !has_ended || i == 0; ++i)
            test::expect_in_child([i] {
                alarm(10);
                exchange blocks;
                blocks.work(i, 200);
                test::in_a_thread([&] { blocks.work(i + 1, 200); });
                blocks.free_all();
                return blocks.faults() == 0 && np_verify() == 1;
            });
    });
    run(50, 100);
    has_ended = true;
    forker.join();
}
#endif
} // namespace
