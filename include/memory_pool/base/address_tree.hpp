// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A treap of nodes ordered by address. Finds the nodes on both sides of any pointer. The links are in the nodes.
///
///                      node            lower < node < higher, by address
///             lower <-      -> higher  the hash of a node's address is above the hashes of all nodes below it
///
/// The shape depends on the addresses alone, not on the order of insertions. The depth is logarithmic on average, and
/// the tree needs no memory beyond its nodes.
///
/// Thread safety: none; the owner guards the tree.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>

#include <cstdint>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::base {
/// A tree of `Node`s, each with two members of type `Node*`: `lower` and `higher`.
template <class Node>
class address_tree : immovable<address_tree<Node>>
{
public:
    /// The nodes on both sides of an address; nullptr if there is none.
    struct neighbours
    {
        Node* at_or_before;
        Node* behind;
    };

    bool empty() const noexcept { return root_ == nullptr; }

    /// Effects: adds a node that is in no tree.
    /// Complexity: logarithmic in nodes on average, like `remove` and `around`.
    void insert(Node* added) noexcept
    {
        Node** place = &root_;
        while (*place != nullptr && rank(*place) > rank(added))
            place = &side(*place, added);
        Node* rest = std::exchange(*place, added);
        Node** lower = &added->lower;
        Node** higher = &added->higher;
        while (rest != nullptr) { // Splits the subtree at the address of the new node.
            Node**& end = is_before(rest, added) ? lower : higher;
            *end = rest;
            end = &side(rest, added);
            rest = *end;
        }
        *lower = *higher = nullptr;
    }

    /// Effects: removes a node.
    /// Preconditions: the node is in the tree.
    void remove(const Node* removed) noexcept
    {
        Node** place = &root_;
        while (*place != removed)
            place = &side(*place, removed);
        Node* lower = removed->lower;
        Node* higher = removed->higher;
        while (lower != nullptr && higher != nullptr) { // Joins the two subtrees.
            Node*& upper = rank(lower) > rank(higher) ? lower : higher;
            *place = upper;
            place = &side(upper, removed);
            upper = *place;
        }
        *place = lower != nullptr ? lower : higher;
    }

    /// Effects: empties the tree without touching the nodes.
    void clear() noexcept { root_ = nullptr; }

    /// Returns: the nodes closest to `address`. Any pointer is allowed.
    neighbours around(const void* address) const noexcept
    {
        neighbours found{nullptr, nullptr};
        for (Node* each = root_; each != nullptr; each = side(each, address))
            (is_before(address, each) ? found.behind : found.at_or_before) = each;
        return found;
    }

private:
    /// Hashes twice: after a single hash, equal distances would stay equal, and the tree would degenerate to a chain.
    static std::uint64_t rank(const Node* of) noexcept { return mixed(mixed(reinterpret_cast<std::uintptr_t>(of))); }

    static Node*& side(Node* of, const void* address) noexcept
    {
        return is_before(address, of) ? of->lower : of->higher;
    }

    Node* root_ = nullptr;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::base
