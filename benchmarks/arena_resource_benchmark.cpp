// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Reusable arenas for std::pmr: unsynchronized_arena_resource against the resources of the standard library, and
/// against arenas that search for the arena of a block.
///
///     map_rounds            inserts 100,000 elements into a std::pmr::map and clears the map, ten times, over a new
///                           resource on new and delete
///     hinted_map_rounds     map_rounds with end() as hint for each key
///     map_rounds_reserved   map_rounds over an existing buffer, from which the arenas are allocated beforehand
///     deallocate_arenas     deallocates the blocks of ten arenas, in a random order that is the same for each side.
///                           Other arenas are in use: only the lookup of a block's arena can depend on their number
///
/// Rows are <shape>/<side>/<n>, where n is the number of insertions or arenas. `per_block` is the time to insert and
/// remove an element; in deallocate_arenas, the time of one deallocation.
///
/// Each map calls its resource through a pointer to std::pmr::memory_resource that the compiler cannot devirtualize.
#include <memory_pool/arena_resource.hpp>

#include "context.hpp"
#include "sorted_vector_arena.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory_resource>
#include <random>
#include <string>
#include <vector>

namespace {
// The sides. Each has a `resource` over `upstream`, with `arena_count` arenas allocated in advance where the interface
// allows that.

struct arenas
{
    arenas(std::size_t arena_count, std::size_t arena_size, std::pmr::memory_resource* upstream)
        : resource(options(arena_count, arena_size), upstream)
    {
    }

    static memory_pool::arena_options options(std::size_t arena_count, std::size_t arena_size)
    {
        memory_pool::arena_options options;
        options.arena_count = arena_count;
        options.arena_size = arena_size;
        return options;
    }

    memory_pool::unsynchronized_arena_resource resource;
};

struct sorted_vector_arenas
{
    sorted_vector_arenas(std::size_t arena_count, std::size_t arena_size, std::pmr::memory_resource* upstream)
        : resource(arena_count, arena_size, upstream)
    {
    }

    competitors::sorted_vector_arena resource;
};

struct new_delete
{
    new_delete(std::size_t, std::size_t, std::pmr::memory_resource*) {}

    std::pmr::memory_resource& resource = *std::pmr::new_delete_resource();
};

struct pmr_unsynchronized_pool
{
    pmr_unsynchronized_pool(std::size_t, std::size_t, std::pmr::memory_resource* upstream) : resource(upstream) {}

    std::pmr::unsynchronized_pool_resource resource;
};

constexpr int rounds = 10;

/// Never reuses memory, so it needs memory for all rounds.
struct pmr_monotonic_buffer
{
    pmr_monotonic_buffer(std::size_t arena_count, std::size_t arena_size, std::pmr::memory_resource* upstream)
        : resource(std::max(rounds * arena_count * arena_size, smallest), upstream)
    {
    }

