// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// block_ring [SECONDS [SEED]]: eight threads in a ring, each of which hands blocks of random sizes to the next, for ten
// minutes by default. A number that travels with each block determines its bytes, and the freeing thread checks
// them first. Each thread sends mostly blocks of one size and allocates more of them than it frees, so the pools must
// constantly move blocks from the freeing to the allocating threads.
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/pool_options.hpp>
#include "support/check.hpp"
#include "support/long_run.hpp"
#include "support/parcels.hpp"
#include "support/threads.hpp"
#include "support/upstreams.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <thread>

namespace mp = memory_pool;

namespace {
using test_clock = std::chrono::steady_clock;

constexpr std::size_t thread_count = 8;
constexpr std::array<std::size_t, 6> block_sizes{16, 24, 64, 200, 1024, 8192};

/// A pool per size and the belts between the threads.
class ring
{
public:
    explicit ring(std::uint64_t seed) : seed_(seed)
    {
        std::mt19937_64 random(seed);
        for (std::size_t i = 0; i != block_sizes.size(); ++i)
            pools_[i].emplace(block_sizes[i], random_options(random), &upstreams_[i]);
    }

    void turn(test_clock::time_point end)
    {
        test::in_threads(thread_count, [this, end](std::size_t me) { work(me, end); });
    }

    std::uint64_t parcels() const { return parcels_; }
    std::uint64_t refusals() const { return refusals_; }
    std::uint64_t faults() const { return faults_; }

    /// Returns: whether all blocks were freed and all memory returns upstream.
    bool settles()
    {
        bool is_settled = true;
        for (std::size_t i = 0; i != pools_.size(); ++i) {
            mp::concurrent_block_pool& pool = *pools_[i];
            is_settled = is_settled && pool.in_use() == 0 && pool.verify();
            (void)pool.trim();
            is_settled = is_settled && pool.capacity() == 0;
            pools_[i].reset();
            is_settled = is_settled && upstreams_[i].live_chunks() == 0 && upstreams_[i].mismatched() == 0;
        }
        return is_settled;
    }

private:
    /// Every third pool is small enough to run out and drain the caches of all threads.
    static mp::pool_options random_options(std::mt19937_64& random)
    {
        mp::pool_options options;
        if (random() % 3 == 0)
            options.max_capacity = 50 + random() % 1000;
        return options;
    }

    /// Bursts of sending and receiving alternate, so that whole magazines are filled and emptied. No thread waits to
    /// send, since all belts may be full.
    void work(std::size_t me, test_clock::time_point end)
    {
        std::mt19937_64 random(seed_ + me + 1);
        test::belt& to_next = belts_[me];
        test::belt& to_me = belts_[(me + thread_count - 1) % thread_count];
        std::uint64_t sent = 0;
        while (test_clock::now() < end) {
            for (std::uint64_t left = random() % 500; left != 0 && send(to_next, me, random); --left)
                ++sent;
            for (std::uint64_t left = random() % 500; left != 0 && receive(to_me); --left)
                continue;
            std::this_thread::yield();
        }
        parcels_ += sent;
        // The previous thread may still be sending until all threads have arrived here.
        ++at_the_end_;
        while (at_the_end_ != thread_count)
            std::this_thread::yield();
        while (receive(to_me))
            continue;
    }

    bool send(test::belt& to_next, std::size_t me, std::mt19937_64& random)
    {
        test::parcel sent;
        sent.size_class = (random() % 4 == 0 ? random() : me) % block_sizes.size();
        sent.bytes = 1 + random() % block_sizes[sent.size_class];
        sent.seed = random();
        sent.block = static_cast<std::byte*>(pools_[sent.size_class]->try_allocate());
        if (sent.block == nullptr) {
            ++refusals_;
            return false;
        }
        test::fill(sent);
        if (to_next.try_put(sent))
            return true;
        give_back(sent);
        return false;
    }

    bool receive(test::belt& to_me)
    {
        test::parcel received;
        if (!to_me.try_take(received))
            return false;
        give_back(received);
        return true;
    }

    void give_back(const test::parcel& received)
    {
        if (!test::is_intact(received))
            ++faults_;
        pools_[received.size_class]->deallocate(received.block);
    }

    const std::uint64_t seed_;
    std::array<test::accounting_upstream, block_sizes.size()> upstreams_; ///< pools call it with their lock held
    std::array<std::optional<mp::concurrent_block_pool>, block_sizes.size()> pools_;
    std::array<test::belt, thread_count> belts_;
    std::atomic<std::size_t> at_the_end_{0};
    std::atomic<std::uint64_t> parcels_{0};
    std::atomic<std::uint64_t> refusals_{0};
    std::atomic<std::uint64_t> faults_{0};
};
} // namespace

int main(int argc, char** argv)
{
    const test::long_run settings = test::long_run_of(argc, argv, 600);
    const double seconds = settings.amount;
    const std::uint64_t seed = settings.seed;
    const auto end =
        test_clock::now() + std::chrono::duration_cast<test_clock::duration>(std::chrono::duration<double>(seconds));
    std::printf("%g s, seed %llu\n", seconds, static_cast<unsigned long long>(seed));
    CHECK(test::sees_damage());
    for (std::uint64_t round = 0; test_clock::now() < end; ++round) {
        const auto current = std::make_unique<ring>(seed + round);
        current->turn(std::min(end, test_clock::now() + std::chrono::seconds(5)));
        const bool is_settled = current->settles();
        std::printf(
            "round %llu, seed %llu: %llu parcels, %llu refused, %llu damaged\n", static_cast<unsigned long long>(round),
            static_cast<unsigned long long>(seed + round), static_cast<unsigned long long>(current->parcels()),
            static_cast<unsigned long long>(current->refusals()), static_cast<unsigned long long>(current->faults()));
        std::fflush(stdout);
        CHECK(current->faults() == 0);
        CHECK(is_settled);
    }
    std::puts("all parcels arrived as they were sent");
}
