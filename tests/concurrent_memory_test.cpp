// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// How much memory a shared pool takes when some threads only allocate and others only give back: what is in use, what the
// caches may hold, and the piece that it took last.
#include <memory_pool/concurrent_block_pool.hpp>

#include <support/threads.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace mp = memory_pool;

namespace
{
constexpr std::size_t block_size = 1024;
constexpr std::size_t most_queued = 8192;

// A pool grows when all its blocks are in use or in the caches of other threads. With blocks of 1 KiB, the two magazines of a
// thread hold 64 KiB, so 17 threads hide 1.1 MiB from each other. A pool that has grown to 1 MiB takes 1 MiB at a time.
// Magazines, bits and headers are some hundredths of all. When the queue is full, 8 MiB are in use, so what comes on top of
// them is less than half as much; and the same for 2 threads and 3 MiB.
constexpr std::size_t most_bytes_for(std::size_t blocks_in_use)
{
    return blocks_in_use * block_size * 3 / 2;
}

/// Blocks in use, as the program sees it.
class live_count
{
public:
    void add_one()
    {
        const std::size_t now = live_.fetch_add(1) + 1;
        std::size_t most = most_.load();
        while (now > most && !most_.compare_exchange_weak(most, now))
            continue;
    }
    void subtract_one() { live_.fetch_sub(1); }
    std::size_t most() const { return most_; }

private:
    std::atomic<std::size_t> live_{0};
    std::atomic<std::size_t> most_{0};
};

/// Has room for `most_queued` blocks. Whoever takes waits until it is full, or nothing more comes, and takes all.
class bounded_queue
{
public:
    void put(const std::vector<void*>& blocks)
    {
        std::unique_lock lock(mutex_);
        has_room_.wait(lock, [&] { return blocks_.size() + blocks.size() <= most_queued; });
        blocks_.insert(blocks_.end(), blocks.begin(), blocks.end());
        if (blocks_.size() == most_queued)
            may_be_taken_.notify_one();
    }

    /// Returns: nothing if it is closed and empty.
    std::vector<void*> take_all()
    {
        std::unique_lock lock(mutex_);
        may_be_taken_.wait(lock, [&] { return is_closed_ || blocks_.size() == most_queued; });
        has_room_.notify_all();
        return std::exchange(blocks_, {});
    }

    void close()
    {
        const std::lock_guard lock(mutex_);
        is_closed_ = true;
        may_be_taken_.notify_one();
    }

private:
    std::mutex mutex_;
    std::condition_variable has_room_;
    std::condition_variable may_be_taken_;
    std::vector<void*> blocks_;
    bool is_closed_ = false;
};

TEST(memory_of_a_shared_pool, is_bounded_by_what_was_in_use_when_sixteen_threads_allocate_and_one_gives_back)
{
    constexpr std::size_t producers = 16;
    constexpr std::size_t batch = 64;
    constexpr std::size_t rounds = 20;
    static_assert(most_queued % batch == 0, "so that it can be full");
    test::accounting_upstream upstream;
    mp::concurrent_block_pool pool(block_size, {}, &upstream);
    live_count live;
    bounded_queue queue;
    std::atomic<std::size_t> working{producers};
    test::in_threads(producers + 1, [&](std::size_t thread) {
        if (thread == producers) {
            for (auto blocks = queue.take_all(); !blocks.empty(); blocks = queue.take_all()) {
                for (void* const block : blocks) {
                    live.subtract_one();
                    pool.deallocate(block);
                }
            }
            return;
        }
        std::vector<void*> blocks(batch);
        for (std::size_t i = 0; i != rounds * most_queued / producers / batch; ++i) {
            for (void*& block : blocks) {
                block = pool.allocate();
                live.add_one();
            }
            queue.put(blocks);
        }
        if (--working == 0)
            queue.close();
    });
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_GE(live.most(), most_queued);
    EXPECT_EQ(upstream.live_bytes(), pool.bytes_reserved());
    EXPECT_LE(upstream.live_bytes(), most_bytes_for(live.most()));
    EXPECT_TRUE(pool.is_valid());
}

/// Work for a thread that lives on when it has done it.
class lasting_thread
{
public:
    lasting_thread() : thread_([this] { work(); }) {}
    lasting_thread(const lasting_thread&) = delete;
    lasting_thread& operator=(const lasting_thread&) = delete;
    ~lasting_thread()
    {
        give({});
        thread_.join();
    }

    /// Effects: has the thread do it, and waits until it has.
    void does(std::function<void()> action)
    {
        give(std::move(action));
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !has_work_; });
    }

private:
    void give(std::function<void()> action)
    {
        const std::lock_guard lock(mutex_);
        action_ = std::move(action);
        has_work_ = true;
        changed_.notify_all();
    }

    void work()
    {
        std::unique_lock lock(mutex_);
        while (true) {
            changed_.wait(lock, [this] { return has_work_; });
            if (!action_)
                return;
            action_();
            has_work_ = false;
            changed_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::function<void()> action_;
    bool has_work_ = false;
    std::thread thread_; ///< Last, as it uses the others.
};

/// One thread that only allocates and one that only gives back, in turns.
class one_way : public testing::Test
{
protected:
    static constexpr std::size_t batch = 3001; // A magazine holds 32: it is full at another moment in each round.

    void produce()
    {
        producer_.does([this] { pool_.allocate_bulk(blocks_.data(), blocks_.size()); });
    }

    void consume()
    {
        consumer_.does([this] { pool_.deallocate_bulk(blocks_.data(), blocks_.size()); });
    }

    test::accounting_upstream upstream_;
    mp::concurrent_block_pool pool_{block_size, {}, &upstream_};
    std::vector<void*> blocks_ = std::vector<void*>(batch);
    lasting_thread producer_;
    lasting_thread consumer_;
};

TEST_F(one_way, takes_no_more_from_upstream_however_long_it_goes_on)
{
    const auto turn = [this] {
        produce();
        consume();
    };
    for (int i = 0; i != 32; ++i)
        turn();
    const std::size_t bytes = upstream_.live_bytes();
    const std::size_t calls = upstream_.calls();
    for (int i = 0; i != 300; ++i)
        turn();
    EXPECT_EQ(upstream_.live_bytes(), bytes);
    EXPECT_EQ(upstream_.calls(), calls);
    EXPECT_LE(bytes, most_bytes_for(batch));
}

TEST_F(one_way, leaves_nothing_behind_that_cannot_be_trimmed_while_both_threads_live_and_are_idle)
{
    for (int i = 0; i != 10; ++i) {
        produce();
        consume();
    }
    const std::size_t bytes = upstream_.live_bytes();
    const std::size_t trimmed = pool_.trim();
    EXPECT_EQ(upstream_.live_bytes(), bytes - trimmed);
    EXPECT_EQ(pool_.capacity(), 0u);
    EXPECT_LE(upstream_.live_bytes(), bytes / 20) << "only empty magazines";
    produce();
    EXPECT_EQ(pool_.in_use(), batch) << "and the pool works on";
    consume();
    EXPECT_EQ(pool_.in_use(), 0u);
    EXPECT_TRUE(pool_.is_valid());
}

TEST_F(one_way, gives_even_its_magazines_back_when_it_is_released_while_both_threads_live_and_are_idle)
{
    produce();
    consume();
    pool_.release();
    EXPECT_LE(upstream_.live_bytes(), 2 * sizeof(mp::core::thread_cache));
    produce();
    consume();
    EXPECT_TRUE(pool_.is_valid());
}
} // namespace
