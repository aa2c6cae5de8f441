// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A doubly linked list whose nodes contain the links, as pointers or indices.
///
///     first -> node <-> node <-> last        first.previous == last, last.next == none
///
///     a node is in a list if and only if its `previous` is not none
///
/// The head is one word, and both ends are reached in O(1). Adding a listed node, or removing an unlisted node, is a
/// no-op.
///
/// Thread safety: none; the owner guards the list.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>

#include <cstddef>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::base {
/// Links that are members of the node: pointers, initially nullptr.
template <class T, T* T::* Next, T* T::* Previous>
struct member_links
{
    using node = T*;
    static constexpr T* none = nullptr;
    static node& next(node of) noexcept { return of->*Next; }
    static node& previous(node of) noexcept { return of->*Previous; }
};

/// A list of nodes. `Links` finds the links of a node. For indices, the `Links` object refers to the table of nodes,
/// and the caller passes the object to each function.
template <class Links>
class intrusive_list : immovable<intrusive_list<Links>>
{
public:
    using node = typename Links::node;

    bool empty() const noexcept { return first_ == Links::none; }

    /// Returns: the first node, or none.
    node first() const noexcept { return first_; }

    static bool is_listed(node which, const Links& links = {}) noexcept { return links.previous(which) != Links::none; }

    /// Effects: makes a node the first, unless it is listed.
    void add_first(node added, const Links& links = {}) noexcept { add(added, true, links); }

    /// Effects: makes a node the last, unless it is listed.
    void add_last(node added, const Links& links = {}) noexcept { add(added, false, links); }

    /// Effects: makes a node the first or the last, unless it is listed.
    void add(node added, bool at_front, const Links& links) noexcept
    {
        if (is_listed(added, links))
            return;
        const node last = empty() ? added : std::exchange(links.previous(first_), added);
        links.previous(added) = last;
        links.next(added) = at_front ? first_ : Links::none;
        if (at_front || empty())
            first_ = added;
        else
            links.next(last) = added;
    }

    /// Effects: removes a node, if it is listed.
    void remove(node removed, const Links& links = {}) noexcept
    {
        if (!is_listed(removed, links))
            return;
        const node next = links.next(removed);
        const node previous = links.previous(removed);
        (removed == first_ ? first_ : links.next(previous)) = next;
        if (!empty())
            links.previous(next != Links::none ? next : first_) = previous;
        links.previous(removed) = Links::none;
    }

    /// Effects: empties the list without touching the nodes.
    void clear() noexcept { first_ = Links::none; }

    /// Effects: marks a node as unlisted after its list is gone.
    static void forget(node lost, const Links& links = {}) noexcept { links.previous(lost) = Links::none; }

    /// Effects: calls `visit(node)` for each node. `visit` may remove the node.
    template <class Visit>
    void for_each(Visit&& visit, const Links& links = {}) const
    {
        for (node each = first_; each != Links::none;) {
            const node next = links.next(each);
            visit(each);
            each = next;
        }
    }

    /// Effects: calls `is_valid(node)` for each node before reading its links; stops at the first inconsistency.
    /// Returns: true if `is_valid` accepts all nodes, and their links in both directions agree.
    template <class IsValid>
    bool is_linked(IsValid&& is_valid, const Links& links = {}) const
    {
        node last = Links::none;
        for (node each = first_; each != Links::none; each = links.next(each)) {
            if (!is_valid(each) || (last != Links::none && (each == first_ || links.previous(each) != last)))
                return false;
            last = each;
        }
        return empty() || links.previous(first_) == last;
    }

    /// Returns: true if the list has `expected` nodes, and their links in both directions agree.
    bool has(std::size_t expected, const Links& links = {}) const noexcept
    {
        std::size_t found = 0;
        const bool is_whole = is_linked([&](node) { return ++found <= expected; }, links);
        return is_whole && found == expected;
    }

private:
    node first_ = Links::none;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::base
