// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/base/address_tree.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <set>
#include <vector>

namespace base = memory_pool::detail::base;

namespace {
struct node
{
    node* lower = nullptr;
    node* higher = nullptr;
};

using tree = base::address_tree<node>;

std::size_t depth_below(const node* top)
{
    return top == nullptr ? 0 : 1 + std::max(depth_below(top->lower), depth_below(top->higher));
}

TEST(address_tree, finds_nothing_when_empty)
{
    tree none;
    EXPECT_TRUE(none.empty());
    EXPECT_EQ(none.around(&none).at_or_before, nullptr);
    EXPECT_EQ(none.around(nullptr).behind, nullptr);
}

TEST(address_tree, finds_neighbors_like_a_sorted_set)
{
    std::vector<node> nodes(300);
    tree some;
    std::set<node*> model;
    std::mt19937 random(7);
    for (int round = 0; round != 4000; ++round) {
        node* const chosen = &nodes[random() % nodes.size()];
        if (model.insert(chosen).second) {
            some.insert(chosen);
        } else {
            model.erase(chosen);
            some.remove(chosen);
        }
        ASSERT_EQ(some.empty(), model.empty());
        const char* const asked = reinterpret_cast<const char*>(nodes.data()) + random() % (sizeof(node) * 300);
        const auto behind = std::find_if(model.begin(), model.end(),
                                         [asked](const node* each) { return base::is_before(asked, each); });
        ASSERT_EQ(some.around(asked).behind, behind == model.end() ? nullptr : *behind);
        ASSERT_EQ(some.around(asked).at_or_before, behind == model.begin() ? nullptr : *std::prev(behind));
    }
}

TEST(address_tree, is_shallow_for_sorted_insertion_at_any_distance)
{
    constexpr std::size_t count = 10'000;
    for (const std::size_t distance : {1U, 2U, 7U, 64U, 256U}) {
        std::vector<node> nodes(count * distance);
        tree rising;
        for (std::size_t i = 0; i != count; ++i)
            rising.insert(&nodes[i * distance]);
        // The root is the only node to which no other node points.
        std::set<const node*> tops;
        for (std::size_t i = 0; i != count; ++i)
            tops.insert(&nodes[i * distance]);
        for (const node& each : nodes) {
            tops.erase(each.lower);
            tops.erase(each.higher);
        }
        ASSERT_EQ(tops.size(), 1U);
        EXPECT_LE(depth_below(*tops.begin()), 60U) << "a random tree of 10,000 nodes has a depth of about 31";
    }
}

TEST(address_tree, clear_removes_all_nodes)
{
    node only;
    tree some;
    some.insert(&only);
    some.clear();
    EXPECT_TRUE(some.empty());
    EXPECT_EQ(some.around(&only).at_or_before, nullptr);
}
} // namespace
