// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// depot_torture [OPERATIONS [SEED]]: two threads pop magazines from a depot and stall between the load and the
// exchange, while two others pop and push the same magazines, 10^9 times by default. The stalls have all lengths, so
// a tag of few bits would wrap around. First, an untagged stack must fail the same torture.
#include "support/stack_torture.hpp"

#include "support/check.hpp"
#include "support/long_run.hpp"

#include <cstdint>
#include <cstdio>

namespace {
test::torture_shape hard_shape(std::uint64_t changes, std::uint64_t seed)
{
    test::torture_shape shape;
    shape.changes = changes;
    shape.fast_threads = 2;
    shape.max_stall = 17;
    shape.seed = seed;
    return shape;
}

template <class Nodes>
bool survives(const char* name, const test::torture_shape& shape)
{
    const test::torture_result result = test::tortured<Nodes>(shape);
    std::printf("%s: %llu changes, %llu stalls, %s\n", name, static_cast<unsigned long long>(result.changes),
                static_cast<unsigned long long>(result.stalls),
                result.was_survived ? "all nodes in one place" : "broken");
    std::fflush(stdout);
    return result.was_survived;
}
} // namespace

int main(int argc, char** argv)
{
    constexpr std::uint64_t more_than_it_takes = 100'000'000;
    const test::long_run settings = test::long_run_of(argc, argv, 1e9);
    const auto operations = static_cast<std::uint64_t>(settings.amount);
    const std::uint64_t seed = settings.seed;
    std::printf("%llu operations, seed %llu\n", static_cast<unsigned long long>(operations),
                static_cast<unsigned long long>(seed));
    CHECK(!survives<test::stack_of_nodes<test::untagged_stack>>("without a tag", hard_shape(more_than_it_takes, seed)));
    CHECK(survives<test::stack_of_magazines>("depot", hard_shape(operations, seed)));
}
