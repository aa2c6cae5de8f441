// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// concurrent_stress [SECONDS [SEED]]: shared pools, used at random by short-lived threads, for two minutes by default.
// Marks and checks each block all the time and accounts for it at the end of each pool.
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/policies.hpp>
#include "support/check.hpp"
#include "support/long_run.hpp"
#include "support/pool_stress.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace mp = memory_pool;

namespace {
using test_clock = std::chrono::steady_clock;

struct scene
{
    std::uint64_t number;
    std::uint64_t seed;
    test_clock::time_point end;
};

test::stress_shape random_shape(std::mt19937_64& random)
{
    constexpr std::array<std::size_t, 7> sizes{8, 16, 24, 64, 136, 1000, 8192};
    test::stress_shape shape;
    shape.block_size = sizes[random() % sizes.size()];
    shape.arena_bytes = std::size_t{32} << 20;
    shape.max_held = 1 + random() % 300;
    shape.waits = static_cast<unsigned>(random() % 30);
    shape.whole_pool = static_cast<unsigned>(random() % 5);
    switch (random() % 4) {
    case 0: shape.limit = 20 + random() % 50; break;
    case 1: shape.limit = 20 + random() % 1000; break;
    case 2: break;
    default: shape.arena_bytes = std::size_t{512} << 10; // upstream runs out from time to time
    }
    if (random() % 3 == 0)
        shape.initial_capacity = std::min<std::size_t>(shape.limit, 1 + random() % 20);
    return shape;
}

/// Starts and ends threads until the scene ends. Each uses the pool for a while, some only briefly.
template <class Policy>
void play(const scene& played)
{
    using stress = test::pool_stress<mp::basic_concurrent_block_pool<Policy>>;
    std::mt19937_64 random(played.seed);
    const test::stress_shape shape = random_shape(random);
    const auto pool = std::make_unique<stress>(shape);
    const std::size_t thread_count = 2 + random() % 7;
    std::atomic<std::uint64_t> lives{0};
    std::vector<std::thread> places;
    for (std::size_t place = 0; place != thread_count; ++place) {
        places.emplace_back([&, seed = random()]() mutable {
            while (test_clock::now() < played.end) {
                std::mt19937_64 mine(++seed);
                std::uint64_t left = 2 + mine() % (mine() % 4 == 0 ? 20 : 50'000);
                std::thread([&] {
                    pool->work(mine(), [&] {
                        --left;
                        return left != 0 && (left % 64 != 0 || test_clock::now() < played.end);
                    });
                }).join();
                ++lives;
            }
        });
    }
    for (auto& place : places)
        place.join();
    const bool is_settled = pool->settles();
    std::printf(
        "scene %llu, seed %llu: %s, blocks of %zu, limit %lld, %zu threads at a time, %llu in all, %llu operations, "
        "%llu refused, %zu faults\n",
        static_cast<unsigned long long>(played.number), static_cast<unsigned long long>(played.seed),
        Policy::checks ? "checking" : (Policy::counts ? "counting" : "plain"), shape.block_size,
        shape.limit == mp::pool_options::unbounded ? -1 : static_cast<long long>(shape.limit), thread_count,
        static_cast<unsigned long long>(lives.load()), static_cast<unsigned long long>(pool->operations()),
        static_cast<unsigned long long>(pool->refusals()), pool->faults());
    std::fflush(stdout);
    CHECK(is_settled);
    if constexpr (Policy::counts) {
        const auto counted = pool->pool().statistics();
        CHECK(counted.allocations == counted.deallocations);
        CHECK(counted.in_use == 0);
        CHECK(counted.peak_in_use <= shape.limit);
    }
}
} // namespace

int main(int argc, char** argv)
{
    const test::long_run settings = test::long_run_of(argc, argv, 120);
    const double seconds = settings.amount;
    const std::uint64_t seed = settings.seed;
    const auto end =
        test_clock::now() + std::chrono::duration_cast<test_clock::duration>(std::chrono::duration<double>(seconds));
    std::printf("%g s, seed %llu\n", seconds, static_cast<unsigned long long>(seed));
    for (std::uint64_t number = 0; test_clock::now() < end; ++number) {
        // Two pools at a time: their threads reuse the same table slots for both pools in turn.
        const auto scene_end = std::min(end, test_clock::now() + std::chrono::milliseconds(2000));
        const auto play_one = [&](std::uint64_t offset) {
            const scene played{2 * number + offset, seed + 2 * number + offset, scene_end};
            switch (played.number % 4) {
            case 1: return play<mp::counting_policy>(played);
            case 3: return play<mp::checking_policy>(played);
            default: return play<mp::default_policy>(played);
            }
        };
        std::thread other(play_one, 1);
        play_one(0);
        other.join();
    }
    std::puts("all blocks came back");
}
