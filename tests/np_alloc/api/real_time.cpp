// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// real_time: a real-time thread (SCHED_FIFO) and four normal ones allocate and free large blocks on one processor. The
// real-time thread works in rows of 50 allocations. In three of five runs, no row may take more than two milliseconds.
// Fails if the system permits no real-time thread.
#include <memory_pool/np_alloc.h>

#include <support/check.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <random>
#include <sched.h>
#include <thread>
#include <vector>

namespace {
using test_clock = std::chrono::steady_clock;
using milliseconds = std::chrono::duration<double, std::milli>;

constexpr int runs = 5;
constexpr int enough_runs = 3;
constexpr milliseconds max_row{2};
constexpr std::chrono::seconds run_time{4};

/// Blocks that one thread replaces one by one.
class blocks
{
public:
    explicit blocks(std::uint64_t seed) : random_(seed) {}
    blocks(const blocks&) = delete;
    blocks& operator=(const blocks&) = delete;
    ~blocks()
    {
        for (void* const each : all_)
            np_free(each);
    }

    void replace_one()
    {
        constexpr std::size_t min_bytes = 40'000;
        constexpr std::size_t max_bytes = 940'000;
        void*& block = all_[random_() % all_.size()];
        np_free(block);
        block = np_alloc(min_bytes + random_() % (max_bytes - min_bytes));
        CHECK(block != nullptr);
        *static_cast<volatile char*>(block) = 1;
    }

private:
    std::mt19937_64 random_;
    std::array<void*, 64> all_{};
};

/// Makes the calling thread a real-time thread.
void become_real_time()
{
    sched_param parameters{};
    parameters.sched_priority = 10;
    if (const int error = pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters)) {
        std::fprintf(stderr, "real_time: the system grants no real-time thread (error %d): run as root\n", error);
        std::exit(1);
    }
}

/// Returns: the time of the slowest row.
milliseconds worst_row()
{
    constexpr std::chrono::microseconds pause{200};
    constexpr int row = 50;
    blocks mine(5);
    milliseconds worst{0};
    for (const auto end = test_clock::now() + run_time; test_clock::now() < end;) {
        const auto begin = test_clock::now();
        for (int left = row; left != 0; --left)
            mine.replace_one();
        worst = std::max<milliseconds>(worst, test_clock::now() - begin);
        std::this_thread::sleep_for(pause);
    }
    return worst;
}

milliseconds worst_row_among_normal_threads()
{
    constexpr std::uint64_t normal_threads = 4;
    std::atomic<bool> is_over{false};
    std::vector<std::thread> threads;
    threads.reserve(normal_threads + 1);
    for (std::uint64_t seed = 0; seed != normal_threads; ++seed)
        threads.emplace_back([&is_over, seed] {
            blocks mine(seed);
            while (!is_over)
                mine.replace_one();
        });
    milliseconds worst{0};
    std::thread([&worst] {
        become_real_time();
        worst = worst_row();
    }).join();
    is_over = true;
    for (std::thread& each : threads)
        each.join();
    return worst;
}
} // namespace

int main()
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    int good = 0;
    for (int run = 0; run != runs; ++run) {
        const milliseconds worst = worst_row_among_normal_threads();
        std::printf("worst row: %.2f ms\n", worst.count());
        good += worst <= max_row ? 1 : 0;
    }
    return good >= enough_runs ? 0 : 1;
}
