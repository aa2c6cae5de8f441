// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// An adaptor that counts allocations and deallocations.
///
/// Thread safety: as upstream; the counting itself is for any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/core/resources/resource_adaptor.hpp>
#include <memory_pool/core/resources/resource_counters.hpp>

#include <cstddef>
#include <memory_resource>

namespace memory_pool
{
inline namespace MEMORY_POOL_ABI
{
namespace core
{
/// See tracking_resource, which is one, and has one more for each call site.
class counting_adaptor : public resource_adaptor
{
public:
    explicit counting_adaptor(std::pmr::memory_resource* upstream) : resource_adaptor(upstream) {}

    /// Returns: what has passed through so far, exactly. While other threads use the resource, the figures are of moments
    ///   close together.
    /// Complexity: O(1).
    /// Thread safety: any thread.
    resource_statistics statistics() const noexcept { return counters_.read(); }

    /// Returns: bytes handed out and not given back, as they were asked for.
    /// Complexity: O(1).
    /// Thread safety: any thread.
    std::size_t bytes_in_use() const noexcept { return counters_.bytes_in_use(); }

protected:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        base::failure_guard failure([this]() noexcept { counters_.count_failure(); });
        void* const chunk = resource_adaptor::do_allocate(bytes, alignment);
        failure.succeeded();
        counters_.count_allocation(bytes);
        return chunk;
    }

    void do_deallocate(void* chunk, std::size_t bytes, std::size_t alignment) override
    {
        if (chunk == nullptr)
            return;
        // Before upstream has it: from then on, another thread may be handed the same bytes, which are not there twice.
        counters_.count_deallocation(bytes);
        resource_adaptor::do_deallocate(chunk, bytes, alignment);
    }

private:
    resource_counters counters_;
};
} // namespace core
} // namespace MEMORY_POOL_ABI
} // namespace memory_pool
