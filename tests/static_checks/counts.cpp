// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Programs that must not compile because two numbers are swapped, one for each value of REFUSED, and valid code for 0.
/// The expected messages are in static_checks.cmake.
#include <np_alloc/heaps/thread_heap.hpp>
#include <np_alloc/slices/region.hpp>
#include <np_alloc/slices/runs.hpp>

#include <cstddef>
#include <cstdint>

namespace np = memory_pool::np;

void free_run(np::runs<np::region<std::uintptr_t, np::run_links>>& all, np::slice_index first, std::uint32_t length)
{
#if REFUSED == 1
    all.put(length, first, true, 0);
#else
    all.put(first, length, true, 0);
#endif
}

void halve_magazine(np::thread_heap& heap, std::size_t size_class)
{
    const np::block_count half{heap.room(size_class) / 2};
#if REFUSED == 2
    heap.shrink(half, size_class);
#else
    heap.shrink(size_class, half);
#endif
}
