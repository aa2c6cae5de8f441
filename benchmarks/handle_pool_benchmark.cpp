// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Objects that are looked up by a key that may outlive them: a handle, or a number in a hash table.
///
///     get       look up n live objects in random order, and read each
///     stale     look up n destroyed objects
///     pair      create an object and destroy it, with n others alive
///     batch     create 64 objects and destroy them in that order, with n others alive
///     iterate   read n live objects, in the order of the pool
///
/// A row is named <shape>/<side>/<n>; `per_block` is the time per object. `slot_map` is a typical slot map: a
/// std::vector of { generation, next free, value }. Its objects move when the vector grows, which invalidates pointers
/// to them. Sides such as `handle_pool_bulk` use the bulk functions.
#include <memory_pool/handle_pool.hpp>
#include <memory_pool/concurrent_handle_pool.hpp>

#include "context.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {
struct particle
{
    std::uint64_t id;
    std::array<double, 5> state{};
};

// The sides: create(id), destroy(handle), get(handle) -> particle* or nullptr, and the sum of all ids.

template <class Pool>
class pool_side
{
public:
    using handle = typename Pool::handle;
    handle create(std::uint64_t id) { return pool_.create(particle{id}); }
    void destroy(handle destroyed) { (void)pool_.destroy(destroyed); }
    particle* get(handle of) { return pool_.get(of); }
    std::uint64_t sum()
    {
        std::uint64_t sum = 0;
        pool_.for_each([&](const particle& each) { sum += each.id; });
        return sum;
    }
    Pool& objects() { return pool_; }

private:
    Pool pool_;
};

using handle_pool = pool_side<memory_pool::handle_pool<particle>>;
using concurrent_handle_pool = pool_side<memory_pool::concurrent_handle_pool<particle>>;

/// concurrent_handle_pool, whose objects are read through `visit`.
class visited
{
public:
    using pool = memory_pool::concurrent_handle_pool<particle>;
    using handle = pool::handle;
    handle create(std::uint64_t id) { return pool_.create(particle{id}); }
    pool& objects() { return pool_; }

private:
    pool pool_;
};

class slot_map
{
public:
    struct handle
    {
        std::uint32_t index;
        std::uint32_t generation;
    };

    handle create(std::uint64_t id)
    {
        if (free_ == none) {
            free_ = static_cast<std::uint32_t>(slots_.size());
            slots_.push_back({0, none, {}});
        }
        const std::uint32_t index = free_;
        slot& used = slots_[index];
        free_ = used.next_free;
        used.value = particle{id};
        return {index, ++used.generation};
    }

    void destroy(handle destroyed)
    {
        if (get(destroyed) == nullptr)
            return;
        slot& freed = slots_[destroyed.index];
        ++freed.generation;
        freed.next_free = std::exchange(free_, destroyed.index);
    }

    particle* get(handle of)
    {
        if (of.index >= slots_.size() || slots_[of.index].generation != of.generation)
            return nullptr;
        return &slots_[of.index].value;
    }

    std::uint64_t sum()
    {
        std::uint64_t sum = 0;
        for (const slot& each : slots_)
            if (each.generation % 2 != 0)
                sum += each.value.id;
        return sum;
    }

private:
    static constexpr std::uint32_t none = 0xffff'ffff;
    struct slot
    {
        std::uint32_t generation;
        std::uint32_t next_free;
        particle value;
    };

    std::vector<slot> slots_;
    std::uint32_t free_ = none;
};

/// std::unordered_map<id, unique_ptr>.
class hash_table
{
public:
    using handle = std::uint64_t;
    handle create(std::uint64_t id)
    {
        objects_.emplace(++last_, std::make_unique<particle>(particle{id}));
        return last_;
    }
    void destroy(handle destroyed) { objects_.erase(destroyed); }
    particle* get(handle of)
    {
        const auto found = objects_.find(of);
        return found != objects_.end() ? found->second.get() : nullptr;
    }
    std::uint64_t sum()
    {
        std::uint64_t sum = 0;
        for (const auto& each : objects_)
            sum += each.second->id;
        return sum;
    }

private:
    std::unordered_map<std::uint64_t, std::unique_ptr<particle>> objects_;
    std::uint64_t last_ = 0;
};

/// A side with objects in it, and their handles in random order.
template <class Side>
struct filled
{
    explicit filled(std::size_t count)
    {
        handles.reserve(count);
        for (std::size_t i = 0; i != count; ++i)
            handles.push_back(side.create(i));
        std::shuffle(handles.begin(), handles.end(), std::mt19937(2026));
    }

