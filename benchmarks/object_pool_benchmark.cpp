// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Objects of 64 bytes: the shapes of object_rows.hpp for the pools of this and other libraries, and without a pool.
///
/// A row is named <shape>/<side>/<n>.
#define MEMORY_POOL_MAX_NUMBER_OF_OBJECTS_IN_POOL 32768

#include <memory_pool/object_pool.hpp>

#include "competitors.hpp"
#include "context.hpp"
#include "object_rows.hpp"

#include <benchmark/benchmark.h>
#include <memory_pool.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {
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
static_assert(sizeof(particle) == 64, "the results in the documentation are for this size");

bool is_new(const particle& object)
{
    return object.id == 0 && object.velocity.z == 0;
}

void mark(particle& object, std::size_t number)
{
    object.id = number;
    object.velocity.z = static_cast<double>(number);
}

bool is_marked(const particle& object, std::size_t number)
{
    return object.id == number && object.velocity.z == static_cast<double>(number);
}

// The sides. Each is a pool with room for a number of particles, which it creates and destroys.

class object_pool
{
public:
    using value_type = particle;
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

/// The drop-in for memory_pool.h.
class drop_in
{
public:
    using value_type = particle;
    explicit drop_in(std::size_t capacity) : pool_(capacity) {}
    particle* make() { return pool_.new_block_pt(); }
    void destroy(particle* object) { pool_.delete_block_pt(object); }

private:
    memory_pool::MemoryPool<particle> pool_;
};

class new_delete
{
public:
    using value_type = particle;
    explicit new_delete(std::size_t) {}
    particle* make() { return new particle; }
    void destroy(particle* object) { delete object; }
};

#if defined(MEMORY_POOL_BENCHMARK_BOOST)
class boost_object_pool
{
public:
    using value_type = particle;
    explicit boost_object_pool(std::size_t capacity) : pool_(capacity) {}
    particle* make() { return pool_.construct(); }
    void destroy(particle* object) { pool_.destroy(object); }

private:
    boost::object_pool<particle> pool_;
};
#endif

/// Objects in the blocks of a pool of raw blocks.
template <class Blocks>
class in_blocks_of
{
public:
    using value_type = particle;
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

/// No pool: the objects are adjacent in one chunk of memory, in the order of their creation. The time is the cost of
/// the constructors and of the memory, a lower bound for any pool.
class bare_array
{
public:
    using value_type = particle;
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

constexpr std::int64_t fewest = 8;
constexpr std::int64_t most = 32768;

void add(const char* shape, const char* side, void (*run)(benchmark::State&, std::size_t),
         std::int64_t max_objects = most)
{
    auto* const rows =
        benchmark::RegisterBenchmark((std::string(shape) + '/' + side).c_str(), [run](benchmark::State& state) {
            run(state, static_cast<std::size_t>(state.range(0)));
        });
    for (std::int64_t objects = fewest; objects <= max_objects; objects *= 4)
        rows->Arg(objects);
    rows->UseManualTime()->Complexity();
}

template <class Side>
void add_pool_shapes(const char* side)
{
    add("creation", side, object_rows::creation<Side>);
    add("destruction", side, object_rows::destruction<Side>);
}

template <class Side>
void add_object_shapes(const char* side, std::int64_t max_objects = most)
{
    add("sequential_allocation", side, object_rows::sequential_allocation<Side>, max_objects);
    add("random_allocation", side, object_rows::random_allocation<Side>, max_objects);
    add("sequential_deallocation", side, object_rows::sequential_deallocation<Side>, max_objects);
    add("random_deallocation", side, object_rows::random_deallocation<Side>, max_objects);
}

template <class Side>
void add_all(const char* side)
{
    add_pool_shapes<Side>(side);
    add_object_shapes<Side>(side);
}

bool add_rows()
{
    add("sequential_allocation", "bare_array", object_rows::sequential_allocation<bare_array>);
    add_object_shapes<new_delete>("new_delete"); // There is no pool to create or destroy.
    add_all<object_pool>("object_pool");
    add_all<drop_in>("drop_in");
    add_all<block_pool>("block_pool");
    add_all<in_blocks_of<competitors::pmr_unsynchronized_pool<sizeof(particle)>>>("pmr_unsynchronized_pool");
#if defined(MEMORY_POOL_BENCHMARK_BOOST)
    add_all<in_blocks_of<competitors::boost_pool<sizeof(particle)>>>("boost_pool");
    add_pool_shapes<boost_object_pool>("boost_object_pool");
    // Here, destroying an object is linear in the number of free blocks: more objects would take too long.
    add_object_shapes<boost_object_pool>("boost_object_pool", 512);
#endif
#if defined(MEMORY_POOL_BENCHMARK_FOONATHAN)
    add_all<in_blocks_of<competitors::foonathan_memory_pool<sizeof(particle)>>>("foonathan_memory_pool");
#endif
    return context::add();
}

[[maybe_unused]] const bool rows_added = add_rows();
} // namespace
