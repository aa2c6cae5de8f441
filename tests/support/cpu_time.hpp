// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// How much longer a function takes for more elements, for tests of its complexity.
#pragma once

#include <algorithm>
#include <cstddef>
#include <ctime>

namespace test {
/// Returns: the processor time of `work(many)` over the time of `work(few)`, each the shortest of five.
template <class Work>
double ratio_of_times(std::size_t many, std::size_t few, Work&& work)
{
    const auto shortest = [&](std::size_t count) {
        std::clock_t least = 0;
        for (int round = 0; round != 5; ++round) {
            const std::clock_t begin = std::clock();
            work(count);
            const std::clock_t taken = std::clock() - begin;
            least = round == 0 ? taken : std::min(least, taken);
        }
        return static_cast<double>(std::max<std::clock_t>(least, 1));
    };
    return shortest(many) / shortest(few);
}
} // namespace test
