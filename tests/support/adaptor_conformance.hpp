// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The contract of every adaptor of a memory resource, and of every chain of adaptors. Instantiate it with
/// INSTANTIATE_TYPED_TEST_SUITE_P for types that have a constructor from an upstream and a function `resource()`.
#pragma once

#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <memory_resource>
#include <new>
#include <string>
#include <vector>

namespace test {
inline bool is_aligned(const void* chunk, std::size_t alignment)
{
    return reinterpret_cast<std::uintptr_t>(chunk) % alignment == 0;
}

/// An upstream that calls `before_deallocate` before each deallocation.
class watching_upstream : public accounting_upstream
{
public:
    std::function<void()> before_deallocate;

protected:
    void do_deallocate(void* chunk, std::size_t bytes, std::size_t alignment) override
    {
        before_deallocate();
        accounting_upstream::do_deallocate(chunk, bytes, alignment);
    }
};

/// Builds a map of texts and vectors in `resource`, checks it and destroys it. Forwards exceptions of the resource.
inline void use_containers(std::pmr::memory_resource* resource)
{
    std::pmr::map<int, std::pmr::string> texts(resource);
    std::pmr::list<std::pmr::vector<int>> rows(resource);
    for (int i = 0; i != 30; ++i) {
        texts.emplace(i, std::string(40 + static_cast<std::size_t>(i), 'x'));
        rows.emplace_back(static_cast<std::size_t>(i), i);
        if (i % 3 == 2)
            texts.erase(i - 1);
    }
    EXPECT_EQ(texts.size(), 20u);
    EXPECT_EQ(texts.at(29).size(), 69u);
    EXPECT_EQ(rows.back().back(), 29);
}

template <class Adaptors>
class adaptor_conformance : public testing::Test
{
protected:
    /// Expects that all memory has returned to upstream, with matching sizes and alignments.
    void expect_nothing_lost() const
    {
        EXPECT_EQ(upstream_.live_chunks(), 0u);
        EXPECT_EQ(upstream_.live_bytes(), 0u);
        EXPECT_EQ(upstream_.mismatched(), 0u);
    }

    accounting_upstream upstream_;
    Adaptors adaptors_{&upstream_};
    std::pmr::memory_resource& resource_ = adaptors_.resource();
};

TYPED_TEST_SUITE_P(adaptor_conformance);

TYPED_TEST_P(adaptor_conformance, forwards_sizes_and_alignments)
{
    for (std::size_t alignment = 1; alignment <= 65536; alignment *= 2) {
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{100}, 3 * alignment}) {
            void* const chunk = this->resource_.allocate(bytes, alignment);
            ASSERT_NE(chunk, nullptr);
            ASSERT_TRUE(is_aligned(chunk, alignment)) << bytes << " bytes aligned to " << alignment;
            EXPECT_EQ(this->upstream_.live_bytes(), bytes);
            EXPECT_EQ(this->upstream_.live_chunks(), 1u);
            std::memset(chunk, 0xAB, bytes);
            this->resource_.deallocate(chunk, bytes, alignment);
        }
    }
    this->expect_nothing_lost();
}

TYPED_TEST_P(adaptor_conformance, serves_containers)
{
    for (int round = 0; round != 3; ++round)
        use_containers(&this->resource_);
    this->expect_nothing_lost();
    EXPECT_GT(this->upstream_.calls(), 300u);
}

TYPED_TEST_P(adaptor_conformance, frees_all_memory_when_upstream_fails_at_any_call)
{
    use_containers(&this->resource_);
    const std::size_t calls = this->upstream_.calls();
    for (std::size_t call = 1; call <= calls; ++call) {
        this->upstream_.fail_at(call);
        EXPECT_THROW(use_containers(&this->resource_), std::bad_alloc);
        ASSERT_EQ(this->upstream_.live_chunks(), 0u) << "call " << call;
    }
    use_containers(&this->resource_);
    this->expect_nothing_lost();
}

TYPED_TEST_P(adaptor_conformance, fails_for_unaddressable_sizes)
{
    this->upstream_.fail_always(); // fails as malloc would; sanitizers would report such a size
    EXPECT_THROW((void)this->resource_.allocate(std::numeric_limits<std::ptrdiff_t>::max()), std::bad_alloc);
    this->upstream_.never_fail();
    use_containers(&this->resource_);
    this->expect_nothing_lost();
}

TYPED_TEST_P(adaptor_conformance, is_equal_to_itself_only)
{
    TypeParam other(&this->upstream_);
    EXPECT_TRUE(this->resource_.is_equal(this->resource_));
    EXPECT_FALSE(this->resource_.is_equal(other.resource()));
    EXPECT_FALSE(other.resource().is_equal(this->resource_));
    EXPECT_FALSE(this->resource_.is_equal(this->upstream_));
}

REGISTER_TYPED_TEST_SUITE_P(adaptor_conformance, forwards_sizes_and_alignments, serves_containers,
                            frees_all_memory_when_upstream_fails_at_any_call, fails_for_unaddressable_sizes,
                            is_equal_to_itself_only);
} // namespace test
