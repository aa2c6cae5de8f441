// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Work that several threads do together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

namespace tour {
/// Returns: the number of worker threads: one for each processor; at least two, so that something is shared, and at
///   most 16, beyond which the tables would take more memory than the nodes.
inline std::size_t thread_count() noexcept
{
    return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 2, 16);
}

/// Effects: calls `work(0)` in this thread and `work(1)` to `work(count - 1)` each in a new one, concurrently, and
///   waits for all of them.
template <class Work>
void in_threads(std::size_t count, const Work& work)
{
    std::vector<std::thread> others;
    others.reserve(count - 1);
    for (std::size_t number = 1; number != count; ++number)
        others.emplace_back([&work, number] { work(number); });
    work(0);
    for (std::thread& other : others)
        other.join();
}

/// Returns: where the share of thread `number` of `size` things begins, and that of the one before it ends.
constexpr std::size_t share_begin(std::size_t size, std::size_t number, std::size_t count) noexcept
{
    return size / count * number + std::min(size % count, number);
}
} // namespace tour
