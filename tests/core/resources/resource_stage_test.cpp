// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/resources/resource_stage.hpp>

#include <support/stage_conformance.hpp>

#include <memory_resource>
#include <type_traits>

namespace core = memory_pool::core;

namespace test
{
struct passing
{
    struct stage_type : core::resource_stage
    {
        explicit stage_type(std::pmr::memory_resource* upstream) : resource_stage(upstream) {}
    };

    explicit passing(std::pmr::memory_resource* upstream) : stage(upstream) {}
    std::pmr::memory_resource& resource() { return stage; }
    stage_type stage;
};
static_assert(!std::is_copy_constructible_v<passing::stage_type>, "what it has handed out, a copy would not know");

using a_stage_that_does_nothing = testing::Types<passing>;
INSTANTIATE_TYPED_TEST_SUITE_P(a_stage_that_does_nothing, stage_conformance, a_stage_that_does_nothing, );
} // namespace test
