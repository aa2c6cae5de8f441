// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The upstream of the pools of one resource for one thread: locked_upstream.hpp without the lock.
///
/// Thread safety: as upstream.
#pragma once

#include <memory_pool/base/config.hpp>

#include <memory_resource>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// A resource without a lock.
class plain_upstream
{
public:
    static constexpr bool is_shared = false;

    /// A no-op lock.
    struct no_lock
    {
        no_lock() noexcept {} // NOLINT(modernize-use-equals-default): avoids warnings about unused variables
    };

    explicit plain_upstream(std::pmr::memory_resource* upstream) noexcept : upstream_(upstream) {}

    no_lock lock() const noexcept { return {}; }

    /// Returns: the upstream for pools.
    std::pmr::memory_resource* for_pools() noexcept { return upstream_; }

private:
    std::pmr::memory_resource* upstream_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
