// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The base of all adaptors: memory resources that forward every call and add one function.
///
///     container  ->  adaptor  ->  adaptor  ->  upstream
///
///     What upstream sees is what the adaptor was asked for: the same bytes, the same alignment, the same address.
///
/// Thread safety: that of the adaptor.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/refusals.hpp>

#include <cstddef>
#include <memory_resource>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// An adaptor that passes every call on. It holds no memory, so its destructor has nothing to release.
class resource_adaptor : public std::pmr::memory_resource, public resource_by_address
{
public:
    resource_adaptor(const resource_adaptor&) = delete;
    resource_adaptor& operator=(const resource_adaptor&) = delete;

    /// Returns: the upstream resource.
    std::pmr::memory_resource* upstream_resource() const noexcept { return upstream_; }

protected:
    /// Throws: std::invalid_argument if there is no upstream.
    explicit resource_adaptor(std::pmr::memory_resource* upstream) : upstream_(upstream)
    {
        if (upstream == nullptr)
            base::throw_invalid_argument(
                base::message("memory_pool: the upstream of a memory resource is nullptr; leave "
                              "it out for std::pmr::get_default_resource()"));
    }

    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        return upstream_->allocate(bytes, alignment);
    }

    void do_deallocate(void* chunk, std::size_t bytes, std::size_t alignment) override
    {
        if (chunk != nullptr) // Not every upstream accepts nullptr.
            upstream_->deallocate(chunk, bytes, alignment);
    }

    /// Two adaptors are never equal, whatever their upstream: memory counted by one must not go back through the other.
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

private:
    std::pmr::memory_resource* const upstream_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
