// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// A libnp_malloc.so to preload. At the end of the process, it prints how long threads held the lock of the page heap.
// Times with a preemption are counted, but not measured. A fork holds the lock, too.
//
//     LD_PRELOAD=build/release/benchmarks/np_alloc/lock_times.so PROGRAM [ARGUMENT...]
#include <memory_pool/os/clock.hpp>

#include <sys/resource.h>

#include "../../src/np_alloc/heaps/heap_registry.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace {
namespace np = memory_pool::np;

/// A histogram of times by powers of two, in nanoseconds. The last bucket has all longer times.
constexpr std::size_t bins = 24;
std::array<std::atomic<std::uint64_t>, bins> histogram{};
std::atomic<std::uint64_t> longest{0};
std::atomic<std::uint64_t> preempted{0};
__thread std::uint64_t taken_at = 0;
__thread long preemptions_then = 0;

/// Returns: the involuntary context switches of this thread.
long preemptions() noexcept
{
    rusage used{};
    (void)::getrusage(RUSAGE_THREAD, &used);
    return used.ru_nivcsw;
}

bool is_of_page_heap(const void* lock) noexcept
{
    const np::page_heap& pages = np::registry().pages();
    return reinterpret_cast<std::uintptr_t>(lock) - reinterpret_cast<std::uintptr_t>(&pages) < sizeof pages;
}

void add(std::uint64_t nanoseconds) noexcept
{
    std::size_t bin = 0;
    while (bin + 1 != bins && nanoseconds >> bin != 0)
        ++bin;
    histogram[bin].fetch_add(1, std::memory_order_relaxed);
    std::uint64_t before = longest.load(std::memory_order_relaxed);
    while (before < nanoseconds && !longest.compare_exchange_weak(before, nanoseconds, std::memory_order_relaxed)) {
    }
}

__attribute__((destructor)) void print() noexcept
{
    std::fputs("lock of the page heap: microseconds held, and how often\n", stderr);
    for (std::size_t bin = 0; bin != bins; ++bin)
        if (const std::uint64_t count = histogram[bin].load(std::memory_order_relaxed))
            std::fprintf(stderr, "  below %9.3f  %llu\n", static_cast<double>(std::uint64_t{1} << bin) / 1e3,
                         static_cast<unsigned long long>(count));
    std::fprintf(stderr, "  at most %7.3f\n", static_cast<double>(longest.load(std::memory_order_relaxed)) / 1e3);
    std::fprintf(stderr, "  preempted        %llu\n",
                 static_cast<unsigned long long>(preempted.load(std::memory_order_relaxed)));
}
} // namespace

void lock_times::note(const void* lock, bool is_taken) noexcept
{
    if (!is_of_page_heap(lock))
        return;
    if (is_taken) {
        preemptions_then = preemptions();
        taken_at = memory_pool::detail::os::nanoseconds();
        return;
    }
    const std::uint64_t held = memory_pool::detail::os::nanoseconds() - taken_at;
    if (preemptions() == preemptions_then)
        add(held);
    else
        preempted.fetch_add(1, std::memory_order_relaxed);
}
