// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Delays threads at the racy points of the library. This file changes the code of the library, so either every file of
/// a program includes it before anything else, or none does.
#pragma once

#ifdef MEMORY_POOL_DELAY_POINT
#error "tests/support/delays.hpp comes before any header of the library"
#endif
#define MEMORY_POOL_DELAY_POINT() ::test::pass_delay_point()

#include <chrono>
#include <cstdint>
#include <random>
#include <thread>
#include <utility>

namespace test {
/// An action of one thread at delay points.
class delay_hook
{
public:
    delay_hook(const delay_hook&) = delete;
    delay_hook& operator=(const delay_hook&) = delete;
    virtual void pass() noexcept = 0;

protected:
    delay_hook() = default;
    ~delay_hook() = default;
};

/// Has no destructor, because threads pass delay points until their very end.
inline thread_local delay_hook* hook_of_this_thread = nullptr;

inline void pass_delay_point() noexcept
{
    // Reset while the hook runs, so that the hook itself is not delayed.
    if (delay_hook* const hook = std::exchange(hook_of_this_thread, nullptr)) {
        hook->pass();
        hook_of_this_thread = hook;
    }
}

/// For its lifetime, calls `hook` at each delay point of this thread.
class delayed_by
{
public:
    explicit delayed_by(delay_hook& hook) noexcept : before_(std::exchange(hook_of_this_thread, &hook)) {}
    delayed_by(const delayed_by&) = delete;
    delayed_by& operator=(const delayed_by&) = delete;
    ~delayed_by() { hook_of_this_thread = before_; }

private:
    delay_hook* before_;
};

/// Calls `hook` at each delay point of this thread from now on, until the very end of the thread.
inline void delay_to_the_end(delay_hook& hook) noexcept
{
    hook_of_this_thread = &hook;
}

/// Continues at once, yields, or rarely sleeps for up to 200 us.
class random_delays final : public delay_hook
{
public:
    explicit random_delays(std::uint64_t seed) : random_(seed) {}

    void pass() noexcept override
    {
        ++passed_;
        const std::uint64_t drawn = random_();
        if (drawn % 128 == 0)
            std::this_thread::sleep_for(std::chrono::microseconds((drawn >> 16) % 200));
        else if (drawn % 4 == 1)
            std::this_thread::yield();
    }

    /// Returns the number of delay points passed.
    std::uint64_t passed() const noexcept { return passed_; }

private:
    std::mt19937_64 random_;
    std::uint64_t passed_ = 0;
};
} // namespace test
