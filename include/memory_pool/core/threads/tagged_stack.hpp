// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A lock-free stack of numbered nodes.
///
///     head: | tag, 38 bits | number + 1, 26 bits |  -->  node  -->  node  -->  0
///
///     The tag grows by one with each change of the head. A stack of more nodes has wider numbers and a narrower tag.
///
/// A thread that pops reads the head, then the number behind it, then exchanges the head if it has not changed. If the
/// node was popped and pushed again meanwhile, the same number is back, with another behind it (the ABA problem). The
/// tag tells the two apart. It comes around after 2^38 changes: at one in 10 ns, a thread would have to sleep for 45
/// minutes between its load and its exchange, and wake at one moment of 10^11. (Treiber, "Systems Programming: Coping
/// with Parallelism", 1986; the tag is from the IBM System/370 manual.)
///
/// Nodes must stay readable as long as the stack is in use, also after they were popped.
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
    // Both may be read after another thread has popped the node.
    std::atomic<std::uint32_t> below{0}; ///< Number of the next one + 1, or 0.
    std::atomic<std::uint32_t> depth{0}; ///< Nodes from here down, this one included.
};

/// A pop sees what was written before the push.
struct publishing_orders
{
    static constexpr std::memory_order push = std::memory_order_release;
    static constexpr std::memory_order pop = std::memory_order_acquire;
};

/// A lock-free stack of up to 2^LinkBits - 1 nodes. `Orders` is a parameter for the test that shows that weaker orders
/// fail.
template <class Orders = publishing_orders, unsigned LinkBits = 26>
class tagged_stack
{
public:
    /// Numbers are below this.
    static constexpr std::uint32_t most_nodes = static_cast<std::uint32_t>((std::uint64_t{1} << LinkBits) - 1);

    /// Effects: puts the node `number` on top. `node_at(number)` is a stack_node&.
    /// Complexity: O(1), and again for each change by another thread meanwhile.
    template <class NodeAt>
    void push(std::uint32_t number, NodeAt&& node_at) noexcept
    {
        stack_node& node = node_at(number);
        std::uint64_t head = 0;
        do {
            head = head_.load(Orders::pop); // as the top node is read
            node.below.store(link_in(head), std::memory_order_relaxed);
            node.depth.store(depth_below(head, node_at) + 1, std::memory_order_relaxed);
            MEMORY_POOL_DELAY_POINT();
        } while (!head_.compare_exchange_weak(head, with_next_tag(head, number + 1), Orders::push,
                                              std::memory_order_relaxed));
    }

    /// Returns: how many nodes there are; approximate while other threads are active.
    /// Complexity: O(1).
    template <class NodeAt>
    std::size_t size(NodeAt&& node_at) const noexcept
    {
        return depth_below(head_.load(Orders::pop), node_at);
    }

    /// Effects: pops the top node into `number`.
    /// Returns: whether there was one.
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

    /// Effects: forgets all nodes.
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
