// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The way of blocks from one thread to another, many at a time, so that the lock of the way is not what is measured.
#pragma once

#include "workload.hpp"

#include <array>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <vector>

namespace workload {
struct batch
{
    std::array<block, 64> blocks{};
};

/// First in, first out, with room for a fixed number of batches. It allocates when it is made, and never again.
class channel
{
public:
    explicit channel(std::size_t room) : batches_(room) {}

    /// Effects: puts a batch in; waits until there is room.
    void put(const batch& sent)
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return end_ - begin_ != batches_.size(); });
        batches_[end_++ % batches_.size()] = sent;
        changed_.notify_all();
    }

    /// Effects: takes a batch out; waits until there is one.
    batch take()
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return end_ != begin_; });
        const batch taken = batches_[begin_++ % batches_.size()];
        changed_.notify_all();
        return taken;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<batch> batches_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

/// Returns: a batch of new blocks of random sizes.
inline batch allocate_batch(const marks& marking, random& numbers, std::size_t least, std::size_t most)
{
    batch made;
    for (block& each : made.blocks)
        each = marking.allocate(numbers.size_between(least, most), numbers());
    return made;
}

/// Effects: checks the blocks and gives them back.
inline void free_batch(const marks& marking, const batch& ended, tally& done)
{
    for (const block& each : ended.blocks) {
        marking.free(each);
        done.count(each);
    }
}
} // namespace workload
