// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/threads/tagged_stack.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

namespace core = memory_pool::detail::core;

namespace {
struct marked_node : core::stack_node
{
    std::uint64_t written = 0; ///< Not atomic: only the thread that has popped the node writes it.
    std::atomic<unsigned> owners{0};
};

template <std::size_t Count>
class nodes
{
public:
    void push(std::uint32_t number) { stack_.push(number, at_); }

    /// Returns the popped number, or Count if the stack is empty.
    std::uint32_t pop()
    {
        std::uint32_t number = Count;
        return stack_.pop(number, at_) ? number : Count;
    }

    marked_node& operator[](std::uint32_t number) { return nodes_[number]; }

private:
    std::array<marked_node, Count> nodes_;
    core::tagged_stack<> stack_;
    struct node_at
    {
        nodes& all;
        core::stack_node& operator()(std::uint32_t number) const { return all.nodes_[number]; }
    } at_{*this};
};

TEST(tagged_stack, is_empty_initially)
{
    nodes<1> few;
    EXPECT_EQ(few.pop(), 1u);
    EXPECT_EQ(few.pop(), 1u);
}

TEST(tagged_stack, pop_leaves_the_number_unchanged_when_empty)
{
    core::tagged_stack<> stack;
    core::stack_node node;
    std::uint32_t number = 77;
    EXPECT_FALSE(stack.pop(number, [&](std::uint32_t) -> core::stack_node& { return node; }));
    EXPECT_EQ(number, 77u);
}

TEST(tagged_stack, pops_in_lifo_order)
{
    nodes<3> three;
    for (const std::uint32_t number : {0u, 1u, 2u})
        three.push(number);
    for (const std::uint32_t number : {2u, 1u, 0u})
        EXPECT_EQ(three.pop(), number);
    EXPECT_EQ(three.pop(), 3u);
}

TEST(tagged_stack, accepts_number_0)
{
    nodes<2> two;
    two.push(1);
    two.push(0);
    EXPECT_EQ(two.pop(), 0u);
    EXPECT_EQ(two.pop(), 1u);
    two.push(0);
    EXPECT_EQ(two.pop(), 0u);
    EXPECT_EQ(two.pop(), 2u);
}

TEST(tagged_stack, accepts_the_largest_number)
{
    core::tagged_stack<> stack;
    core::stack_node node;
    const auto at = [&node](std::uint32_t number) -> core::stack_node& {
        EXPECT_EQ(number, core::tagged_stack<>::max_nodes - 1);
        return node;
    };
    // Repeated, so that the tag or the number would overflow into the other.
    for (int i = 0; i != 1000; ++i) {
        stack.push(core::tagged_stack<>::max_nodes - 1, at);
        std::uint32_t number = 0;
        ASSERT_TRUE(stack.pop(number, at));
        ASSERT_EQ(number, core::tagged_stack<>::max_nodes - 1);
        ASSERT_FALSE(stack.pop(number, at));
    }
}

TEST(tagged_stack, behaves_like_a_vector)
{
    constexpr std::uint32_t count = 100;
    nodes<count> all;
    std::vector<std::uint32_t> held;
    std::vector<std::uint32_t> expected;
    for (std::uint32_t number = 0; number != count; ++number)
        held.push_back(number);
    std::mt19937 random(1);
    for (int i = 0; i != 10'000; ++i) {
        if (random() % 2 == 0 && !held.empty()) {
            std::swap(held[random() % held.size()], held.back());
            all.push(held.back());
            expected.push_back(held.back());
            held.pop_back();
        } else if (expected.empty()) {
            ASSERT_EQ(all.pop(), count);
        } else {
            ASSERT_EQ(all.pop(), expected.back());
            held.push_back(expected.back());
            expected.pop_back();
        }
    }
}

TEST(tagged_stack, gives_each_node_to_one_thread_at_a_time)
{
    constexpr std::uint32_t count = 8;
    constexpr int rounds = 30'000;
    nodes<count> all;
    for (std::uint32_t number = 0; number != count; ++number)
        all.push(number);

    std::atomic<int> shared_nodes{0};
    std::atomic<std::uint64_t> pops{0};
    std::vector<std::thread> threads;
    for (unsigned me = 0; me != 4; ++me) {
        threads.emplace_back([&, me] {
            std::mt19937 random(me);
            std::vector<std::uint32_t> held;
            const auto push_one = [&] {
                std::swap(held[random() % held.size()], held.back());
                all[held.back()].owners.fetch_sub(1, std::memory_order_relaxed);
                all.push(held.back());
                held.pop_back();
            };
            for (int i = 0; i != rounds; ++i) {
                const std::uint32_t popped = held.size() < 3 ? all.pop() : count;
                if (popped != count) {
                    held.push_back(popped);
                    if (all[popped].owners.fetch_add(1, std::memory_order_relaxed) != 0)
                        ++shared_nodes;
                    ++all[popped].written; // A write before a push must be visible after the pop.
                    ++pops;
                }
                if (!held.empty() && (popped == count || random() % 2 == 0))
                    push_one();
            }
            while (!held.empty())
                push_one();
        });
    }
    for (auto& thread : threads)
        thread.join();

    EXPECT_EQ(shared_nodes, 0);
    std::array<int, count + 1> seen{};
    std::uint64_t written = 0;
    for (std::uint32_t i = 0; i != count; ++i) {
        const std::uint32_t popped = all.pop();
        ++seen[popped];
        written += popped == count ? 0 : all[popped].written;
    }
    for (std::uint32_t number = 0; number != count; ++number)
        EXPECT_EQ(seen[number], 1) << number;
    EXPECT_EQ(all.pop(), count) << "no further node";
    EXPECT_EQ(written, pops) << "a thread missed a write of another thread";
}
} // namespace