    static constexpr std::size_t smallest = 1024;
    std::pmr::monotonic_buffer_resource resource;
};

// Rows that fill and clear maps.

/// The arena size in the examples of a known arena library; see competitors::sorted_vector_arena.
constexpr std::size_t usual_arena_size = 10'000;
constexpr int insertions = 100'000;
/// Enough arenas for `insertions` nodes of a map, plus a fifth.
constexpr std::size_t arenas_for_map = std::size_t{insertions} * 48 / usual_arena_size;

using int_map = std::pmr::map<int, int>;

/// The map searches for the position of the new key, which takes most of the time.
void insert(int_map& map, int key)
{
    map.emplace(key, key);
}

/// Passes the position of the new key to the map, so that the resource takes a larger share of the time.
void insert_last(int_map& map, int key)
{
    map.emplace_hint(map.end(), key, key);
}

template <auto insert_key>
void fill(int_map& map)
{
    for (int key = 0; key != insertions; ++key)
        insert_key(map, key);
}

/// Returns: whether the map holds the elements that `fill` inserted.
bool is_filled(const int_map& map)
{
    int expected = 0;
    for (const auto& [key, value] : map) {
        if (key != expected || value != expected)
            return false;
        ++expected;
    }
    return expected == insertions;
}

/// Effects: fills and clears a map ten times.
/// Returns: whether the map had the right number of elements each time.
template <auto insert_key, class Side>
bool run_rounds(Side&& side)
{
    std::pmr::memory_resource* resource = &side.resource;
    benchmark::DoNotOptimize(resource);
    int_map map(resource);
    bool is_right = true;
    for (int round = 0; round != rounds; ++round) {
        fill<insert_key>(map);
        is_right = is_right && map.size() == std::size_t{insertions};
        map.clear();
    }
    return is_right;
}

template <class Side>
bool keeps_elements(Side&& side)
{
    int_map map(&side.resource);
    fill<insert>(map);
    return is_filled(map);
}

/// Ends every row: reports an error instead of a time if a result was wrong.
void finish(benchmark::State& state, std::size_t blocks, bool is_right)
{
    state.counters["per_block"] = benchmark::Counter(
        static_cast<double>(blocks), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
    if (!is_right)
        state.SkipWithError("wrong results");
}

template <class Side, auto insert_key>
void map_rounds(benchmark::State& state)
{
    bool is_right = true;
    for (auto _ : state)
        is_right = run_rounds<insert_key>(Side(0, usual_arena_size, std::pmr::new_delete_resource())) && is_right;
    finish(state, std::size_t{rounds} * insertions,
           is_right && keeps_elements(Side(0, usual_arena_size, std::pmr::new_delete_resource())));
}

/// Memory shared by all rows. The constructor of the vector touches every page.
std::vector<std::byte>& buffer()
{
    // A resource that never reuses memory needs this much for all rounds, plus one round for the alignment of arenas.
    static std::vector<std::byte> bytes((rounds + 1) * arenas_for_map * usual_arena_size);
    return bytes;
}

template <class Side>
void map_rounds_reserved(benchmark::State& state)
{
    bool is_right = true;
    const auto with_side = [](auto&& use) {
        std::pmr::monotonic_buffer_resource reserved(buffer().data(), buffer().size(),
                                                     std::pmr::null_memory_resource());
        return use(Side(arenas_for_map, usual_arena_size, &reserved));
    };
    for (auto _ : state)
        is_right = with_side([](Side&& side) { return run_rounds<insert>(side); }) && is_right;
    finish(state, std::size_t{rounds} * insertions,
           is_right && with_side([](Side&& side) { return keeps_elements(side); }));
}

// The lookup of a block's arena.

constexpr std::size_t small_arena_size = 1024;
constexpr std::size_t block_size = 64;
constexpr std::size_t blocks_in_arena = small_arena_size / block_size - 1;
constexpr std::size_t arenas_in_use = 10;

/// Many full arenas. The benchmark empties and refills ten of them.
template <class Side>
class full_arenas
{
public:
    explicit full_arenas(std::size_t count)
        : side_(count, small_arena_size, std::pmr::new_delete_resource()), count_(count)
    {
        std::vector<std::size_t> chosen(count);
        for (std::size_t i = 0; i != count; ++i)
            chosen[i] = i;
        std::shuffle(chosen.begin(), chosen.end(), random_);
        chosen.resize(arenas_in_use);
        for (std::size_t i = 0; i != count; ++i) {
            const bool is_chosen = std::find(chosen.begin(), chosen.end(), i) != chosen.end();
            for (std::size_t block = 0; block != blocks_in_arena; ++block)
                (is_chosen ? blocks_ : others_).push_back(side_.resource.allocate(block_size, block_alignment));
        }
        std::shuffle(blocks_.begin(), blocks_.end(), random_);
    }

    full_arenas(const full_arenas&) = delete;
    full_arenas& operator=(const full_arenas&) = delete;

    ~full_arenas()
    {
        deallocate_all(others_);
        deallocate_all(blocks_);
    }

    /// Effects: frees the blocks of the ten arenas.
    void empty() { deallocate_all(blocks_); }

    /// Effects: allocates the same number of blocks again, which fills the same ten arenas.
    void fill()
    {
        for (void*& block : blocks_)
            block = side_.resource.allocate(block_size, block_alignment);
        std::shuffle(blocks_.begin(), blocks_.end(), random_);
    }

    std::size_t block_count() const { return blocks_.size(); }

    /// Returns: whether blocks keep their contents, and the number of arenas is right.
    bool is_right() const
    {
        for (std::size_t i = 0; i != blocks_.size(); ++i)
            std::memcpy(blocks_[i], &i, sizeof(i));
        for (std::size_t i = 0; i != blocks_.size(); ++i)
            if (std::memcmp(blocks_[i], &i, sizeof(i)) != 0)
                return false;
        return side_.resource.arena_count() == count_;
    }

private:
    static constexpr std::size_t block_alignment = 8;

    void deallocate_all(const std::vector<void*>& blocks)
    {
        std::pmr::memory_resource* const resource = &side_.resource;
        for (void* const block : blocks)
            resource->deallocate(block, block_size, block_alignment);
    }

    Side side_;
    std::size_t count_;
    std::mt19937 random_{2026}; // A fixed seed: the order is the same for every side and in every run.
    std::vector<void*> blocks_;
    std::vector<void*> others_;
};

template <class Side>
void deallocate_arenas(benchmark::State& state)
{
    using clock = std::chrono::steady_clock;
    full_arenas<Side> arenas(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) {
        const clock::time_point begin = clock::now();
        arenas.empty();
        state.SetIterationTime(std::chrono::duration<double>(clock::now() - begin).count());
        arenas.fill();
    }
    finish(state, arenas.block_count(), arenas.is_right());
}

template <class Side>
void add_maps(const std::string& side)
{
    benchmark::RegisterBenchmark(("map_rounds/" + side).c_str(), map_rounds<Side, insert>)->Arg(insertions);
    benchmark::RegisterBenchmark(("hinted_map_rounds/" + side).c_str(), map_rounds<Side, insert_last>)->Arg(insertions);
    benchmark::RegisterBenchmark(("map_rounds_reserved/" + side).c_str(), map_rounds_reserved<Side>)->Arg(insertions);
}

template <class Side>
void add_deallocation(const std::string& side)
{
    for (const std::int64_t arenas : {10, 1'000, 100'000})
        benchmark::RegisterBenchmark(("deallocate_arenas/" + side).c_str(), deallocate_arenas<Side>)
            ->Arg(arenas)
            ->UseManualTime();
}

bool add_rows()
{
    add_maps<new_delete>("new_delete");
    add_maps<arenas>("unsynchronized_arena_resource");
    add_maps<sorted_vector_arenas>("sorted_vector_arena");
    add_maps<pmr_unsynchronized_pool>("pmr_unsynchronized_pool");
    add_maps<pmr_monotonic_buffer>("pmr_monotonic_buffer");
    add_deallocation<arenas>("unsynchronized_arena_resource");
    add_deallocation<sorted_vector_arenas>("sorted_vector_arena");
    return context::add();
}

[[maybe_unused]] const bool rows_added = add_rows();
} // namespace
