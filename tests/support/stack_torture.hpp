// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A stress test for lock-free stacks: some threads stall between the load and the exchange of a pop, while other
/// threads pop and push the same few nodes (the ABA problem). Includes delays.hpp, so it must come first in a file,
/// too.
#pragma once

#include "support/delays.hpp"

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/threads/depot.hpp>
#include <memory_pool/core/threads/tagged_stack.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace test {
/// Nodes of a stack under torture.
inline constexpr std::uint32_t tortured_nodes = 6;
/// The result of a pop from an empty stack.
inline constexpr std::uint32_t no_node = tortured_nodes;

/// core::tagged_stack without the tag: the torture must detect its ABA problem.
class untagged_stack
{
public:
    template <class NodeAt>
    void push(std::uint32_t number, NodeAt&& node_at) noexcept
    {
        memory_pool::detail::core::stack_node& node = node_at(number);
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

/// A stack with its own nodes.
template <class Stack>
class stack_of_nodes
{
public:
    std::uint32_t pop()
    {
        std::uint32_t number = no_node;
        return stack_.pop(number, at_) ? number : no_node;
    }

    void push(std::uint32_t number) { stack_.push(number, at_); }

private:
    std::array<memory_pool::detail::core::stack_node, tortured_nodes> nodes_;
    Stack stack_;
    struct node_at
    {
        stack_of_nodes& all;
        memory_pool::detail::core::stack_node& operator()(std::uint32_t number) const { return all.nodes_[number]; }
    } at_{*this};
};

/// The full magazines in one shard of a depot.
class stack_of_magazines
{
public:
    stack_of_magazines()
    {
        depot_.provide(tortured_nodes);
        for (auto& magazine : magazines_)
            magazine = depot_.pop_empty(home);
    }

    std::uint32_t pop()
    {
        const memory_pool::detail::core::depot_magazine* const popped = depot_.pop_full(home);
        return popped != nullptr ? popped->number : no_node;
    }

    void push(std::uint32_t number) { depot_.push_full(home, magazines_[number]); }

private:
    static constexpr std::size_t home = 0;

    memory_pool::detail::core::depot depot_{4, std::pmr::new_delete_resource()};
    std::array<memory_pool::detail::core::depot_magazine*, tortured_nodes> magazines_{}; ///< By number.
};

/// A stack of nodes, with the number of owners of each node.
template <class Nodes>
class watched_nodes
{
public:
    watched_nodes()
    {
        for (std::uint32_t number = tortured_nodes; number-- != 0;) // 0 on top
            nodes_.push(number);
    }

    std::uint32_t pop()
    {
        const std::uint32_t number = nodes_.pop();
        if (number != no_node && owners_[number].fetch_add(1, std::memory_order_relaxed) != 0)
            is_broken_.store(true, std::memory_order_relaxed);
        return number;
    }

    void push(std::uint32_t number)
    {
        owners_[number].fetch_sub(1, std::memory_order_relaxed);
        nodes_.push(number);
    }

    /// Returns whether a node had two owners.
    bool is_broken() const { return is_broken_.load(std::memory_order_relaxed); }

    /// Returns whether each node has exactly one owner.
    /// Preconditions: no thread is running or holds a node.
    bool is_whole()
    {
        for (std::uint32_t i = 0; i <= tortured_nodes; ++i) // A cycle would have no end.
            if (pop() == no_node)
                break;
        return !is_broken() &&
               std::all_of(owners_.begin(), owners_.end(), [](const auto& owners) { return owners == 1; });
    }

private:
    std::array<std::atomic<int>, tortured_nodes> owners_{};
    std::atomic<bool> is_broken_{false};
    Nodes nodes_;
};

/// The minimum length and the intensity of a torture.
struct torture_shape
{
    std::uint64_t changes = 0; ///< Minimum of pops and pushes by the fast threads.
    std::uint64_t stalls = 0;  ///< Minimum of stalls by both stalling threads.
    unsigned fast_threads = 1; ///< At most 2.
    unsigned max_stall = 0;    ///< A stall lasts up to about 2^max_stall changes.
    std::uint64_t seed = 7;
};

/// The result of a torture.
struct torture_result
{
    std::uint64_t changes;
    std::uint64_t stalls;
    bool was_survived; ///< No node had two owners or was lost.
};

/// Two stalling threads, and fast threads that pop and push the same nodes until all threads have done enough.
template <class Nodes>
class torture
{
public:
    explicit torture(const torture_shape& shape) : shape_(shape) {}

    torture_result run()
    {
        std::vector<std::thread> threads;
        threads.reserve(stalling_threads + shape_.fast_threads);
        for (std::size_t i = 0; i != stalling_threads; ++i)
            threads.emplace_back([this, i] { stall(shape_.seed + i); });
        for (std::size_t i = 0; i != shape_.fast_threads; ++i)
            threads.emplace_back([this, i] { hurry(shape_.seed + stalling_threads + i); });
        for (auto& thread : threads)
            thread.join();
        // Threads that hold a node when the stack breaks keep the node.
        return {changes_, stalls_, !is_broken_ && nodes_.is_whole()};
    }

private:
    static constexpr std::size_t stalling_threads = 2;
    static constexpr std::size_t max_fast_threads = 2;
    // One node per stalling thread and two per fast thread: no pop finds an empty stack, unless a node is lost.
    static_assert(tortured_nodes == stalling_threads + 2 * max_fast_threads);

    /// Waits at each delay point for a number of changes, or until the end. The number is often close to a power of
    /// two, where a tag with few bits wraps around.
    class until_changed final : public delay_hook
    {
    public:
        until_changed(torture& owner, std::uint64_t seed) : owner_(owner), random_(seed) {}

        void pass() noexcept override
        {
            owner_.stalls_.fetch_add(1, std::memory_order_relaxed);
            const auto power = static_cast<unsigned>(random_() % (owner_.shape_.max_stall + 1));
            const std::uint64_t until = owner_.changes() + (std::uint64_t{1} << power) - 1 + random_() % 6;
            for (std::uint64_t now = owner_.changes(); now < until && !owner_.has_ended(); now = owner_.changes())
                pause(until - now);
        }

    private:
        /// Yields the processor to the fast threads, which may share it.
        static void pause(std::uint64_t missing)
        {
            constexpr std::uint64_t min_to_sleep = 5000; // Fewer changes are faster than a sleep.
            if (missing > min_to_sleep)
                std::this_thread::sleep_for(std::chrono::microseconds(1));
            else
                std::this_thread::yield();
        }

        torture& owner_;
        std::mt19937_64 random_;
    };

    void stall(std::uint64_t seed)
    {
        until_changed stalls(*this, seed);
        const delayed_by hook(stalls);
        while (!has_ended()) {
            const std::uint32_t popped = pop();
            if (is_broken_)
                return;
            nodes_.push(popped);
        }
    }

    void hurry(std::uint64_t seed)
    {
        std::mt19937_64 random(seed);
        while (!has_ended()) {
            std::array<std::uint32_t, 2> held{change_by_pop(), no_node};
            if (!is_broken_)
                held[1] = change_by_pop();
            if (is_broken_)
                return;
            const std::uint64_t drawn = random();
            if (drawn % 2 == 0)
                std::swap(held[0], held[1]);
            nodes_.push(held[0]);
            count_change();
            if (drawn % 64 < 2) // Sometimes lets another thread pop in between.
                std::this_thread::yield();
            nodes_.push(held[1]);
            count_change();
            if (is_enough())
                has_ended_.store(true, std::memory_order_relaxed);
        }
    }

    /// If the stack is empty, it is broken.
    std::uint32_t pop()
    {
        const std::uint32_t popped = nodes_.pop();
        if (popped == no_node || nodes_.is_broken()) {
            is_broken_.store(true, std::memory_order_relaxed);
            has_ended_.store(true, std::memory_order_relaxed);
        }
        return popped;
    }

    std::uint32_t change_by_pop()
    {
        const std::uint32_t popped = pop();
        count_change();
        return popped;
    }

    void count_change() { changes_.fetch_add(1, std::memory_order_relaxed); }

    std::uint64_t changes() const { return changes_.load(std::memory_order_relaxed); }

    bool is_enough() const
    {
        return changes() >= shape_.changes && stalls_.load(std::memory_order_relaxed) >= shape_.stalls;
    }

    bool has_ended() const { return has_ended_.load(std::memory_order_relaxed); }

    const torture_shape shape_;
    watched_nodes<Nodes> nodes_;
    alignas(memory_pool::cache_line_size) std::atomic<std::uint64_t> changes_{0};
    std::atomic<std::uint64_t> stalls_{0};
    alignas(memory_pool::cache_line_size) std::atomic<bool> has_ended_{false};
    std::atomic<bool> is_broken_{false};
};

/// Effects: runs a torture.
template <class Nodes>
torture_result tortured(const torture_shape& shape)
{
    return torture<Nodes>(shape).run();
}
} // namespace test
