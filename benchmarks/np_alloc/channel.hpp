// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A queue of blocks from one thread to another. It transfers large batches, so that its lock costs little.
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

/// First in, first out, with room for a fixed number of batches. Only the constructor allocates.
class channel
{
public:
    explicit channel(std::size_t room) : batches_(room) {}

    /// Effects: waits until there is room, and puts a batch in.
    void put(const batch& sent)
    {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return end_ - begin_ != batches_.size(); });
        batches_[end_++ % batches_.size()] = sent;
        changed_.notify_all();
    }

    /// Effects: waits until there is a batch, and takes it out.
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

/// Effects: checks and frees the blocks.
inline void free_batch(const marks& marking, const batch& ended, tally& done)
{
    for (const block& each : ended.blocks) {
        marking.free(each);
        done.count(each);
    }
}
} // namespace workload
