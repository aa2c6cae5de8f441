// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// handle_model [OPERATIONS [SEED]]: checks handle pools against a model, by default with 10^9 operations each; runs
// threads that create, visit and destroy the same objects, a tenth as often; and uses one slot until it is retired.
#include <memory_pool/concurrent_handle_pool.hpp>
#include <memory_pool/handle_pool.hpp>
#include "support/check.hpp"
#include "support/handle_model.hpp"
#include "support/handle_stress.hpp"
#include "support/long_run.hpp"
#include "support/threads.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace mp = memory_pool;

namespace {
template <class Pool>
void agrees_with_the_model(std::uint64_t operations, std::uint64_t seed)
{
    test::handle_model<Pool> model(seed);
    CHECK(model.run(operations) == 0);
    CHECK(operations < 1000 || model.created() > operations / 8);
}

void survives_threads(std::uint64_t operations, std::uint64_t seed)
{
    using pool_type = mp::concurrent_handle_pool<test::checksummed>;
    constexpr std::size_t threads = 4;
    pool_type pool;
    test::handle_stress<pool_type> stress(pool);
    test::in_threads(threads, [&](std::size_t thread) {
        std::uint64_t left = operations / threads;
        stress.work(seed + thread, [&] { return left-- != 0; });
    });
    CHECK(stress.is_right());
}

/// Reuses one slot until its generations are exhausted: free slots are reused in LIFO order.
template <class Pool>
void retires_a_place(std::uint64_t max_objects)
{
    Pool pool;
    const typename Pool::handle first = pool.create(1);
    CHECK(pool.destroy(first));
    for (std::uint64_t i = 1; i != max_objects; ++i) {
        const typename Pool::handle next = pool.create(1);
        if (next.index != first.index) {
            CHECK(i == (std::uint64_t{1} << 31) - 1);
            CHECK(pool.verify() && !pool.contains(first) && pool.contains(next));
            return;
        }
        CHECK(next.generation == first.generation + 2 * i && pool.destroy(next));
    }
}
} // namespace

int main(int argument_count, char** arguments)
{
    const test::long_run settings = test::long_run_of(argument_count, arguments, 1e9);
    const auto operations = static_cast<std::uint64_t>(settings.amount);
    std::printf("handle_model: %llu operations, seed %llu\n", static_cast<unsigned long long>(operations),
                static_cast<unsigned long long>(settings.seed));
    agrees_with_the_model<mp::handle_pool<test::numbered>>(operations, settings.seed);
    agrees_with_the_model<mp::handle_pool<test::numbered, mp::checking_policy>>(operations / 100, settings.seed);
    agrees_with_the_model<mp::concurrent_handle_pool<test::numbered>>(operations, settings.seed);
    survives_threads(operations / 10, settings.seed);
    retires_a_place<mp::handle_pool<int>>(operations * 3);
}
