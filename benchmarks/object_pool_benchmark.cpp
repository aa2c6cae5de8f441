// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Objects: what it costs to make and destroy a pool for n of them, and to make and destroy n objects in it.
///
///     creation                  make a pool with room for n objects, and the first object, as some pools wait for that
///     destruction               destroy such a pool, in which no object is alive
///     sequential_allocation     make n objects, in a pool that n were destroyed in, in the order they were made
///     random_allocation         ... in an order that is random, but the same for every side
///     sequential_deallocation   destroy n objects in the order they were made
///     random_deallocation       ... in that random order
///
/// A row is called <shape>/<side>/<n>. Its time is that of one pool. Only the step that the row is named after is timed;
/// each is taken for several small pools in one go, and what reading the clock takes is subtracted. `per_block` is the time
/// divided by n, where n objects are made or destroyed.
#define MEMORY_POOL_MAX_NUMBER_OF_OBJECTS_IN_POOL 32768

#include <memory_pool/object_pool.hpp>

#include "competitors.hpp"
#include "context.hpp"

#include <benchmark/benchmark.h>
#include <memory_pool.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace
{
class entity
{
public:
    entity() = default;
    entity(const entity&) = default;
    entity& operator=(const entity&) = default;
    virtual ~entity() = default;

    std::uint64_t id = 0;
};

struct vector3
{
    double x = 0;
    double y = 0;
    double z = 0;
};

class particle final : public entity
{
public:
    vector3 position;
    vector3 velocity;
};
static_assert(sizeof(particle) == 64, "the figures in the documentation are for this size");

// The sides: a pool for so many particles, that makes and destroys them.

class object_pool
{
public:
    explicit object_pool(std::size_t capacity) : pool_(options(capacity)) {}
    particle* make() { return pool_.create(); }
    void destroy(particle* object) { pool_.destroy(object); }

private:
    static memory_pool::pool_options options(std::size_t capacity)
    {
        memory_pool::pool_options options;
        options.initial_capacity = capacity;
        return options;
    }

    memory_pool::object_pool<particle> pool_;
};

/// The interface of the library that this one takes the place of.
class drop_in
{
public:
    explicit drop_in(std::size_t capacity) : pool_(capacity) {}
    particle* make() { return pool_.new_block_pt(); }
    void destroy(particle* object) { pool_.delete_block_pt(object); }

private:
    memory_pool::MemoryPool<particle> pool_;
};

class new_delete
{
public:
    explicit new_delete(std::size_t) {}
    particle* make() { return new particle; }
    void destroy(particle* object) { delete object; }
};

#if defined(MEMORY_POOL_BENCHMARK_BOOST)
class boost_object_pool
{
public:
    explicit boost_object_pool(std::size_t capacity) : pool_(capacity) {}
    particle* make() { return pool_.construct(); }
    void destroy(particle* object) { pool_.destroy(object); }

private:
    boost::object_pool<particle> pool_;
};
#endif

/// Objects in the blocks of a pool that knows only of blocks.
template <class Blocks>
class in_blocks_of
{
public:
    explicit in_blocks_of(std::size_t capacity) : blocks_(capacity) {}
    particle* make() { return ::new (blocks_.allocate()) particle; }
    void destroy(particle* object)
    {
        object->~particle();
        blocks_.deallocate(object);
    }

private:
    Blocks blocks_;
};

/// No pool at all: the objects side by side in one piece of memory, in the order they are made. What this takes is the
/// construction and the memory itself; no pool can be expected to take less.
class bare_array
{
public:
    explicit bare_array(std::size_t capacity) : objects_(capacity) {}
    particle* make()
    {
        if (next_ == objects_.size())
            next_ = 0;
        return ::new (&objects_[next_++]) particle;
    }
    void destroy(particle* object) { object->~particle(); }

private:
    struct storage
    {
        alignas(particle) std::array<unsigned char, sizeof(particle)> bytes;
    };
    std::vector<storage> objects_;
    std::size_t next_ = 0;
};

using block_pool = in_blocks_of<competitors::block_pool<sizeof(particle)>>;

/// Several pools of one side, and the objects made in them.
template <class Side>
class pools
{
public:
    explicit pools(std::size_t capacity, std::size_t fewest_pools = 1)
        : capacity_(capacity), pools_(std::clamp(blocks_in_a_step / capacity, fewest_pools, most_pools)),
          objects_(pools_.size() * capacity), order_(capacity)
    {
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        // The same order for every side and in every run is the point.
        std::shuffle(order_.begin(), order_.end(), std::mt19937(2026));
        create();
        destroy_first_objects();
    }

    std::size_t count() const { return pools_.size(); }

    void create()
    {
        for (std::size_t i = 0; i != pools_.size(); ++i) {
            pools_[i].emplace(capacity_);
            objects_[i] = pools_[i]->make();
        }
    }

    void destroy_first_objects()
    {
        for (std::size_t i = 0; i != pools_.size(); ++i)
            pools_[i]->destroy(objects_[i]);
    }

    void destroy()
    {
        for (std::optional<Side>& pool : pools_)
            pool.reset();
    }

    void fill()
    {
        particle** slot = objects_.data();
        for (std::optional<Side>& pool : pools_)
            for (particle** const end = slot + capacity_; slot != end; ++slot)
                *slot = pool->make();
    }

    void drain_in_order()
    {
        particle** slot = objects_.data();
        for (std::optional<Side>& pool : pools_)
            for (particle** const end = slot + capacity_; slot != end; ++slot)
                pool->destroy(*slot);
    }

    void drain_at_random()
    {
        particle** first = objects_.data();
        for (std::optional<Side>& pool : pools_) {
            for (const std::size_t position : order_)
                pool->destroy(first[position]);
            first += capacity_;
        }
    }

    /// Returns: whether as many objects as the pools have room for are distinct, made by their constructor, and keep
    ///   what is written to them.
    bool hold_data()
    {
        fill();
        bool hold = true;
        for (std::size_t i = 0; i != objects_.size(); ++i) {
            hold = hold && objects_[i]->id == 0 && objects_[i]->velocity.z == 0;
            objects_[i]->id = i + 1;
            objects_[i]->velocity.z = static_cast<double>(i + 1);
        }
        for (std::size_t i = 0; i != objects_.size(); ++i)
            hold = hold && objects_[i]->id == i + 1 && objects_[i]->velocity.z == static_cast<double>(i + 1);
        drain_in_order();
        return hold;
    }

private:
    /// Enough for a step to take as long as reading the clock does, or longer; few enough to stay in the cache.
    static constexpr std::size_t blocks_in_a_step = 512;
    static constexpr std::size_t most_pools = 64;

    std::size_t capacity_;
    std::vector<std::optional<Side>> pools_;
    std::vector<particle*> objects_;
    std::vector<std::size_t> order_;
};

/// Returns: seconds that this thread has run, as far as the system says; so that what else the machine does, does not
///   count.
double thread_seconds()
{
#if defined(CLOCK_THREAD_CPUTIME_ID)
    std::timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
#else
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
#endif
}

/// Returns: the seconds between reading the clock and reading it again.
template <class Step>
double seconds_of(Step&& step)
{
    const double start = thread_seconds();
    benchmark::ClobberMemory();
    step();
    benchmark::ClobberMemory();
    return thread_seconds() - start;
}

/// Returns: what seconds_of says of nothing, as a rule.
double seconds_of_nothing()
{
    std::array<double, 1001> samples{};
    for (double& sample : samples)
        sample = seconds_of([] {});
    std::nth_element(samples.begin(), samples.begin() + samples.size() / 2, samples.end());
    return samples[samples.size() / 2];
}

/// Adds the time that `step` takes to the figure.
template <class Step>
void time(benchmark::State& state, Step&& step)
{
    static const double overhead = seconds_of_nothing();
    state.SetIterationTime(std::max(seconds_of(step) - overhead, 0.0));
}

/// Returns: whether to go on, with an iteration for each pool.
template <class Side>
bool goes_on(benchmark::State& state, const pools<Side>& pools)
{
    return state.KeepRunningBatch(static_cast<benchmark::IterationCount>(pools.count()));
}

std::size_t capacity_of(const benchmark::State& state)
{
    return static_cast<std::size_t>(state.range(0));
}

/// Every row ends with this: a wrong result is a failure, not a figure.
template <class Side>
void finish(benchmark::State& state, pools<Side>& pools, std::size_t blocks)
{
    if (!pools.hold_data())
        state.SkipWithError("objects overlap, or are not what their constructor makes");
    state.counters["per_block"] = benchmark::Counter(
        static_cast<double>(blocks), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
    state.SetComplexityN(state.range(0));
}

template <class Side>
void creation(benchmark::State& state)
{
    pools<Side> pools(capacity_of(state), 8); // One pool is too short to time.
    while (goes_on(state, pools)) {
        pools.destroy();
        time(state, [&pools] { pools.create(); });
        pools.destroy_first_objects();
    }
    finish(state, pools, 1);
}

template <class Side>
void destruction(benchmark::State& state)
{
    pools<Side> pools(capacity_of(state), 8); // One pool is too short to time.
    while (goes_on(state, pools)) {
        time(state, [&pools] { pools.destroy(); });
        pools.create();
        pools.destroy_first_objects();
    }
    finish(state, pools, 1);
}

template <class Side, void (pools<Side>::*Drain)()>
void allocation(benchmark::State& state)
{
    pools<Side> pools(capacity_of(state));
    while (goes_on(state, pools)) {
        pools.fill();
        (pools.*Drain)();
        time(state, [&pools] { pools.fill(); });
        pools.drain_in_order();
    }
    finish(state, pools, capacity_of(state));
}

template <class Side, void (pools<Side>::*Drain)()>
void deallocation(benchmark::State& state)
{
    pools<Side> pools(capacity_of(state));
    while (goes_on(state, pools)) {
        pools.fill();
        time(state, [&pools] { (pools.*Drain)(); });
    }
    finish(state, pools, capacity_of(state));
}

constexpr std::int64_t fewest = 8;
constexpr std::int64_t most = 32768;

void add(const char* shape, const char* side, void (*run)(benchmark::State&), std::int64_t most_objects = most)
{
    auto* const rows = benchmark::RegisterBenchmark((std::string(shape) + '/' + side).c_str(), run);
    for (std::int64_t objects = fewest; objects <= most_objects; objects *= 4)
        rows->Arg(objects);
    rows->UseManualTime()->Complexity();
}

template <class Side>
void add_pool_shapes(const char* side)
{
    add("creation", side, creation<Side>);
    add("destruction", side, destruction<Side>);
}

template <class Side>
void add_object_shapes(const char* side, std::int64_t most_objects = most)
{
    add("sequential_allocation", side, allocation<Side, &pools<Side>::drain_in_order>, most_objects);
    add("random_allocation", side, allocation<Side, &pools<Side>::drain_at_random>, most_objects);
    add("sequential_deallocation", side, deallocation<Side, &pools<Side>::drain_in_order>, most_objects);
    add("random_deallocation", side, deallocation<Side, &pools<Side>::drain_at_random>, most_objects);
}

template <class Side>
void add_all(const char* side)
{
    add_pool_shapes<Side>(side);
    add_object_shapes<Side>(side);
}

bool add_rows()
{
    add("sequential_allocation", "bare_array", allocation<bare_array, &pools<bare_array>::drain_in_order>);
    add_object_shapes<new_delete>("new_delete"); // It has no pool to make or destroy.
    add_all<object_pool>("object_pool");
    add_all<drop_in>("drop_in");
    add_all<block_pool>("block_pool");
    add_all<in_blocks_of<competitors::pmr_unsynchronized_pool<sizeof(particle)>>>("pmr_unsynchronized_pool");
#if defined(MEMORY_POOL_BENCHMARK_BOOST)
    add_all<in_blocks_of<competitors::boost_pool<sizeof(particle)>>>("boost_pool");
    add_pool_shapes<boost_object_pool>("boost_object_pool");
    // Destroying an object is linear in free blocks here: beyond this many it takes too long.
    add_object_shapes<boost_object_pool>("boost_object_pool", 512);
#endif
#if defined(MEMORY_POOL_BENCHMARK_FOONATHAN)
    add_all<in_blocks_of<competitors::foonathan_memory_pool<sizeof(particle)>>>("foonathan_memory_pool");
#endif
    return context::add();
}

[[maybe_unused]] const bool rows_added = add_rows();
} // namespace
