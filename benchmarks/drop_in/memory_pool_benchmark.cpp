// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// memory_pool.h against the original's algorithm: the shapes of object_rows.hpp, and
///
///     pair    create and destroy an object, in a pool with room for n
///
/// Objects have 16 bytes or 1 KiB, and are not initialised.
#define MEMORY_POOL_MAX_NUMBER_OF_OBJECTS_IN_POOL 32768

#include "cells.hpp"
#include "context.hpp"
#include "object_rows.hpp"
#include "stand_ins/indexed_array.hpp"

#include <benchmark/benchmark.h>
#include <memory_pool.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace {
template <std::size_t Size>
struct record
{
    std::array<std::uint64_t, Size / sizeof(std::uint64_t)> words;
};

template <std::size_t Size>
bool is_new(const record<Size>&)
{
    return true; // The content is indeterminate.
}

template <std::size_t Size>
void mark(record<Size>& object, std::size_t number)
{
    object.words.fill(number);
}

template <std::size_t Size>
bool is_marked(const record<Size>& object, std::size_t number)
{
    bool is = true;
    for (const std::uint64_t word : object.words)
        is = is && word == number;
    return is;
}

/// Adapts either pool; both have the same interface.
template <class T, class Pool>
class side
{
public:
    using value_type = T;
    explicit side(std::size_t capacity) : pool_(capacity) {}
    MEMORY_POOL_ALWAYS_INLINE T* make() { return pool_.new_block_pt(); }
    MEMORY_POOL_ALWAYS_INLINE void destroy(T* made) { pool_.delete_block_pt(made); }

private:
    Pool pool_;
};

template <class T>
using stand_in = side<T, indexed_array::pool<T>>;
template <class T>
using drop_in = side<T, memory_pool::MemoryPool<T>>;

template <class Side>
void pair(benchmark::State& state, std::size_t capacity)
{
    Side pool(capacity);
    for (auto _ : state) {
        auto* object = pool.make();
        benchmark::DoNotOptimize(object);
        pool.destroy(object);
        benchmark::ClobberMemory();
    }
    cells::set_per_block(state, 1);
}

template <std::size_t Size>
void add_cells(std::size_t n)
{
    using a = stand_in<record<Size>>;
    using b = drop_in<record<Size>>;
    const std::string size = std::to_string(Size);
    constexpr auto manual = cells::timing::manual;
    cells::add("creation", size, n, object_rows::creation<a>, object_rows::creation<b>, manual);
    cells::add("destruction", size, n, object_rows::destruction<a>, object_rows::destruction<b>, manual);
    cells::add("sequential_allocation", size, n, object_rows::sequential_allocation<a>,
               object_rows::sequential_allocation<b>, manual);
    cells::add("random_allocation", size, n, object_rows::random_allocation<a>, object_rows::random_allocation<b>,
               manual);
    cells::add("sequential_deallocation", size, n, object_rows::sequential_deallocation<a>,
               object_rows::sequential_deallocation<b>, manual);
    cells::add("random_deallocation", size, n, object_rows::random_deallocation<a>, object_rows::random_deallocation<b>,
               manual);
    cells::add("pair", size, n, pair<a>, pair<b>);
}

/// Makes malloc keep freed memory, as in a program that creates one pool after the other. By default, a difference of a
/// few bytes decides whether malloc returns the memory of several pools to the OS, which would dominate the times.
void keep_memory()
{
#if defined(__GLIBC__)
    constexpr int most = 32 * 1024 * 1024; // The maximum that mallopt accepts.
    (void)mallopt(M_MMAP_THRESHOLD, most);
    (void)mallopt(M_TRIM_THRESHOLD, -1);
#endif
}

bool add_rows()
{
    keep_memory();
    for (std::size_t n = 8; n <= 32768; n *= 4) {
        add_cells<16>(n);
        add_cells<1024>(n);
    }
    return context::add();
}

[[maybe_unused]] const bool rows_added = add_rows();
} // namespace
