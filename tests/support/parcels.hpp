// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Blocks with unique patterns that threads pass to each other, and the queues between the threads.
#pragma once

#include <memory_pool/base/config.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace test {
/// A block in flight.
struct parcel
{
    std::byte* block = nullptr;
    std::size_t size_class = 0;
    std::size_t bytes = 0; ///< The requested bytes; at most the block size of the class.
    std::uint64_t seed = 0;
};

/// Calls `visit(place, wanted, bytes)` for each 8 bytes of a parcel, with the expected pattern.
template <class Visit>
void for_each_chunk(const parcel& sent, Visit&& visit)
{
    std::uint64_t word = sent.seed;
    for (std::size_t offset = 0; offset < sent.bytes; offset += sizeof word) {
        word = word * 6364136223846793005U + 1442695040888963407U; // Knuth's MMIX generator
        visit(sent.block + offset, &word, std::min(sizeof word, sent.bytes - offset));
    }
}

inline void fill(const parcel& filled)
{
    for_each_chunk(filled,
                   [](std::byte* place, const void* wanted, std::size_t bytes) { std::memcpy(place, wanted, bytes); });
}

inline bool is_intact(const parcel& checked)
{
    bool is_equal = true;
    for_each_chunk(checked, [&is_equal](const std::byte* place, const void* wanted, std::size_t bytes) {
        is_equal = is_equal && std::memcmp(place, wanted, bytes) == 0;
    });
    return is_equal;
}

/// A FIFO channel from one thread to the next. It orders only the accesses of these two threads to one block. The pool
/// must order earlier accesses of other threads.
class belt
{
public:
    bool try_put(const parcel& sent) noexcept
    {
        const std::size_t end = end_.load(std::memory_order_relaxed);
        if (end - begin_.load(std::memory_order_acquire) == parcels_.size())
            return false;
        parcels_[end % parcels_.size()] = sent;
        end_.store(end + 1, std::memory_order_release);
        return true;
    }

    bool try_take(parcel& received) noexcept
    {
        const std::size_t begin = begin_.load(std::memory_order_relaxed);
        if (begin == end_.load(std::memory_order_acquire))
            return false;
        received = parcels_[begin % parcels_.size()];
        begin_.store(begin + 1, std::memory_order_release);
        return true;
    }

private:
    std::array<parcel, 1024> parcels_{};
    alignas(memory_pool::cache_line_size) std::atomic<std::size_t> begin_{0};
    alignas(memory_pool::cache_line_size) std::atomic<std::size_t> end_{0};
};

/// Returns whether is_intact() detects a change of any byte of the parcel, and of no byte behind it.
inline bool sees_damage()
{
    std::array<std::byte, 30> block{};
    const parcel sample{block.data(), 0, 29, 1};
    fill(sample);
    std::size_t seen = 0;
    for (std::byte& byte : block) {
        byte ^= std::byte{1};
        seen += is_intact(sample) ? 0U : 1U;
        byte ^= std::byte{1};
    }
    return seen == sample.bytes && is_intact(sample);
}
} // namespace test
