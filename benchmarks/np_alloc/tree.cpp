// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Trees of small nodes are built, walked and torn down, while one stays all the time.
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

/// Returns: a full tree whose nodes have numbers from `number` on, as in a heap that is kept in an array.
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
        workload::fail("a node does not have the number that it was given");
    done.count(number);
    if (root.left != nullptr)
        walk(*root.left, 2 * number, done);
    if (root.right != nullptr)
        walk(*root.right, 2 * number + 1, done);
}
} // namespace

int main(int argc, char** argv)
{
    workload::arguments arguments(argc, argv, "tree: trees of small nodes are built, walked and torn down.");
    const std::size_t threads = arguments.number("threads", 1, "at once");
    const std::size_t depth = arguments.number("depth", 18, "of the largest tree");
    const std::size_t rounds = arguments.number("rounds", 8, "of each thread");
    arguments.end();

    const workload::tally done =
        workload::in_threads(threads, 0, [&](std::size_t, workload::random&, workload::tally& its_own) {
            const std::unique_ptr<node> lasting = build(depth, 1);
            for (std::size_t left = rounds; left != 0; --left) {
                // As many nodes of each depth: many small trees, few large ones.
                for (std::size_t its_depth = depth % 4; its_depth <= depth; its_depth += 4)
                    for (std::size_t trees = std::size_t{1} << (depth - its_depth); trees != 0; --trees)
                        walk(*build(its_depth, 1), 1, its_own);
            }
            walk(*lasting, 1, its_own);
        });
    done.print("tree");
}