    Side side;
    std::vector<typename Side::handle> handles;
};

std::size_t count_of(const benchmark::State& state)
{
    return static_cast<std::size_t>(state.range(0));
}

void report(benchmark::State& state, std::size_t objects)
{
    state.counters["per_block"] = benchmark::Counter(
        static_cast<double>(objects), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

template <class Side>
std::uint64_t look_up(Side& side, typename Side::handle of)
{
    const particle* const object = side.get(of);
    return object != nullptr ? object->id : 1;
}

std::uint64_t look_up(visited& side, visited::handle of)
{
    return side.objects().visit(of, [](const particle& object) { return object.id; }).value_or(1);
}

template <class Side>
void look_up_all(benchmark::State& state, Side& side, const std::vector<typename Side::handle>& handles)
{
    for (auto _ : state) {
        std::uint64_t sum = 0;
        for (const auto each : handles)
            sum += look_up(side, each);
        benchmark::DoNotOptimize(sum);
    }
    report(state, handles.size());
}

template <class Side>
void get(benchmark::State& state)
{
    filled<Side> all(count_of(state));
    look_up_all(state, all.side, all.handles);
}

template <class Side>
void stale(benchmark::State& state)
{
    filled<Side> all(count_of(state));
    for (const auto each : all.handles)
        all.side.destroy(each);
    for (std::size_t i = 0; i != all.handles.size(); ++i)
        (void)all.side.create(i); // In the slots of the destroyed objects.
    look_up_all(state, all.side, all.handles);
}

template <class Side>
void pair(benchmark::State& state)
{
    filled<Side> all(count_of(state));
    constexpr std::size_t pairs = 1000;
    for (auto _ : state)
        for (std::size_t i = 0; i != pairs; ++i) {
            auto handle = all.side.create(i);
            benchmark::DoNotOptimize(handle);
            all.side.destroy(handle);
        }
    report(state, pairs);
}

template <class Side>
void batch(benchmark::State& state)
{
    filled<Side> all(count_of(state));
    std::array<typename Side::handle, 64> handles{};
    for (auto _ : state) {
        for (std::size_t i = 0; i != handles.size(); ++i)
            handles[i] = all.side.create(i);
        benchmark::DoNotOptimize(handles);
        for (const auto each : handles)
            all.side.destroy(each);
    }
    report(state, handles.size());
}

template <class Pool>
void batch_by_bulk_forms(benchmark::State& state)
{
    filled<pool_side<Pool>> all(count_of(state));
    std::array<typename Pool::handle, 64> handles{};
    Pool& pool = all.side.objects();
    for (auto _ : state) {
        (void)pool.create_bulk(handles.data(), handles.size(), std::uint64_t{1});
        benchmark::DoNotOptimize(handles);
        (void)pool.destroy_bulk(handles.data(), handles.size());
    }
    report(state, handles.size());
}

template <class Side>
void iterate(benchmark::State& state)
{
    filled<Side> all(count_of(state));
    for (auto _ : state)
        benchmark::DoNotOptimize(all.side.sum());
    report(state, all.handles.size());
}

#define MEMORY_POOL_NAMED_ROWS(name, shape, side) BENCHMARK_TEMPLATE(shape, side)->Name(name)->Arg(1000)->Arg(100'000)
#define MEMORY_POOL_ROWS(shape, side) MEMORY_POOL_NAMED_ROWS(#shape "/" #side, shape, side)
#define MEMORY_POOL_SHAPES(side)                                                                                       \
    MEMORY_POOL_ROWS(get, side);                                                                                       \
    MEMORY_POOL_ROWS(stale, side);                                                                                     \
    MEMORY_POOL_ROWS(pair, side);                                                                                      \
    MEMORY_POOL_ROWS(batch, side);                                                                                     \
    MEMORY_POOL_ROWS(iterate, side)

MEMORY_POOL_SHAPES(handle_pool);
MEMORY_POOL_SHAPES(concurrent_handle_pool);
MEMORY_POOL_ROWS(get, visited);
MEMORY_POOL_NAMED_ROWS("batch/handle_pool_bulk", batch_by_bulk_forms, memory_pool::handle_pool<particle>);
MEMORY_POOL_NAMED_ROWS("batch/concurrent_handle_pool_bulk", batch_by_bulk_forms,
                       memory_pool::concurrent_handle_pool<particle>);
MEMORY_POOL_SHAPES(slot_map);
MEMORY_POOL_SHAPES(hash_table);

[[maybe_unused]] const bool context_added = context::add();
} // namespace
