// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Several threads at once, and a gate that lets them start together.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

namespace test
{
/// Runs `action(i)` in `count` threads, which start when all are there, and waits for all.
template <class Action>
void in_threads(std::size_t count, Action&& action)
{
    std::atomic<std::size_t> missing{count};
    std::vector<std::thread> threads;
    threads.reserve(count);
    for (std::size_t i = 0; i != count; ++i)
        threads.emplace_back([&, i] {
            missing.fetch_sub(1);
            while (missing.load() != 0)
                std::this_thread::yield();
            action(i);
        });
    for (std::thread& thread : threads)
        thread.join();
}

/// Runs `action` in a thread of its own, and waits for it.
template <class Action>
void in_a_thread(Action&& action)
{
    std::thread(std::forward<Action>(action)).join();
}
} // namespace test
