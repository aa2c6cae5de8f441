// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Passes blocks from allocating to freeing threads, and counts blocks or bytes in flight.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace test {
/// Counts blocks or bytes in use, and their peak.
class live_bytes
{
public:
    void add(std::size_t more)
    {
        const std::size_t now = live_.fetch_add(more) + more;
        std::size_t peak = peak_.load();
        while (now > peak && !peak_.compare_exchange_weak(peak, now))
            continue;
    }
    void subtract(std::size_t fewer) { live_.fetch_sub(fewer); }
    std::size_t peak() const { return peak_; }

private:
    std::atomic<std::size_t> live_{0};
    std::atomic<std::size_t> peak_{0};
};

/// A queue with an upper bound. The consumer waits until the queue is full or closed, and takes all blocks.
template <class Block>
class bounded_queue
{
public:
    explicit bounded_queue(std::size_t max_blocks) : max_blocks_(max_blocks) {}

    /// Effects: waits until the blocks fit.
    void put(const std::vector<Block>& blocks)
    {
        std::unique_lock lock(mutex_);
        has_room_.wait(lock, [&] { return blocks_.size() + blocks.size() <= max_blocks_; });
        blocks_.insert(blocks_.end(), blocks.begin(), blocks.end());
        if (blocks_.size() == max_blocks_)
            may_be_taken_.notify_one();
    }

    /// Returns an empty vector if the queue is closed and empty.
    std::vector<Block> take_all()
    {
        std::unique_lock lock(mutex_);
        may_be_taken_.wait(lock, [&] { return is_closed_ || blocks_.size() == max_blocks_; });
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
    const std::size_t max_blocks_;
    std::mutex mutex_;
    std::condition_variable has_room_;
    std::condition_variable may_be_taken_;
    std::vector<Block> blocks_;
    bool is_closed_ = false;
};
} // namespace test
