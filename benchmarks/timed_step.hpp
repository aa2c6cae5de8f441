// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Times one step of an iteration, for rows with manual time. The overhead of reading the clock is subtracted.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

namespace timed_step {
/// Returns: the CPU time of this thread in seconds if available, which excludes other load on the machine.
inline double thread_seconds()
{
#if defined(CLOCK_THREAD_CPUTIME_ID)
    std::timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
#else
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
#endif
}

/// Returns: the seconds between two clock readings around `step`.
template <class Step>
double seconds_of(Step&& step)
{
    const double start = thread_seconds();
    benchmark::ClobberMemory();
    step();
    benchmark::ClobberMemory();
    return thread_seconds() - start;
}

/// Returns: the median time of an empty step.
inline double seconds_of_nothing()
{
    std::array<double, 1001> samples{};
    for (double& sample : samples)
        sample = seconds_of([] {});
    std::nth_element(samples.begin(), samples.begin() + samples.size() / 2, samples.end());
    return samples[samples.size() / 2];
}

/// Adds the time of `step` to the iteration time.
template <class Step>
void time(benchmark::State& state, Step&& step)
{
    static const double overhead = seconds_of_nothing();
    state.SetIterationTime(std::max(seconds_of(step) - overhead, 0.0));
}
} // namespace timed_step
