// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Writes past the end of blocks. Expects a single report for all later operations on the block and its pool.
#pragma once

#include <memory_pool/base/poisoning.hpp>
#include <memory_pool/core/slabs/fill_pattern.hpp>
#include <memory_pool/errors.hpp>
#include <memory_pool/pool_options.hpp>

#include <support/error_recorder.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace test {
/// Effects: unpoisons the byte at `offset` from `block` for sanitizers, and writes to it.
inline void write_behind(void* block, std::size_t offset)
{
    auto* const target = static_cast<unsigned char*>(block) + offset;
    memory_pool::detail::base::permit_access(target, 1);
    *target = 'x';
}

/// An operation on an overflowed block, or on its pool.
template <class Pool>
struct named_step
{
    const char* name;
    std::function<void(std::optional<Pool>&, void*)> run;
};

/// Effects: expects that a block pool reports an overflow once: in the first step that checks the block, and in none of
///   the later steps.
template <class Pool>
void expect_one_report_of_each_overflow()
{
    const std::vector<named_step<Pool>> finding{
        {"deallocate", [](std::optional<Pool>& pool, void* block) { pool->deallocate(block); }},
        {"verify", [](std::optional<Pool>& pool, void* block) { EXPECT_FALSE(pool->check(block)); }},
    };
    const std::vector<named_step<Pool>> following{
        {"deallocate", [](std::optional<Pool>& pool, void* block) { pool->deallocate(block); }},
        {"verify", [](std::optional<Pool>& pool, void* block) { EXPECT_TRUE(pool->check(block)); }},
        {"trim", [](std::optional<Pool>& pool, void*) { (void)pool->trim(); }},
        {"clear", [](std::optional<Pool>& pool, void*) { pool->clear(); }},
        {"release", [](std::optional<Pool>& pool, void*) { pool->release(); }},
        {"the destructor", [](std::optional<Pool>& pool, void*) { pool.reset(); }},
    };
    const auto expect_one_report = [](const std::vector<named_step<Pool>>& steps) {
        const error_recorder errors;
        std::string names;
        std::optional<Pool> pool(std::in_place, 40);
        void* const block = pool->allocate();
        write_behind(block, 40);
        for (const named_step<Pool>& step : steps) {
            step.run(pool, block);
            names += step.name + std::string(", ");
        }
        EXPECT_TRUE(!pool || pool->verify()) << names;
        pool.reset();
        EXPECT_EQ(errors.kinds(), kinds{memory_pool::error_kind::buffer_overflow}) << names;
    };
    for (const named_step<Pool>& then : following) {
        for (const named_step<Pool>& first : finding)
            expect_one_report({first, then});
        if (then.name != std::string("verify") && then.name != std::string("trim"))
            expect_one_report({then});
    }
}

/// Effects: expects one report of an overflow when the last pointer to an object is gone, and that the block is then
///   free.
template <class Pool>
void expect_one_report_when_the_last_pointer_goes()
{
    for (const bool outlives : {false, true}) {
        const error_recorder errors;
        shared_accounting_upstream upstream;
        auto pool = std::make_unique<Pool>(memory_pool::pool_options{}, &upstream);
        auto object = pool->make();
        for (std::size_t i = 0; i != memory_pool::detail::core::fill_pattern::canary_bytes; ++i)
            write_behind(object.get(), sizeof *object + i); // Some of these bytes may still be in the block.
        if (outlives)
            pool.reset();
        object.reset();
        EXPECT_TRUE(!pool || pool->in_use() == 0);
        pool.reset();
        EXPECT_EQ(errors.kinds(), kinds{memory_pool::error_kind::buffer_overflow}) << outlives;
        EXPECT_EQ(upstream.live_bytes(), 0u) << outlives;
    }
}
} // namespace test
