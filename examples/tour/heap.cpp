// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include "heap.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TOUR_HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define TOUR_HAS_SANITIZER 1
#endif
#endif
#ifndef TOUR_HAS_SANITIZER
#define TOUR_HAS_SANITIZER 0
#endif

#if defined(__GLIBC__) && !TOUR_HAS_SANITIZER
#include <malloc.h>
#endif

namespace tour {
#if defined(__GLIBC__) && !TOUR_HAS_SANITIZER
const bool heap_knows_block_sizes = true;

std::size_t heap_bytes_of(const void* address) noexcept
{
    // glibc stores the size of a block in the word before it.
    return ::malloc_usable_size(const_cast<void*>(address)) + sizeof(std::size_t);
}
#else
const bool heap_knows_block_sizes = false;

std::size_t heap_bytes_of(const void*) noexcept
{
    return 0;
}
#endif

namespace {
/// Each thread has a counter, so that counting needs no synchronization. Not thread-local: counts must outlive threads.
struct alignas(64) call_counter
{
    std::atomic<std::uint64_t> calls{0};
};

constexpr std::size_t counter_count = 256;
std::array<call_counter, counter_count> counters;
} // namespace

std::uint64_t heap_calls() noexcept
{
    std::uint64_t sum = 0;
    for (const call_counter& counter : counters)
        sum += counter.calls.load(std::memory_order_relaxed);
    return sum;
}

const bool heap_counts_calls = !TOUR_HAS_SANITIZER;
} // namespace tour

#if !TOUR_HAS_SANITIZER

namespace {
/// Aborts instead of throwing, because the tour is also built without exceptions.
[[noreturn]] void end_out_of_memory() noexcept
{
    std::fputs("tour: out of memory\n", stderr);
    std::abort();
}

std::atomic<std::size_t> counters_taken{0};
thread_local std::atomic<std::uint64_t>* calls_of_thread = nullptr;

void count_call() noexcept
{
    using namespace tour;
    if (calls_of_thread == nullptr) {
        const std::size_t taken = counters_taken.fetch_add(1, std::memory_order_relaxed);
        calls_of_thread = &counters[std::min(taken, counter_count - 1)].calls;
    }
    std::atomic<std::uint64_t>& calls = *calls_of_thread;
    if (&calls == &counters.back().calls)
        calls.fetch_add(1, std::memory_order_relaxed); // All further threads share the last counter.
    else
        calls.store(calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void* counted(void* block) noexcept
{
    count_call();
    if (block == nullptr)
        end_out_of_memory();
    return block;
}
} // namespace

// The standard library implements the other forms (arrays, nothrow) with these.

void* operator new(std::size_t size)
{
    return counted(std::malloc(size != 0 ? size : 1));
}

void* operator new(std::size_t size, std::align_val_t alignment)
{
    const auto step = static_cast<std::size_t>(alignment);
    const std::size_t wanted = size != 0 ? size : 1;
    return counted(std::aligned_alloc(step, (wanted + step - 1) & ~(step - 1)));
}

void operator delete(void* block) noexcept
{
    std::free(block);
}

void operator delete(void* block, std::size_t) noexcept
{
    std::free(block);
}

void operator delete(void* block, std::align_val_t) noexcept
{
    std::free(block);
}

void operator delete(void* block, std::size_t, std::align_val_t) noexcept
{
    std::free(block);
}

#endif
