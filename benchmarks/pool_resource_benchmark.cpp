// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Containers over unsynchronized_pool_resource, over the std::pmr class of that name, and over new and delete.
///
///     list, map, random_map, unordered_map, strings   the jobs in container_jobs.hpp
///     allocator_list, allocator_map                   list and filled_map over one resource, with resource_allocator,
///                                                     which is typed, and with std::pmr::polymorphic_allocator
///
/// Rows are <shape>/<side>. `per_block` is the time to create and destroy an element. The resource is created before
/// the first container, and has all the memory it needs.
///
/// All sides but resource_allocator call their resource through a pointer to std::pmr::memory_resource that the
/// compiler cannot devirtualize.
#include <memory_pool/pool_resource.hpp>
#include <memory_pool/allocator.hpp>
#include <memory_pool/arena_resource.hpp>

#include "container_jobs.hpp"
#include "context.hpp"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string>

namespace {
/// Measures a job. Reports an error instead of a time if any result was wrong.
template <class Job, class Allocator>
void measure(benchmark::State& state, const Allocator& allocator)
{
    const std::uint64_t expected = Job{}(std::pmr::polymorphic_allocator<std::byte>(std::pmr::new_delete_resource()));
    bool is_right = Job{}(allocator) == expected;
    for (auto _ : state)
        is_right = Job{}(allocator) == expected && is_right;
    state.counters["per_block"] =
        benchmark::Counter(static_cast<double>(jobs::operations),
                           benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
    if (!is_right)
        state.SkipWithError("wrong results");
}

template <class Job>
void measure_over(benchmark::State& state, std::pmr::memory_resource* resource)
{
    benchmark::DoNotOptimize(resource);
    measure<Job>(state, std::pmr::polymorphic_allocator<std::byte>(resource));
}

template <class Job, class Resource>
void polymorphic(benchmark::State& state)
{
    Resource resource(std::pmr::new_delete_resource());
    measure_over<Job>(state, &resource);
}

template <class Job>
void new_delete(benchmark::State& state)
{
    measure_over<Job>(state, std::pmr::new_delete_resource());
}

template <class Job, class Resource>
void concrete(benchmark::State& state)
{
    Resource resource(std::pmr::new_delete_resource());
    measure<Job>(state, memory_pool::resource_allocator<std::byte, Resource>(resource));
}

void add(const std::string& shape, const std::string& side, void (*run)(benchmark::State&))
{
    benchmark::RegisterBenchmark((shape + '/' + side).c_str(), run);
}

template <class Job>
void add_job(const std::string& shape)
{
    add(shape, "new_delete", new_delete<Job>);
    add(shape, "unsynchronized_pool_resource", polymorphic<Job, memory_pool::unsynchronized_pool_resource>);
    add(shape, "unsynchronized_arena_resource", polymorphic<Job, memory_pool::unsynchronized_arena_resource>);
    add(shape, "pmr_unsynchronized_pool", polymorphic<Job, std::pmr::unsynchronized_pool_resource>);
}

template <class Job>
void add_allocators(const std::string& shape)
{
    add(shape, "resource_allocator", concrete<Job, memory_pool::unsynchronized_pool_resource>);
    add(shape, "polymorphic_allocator", polymorphic<Job, memory_pool::unsynchronized_pool_resource>);
}

bool add_rows()
{
    add_job<jobs::list>("list");
    add_job<jobs::map>("map");
    add_job<jobs::random_map>("random_map");
    add_job<jobs::unordered_map>("unordered_map");
    add_job<jobs::strings>("strings");
    add_allocators<jobs::list>("allocator_list");
    add_allocators<jobs::filled_map>("allocator_map");
    return context::add();
}

[[maybe_unused]] const bool rows_added = add_rows();
} // namespace
