// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// How blocks get from threads that allocate to threads that give back, and how many are on their way.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace test {
/// What is in use, as the program sees it: blocks or bytes.
class live_bytes
{
public:
    void add(std::size_t more)
    {
        const std::size_t now = live_.fetch_add(more) + more;
        std::size_t most = most_.load();
        while (now > most && !most_.compare_exchange_weak(most, now))
            continue;
    }
    void subtract(std::size_t fewer) { live_.fetch_sub(fewer); }
    std::size_t most() const { return most_; }

private:
    std::atomic<std::size_t> live_{0};
    std::atomic<std::size_t> most_{0};
};

/// Bounded by a number of blocks. The consumer waits until it is full or closed, and takes all.
template <class Block>
class bounded_queue
{
public:
    explicit bounded_queue(std::size_t most) : most_(most) {}

    /// Effects: waits until there is room for them.
    void put(const std::vector<Block>& blocks)
    {
        std::unique_lock lock(mutex_);
        has_room_.wait(lock, [&] { return blocks_.size() + blocks.size() <= most_; });
        blocks_.insert(blocks_.end(), blocks.begin(), blocks.end());
        if (blocks_.size() == most_)
            may_be_taken_.notify_one();
    }

    /// Returns: nothing if it is closed and empty.
    std::vector<Block> take_all()
    {
        std::unique_lock lock(mutex_);
        may_be_taken_.wait(lock, [&] { return is_closed_ || blocks_.size() == most_; });
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
    const std::size_t most_;
    std::mutex mutex_;
    std::condition_variable has_room_;
    std::condition_variable may_be_taken_;
    std::vector<Block> blocks_;
    bool is_closed_ = false;
};
} // namespace test
