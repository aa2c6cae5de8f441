// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Threads that work at the same time, for rows that measure pools shared by threads.
///
/// There are two measures of the cost:
///
///     core_seconds        from the start of the first thread to the end of the last * min(threads, cores): includes
///                         waiting
///     processor_seconds   CPU time of the threads: includes neither sleeping nor other programs
///
/// Thread i is pinned to core i, modulo the number of cores, where the OS allows that. Otherwise two threads could
/// share a core for the first milliseconds.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <ctime>
#include <pthread.h>
#include <sched.h>
#endif

namespace together {
/// Returns: the numbers of the cores that this process may run on.
inline std::vector<std::size_t> find_cores()
{
    std::vector<std::size_t> cores;
#if defined(__linux__)
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        for (std::size_t core = 0; core != CPU_SETSIZE; ++core)
            if (CPU_ISSET(core, &allowed))
                cores.push_back(core);
#endif
    if (cores.empty())
        cores.resize(std::max(std::thread::hardware_concurrency(), 1U));
    return cores;
}

inline const std::vector<std::size_t>& cores()
{
    static const std::vector<std::size_t> cores = find_cores();
    return cores;
}

/// Effects: pins this thread to a core, round-robin by the number of the thread.
inline void stay_on_core([[maybe_unused]] std::size_t thread)
{
#if defined(__linux__)
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(cores()[thread % cores().size()], &own);
    // If this fails, results vary more.
    (void)pthread_setaffinity_np(pthread_self(), sizeof own, &own);
#endif
}

/// Returns: the CPU time of this thread; wall-clock time where the system does not report CPU time.
inline double processor_seconds_of_thread()
{
#if defined(__linux__)
    std::timespec time{};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
#else
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
#endif
}

/// The threads of a row.
class team
{
    using clock = std::chrono::steady_clock;

public:
    explicit team(std::size_t size) : size_(size), begun_(size), done_(size), processor_seconds_(size) {}

    std::size_t size() const { return size_; }

    /// Effects: calls `part(number)` in each thread of the team, and joins the threads. Stores the first exception of a
    ///   part for `failure`; the other threads then give up at their next wait.
    template <class Part>
    void run(Part&& part)
    {
        std::vector<std::thread> threads;
        for (std::size_t number = 0; number != size_; ++number)
            threads.emplace_back([this, &part, number] {
                try {
                    stay_on_core(number);
                    part(number);
                } catch (const std::exception& error) {
                    fail(error.what());
                }
            });
        for (std::thread& thread : threads)
            thread.join();
    }

    /// Effects: waits until every thread has called this function, then times `work()`.
    /// Preconditions: each part calls this once in a run.
    template <class Work>
    void time(std::size_t number, Work&& work)
    {
        const std::size_t all = (arrived_.fetch_add(1) / size_ + 1) * size_;
        wait_until([this, all] { return arrived_.load() >= all; });
        const double processor_seconds = processor_seconds_of_thread();
        begun_[number] = clock::now();
        benchmark::ClobberMemory();
        work();
        benchmark::ClobberMemory();
        done_[number] = clock::now();
        processor_seconds_[number] = processor_seconds_of_thread() - processor_seconds;
    }

    /// Effects: yields until `condition()` is true.
    /// Throws: runtime_error if another thread has failed.
    template <class Condition>
    void wait_until(Condition&& condition) const
    {
        while (!condition()) {
            if (has_failed_.load(std::memory_order_relaxed))
                throw std::runtime_error("another thread failed");
            std::this_thread::yield();
        }
    }

    /// Returns: the seconds from the first start of timed work to the last end.
    double seconds() const
    {
        return std::chrono::duration<double>(*std::max_element(done_.begin(), done_.end()) -
                                             *std::min_element(begun_.begin(), begun_.end()))
            .count();
    }

    /// Returns: `seconds` times the number of cores that the team uses.
    double core_seconds() const { return seconds() * static_cast<double>(std::min(size_, cores().size())); }

    /// Returns: the CPU seconds of the timed work of all threads.
    double processor_seconds() const
    {
        return std::accumulate(processor_seconds_.begin(), processor_seconds_.end(), 0.0);
    }

    /// Returns: the message of the first failure; empty if there was none.
    const std::string& failure() const { return failure_; }

private:
    void fail(const char* reason)
    {
        const std::lock_guard lock(mutex_);
        if (!has_failed_.exchange(true))
            failure_ = reason;
    }

    std::size_t size_;
    std::vector<clock::time_point> begun_;
    std::vector<clock::time_point> done_;
    std::vector<double> processor_seconds_; ///< By thread.
    std::atomic<std::size_t> arrived_{0};
    std::atomic<bool> has_failed_{false};
    std::mutex mutex_;
    std::string failure_;
};

inline std::size_t threads_of(const benchmark::State& state)
{
    return static_cast<std::size_t>(state.range(0));
}

/// Runs a row: calls `prepare(number)` in each thread, then times `work(number)`.
template <class Prepare, class Work>
void measure(benchmark::State& state, team& team, Prepare&& prepare, Work&& work)
{
    // One batch of all iterations, so that no other code runs between them.
    while (state.KeepRunningBatch(state.max_iterations)) {
        team.run([&](std::size_t number) {
            prepare(number);
            team.time(number, [&work, number] { work(number); });
        });
        state.SetIterationTime(team.seconds());
    }
}

/// Ends every row: reports an error instead of a time if a result was wrong or an allocation failed.
inline void finish(benchmark::State& state, const team& team)
{
    if (!team.failure().empty())
        state.SkipWithError(team.failure().c_str());
}
} // namespace together
