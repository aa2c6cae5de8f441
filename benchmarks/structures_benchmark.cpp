// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Node-based data structures, each over pools, over an arena, and over new and delete. Pools and arenas allocate their
/// memory with new and delete, too, so each side depends on the malloc of the process: compare.py --mallocs runs the
/// program under several mallocs.
///
///     hash_table    inserts n nodes, looks up each, and destroys them one by one
///     list          appends n nodes, visits all, and destroys them in order
///     filled_pool   creates and writes n objects, and drops them all at once where possible
///
/// Rows are <shape>/<side>/<n>. Each repetition creates pool and structure, and destroys both. `per_block` is the time
/// per node.
#include <memory_pool/arena_resource.hpp>
#include <memory_pool/object_pool.hpp>
#include <memory_pool/pool_resource.hpp>

#include "context.hpp"

#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

namespace {
// The sides, which create and destroy nodes. A side that `drops` nodes need not destroy them one by one.

template <class Node>
class new_delete
{
public:
    static constexpr bool drops = false;
    Node* make() { return new Node; }
    void destroy(Node* node) { delete node; }
};

template <class Node>
class object_pool
{
public:
    static constexpr bool drops = true;
    Node* make() { return pool_.create(); }
    void destroy(Node* node) { pool_.destroy(node); }

private:
    memory_pool::object_pool<Node> pool_;
};

template <class Resource, class Node>
class over
{
public:
    static constexpr bool drops = true;
    Node* make() { return ::new (resource_.allocate(sizeof(Node), alignof(Node))) Node; }
    void destroy(Node* node) { resource_.deallocate(node, sizeof(Node), alignof(Node)); }

private:
    static_assert(std::is_trivially_destructible_v<Node>, "the resource gets the memory of what is not destroyed");
    Resource resource_{std::pmr::new_delete_resource()};
};

template <class Node>
using unsynchronized_arena_resource = over<memory_pool::unsynchronized_arena_resource, Node>;
template <class Node>
using unsynchronized_pool_resource = over<memory_pool::unsynchronized_pool_resource, Node>;
template <class Node>
using pmr_unsynchronized_pool = over<std::pmr::unsynchronized_pool_resource, Node>;

struct entry
{
    std::uint64_t key = 0;
    std::uint64_t value = 0;
    entry* next = nullptr;
};

/// A hash table with as many chains as entries.
template <template <class> class Side>
class table
{
public:
    explicit table(std::size_t entries) : chains_(entries) {}
    table(const table&) = delete;
    table& operator=(const table&) = delete;

    ~table()
    {
        for (entry* chain : chains_)
            while (chain != nullptr) {
                entry* const next = chain->next;
                nodes_.destroy(chain);
                chain = next;
            }
    }

    void insert(std::uint64_t key, std::uint64_t value)
    {
        entry*& chain = chain_of(key);
        entry* const made = nodes_.make();
        *made = {key, value, chain};
        chain = made;
    }

    std::uint64_t find(std::uint64_t key)
    {
        const entry* found = chain_of(key);
        while (found != nullptr && found->key != key)
            found = found->next;
        return found == nullptr ? 0 : found->value;
    }

private:
    entry*& chain_of(std::uint64_t key)
    {
        const std::uint64_t hash = key * 0x9E37'79B9'7F4A'7C15U >> 32U;
        return chains_[hash * chains_.size() >> 32U];
    }

    std::vector<entry*> chains_;
    Side<entry> nodes_;
};

struct hash_table
{
    template <template <class> class Side>
    static std::uint64_t sum_of(std::size_t count)
    {
        table<Side> numbers(count);
        for (std::uint64_t i = 1; i <= count; ++i)
            numbers.insert(i, i);
        std::uint64_t sum = 0;
        for (std::uint64_t i = 1; i <= count; ++i)
            sum += numbers.find(i);
        return sum;
    }
};

struct list
{
    template <template <class> class Side>
    static std::uint64_t sum_of(std::size_t count)
    {
        Side<entry> nodes;
        entry* first = nullptr;
        entry** end = &first;
        for (std::uint64_t i = 1; i <= count; ++i) {
            *end = nodes.make();
            (*end)->value = i;
            end = &(*end)->next;
        }
        std::uint64_t sum = 0;
        for (const entry* each = first; each != nullptr; each = each->next)
            sum += each->value;
        while (first != nullptr) {
            entry* const next = first->next;
            nodes.destroy(first);
            first = next;
        }
        return sum;
    }
};

struct filled_pool
{
    struct object
    {
        std::array<std::uint64_t, 8> words;
    };

    template <template <class> class Side>
    static std::uint64_t sum_of(std::size_t count)
    {
        Side<object> objects;
        std::vector<object*> made(count);
        for (std::uint64_t i = 0; i != count; ++i) {
            made[i] = objects.make();
            made[i]->words.fill(i + 1);
        }
        std::uint64_t sum = 0;
        for (const object* each : made)
            sum += each->words.back();
        if constexpr (!Side<object>::drops)
            for (object* each : made)
                objects.destroy(each);
        return sum;
    }
};

/// Ends every row: reports an error instead of a time if any result was wrong.
template <class Shape, template <class> class Side>
void run(benchmark::State& state)
{
    const auto count = static_cast<std::size_t>(state.range(0));
    bool is_right = true;
    for (auto _ : state)
        is_right = Shape::template sum_of<Side>(count) == count * (count + 1) / 2 && is_right;
    state.counters["per_block"] = benchmark::Counter(
        static_cast<double>(count), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
    if (!is_right)
        state.SkipWithError("wrong results");
}

template <template <class> class Side>
void add(const std::string& side)
{
    benchmark::RegisterBenchmark(("hash_table/" + side).c_str(), run<hash_table, Side>)
        ->Arg(1'000)
        ->Arg(10'000)
        ->Arg(100'000);
    benchmark::RegisterBenchmark(("list/" + side).c_str(), run<list, Side>)->Arg(100'000);
    benchmark::RegisterBenchmark(("filled_pool/" + side).c_str(), run<filled_pool, Side>)->Arg(1'000);
}

bool add_rows()
{
    add<new_delete>("new_delete");
    add<object_pool>("object_pool");
    add<unsynchronized_arena_resource>("unsynchronized_arena_resource");
    add<unsynchronized_pool_resource>("unsynchronized_pool_resource");
    add<pmr_unsynchronized_pool>("pmr_unsynchronized_pool");
    return context::add();
}

[[maybe_unused]] const bool rows_added = add_rows();
} // namespace
