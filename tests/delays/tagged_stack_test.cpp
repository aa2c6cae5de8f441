// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The ABA problem: threads are delayed between the load and the exchange of a pop while others pop and push the same
// nodes.
#include "support/stack_torture.hpp"

#include <memory_pool/core/threads/tagged_stack.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <utility>

namespace {
using tagged_nodes = test::stack_of_nodes<memory_pool::detail::core::tagged_stack<>>;
using untagged_nodes = test::stack_of_nodes<test::untagged_stack>;

/// Runs an action at the first delay point only.
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

/// The textbook case: during a pop of 0, with 1 below it, another thread pops 0 and 1 and pushes 0 again.
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

/// Two nested stalled pops; both see the same node return.
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

/// Retries, since a spurious failure of an exchange can hide the fault.
bool fails_at_some_time(bool (*survives)())
{
    for (int attempt = 0; attempt != 100; ++attempt)
        if (!survives())
            return true;
    return false;
}

TEST(tagged_stack, survives_a_stalled_pop)
{
    EXPECT_TRUE(survives_one_stalled_popper<tagged_nodes>());
}

TEST(tagged_stack, survives_two_stalled_pops)
{
    EXPECT_TRUE(survives_two_stalled_poppers<tagged_nodes>());
}

TEST(tagged_stack, survives_torture)
{
    EXPECT_TRUE(survives_torture<tagged_nodes>());
}

TEST(depot, survives_torture)
{
    EXPECT_TRUE(survives_torture<test::stack_of_magazines>());
}

// Negative controls: the same tests break an untagged stack.

TEST(untagged_stack_control, breaks_in_a_stalled_pop)
{
    EXPECT_TRUE(fails_at_some_time(survives_one_stalled_popper<untagged_nodes>));
}

TEST(untagged_stack_control, breaks_in_two_stalled_pops)
{
    EXPECT_TRUE(fails_at_some_time(survives_two_stalled_poppers<untagged_nodes>));
}

TEST(untagged_stack_control, breaks_under_torture)
{
    EXPECT_TRUE(fails_at_some_time(survives_torture<untagged_nodes>));
}
} // namespace
