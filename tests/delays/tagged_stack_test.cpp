// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Threads held up between the load and the exchange of a pop, while others pop and push the same nodes (the ABA problem).
#include "support/delays.hpp"

#include <memory_pool/core/tagged_stack.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace core = memory_pool::core;

namespace
{
/// core::tagged_stack without the tag: what the tests below must find fault with.
class untagged_stack
{
public:
    template <class NodeAt>
    void push(std::uint32_t number, NodeAt&& node_at) noexcept
    {
        core::stack_node& node = node_at(number);
        std::uint32_t head = head_.load(std::memory_order_relaxed);
        do {
            node.below.store(head, std::memory_order_relaxed);
            MEMORY_POOL_DELAY_POINT();
        } while (!head_.compare_exchange_weak(head, number + 1, std::memory_order_release, std::memory_order_relaxed));
    }

    template <class NodeAt>
    bool pop(std::uint32_t& number, NodeAt&& node_at) noexcept
    {
        std::uint32_t head = head_.load(std::memory_order_acquire);
        while (head != 0) {
            const std::uint32_t below = node_at(head - 1).below.load(std::memory_order_relaxed);
            MEMORY_POOL_DELAY_POINT();
            if (head_.compare_exchange_weak(head, below, std::memory_order_acquire, std::memory_order_acquire)) {
                number = head - 1;
                return true;
            }
        }
        return false;
    }

private:
    std::atomic<std::uint32_t> head_{0};
};

/// A stack, its nodes, and how many have each of them.
template <class Stack>
class watched_stack
{
public:
    static constexpr std::uint32_t count = 4;
    static constexpr std::uint32_t none = count;

    watched_stack()
    {
        for (std::uint32_t number = count; number-- != 0;) // 0 on top
            stack_.push(number, at_);
    }

    std::uint32_t pop()
    {
        std::uint32_t number = none;
        if (stack_.pop(number, at_) && owners_[number].fetch_add(1, std::memory_order_relaxed) != 0)
            is_broken_.store(true, std::memory_order_relaxed);
        return number;
    }

    void push(std::uint32_t number)
    {
        owners_[number].fetch_sub(1, std::memory_order_relaxed);
        stack_.push(number, at_);
    }

    /// Returns: whether a node was seen in two places.
    bool is_broken() const { return is_broken_.load(std::memory_order_relaxed); }

    /// Returns: whether each node is in one place, when nobody is at work.
    bool is_whole()
    {
        for (std::uint32_t i = 0; i <= count; ++i) // A cycle would have no end.
            if (pop() == none)
                break;
        return !is_broken() &&
               std::all_of(owners_.begin(), owners_.end(), [](const auto& owners) { return owners == 1; });
    }

private:
    std::array<core::stack_node, count> nodes_;
    std::array<std::atomic<int>, count> owners_{};
    std::atomic<bool> is_broken_{false};
    Stack stack_;
    struct node_at
    {
        watched_stack& all;
        core::stack_node& operator()(std::uint32_t number) const { return all.nodes_[number]; }
    } at_{*this};
};

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
template <class Stack>
bool survives_one_stalled_popper()
{
    watched_stack<Stack> stack;
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
template <class Stack>
bool survives_two_stalled_poppers()
{
    watched_stack<Stack> stack;
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

/// Waits at each delay point until there were some more changes, or there will be none.
class until_changed final : public test::delay_hook
{
public:
    until_changed(const std::atomic<unsigned>& changes, const std::atomic<bool>& has_ended, unsigned seed)
        : changes_(changes), has_ended_(has_ended), random_(seed)
    {
    }

    void pass() noexcept override
    {
        const unsigned now = changes_.load(std::memory_order_relaxed);
        const unsigned enough = static_cast<unsigned>(random_()) % 6;
        while (changes_.load(std::memory_order_relaxed) - now < enough && !has_ended_.load(std::memory_order_relaxed))
            std::this_thread::yield();
    }

private:
    const std::atomic<unsigned>& changes_;
    const std::atomic<bool>& has_ended_;
    std::mt19937 random_;
};

/// Two threads that stall, and a fast one that pops and pushes the same nodes until the others are done.
template <class Stack>
bool survives_torture()
{
    constexpr int rounds = 2000;
    watched_stack<Stack> stack;
    std::atomic<unsigned> changes{0};
    std::atomic<bool> has_ended{false};
    std::atomic<int> stallers{2};

    std::vector<std::thread> threads;
    for (unsigned me = 0; me != 2; ++me) {
        threads.emplace_back([&, me] {
            until_changed stall(changes, has_ended, me);
            const test::delayed_by hook(stall);
            for (int i = 0; i != rounds && !stack.is_broken(); ++i) {
                const std::uint32_t popped = stack.pop();
                if (popped != stack.none && !stack.is_broken())
                    stack.push(popped);
            }
            --stallers;
        });
    }
    std::mt19937 random(7);
    while (stallers != 0) {
        std::array<std::uint32_t, 2> held{stack.pop(), stack.pop()};
        changes += 2;
        if (random() % 2 == 0)
            std::swap(held[0], held[1]);
        for (const std::uint32_t number : held) {
            // A pop of another thread comes between them now and then.
            if (random() % 8 == 0)
                std::this_thread::yield();
            if (number != stack.none)
                stack.push(number);
            ++changes;
        }
        if (stack.is_broken())
            break;
    }
    has_ended = true;
    for (auto& thread : threads)
        thread.join();
    // Those who had a node when it broke still have it.
    return !stack.is_broken() && stack.is_whole();
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
    EXPECT_TRUE(survives_one_stalled_popper<core::tagged_stack<>>());
}

TEST(a_tagged_stack, survives_two_poppers_that_stall)
{
    EXPECT_TRUE(survives_two_stalled_poppers<core::tagged_stack<>>());
}

TEST(a_tagged_stack, survives_torture)
{
    EXPECT_TRUE(survives_torture<core::tagged_stack<>>());
}

// The tests above would see a stack that is not safe.

TEST(a_stack_without_a_tag, breaks_when_a_popper_stalls)
{
    EXPECT_TRUE(fails_at_some_time(survives_one_stalled_popper<untagged_stack>));
}

TEST(a_stack_without_a_tag, breaks_when_two_poppers_stall)
{
    EXPECT_TRUE(fails_at_some_time(survives_two_stalled_poppers<untagged_stack>));
}

TEST(a_stack_without_a_tag, breaks_under_torture)
{
    EXPECT_TRUE(fails_at_some_time(survives_torture<untagged_stack>));
}
} // namespace
