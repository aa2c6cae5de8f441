// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Threads that signals interrupt all the time. Uses the public interface only.
#include <memory_pool/np_alloc.h>

#include <support/np_blocks.hpp>
#include <support/sanitizers.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <random>
#include <thread>
#include <vector>

#if defined(__unix__)
#include <pthread.h>
#include <signal.h> // NOLINT(modernize-deprecated-headers): <csignal> has no sigaction.

namespace {
test::np_resource np;

std::atomic<int> interruptions{0};

/// A signal handler that, like a profiler's, does not allocate and keeps errno.
void interrupt(int)
{
    interruptions.fetch_add(1, std::memory_order_relaxed);
}

/// Installs `interrupt` for SIGPROF during its lifetime.
class with_handler
{
public:
    with_handler()
    {
        struct sigaction action = {};
        action.sa_handler = &interrupt; // Without SA_RESTART, interrupted system calls fail.
        EXPECT_EQ(sigaction(SIGPROF, &action, &before_), 0);
    }
    with_handler(const with_handler&) = delete;
    with_handler& operator=(const with_handler&) = delete;
    ~with_handler() { sigaction(SIGPROF, &before_, nullptr); }

private:
    struct sigaction before_ = {};
};

TEST(np_signals, do_no_harm_to_threads_that_allocate_and_free)
{
    constexpr std::size_t threads = 3;
    constexpr int enough = test::under_a_sanitizer ? 1000 : 5000;
    interruptions = 0;
    const with_handler handler;
    std::array<std::atomic<bool>, threads> is_right{};
    std::array<std::atomic<void*>, 64> places{};
    std::array<std::atomic<pthread_t>, threads> ids{};
    std::atomic<std::size_t> ready{0};
    std::atomic<bool> is_over{false};
    test::in_threads(threads + 1, [&](std::size_t thread) {
        if (thread == threads) {
            while (ready != threads)
                std::this_thread::yield();
            while (interruptions < enough) {
                for (const std::atomic<pthread_t>& each : ids)
                    pthread_kill(each, SIGPROF);
                std::this_thread::yield();
            }
            is_over = true;
            return;
        }
        ids[thread] = pthread_self();
        ++ready;
        std::mt19937 random(static_cast<unsigned>(thread));
        bool all_were = true;
        while (!is_over) {
            std::vector<test::filled_block> blocks;
            for (std::size_t bytes : test::sizes_of_all_kinds)
                for (int i = 0; i != 3; ++i)
                    blocks.push_back(test::allocate_filled(np, bytes));
            errno = 77;
            all_were = test::give_back_all(np, blocks) && errno == 77 && all_were;
            np_free(places[random() % places.size()].exchange(np_alloc(1 + random() % 5000)));
            if (random() % 100 == 0)
                (void)np_trim();
        }
        is_right[thread] = all_were;
    });
    for (const std::atomic<bool>& each : is_right)
        EXPECT_TRUE(each);
    for (std::atomic<void*>& place : places)
        np_free(place);
}
} // namespace
#endif
