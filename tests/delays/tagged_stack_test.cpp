// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Threads delayed between the load and the exchange of a pop, while others pop and push the same nodes (the ABA
// problem).
#include "support/stack_torture.hpp"

#include <memory_pool/core/threads/tagged_stack.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <utility>

namespace {
using tagged_nodes = test::stack_of_nodes<memory_pool::detail::core::tagged_stack<>>;
using untagged_nodes = test::stack_of_nodes<test::untagged_stack>;

/// Does something at the first delay point, and nothing at the others.
class once final : public test::delay_hook
{
public:
    explicit once(std::function<void()> action) : action_(std::move(action)) {}

    void pass() noexcept override
    {
        if (const auto action = std::exchange(action_, nullptr))
            action();
    }

private:
    std::function<void()> action_;
};

/// The textbook case: while one pops 0, with 1 below it, 0 and 1 are popped and 0 is pushed again.
template <class Nodes>
bool survives_one_stalled_popper()
{
    test::watched_nodes<Nodes> stack;
    once others([&stack] {
        const std::uint32_t top = stack.pop();
        (void)stack.pop();
        stack.push(top);
    });
    {
        const test::delayed_by hook(others);
        (void)stack.pop();
    }
    return stack.is_whole();
}

/// Two stalled poppers, one within the other; both see the same number come back.
template <class Nodes>
bool survives_two_stalled_poppers()
{
    test::watched_nodes<Nodes> stack;
    once fast([&stack] {
        const std::uint32_t top = stack.pop();
        (void)stack.pop();
        stack.push(top);
    });
    once second([&stack, &fast] {
        const test::delayed_by hook(fast);
        const std::uint32_t popped = stack.pop();
        stack.push(popped);
    });
    {
        const test::delayed_by hook(second);
        (void)stack.pop();
    }
    return stack.is_whole();
}

template <class Nodes>
bool survives_torture()
{
    test::torture_shape shape;
    shape.stalls = 50'000;
    return test::tortured<Nodes>(shape).was_survived;
}

/// Where an exchange may fail for no reason, one case may go well by chance.
bool fails_at_some_time(bool (*survives)())
{
    for (int attempt = 0; attempt != 100; ++attempt)
        if (!survives())
            return true;
    return false;
}

TEST(a_tagged_stack, survives_a_popper_that_stalls)
{
    EXPECT_TRUE(survives_one_stalled_popper<tagged_nodes>());
}

TEST(a_tagged_stack, survives_two_poppers_that_stall)
{
    EXPECT_TRUE(survives_two_stalled_poppers<tagged_nodes>());
}

TEST(a_tagged_stack, survives_torture)
{
    EXPECT_TRUE(survives_torture<tagged_nodes>());
}

TEST(a_depot, survives_torture)
{
    EXPECT_TRUE(survives_torture<test::stack_of_magazines>());
}

// The tests above would see a stack that is not safe.

TEST(a_stack_without_a_tag, breaks_when_a_popper_stalls)
{
    EXPECT_TRUE(fails_at_some_time(survives_one_stalled_popper<untagged_nodes>));
}

TEST(a_stack_without_a_tag, breaks_when_two_poppers_stall)
{
    EXPECT_TRUE(fails_at_some_time(survives_two_stalled_poppers<untagged_nodes>));
}

TEST(a_stack_without_a_tag, breaks_under_torture)
{
    EXPECT_TRUE(fails_at_some_time(survives_torture<untagged_nodes>));
}
} // namespace
