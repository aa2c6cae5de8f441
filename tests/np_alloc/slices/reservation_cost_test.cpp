// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/slices/reservation_cost.hpp>

#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace np = memory_pool::np;

namespace {
/// A clock that lets successive reservations take the given nanoseconds.
class clock_of_tries
{
public:
    explicit clock_of_tries(std::vector<std::uint64_t> durations) : durations_(std::move(durations)) {}

    std::uint64_t operator()()
    {
        if (calls_++ % 2 != 0)
            now_ += durations_.at(calls_ / 2 - 1);
        return now_;
    }
    std::size_t tries() const { return calls_ / 2; }

private:
    std::vector<std::uint64_t> durations_;
    std::size_t calls_ = 0;
    std::uint64_t now_ = 1'000;
};

constexpr std::uint64_t native = 5'000;
constexpr std::uint64_t emulated = 500'000;

TEST(reservation_cost, is_low_if_the_first_try_is_fast)
{
    clock_of_tries clock({native});
    EXPECT_FALSE(np::reserving_is_expensive(clock));
    EXPECT_EQ(clock.tries(), 1U);
}

TEST(reservation_cost, is_low_if_one_of_three_tries_is_fast)
{
    clock_of_tries clock({emulated, emulated, native});
    EXPECT_FALSE(np::reserving_is_expensive(clock)) << "the slow tries may have been preempted";
}

TEST(reservation_cost, is_high_if_all_three_tries_are_slow)
{
    clock_of_tries clock({emulated, 20 * emulated, emulated});
    EXPECT_TRUE(np::reserving_is_expensive(clock));
    EXPECT_EQ(clock.tries(), 3U);
}

TEST(reservation_cost, is_low_if_reserving_fails)
{
    const test::system_calls calls;
    calls.refuse_from(test::system_call::map, 1);
    clock_of_tries clock({});
    EXPECT_FALSE(np::reserving_is_expensive(clock));
}

TEST(reservation_cost, leaves_nothing_reserved)
{
    const test::system_calls calls;
    clock_of_tries clock({emulated, emulated, emulated});
    EXPECT_TRUE(np::reserving_is_expensive(clock));
    EXPECT_EQ(calls.mapped(), 0U);
}
} // namespace
