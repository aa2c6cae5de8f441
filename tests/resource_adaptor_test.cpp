// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/resource_adaptors.hpp>

#include <support/adaptor_conformance.hpp>

#include <memory_resource>
#include <type_traits>

namespace core = memory_pool::detail::core;

namespace test {
struct passing
{
    struct adaptor_type : core::resource_adaptor
    {
        explicit adaptor_type(std::pmr::memory_resource* upstream) : resource_adaptor(upstream) {}
    };

    explicit passing(std::pmr::memory_resource* upstream) : adaptor(upstream) {}
    std::pmr::memory_resource& resource() { return adaptor; }
    adaptor_type adaptor;
};
static_assert(!std::is_copy_constructible_v<passing::adaptor_type>, "what it has handed out, a copy would not know");

using a_adaptor_that_does_nothing = testing::Types<passing>;
INSTANTIATE_TYPED_TEST_SUITE_P(a_adaptor_that_does_nothing, adaptor_conformance, a_adaptor_that_does_nothing, );
} // namespace test
