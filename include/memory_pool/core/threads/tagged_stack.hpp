// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A lock-free stack of numbered nodes.
///
///     head: | tag, 38 bits | number + 1, 26 bits |  -->  node  -->  node  -->  0
///
///     Each change of the head increments the tag. A stack for more nodes has wider numbers and a narrower tag.
///
/// A pop reads the head, then the number below the top node, and then exchanges the head if the head is unchanged. If
/// other threads have popped that node and pushed it again in between, its number is the same, but the number below it
/// may differ (the ABA problem). The tag distinguishes the two states. It wraps around after 2^38 changes: at one
/// change per 10 ns, a thread would have to sleep for 45 minutes between its load and its exchange, and then wake at
/// one particular moment in 10^11. (Treiber, "Systems Programming: Coping with Parallelism", 1986; the tag is from the
/// IBM System/370 manual.)
///
/// Nodes must stay readable as long as the stack is in use, even after they were popped.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The base of nodes of a tagged_stack.
struct stack_node
{
    // A thread may read both members after another thread has popped the node.
    std::atomic<std::uint32_t> below{0}; ///< Number of the node below + 1; 0: none.
    std::atomic<std::uint32_t> depth{0}; ///< Number of nodes from this one down, inclusive.
};

/// A pop synchronizes with the push of its node.
struct publishing_orders
{
    static constexpr std::memory_order push = std::memory_order_release;
    static constexpr std::memory_order pop = std::memory_order_acquire;
};

/// A lock-free stack of up to 2^LinkBits - 1 nodes. `Orders` is a parameter for a test, which shows that weaker memory
/// orders fail.
template <class Orders = publishing_orders, unsigned LinkBits = 26>
class tagged_stack
{
public:
    /// Exclusive upper bound of node numbers.
    static constexpr std::uint32_t max_nodes = static_cast<std::uint32_t>((std::uint64_t{1} << LinkBits) - 1);

    /// Effects: puts the node `number` on top. `node_at(number)` returns a stack_node&.
    /// Complexity: O(1), repeated for each concurrent change by another thread.
    template <class NodeAt>
    void push(std::uint32_t number, NodeAt&& node_at) noexcept
    {
        stack_node& node = node_at(number);
        std::uint64_t head = 0;
        do {
            head = head_.load(Orders::pop); // Acquires the top node, whose depth is read below.
            node.below.store(link_in(head), std::memory_order_relaxed);
            node.depth.store(depth_below(head, node_at) + 1, std::memory_order_relaxed);
            MEMORY_POOL_DELAY_POINT();
        } while (!head_.compare_exchange_weak(head, with_next_tag(head, number + 1), Orders::push,
                                              std::memory_order_relaxed));
    }

    /// Returns: the number of nodes; approximate while other threads are active.
    /// Complexity: O(1).
    template <class NodeAt>
    std::size_t size(NodeAt&& node_at) const noexcept
    {
        return depth_below(head_.load(Orders::pop), node_at);
    }

    /// Effects: pops the top node, and sets `number` to its number.
    /// Returns: false if the stack is empty.
    /// Complexity: as push.
    template <class NodeAt>
    bool pop(std::uint32_t& number, NodeAt&& node_at) noexcept
    {
        std::uint64_t head = head_.load(Orders::pop);
        while (link_in(head) != 0) {
            const std::uint32_t below = node_at(link_in(head) - 1).below.load(std::memory_order_relaxed);
            MEMORY_POOL_DELAY_POINT();
            if (head_.compare_exchange_weak(head, with_next_tag(head, below), Orders::pop, Orders::pop)) {
                number = link_in(head) - 1;
                return true;
            }
        }
        return false;
    }

    /// Effects: removes all nodes.
    /// Preconditions: no other thread uses the stack.
    void clear() noexcept
    {
        head_.store(with_next_tag(head_.load(std::memory_order_relaxed), 0), std::memory_order_relaxed);
    }

private:
    static constexpr std::uint64_t link_mask = (std::uint64_t{1} << LinkBits) - 1;

    static std::uint32_t link_in(std::uint64_t head) noexcept { return static_cast<std::uint32_t>(head & link_mask); }

    template <class NodeAt>
    static std::uint32_t depth_below(std::uint64_t head, NodeAt& node_at) noexcept
    {
        return link_in(head) == 0 ? 0 : node_at(link_in(head) - 1).depth.load(std::memory_order_relaxed);
    }

    static std::uint64_t with_next_tag(std::uint64_t head, std::uint32_t link) noexcept
    {
        return ((head | link_mask) + 1) | link;
    }

    std::atomic<std::uint64_t> head_{0};
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
