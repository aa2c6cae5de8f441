// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Builds, walks and destroys trees of small nodes, while one tree stays alive.
#include "workload.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace {
struct node
{
    std::uint64_t number = 0;
    std::unique_ptr<node> left;
    std::unique_ptr<node> right;
};

/// Returns: a full binary tree whose nodes are numbered as in an array-based heap; the root has `number`.
std::unique_ptr<node> build(std::size_t depth, std::uint64_t number)
{
    auto root = std::make_unique<node>();
    root->number = number;
    if (depth != 0) {
        root->left = build(depth - 1, 2 * number);
        root->right = build(depth - 1, 2 * number + 1);
    }
    return root;
}

void walk(const node& root, std::uint64_t number, workload::tally& done)
{
    if (root.number != number)
        workload::fail("a node was overwritten");
    done.count(number);
    if (root.left != nullptr)
        walk(*root.left, 2 * number, done);
    if (root.right != nullptr)
        walk(*root.right, 2 * number + 1, done);
}
} // namespace

int main(int argc, char** argv)
{
    workload::arguments arguments(argc, argv, "tree: trees of small nodes are built, walked and destroyed.");
    const std::size_t threads = arguments.number("threads", 1, "at once");
    const std::size_t depth = arguments.number("depth", 18, "of the largest tree");
    const std::size_t rounds = arguments.number("rounds", 8, "of each thread");
    arguments.end();

    const workload::tally done =
        workload::in_threads(threads, 0, [&](std::size_t, workload::random&, workload::tally& thread_tally) {
            const std::unique_ptr<node> lasting = build(depth, 1);
            for (std::size_t left = rounds; left != 0; --left) {
                // An equal number of nodes for each depth: many small trees, few large ones.
                for (std::size_t tree_depth = depth % 4; tree_depth <= depth; tree_depth += 4)
                    for (std::size_t trees = std::size_t{1} << (depth - tree_depth); trees != 0; --trees)
                        walk(*build(tree_depth, 1), 1, thread_tally);
            }
            walk(*lasting, 1, thread_tally);
        });
    done.print("tree");
}
