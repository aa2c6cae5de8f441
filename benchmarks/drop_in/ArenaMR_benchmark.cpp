// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The drop-in for ArenaMR against the original's algorithm, on the shapes of the original's two benchmarks.
///
///     clear_and_refill             fill and clear a std::pmr container ten times, with a new resource over new and
///                                  delete
///     clear_and_refill_in_buffer   as above, with fewer elements, over a monotonic buffer of fixed size
///
/// A row is named <shape>/<container>/<n>/<side>, where n is the number of elements. Its time covers all ten rounds.
/// Every container calls its resource through an opaque pointer, so calls cannot be devirtualised.
#include <ArenaMR/ArenaMR.hpp>

#include "context.hpp"
#include "stand_ins/list_of_arenas.hpp"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <list>
#include <map>
#include <memory_resource>
#include <string>
#include <vector>

namespace {
constexpr int rounds = 10;
constexpr std::size_t bytes_per_arena = 10'000;

/// The number of arenas for `elements` elements, given an upper bound of bytes per element.
constexpr std::size_t bytes_per_element = 200;
constexpr std::size_t arenas_for(int elements)
{
    return static_cast<std::size_t>(elements) * bytes_per_element / bytes_per_arena + 1;
}

// The containers. Each fills itself with `elements` elements, and has a size and `clear`.

struct list : std::pmr::list<int>
{
    using std::pmr::list<int>::list;
    void fill(int elements)
    {
        for (int i = 0; i != elements; ++i)
            push_back(i);
    }
};

struct map : std::pmr::map<int, int>
{
    using std::pmr::map<int, int>::map;
    void fill(int elements)
    {
        for (int i = 0; i != elements; ++i)
            emplace_hint(end(), i, i);
    }
};

/// Keys that do not correlate with the order of addresses.
struct shuffled_map : std::pmr::map<unsigned, int>
{
    using std::pmr::map<unsigned, int>::map;
    void fill(int elements)
    {
        for (int i = 0; i != elements; ++i)
            emplace(static_cast<unsigned>(i) * 2'654'435'761U, i);
    }
};

/// Strings beyond the small-string optimisation.
struct strings : std::pmr::list<std::pmr::string>
{
    using std::pmr::list<std::pmr::string>::list;
    void fill(int elements)
    {
        for (int i = 0; i != elements; ++i)
            emplace_back("longer than what fits inside of a string");
    }
};

/// Each vector grows from empty to 16 numbers.
struct vectors : std::pmr::list<std::pmr::vector<int>>
{
    using std::pmr::list<std::pmr::vector<int>>::list;
    void fill(int elements)
    {
        for (int i = 0; i != elements; ++i) {
            auto& added = emplace_back();
            for (int number = 0; number != 16; ++number)
                added.push_back(number);
        }
    }
};

/// Outgrows the arenas, and frees the old memory at each growth.
struct vector : std::pmr::vector<int>
{
    using std::pmr::vector<int>::vector;
    void fill(int elements)
    {
        for (int i = 0; i != elements; ++i)
            push_back(i);
    }
    void clear()
    {
        std::pmr::vector<int>::clear();
        shrink_to_fit();
    }
};

template <class Container>
bool fill_and_clear(std::pmr::memory_resource* resource, int elements)
{
    benchmark::DoNotOptimize(resource);
    Container container(resource);
    for (int round = 0; round != rounds; ++round) {
        container.fill(elements);
        if (container.size() != static_cast<std::size_t>(elements))
            return false;
        container.clear();
    }
    return true;
}

template <class Resource, class Container>
void clear_and_refill(benchmark::State& state, int elements)
{
    for ([[maybe_unused]] auto iteration : state) {
        Resource resource(arenas_for(elements), bytes_per_arena, std::pmr::new_delete_resource());
        if (!fill_and_clear<Container>(&resource, elements))
            state.SkipWithError("wrong size");
    }
}

template <class Resource, class Container>
void clear_and_refill_in_buffer(benchmark::State& state, int elements)
{
    const std::size_t for_arenas = arenas_for(elements) * (bytes_per_arena + 64) + 1'000;
    const std::size_t for_oversized_blocks = static_cast<std::size_t>(elements) * rounds * 4 * sizeof(int);
    std::vector<std::byte> buffer(for_arenas + for_oversized_blocks);
    for ([[maybe_unused]] auto iteration : state) {
        std::pmr::monotonic_buffer_resource upstream(buffer.data(), buffer.size(), std::pmr::null_memory_resource());
        Resource resource(arenas_for(elements), bytes_per_arena, &upstream);
        if (!fill_and_clear<Container>(&resource, elements))
            state.SkipWithError("wrong size");
    }
}

template <class Resource, class Container>
void add_rows(const std::string& container, const std::string& side)
{
    for (const int elements : {10'000, 100'000})
        benchmark::RegisterBenchmark(
            ("clear_and_refill/" + container + '/' + std::to_string(elements) + '/' + side).c_str(),
            [elements](benchmark::State& state) { clear_and_refill<Resource, Container>(state, elements); });
    for (const int elements : {100, 5'000})
        benchmark::RegisterBenchmark(
            ("clear_and_refill_in_buffer/" + container + '/' + std::to_string(elements) + '/' + side).c_str(),
            [elements](benchmark::State& state) { clear_and_refill_in_buffer<Resource, Container>(state, elements); });
}

template <class Resource>
void add_side(const std::string& side)
{
    add_rows<Resource, list>("list", side);
    add_rows<Resource, map>("map", side);
    add_rows<Resource, shuffled_map>("shuffled_map", side);
    add_rows<Resource, strings>("strings", side);
    add_rows<Resource, vectors>("vectors", side);
    add_rows<Resource, vector>("vector", side);
}

[[maybe_unused]] const bool rows_are_added = [] {
    context::add();
    add_side<stand_ins::list_of_arenas>("stand_in");
    add_side<arena_mr::UnsynchronizedArenaMR>("drop_in");
    return true;
}();
} // namespace
