// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Containers in several threads over one synchronized_pool_resource, over one std::pmr resource of the same name, and
/// over new and delete. Each thread has its own container.
///
///     list_in_threads, map_in_threads, unordered_map_in_threads, strings_in_threads
///                           the jobs in container_jobs.hpp, in each thread
///
/// Rows are <shape>/<side>/<threads>. `per_block` is the CPU time to create and destroy an element, so a thread that
/// sleeps on a lock costs nothing: see thread_team.hpp. The resource is created before the first container, and has all
/// the memory it needs.
///
/// glibc's malloc takes shortcuts in a process that never had a second thread, so the program starts and joins one
/// before the measurements.
#include <memory_pool/pool_resource.hpp>

#include "container_jobs.hpp"
#include "context.hpp"
#include "thread_team.hpp"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <stdexcept>
#include <string>
#include <thread>

namespace {
/// Measures a job. Reports an error instead of a time if any result was wrong.
template <class Job>
void measure_over(benchmark::State& state, std::pmr::memory_resource* resource)
{
    const std::uint64_t expected = Job{}(std::pmr::polymorphic_allocator<std::byte>(std::pmr::new_delete_resource()));
    const auto do_job = [resource, expected] {
        if (Job{}(std::pmr::polymorphic_allocator<std::byte>(resource)) != expected)
            throw std::runtime_error("wrong results");
    };
    together::team team(together::threads_of(state));
    const auto iterations = static_cast<std::size_t>(state.max_iterations);
    together::measure(
        state, team, [&](std::size_t) { do_job(); },
        [&](std::size_t) {
            for (std::size_t i = 0; i != iterations; ++i)
                do_job();
        });
    state.counters["per_block"] =
        team.processor_seconds() / static_cast<double>(iterations * jobs::operations * team.size());
    together::finish(state, team);
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

void add(const std::string& shape, const std::string& side, void (*run)(benchmark::State&))
{
    benchmark::RegisterBenchmark((shape + '/' + side).c_str(), run)->Arg(2)->Arg(4)->UseManualTime();
}

template <class Job>
void add_job(const std::string& shape)
{
    add(shape, "new_delete", new_delete<Job>);
    add(shape, "synchronized_pool_resource", polymorphic<Job, memory_pool::synchronized_pool_resource>);
    add(shape, "pmr_synchronized_pool", polymorphic<Job, std::pmr::synchronized_pool_resource>);
}

bool add_rows()
{
    std::thread([] {}).join(); // See the head of this file.

    add_job<jobs::list>("list_in_threads");
    add_job<jobs::map>("map_in_threads");
    add_job<jobs::unordered_map>("unordered_map_in_threads");
    add_job<jobs::strings>("strings_in_threads");
    return context::add();
}

[[maybe_unused]] const bool rows_added = add_rows();
} // namespace
