// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Work shared by several threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

namespace tour {
/// Returns: the number of worker threads: one for each processor, but at least two, so that threads share memory, and
///   at most 16, because with more threads the tables would take more memory than the nodes.
inline std::size_t thread_count() noexcept
{
    return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 2, 16);
}

/// Effects: calls `work(0)` in this thread, concurrently with `work(1)` to `work(count - 1)` in new threads, and waits
///   for all of them.
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

/// Returns: the beginning of the share of thread `number`, if `count` threads share `size` elements.
constexpr std::size_t share_begin(std::size_t size, std::size_t number, std::size_t count) noexcept
{
    return size / count * number + std::min(size % count, number);
}
} // namespace tour
