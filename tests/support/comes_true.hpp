// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Waits for a condition that another thread makes true.
#pragma once

#include <chrono>
#include <thread>

namespace test {
/// Waits until `condition()` is true, for at most 20 seconds.
/// Returns the last value of `condition()`.
template <class Condition>
bool comes_true(Condition&& condition)
{
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition() && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return condition();
}
} // namespace test
