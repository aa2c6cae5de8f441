// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Compares the time of a function for many and few elements, for tests of complexity.
#pragma once

#include <algorithm>
#include <cstddef>
#include <ctime>

namespace test {
/// Returns the processor time of `work(many)` divided by the time of `work(few)`, each the shortest of five runs.
template <class Work>
double ratio_of_times(std::size_t many, std::size_t few, Work&& work)
{
    const auto shortest = [&](std::size_t count) {
        std::clock_t min_time = 0;
        for (int round = 0; round != 5; ++round) {
            const std::clock_t begin = std::clock();
            work(count);
            const std::clock_t taken = std::clock() - begin;
            min_time = round == 0 ? taken : std::min(min_time, taken);
        }
        return static_cast<double>(std::max<std::clock_t>(min_time, 1));
    };
    return shortest(many) / shortest(few);
}
} // namespace test
