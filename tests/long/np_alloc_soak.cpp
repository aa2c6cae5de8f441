// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// np_alloc_soak [SECONDS [SEED]]: four threads with blocks of all lifetimes, for five minutes by default. Memory use
// rises and falls and the sizes change in the same way in each round. Each block is checked when it is freed. The
// resident memory must stay in proportion to the memory in use and must not grow from round to round.
#include <memory_pool/np_alloc.h>

#include "support/check.hpp"
#include "support/handed_over.hpp"
#include "support/long_run.hpp"
#include "support/np_blocks.hpp"
#include "support/resident_memory.hpp"
#include "support/sanitizers.hpp"
#include "support/threads.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace {
using test_clock = std::chrono::steady_clock;

constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::size_t thread_count = 4;

test::np_resource np;

/// A phase of a round: the maximum number of outstanding blocks per thread, and the maximum size.
struct phase
{
    std::size_t blocks;
    std::size_t largest;
};
constexpr std::array<phase, 6> phases{
    {{20'000, 200}, {5000, 4000}, {30'000, 64}, {300, 100'000}, {10'000, 1000}, {500, 20'000}}};
constexpr std::size_t max_blocks = 120'000;

/// The blocks of one thread, each in a random slot: blocks in popular slots are short-lived.
class changing_blocks
{
public:
    changing_blocks(test::live_bytes& live, std::uint64_t seed) : live_(live), random_(seed), places_(max_blocks) {}

    void pass(const phase& in)
    {
        const std::size_t blocks = in.blocks / (test::under_a_sanitizer ? 10 : 1);
        for (std::size_t place = blocks; place != places_.size(); ++place)
            free(places_[place]);
        for (std::size_t i = 0; i != 10 * blocks; ++i)
            change(places_[random_place(blocks)], in.largest);
    }

    void free_all()
    {
        for (test::filled_block& each : places_)
            free(each);
    }

    /// Effects: exchanges a block with another thread.
    void exchange(std::atomic<test::filled_block*>& with)
    {
        test::filled_block& mine = places_[random_() % places_.size()];
        auto* const note = static_cast<test::filled_block*>(np_alloc(sizeof mine));
        *note = mine;
        mine = {};
        if (test::filled_block* const theirs = with.exchange(note)) {
            mine = *theirs;
            np_free(theirs);
        }
    }

    bool are_intact() const { return are_intact_; }

private:
    std::size_t random_place(std::size_t count) { return random_() % (random_() % 4 != 0 ? count / 16 + 1 : count); }

    void change(test::filled_block& place, std::size_t largest)
    {
        const std::size_t bytes = 1 + random_() % (random_() % 4 != 0 ? largest / 4 + 1 : largest);
        if (place.address != nullptr && random_() % 8 == 0) {
            are_intact_ = are_intact_ && place.is_intact();
            live_.subtract(place.bytes);
            auto* const moved = static_cast<unsigned char*>(np_realloc(place.address, bytes));
            CHECK(moved != nullptr);
            place = {moved, bytes, place.alignment};
            place.fill();
        } else {
            free(place);
            place = test::allocate_filled(np, bytes);
        }
        live_.add(bytes);
    }

    void free(test::filled_block& place)
    {
        if (place.address == nullptr)
            return;
        live_.subtract(place.bytes);
        are_intact_ = test::give_back(np, place) && are_intact_;
        place = {};
    }

    test::live_bytes& live_;
    std::mt19937_64 random_;
    std::vector<test::filled_block> places_;
    bool are_intact_ = true;
};

/// Runs one round.
/// Returns: the maximum of the resident bytes at the ends of the phases; 0 if unknown.
std::size_t pass_all(std::uint64_t seed, test::live_bytes& live)
{
    std::array<std::atomic<test::filled_block*>, 64> on_the_way{};
    std::atomic<std::size_t> most{0};
    test::in_threads(thread_count, [&](std::size_t thread) {
        changing_blocks blocks(live, seed + thread);
        for (const phase& each : phases) {
            blocks.pass(each);
            for (auto& place : on_the_way)
                blocks.exchange(place);
#if TESTS_MAY_ASK_FOR_RESIDENT_MEMORY
            std::size_t before = most;
            while (before < test::resident_bytes() && !most.compare_exchange_weak(before, test::resident_bytes()))
                continue;
#endif
        }
        blocks.free_all();
        CHECK(blocks.are_intact());
    });
    for (auto& place : on_the_way)
        if (test::filled_block* const rest = place.exchange(nullptr)) {
            CHECK(rest->address == nullptr || test::give_back(np, *rest));
            live.subtract(rest->bytes);
            np_free(rest);
        }
    return most;
}
} // namespace

int main(int argc, char** argv)
{
    const test::long_run settings = test::long_run_of(argc, argv, 300);
    const double seconds = settings.amount;
    const std::uint64_t seed = settings.seed;
    const auto end =
        test_clock::now() + std::chrono::duration_cast<test_clock::duration>(std::chrono::duration<double>(seconds));
    std::printf("%g s, seed %llu\n", seconds, static_cast<unsigned long long>(seed));
    test::live_bytes live;
    std::size_t max_at_first = 0;
    constexpr std::uint64_t first_rounds = 10;
    for (std::uint64_t round = 0; round == 0 || test_clock::now() < end; ++round) {
        const std::size_t resident = pass_all(seed + 100 * round, live);
        if (round % 20 == 0)
            std::printf("round %llu: %zu MiB in memory at most; in use were %zu\n",
                        static_cast<unsigned long long>(round), resident / mebibyte, live.peak() / mebibyte);
        std::fflush(stdout);
        if (round < first_rounds)
            max_at_first = std::max(max_at_first, resident);
        else
            CHECK(resident <= max_at_first + max_at_first / 4);
        CHECK(resident <= 6 * live.peak() + 32 * mebibyte);
    }
    std::puts("all blocks were intact");
}
