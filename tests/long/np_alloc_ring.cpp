// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// np_alloc_ring [SECONDS [SEED]]: eight threads in a ring, each of which sends blocks of np_alloc to the next, for ten
// minutes by default. Blocks travel around the ring, are resized on the way, and any thread may free them. A number
// that travels with a block determines its bytes, and every receiver checks them. The threads of a round end with
// blocks in every state; the threads of the next round adopt their heaps. Once a round has freed all blocks, no more
// memory remains than after the first rounds.
#include <memory_pool/np_alloc.h>

#include "support/check.hpp"
#include "support/long_run.hpp"
#include "support/parcels.hpp"
#include "support/resident_memory.hpp"
#include "support/threads.hpp"

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

namespace {
using test_clock = std::chrono::steady_clock;

constexpr std::size_t thread_count = 8;
constexpr std::size_t largest = std::size_t{1} << 20;

/// Half of all blocks have at most 256 bytes, and few are large.
std::size_t random_size(std::mt19937_64& random)
{
    const std::uint64_t drawn = random();
    const std::size_t most = drawn % 2 == 0 ? 256 : drawn % 64 != 1 ? 8192 : drawn % 1024 != 1 ? 65'536 : largest;
    return 1 + (drawn >> 16) % most;
}

class ring
{
public:
    explicit ring(std::uint64_t seed) : seed_(seed) {}

    void turn(test_clock::time_point end)
    {
        test::in_threads(thread_count, [this, end](std::size_t me) { work(me, end); });
        for (test::belt& each : belts_) // undelivered blocks
            for (test::parcel rest; each.try_take(rest);)
                give_back(rest);
    }

    std::uint64_t parcels() const { return parcels_; }
    std::uint64_t faults() const { return faults_; }

private:
    void work(std::size_t me, test_clock::time_point end)
    {
        std::mt19937_64 random(seed_ + me + 1);
        test::belt& to_next = belts_[me];
        test::belt& to_me = belts_[(me + thread_count - 1) % thread_count];
        while (test_clock::now() < end) {
            for (std::uint64_t left = random() % 300; left != 0; --left)
                send(to_next, allocate(random));
            test::parcel received;
            for (std::uint64_t left = random() % 600; left != 0 && to_me.try_take(received); --left)
                handle(received, to_next, random);
            std::this_thread::yield();
        }
    }

    test::parcel allocate(std::mt19937_64& random)
    {
        test::parcel made;
        made.bytes = random_size(random);
        made.seed = random();
        made.block = static_cast<std::byte*>(
            random() % 16 != 0 ? np_alloc(made.bytes) : np_aligned_alloc(std::size_t{16} << random() % 9, made.bytes));
        CHECK(made.block != nullptr);
        test::fill(made);
        ++parcels_;
        return made;
    }

    void send(test::belt& to_next, const test::parcel& sent)
    {
        if (!to_next.try_put(sent))
            give_back(sent);
    }

    /// Forwards, resizes or frees the block.
    void handle(test::parcel received, test::belt& to_next, std::mt19937_64& random)
    {
        const std::uint64_t drawn = random() % 4;
        if (drawn >= 2) {
            give_back(received);
            return;
        }
        count_fault(received);
        if (drawn == 1) {
            const std::size_t before = received.bytes;
            const std::size_t bytes = random_size(random);
            received.block = static_cast<std::byte*>(np_realloc(received.block, bytes));
            CHECK(received.block != nullptr);
            received.bytes = std::min(before, bytes);
            count_fault(received);
            received.bytes = bytes;
            received.seed = random();
            test::fill(received);
        }
        send(to_next, received);
    }

    void give_back(const test::parcel& received)
    {
        count_fault(received);
        np_free(received.block);
    }

    void count_fault(const test::parcel& checked) { faults_ += test::is_intact(checked) ? 0U : 1U; }

    const std::uint64_t seed_;
    std::array<test::belt, thread_count> belts_;
    std::atomic<std::uint64_t> parcels_{0};
    std::atomic<std::uint64_t> faults_{0};
};

/// Returns: the resident bytes after all blocks are freed; 0 if unknown.
std::size_t kept_bytes()
{
    (void)np_trim();
#if TESTS_MAY_ASK_FOR_RESIDENT_MEMORY
    return test::resident_bytes();
#else
    return 0;
#endif
}
} // namespace

int main(int argc, char** argv)
{
    const test::long_run settings = test::long_run_of(argc, argv, 600);
    const double seconds = settings.amount;
    const std::uint64_t seed = settings.seed;
    const auto all = std::chrono::duration_cast<test_clock::duration>(std::chrono::duration<double>(seconds));
    const auto end = test_clock::now() + all;
    const auto of_a_round = std::min<test_clock::duration>(all / 4, std::chrono::seconds(5));
    constexpr std::uint64_t first_rounds = 3;
    std::printf("%g s, seed %llu\n", seconds, static_cast<unsigned long long>(seed));
    CHECK(test::sees_damage());
    std::size_t kept_at_first = 0;
    for (std::uint64_t round = 0; test_clock::now() < end; ++round) {
        const std::uint64_t round_seed = seed + round;
        const auto current = std::make_unique<ring>(round_seed);
        current->turn(std::min(end, test_clock::now() + of_a_round));
        const std::size_t kept = kept_bytes();
        std::printf("round %llu, seed %llu: %llu parcels, %llu damaged, %zu KiB kept\n",
                    static_cast<unsigned long long>(round), static_cast<unsigned long long>(round_seed),
                    static_cast<unsigned long long>(current->parcels()),
                    static_cast<unsigned long long>(current->faults()), kept / 1024);
        std::fflush(stdout);
        CHECK(current->faults() == 0);
        if (round < first_rounds)
            kept_at_first = std::max(kept_at_first, kept);
        else
            CHECK(kept <= kept_at_first + 8 * largest);
    }
    std::puts("all parcels arrived as they were sent");
}
