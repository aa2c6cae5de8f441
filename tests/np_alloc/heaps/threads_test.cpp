// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Threads that start, end, hand off blocks and are cancelled. Uses the public interface only.
#include <memory_pool/np_alloc.h>

#include <support/handed_over.hpp>
#include <support/np_blocks.hpp>
#include <support/resident_memory.hpp>
#include <support/sanitizers.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <set>
#include <thread>
#include <vector>

#if defined(__unix__)
#include <pthread.h>
#endif

namespace {
using test::filled_block;

test::np_resource np;

/// Some blocks move to new pages between rounds. A leak of a tenth of the blocks per round, or of a hundredth in tests
/// with a thousand rounds, would exceed this limit. The checked build needs more pages because of its quarantine.
const double max_spread = test::blocks_are_checked() ? 24 : 8;

filled_block allocate_any(std::mt19937& random)
{
    return test::allocate_filled(np, 1 + random() % (random() % 50 == 0 ? 200'000 : 2000));
}

/// Allocates `each` blocks of every kind of size.
std::vector<filled_block> allocate_of_all_kinds(std::size_t each)
{
    std::vector<filled_block> blocks;
    for (std::size_t bytes : test::sizes_of_all_kinds)
        for (std::size_t i = 0; i != each; ++i)
            blocks.push_back(test::allocate_filled(np, bytes));
    return blocks;
}

/// Returns: every second block, from index `from` on.
std::vector<filled_block> every_second(const std::vector<filled_block>& blocks, std::size_t from)
{
    std::vector<filled_block> chosen;
    for (std::size_t i = from; i < blocks.size(); i += 2)
        chosen.push_back(blocks[i]);
    return chosen;
}

// The first call of a thread.

/// For a block of every kind from another thread: calls `operation` as the first call of a new thread.
template <class Operation>
void expect_first(Operation&& operation)
{
    for (std::size_t bytes : test::sizes_of_all_kinds) {
        const filled_block theirs = test::allocate_filled(np, bytes);
        test::in_a_thread([&] { EXPECT_TRUE(operation(theirs)) << bytes; });
    }
}

TEST(np_threads, can_start_with_free)
{
    expect_first([](const filled_block& theirs) {
        np_free(theirs.address);
        return true;
    });
    expect_first([](const filled_block& theirs) {
        np_free_sized(theirs.address, theirs.bytes);
        return true;
    });
    expect_first([](const filled_block& theirs) { return test::give_back(np, theirs); });
    test::in_a_thread([] { np_free(nullptr); });
}

TEST(np_threads, can_start_with_realloc)
{
    for (std::size_t factor : {1U, 2U, 100U}) {
        expect_first([factor](const filled_block& theirs) {
            auto* const larger = static_cast<unsigned char*>(np_realloc(theirs.address, theirs.bytes * factor));
            const bool holds_it =
                std::all_of(larger, larger + theirs.bytes, [&](unsigned char each) { return each == larger[0]; });
            np_free(larger);
            return holds_it;
        });
    }
    expect_first([](const filled_block& theirs) {
        void* const smaller = np_reallocarray(theirs.address, 1, 1);
        np_free(smaller);
        return smaller != nullptr;
    });
    test::in_a_thread([] { np_free(np_realloc(nullptr, 100)); });
}

TEST(np_threads, can_start_with_calloc)
{
    expect_first([](const filled_block& theirs) {
        auto* const mine = static_cast<unsigned char*>(np_calloc(1, theirs.bytes));
        const bool is_zero = std::all_of(mine, mine + theirs.bytes, [](unsigned char each) { return each == 0; });
        np_free(mine);
        return is_zero && test::give_back(np, theirs);
    });
}

TEST(np_threads, can_start_with_an_aligned_block)
{
    for (std::size_t alignment : {16U, 64U, 4096U, 1U << 17}) {
        expect_first([alignment](const filled_block& theirs) {
            const filled_block mine = test::allocate_filled(np, theirs.bytes, alignment);
            const bool is_aligned = mine.is_aligned();
            return test::give_back(np, mine) && test::give_back(np, theirs) && is_aligned;
        });
        expect_first([alignment](const filled_block& theirs) {
            void* mine = nullptr;
            const bool succeeded = np_posix_memalign(&mine, alignment, theirs.bytes) == 0;
            np_free(mine);
            return test::give_back(np, theirs) && succeeded;
        });
    }
}

TEST(np_threads, can_start_with_usable_size_or_trim)
{
    expect_first([](const filled_block& theirs) {
        return np_usable_size(theirs.address) >= theirs.bytes && test::give_back(np, theirs);
    });
    expect_first([](const filled_block& theirs) {
        (void)np_trim();
        return test::give_back(np, theirs);
    });
}

// How threads end.

TEST(np_threads, leak_nothing_when_they_end_with_blocks_in_every_state)
{
    test::footprint used;
    constexpr int rounds = test::under_a_sanitizer ? 100 : 1000;
    for (int round = 0; round != rounds; ++round) {
        const std::vector<filled_block> mine = allocate_of_all_kinds(6);
        std::vector<filled_block> theirs;
        {
            test::lasting_thread other;
            other.does([&] {
                theirs = allocate_of_all_kinds(6);
                EXPECT_TRUE(test::give_back_all(np, allocate_of_all_kinds(2))); // Leaves blocks in the cache.
            });
            // The thread ends with remote frees that it has not drained, and with others that it has not sent.
            EXPECT_TRUE(test::give_back_all(np, every_second(theirs, 0)));
            other.does([&] { EXPECT_TRUE(test::give_back_all(np, every_second(mine, 0))); });
        }
        EXPECT_TRUE(test::give_back_all(np, every_second(theirs, 1)));
        EXPECT_TRUE(test::give_back_all(np, every_second(mine, 1)));
        theirs.insert(theirs.end(), mine.begin(), mine.end());
        used.add(theirs);
    }
    EXPECT_LE(used.spread(), max_spread);
}

TEST(np_threads, leave_one_block_each_without_growing_memory)
{
    constexpr std::size_t at_a_time = 4;
    constexpr std::size_t lives = test::under_a_sanitizer ? 250 : 2500;
    constexpr std::size_t bytes = 64;
    std::vector<filled_block> table(at_a_time * lives);
    const auto run = [&](std::size_t begin, std::size_t end) {
        for (std::size_t life = begin; life != end; ++life)
            test::in_threads(at_a_time, [&](std::size_t thread) {
                EXPECT_TRUE(test::give_back_all(np, allocate_of_all_kinds(1)));
                table[life * at_a_time + thread] = test::allocate_filled(np, bytes);
            });
    };
    run(0, lives / 10);
#if TESTS_MAY_ASK_FOR_RESIDENT_MEMORY
    const std::size_t before = test::resident_bytes();
    run(lives / 10, lives);
    const std::size_t some = std::size_t{test::blocks_are_checked() ? 6U : 4U} << 20U;
    EXPECT_LE(test::resident_bytes(), before + some) << "a huge page may take 2 MiB of this";
#else
    run(lives / 10, lives);
#endif
    test::footprint used;
    used.add(table);
    EXPECT_LE(used.pages(), 2 * table.size() * bytes / 4096 + 16 * at_a_time);
    EXPECT_TRUE(test::give_back_all(np, table));
}

#if defined(__unix__)
#if !MEMORY_POOL_TSAN // ThreadSanitizer has ended its own thread state by the last round.
/// More keys than fit in a thread's descriptor. The C library allocates memory for a further key when a thread sets it.
class pthread_keys : public testing::Test
{
protected:
    pthread_keys()
    {
        calls_ = 0;
        for (pthread_key_t& key : keys)
            EXPECT_EQ(pthread_key_create(&key, &end), 0);
    }
    ~pthread_keys() override
    {
        for (const pthread_key_t key : keys)
            pthread_key_delete(key);
        for (void* const block : set_) // Blocks set in the last round of destructors.
            np_free(block);
        set_.clear();
    }

    static void set(pthread_key_t key)
    {
        void* const block = test::allocate_filled(np, 100).address;
        set_.insert(block);
        pthread_setspecific(key, block);
    }

    static inline std::array<pthread_key_t, 40> keys;
    static inline std::atomic<int> calls_{0};

private:
    static inline std::set<void*> set_; ///< Used by one thread at a time.

    /// Frees the key's block, uses blocks of every kind, and sets the last key again for three rounds.
    static void end(void* block)
    {
        ++calls_;
        set_.erase(block);
        EXPECT_TRUE(test::give_back(np, {static_cast<unsigned char*>(block), 100, alignof(std::max_align_t)}));
        EXPECT_TRUE(test::give_back_all(np, allocate_of_all_kinds(2)));
        if (calls_ < 40 * 3)
            set(keys.back());
    }
};

TEST_F(pthread_keys, can_allocate_in_every_round_of_destructors)
{
    test::in_a_thread([] { std::for_each(keys.begin(), keys.end(), &pthread_keys::set); });
    EXPECT_GE(calls_, 40 + 3 - 1);
}

TEST_F(pthread_keys, can_allocate_in_a_thread_that_starts_with_the_last_key)
{
    test::in_a_thread([] { set(keys.back()); });
    EXPECT_GE(calls_, 3);
}

TEST_F(pthread_keys, leak_nothing_in_threads_that_end)
{
    test::footprint used;
    for (int round = 0; round != 300; ++round) {
        test::in_a_thread([] { set(keys[35]); });
        const std::vector<filled_block> blocks = allocate_of_all_kinds(4);
        used.add(blocks);
        EXPECT_TRUE(test::give_back_all(np, blocks));
    }
    EXPECT_LE(used.spread(), max_spread);
}
#endif

// AddressSanitizer does not notice that a cancelled thread unwinds its stack. libc++ has its own unwinder, which is
// incompatible with pthread_cancel's unwinder.
#if !MEMORY_POOL_ASAN && !defined(_LIBCPP_VERSION)
/// A thread that can be cancelled, unlike std::thread.
template <class Action>
class posix_thread
{
public:
    explicit posix_thread(Action action) : action_(action)
    {
        EXPECT_EQ(pthread_create(
                      &thread_, nullptr,
                      [](void* self) -> void* {
                          static_cast<posix_thread*>(self)->action_();
                          return nullptr;
                      },
                      this),
                  0);
    }
    posix_thread(const posix_thread&) = delete;
    posix_thread& operator=(const posix_thread&) = delete;
    ~posix_thread()
    {
        void* result = nullptr;
        pthread_join(thread_, &result);
        EXPECT_EQ(result, PTHREAD_CANCELED);
    }

    void cancel() { pthread_cancel(thread_); }

private:
    Action action_;
    pthread_t thread_{};
};

TEST(np_threads, are_not_cancelled_while_they_allocate_and_free)
{
    std::atomic<bool> is_cancelled{false};
    std::atomic<bool> has_finished{false};
    {
        posix_thread thread([&] {
            while (!is_cancelled)
                std::this_thread::yield();
            for (int i = 0; i != 5; ++i)
                EXPECT_TRUE(test::give_back_all(np, allocate_of_all_kinds(50)));
            (void)np_trim();
            has_finished = true;
            pthread_testcancel();
        });
        thread.cancel();
        is_cancelled = true;
    }
    EXPECT_TRUE(has_finished);
}

TEST(np_threads, leak_nothing_when_cancelled_between_calls)
{
    test::footprint used;
    for (int round = 0; round != 100; ++round) {
        std::atomic<int> turns{0};
        posix_thread thread([&] {
            while (true) {
                EXPECT_TRUE(test::give_back_all(np, allocate_of_all_kinds(2)));
                ++turns;
                pthread_testcancel();
            }
        });
        while (turns <= round % 4)
            std::this_thread::yield();
        thread.cancel();
        const std::vector<filled_block> blocks = allocate_of_all_kinds(4);
        used.add(blocks);
        EXPECT_TRUE(test::give_back_all(np, blocks));
    }
    EXPECT_LE(used.spread(), max_spread);
}
#endif
#endif

// Threads that free each other's blocks.

TEST(np_threads, can_end_while_others_free_their_blocks)
{
    constexpr std::size_t freeing = 7;
    constexpr int rounds = test::under_a_sanitizer ? 20 : 300;
    std::array<std::vector<filled_block>, freeing> handed_over;
    std::atomic<int> round_to_free{0};
    std::atomic<std::size_t> done{0};
    std::atomic<std::size_t> faults{0};
    test::footprint used;
    test::in_threads(freeing + 1, [&](std::size_t thread) {
        for (int round = 1; round <= rounds; ++round) {
            if (thread != freeing) {
                while (round_to_free != round)
                    std::this_thread::yield();
                faults += test::give_back_all(np, handed_over[thread]) ? 0U : 1U;
                ++done;
                continue;
            }
            test::in_a_thread([&] {
                for (std::vector<filled_block>& blocks : handed_over)
                    blocks = allocate_of_all_kinds(8);
                done = 0;
                round_to_free = round;
            });
            // A new thread adopts the heap of the thread that has just ended.
            test::in_a_thread([&] { faults += test::give_back_all(np, allocate_of_all_kinds(8)) ? 0U : 1U; });
            while (done != freeing)
                std::this_thread::yield();
            std::vector<filled_block> all;
            for (const std::vector<filled_block>& blocks : handed_over)
                all.insert(all.end(), blocks.begin(), blocks.end());
            used.add(all);
        }
    });
    EXPECT_EQ(faults, 0U);
    EXPECT_LE(used.spread(), max_spread);
}

TEST(np_threads, share_no_cache_line_without_remote_frees)
{
    constexpr std::size_t threads = 4;
    constexpr std::size_t line = 64;
    (void)np_trim(); // Clears remote frees of earlier tests.
    std::array<std::vector<filled_block>, threads> blocks;
    std::atomic<std::size_t> begun{0};
    test::in_threads(threads, [&](std::size_t thread) {
        std::mt19937 random(static_cast<unsigned>(thread));
        blocks[thread].push_back(test::allocate_filled(np, 1));
        // All threads start before any thread ends. Otherwise, a thread would adopt the heap of an ended thread.
        for (++begun; begun != threads;)
            std::this_thread::yield();
        for (int i = 0; i != 3000; ++i) {
            blocks[thread].push_back(test::allocate_filled(np, 1 + random() % 100));
            if (random() % 3 == 0) { // Frees the new block, so that this thread can reuse it.
                EXPECT_TRUE(test::give_back(np, blocks[thread].back()));
                blocks[thread].pop_back();
            }
            if (i % 100 == 0)
                std::this_thread::yield();
        }
    });
    std::array<std::set<std::uintptr_t>, threads> lines;
    for (std::size_t thread = 0; thread != threads; ++thread)
        for (const filled_block& each : blocks[thread])
            for (std::size_t offset = 0; offset < each.bytes + line - 1; offset += line)
                lines[thread].insert(
                    (reinterpret_cast<std::uintptr_t>(each.address) + std::min(offset, each.bytes - 1)) / line);
    for (std::size_t one = 0; one != threads; ++one)
        for (std::size_t other = 0; other != one; ++other) {
            std::vector<std::uintptr_t> shared;
            std::set_intersection(lines[one].begin(), lines[one].end(), lines[other].begin(), lines[other].end(),
                                  std::back_inserter(shared));
            EXPECT_EQ(shared.size(), 0U);
        }
    for (const std::vector<filled_block>& each : blocks)
        EXPECT_TRUE(test::give_back_all(np, each));
}

TEST(np_threads, reuse_small_remote_blocks_only_after_many_frees)
{
    if (test::blocks_are_checked())
        GTEST_SKIP() << "the checked build randomizes the order of blocks";
    constexpr std::size_t bytes = 16;
    constexpr std::size_t line = 64;
    std::vector<filled_block> blocks;
    for (int i = 0; i != 3000; ++i)
        blocks.push_back(test::allocate_filled(np, bytes));
    std::set<std::uintptr_t> lines;
    for (const filled_block& each : blocks)
        lines.insert(reinterpret_cast<std::uintptr_t>(each.address) / line);
    test::lasting_thread other;
    std::vector<filled_block> blocks_of_other; // They empty the adopted cache, which may contain blocks of this thread.
    other.does([&] {
        for (int i = 0; i != 10'000; ++i)
            blocks_of_other.push_back(test::allocate_filled(np, bytes));
    });
    const auto free_remotely_and_allocate = [&] {
        filled_block allocated;
        other.does([&] {
            EXPECT_TRUE(test::give_back(np, blocks.back()));
            blocks.pop_back();
            allocated = test::allocate_filled(np, bytes);
        });
        return allocated;
    };
    const filled_block after_one = free_remotely_and_allocate();
    EXPECT_EQ(lines.count(reinterpret_cast<std::uintptr_t>(after_one.address) / line), 0U);
    other.does([&] {
        for (int i = 0; i != 2000; ++i) {
            EXPECT_TRUE(test::give_back(np, blocks.back()));
            blocks.pop_back();
        }
    });
    const void* const next = blocks.back().address;
    const filled_block after_many = free_remotely_and_allocate();
    EXPECT_EQ(after_many.address, next);
    EXPECT_TRUE(test::give_back(np, after_one));
    EXPECT_TRUE(test::give_back(np, after_many));
    EXPECT_TRUE(test::give_back_all(np, blocks));
    EXPECT_TRUE(test::give_back_all(np, blocks_of_other));
}

TEST(np_threads, reuse_pages_as_producer_and_consumer)
{
    test::lasting_thread producer;
    test::lasting_thread consumer;
    test::footprint used;
    std::vector<filled_block> blocks;
    std::mt19937 random(1); // NOLINT: every run is the same
    constexpr int rounds = test::under_a_sanitizer ? 50 : 200;
    for (int round = 0; round != rounds; ++round) {
        producer.does([&] {
            for (int i = 0; i != 1000; ++i)
                blocks.push_back(allocate_any(random));
        });
        consumer.does([&] { EXPECT_TRUE(test::give_back_all(np, blocks)); });
        used.add(blocks);
        blocks.clear();
    }
    EXPECT_LE(used.spread(), max_spread);
}

#if TESTS_MAY_ASK_FOR_RESIDENT_MEMORY
TEST(np_threads, take_at_most_1_5_times_the_live_bytes_with_16_producers)
{
    constexpr std::size_t producers = 16;
    constexpr std::size_t batch = 64;
    constexpr std::size_t max_queued = std::size_t{64} * 1024;
    constexpr std::size_t rounds = 12;
    static_assert(max_queued % (producers * batch) == 0, "equal shares of the producers fill the queue");
    // Only a few sizes: each thread caches some memory per size, and this test does not measure the caches.
    constexpr std::array<std::size_t, 8> sizes{48, 160, 320, 640, 1000, 1280, 1536, 2000};
    test::live_bytes live;
    test::bounded_queue<filled_block> queue(max_queued);
    std::atomic<std::size_t> rounds_taken{0};
    std::atomic<bool> is_intact{true};
    std::size_t max_resident = 0;
    const std::size_t before = test::resident_bytes();
    test::in_threads(producers + 1, [&](std::size_t thread) {
        std::mt19937 random(static_cast<unsigned>(thread));
        for (std::size_t round = 0; round != rounds; ++round) {
            if (thread == producers) {
                const std::vector<filled_block> blocks = queue.take_all();
                ++rounds_taken;
                max_resident = std::max(max_resident, test::resident_bytes());
                for (const filled_block& each : blocks) {
                    live.subtract(each.bytes);
                    is_intact = test::give_back(np, each) && is_intact;
                }
                continue;
            }
            // Each producer allocates its share of a round while the consumer frees the previous round. A producer
            // that ran ahead would take memory from the other producers, which would then need more.
            while (rounds_taken != round)
                std::this_thread::yield();
            for (std::size_t i = 0; i != max_queued / producers / batch; ++i) {
                std::vector<filled_block> blocks;
                for (std::size_t k = 0; k != batch; ++k) {
                    blocks.push_back(test::allocate_filled(np, sizes[random() % sizes.size()]));
                    live.add(blocks.back().bytes);
                }
                queue.put(blocks);
            }
        }
    });
    EXPECT_TRUE(is_intact);
    EXPECT_GE(live.peak(), max_queued * 800);
    // The checked build needs a page of block states per 64 KiB.
    EXPECT_LE(max_resident - before, live.peak() * (test::blocks_are_checked() ? 7 : 6) / 4);
}

TEST(np_threads, return_memory_of_an_idle_producer)
{
    test::lasting_thread producer;
    std::vector<filled_block> blocks;
    const std::size_t before = test::resident_bytes();
    producer.does([&] {
        for (int i = 0; i != 64 * 1024; ++i)
            blocks.push_back(test::allocate_filled(np, 1000));
    });
    const std::size_t peak = test::resident_bytes() - before;
    EXPECT_TRUE(test::give_back_all(np, blocks));
    // This thread works while the producer is idle. Free memory decays in about a second.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (test::resident_bytes() > before + peak / 5 && std::chrono::steady_clock::now() < end) {
        EXPECT_TRUE(test::give_back_all(np, allocate_of_all_kinds(20)));
        (void)np_trim();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_LE(test::resident_bytes(), before + peak / 5);
}

/// Sixteen threads allocate blocks in random turns, and one thread frees the blocks.
void expect_less_than_twice_the_live_bytes()
{
    constexpr std::size_t producers = 16;
    constexpr std::size_t batch = 64;
    constexpr std::size_t max_queued = 64 * std::size_t{1024};
    constexpr std::size_t batches = 12 * max_queued / batch;
    constexpr std::array<std::size_t, 8> sizes{48, 160, 320, 640, 1000, 1280, 1536, 2000};
    test::live_bytes live;
    test::bounded_queue<filled_block> queue(max_queued);
    std::atomic<std::size_t> begun{0};
    std::atomic<std::size_t> done{0};
    std::size_t max_resident = 0;
    const std::size_t before = test::resident_bytes();
    test::in_threads(producers + 1, [&](std::size_t thread) {
        if (thread == producers) {
            for (auto blocks = queue.take_all(); !blocks.empty(); blocks = queue.take_all()) {
                max_resident = std::max(max_resident, test::resident_bytes());
                for (const filled_block& each : blocks) {
                    live.subtract(each.bytes);
                    EXPECT_TRUE(test::give_back(np, each));
                }
            }
            return;
        }
        std::mt19937 random(static_cast<unsigned>(thread));
        while (begun++ < batches) {
            std::vector<filled_block> blocks;
            for (std::size_t k = 0; k != batch; ++k) {
                blocks.push_back(test::allocate_filled(np, sizes[random() % sizes.size()]));
                live.add(blocks.back().bytes);
            }
            queue.put(blocks);
            if (++done == batches)
                queue.close();
        }
    });
    EXPECT_LT(max_resident - before, live.peak() / 5 * 9); // 1.28 to 1.54 times the peak in 60 runs on 2 cores
}

TEST(np_threads, take_less_than_twice_the_live_bytes_in_random_turns)
{
    expect_less_than_twice_the_live_bytes();
}

TEST(np_threads, take_less_than_twice_the_live_bytes_after_many_threads_ended)
{
    test::in_threads_at_the_same_time(100, [] {
        for (std::size_t bytes = 16; bytes <= 1024; bytes += 16)
            EXPECT_TRUE(test::give_back(np, test::allocate_filled(np, bytes)));
    });
    expect_less_than_twice_the_live_bytes();
}
#endif
} // namespace
