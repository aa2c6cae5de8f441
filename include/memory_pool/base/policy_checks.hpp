// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Queries about policies for class templates, and the checks by which they reject invalid policies.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/policies.hpp>

#include <cstddef>
#include <type_traits>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::base {
/// True if a type has the two constants of a policy.
template <class Policy, class = void>
inline constexpr bool is_policy = false;
template <class Policy>
inline constexpr bool
    is_policy<Policy, std::void_t<std::bool_constant<Policy::counts>, std::bool_constant<Policy::checks>>> = true;

/// True if a policy has an observer.
template <class Policy, class = void>
inline constexpr bool has_observer = false;
template <class Policy>
inline constexpr bool has_observer<Policy, std::void_t<typename Policy::observer>> = true;

/// The constants of a policy. An invalid policy gets the constants of the default policy, so that the compiler reports
/// only the error of check_policy.
template <class Policy, bool IsOne = is_policy<Policy>>
struct checked_policy
{
    static constexpr bool counts = false;
    static constexpr bool checks = false;
};
template <class Policy>
struct checked_policy<Policy, true>
{
    static constexpr bool counts = Policy::counts;
    static constexpr bool checks = Policy::checks;
};

/// Effects: reports each block in use as freed to the observer of the policy, if it has one. `for_each_in_use(visit)`
///   calls `visit(block)` for each of these blocks.
template <class Policy, class ForEachInUse>
void observe_all_freed([[maybe_unused]] const char* pool_name, [[maybe_unused]] ForEachInUse&& for_each_in_use) noexcept
{
    if constexpr (has_observer<Policy>)
        for_each_in_use([pool_name](const void* block) { Policy::observer::freed(pool_name, block); });
}

/// True if a policy has an observer of the blocks in use when a pool is destroyed.
template <class Policy, class = void>
inline constexpr bool observes_end = false;
template <class Policy>
inline constexpr bool
    observes_end<Policy, std::void_t<decltype(Policy::observer::ended(nullptr, 0, 0, false, nullptr))>> = true;

/// Effects: if `observes_end`, notifies the observer of the `count` blocks in use when a pool is destroyed. `is_leak`:
///   the policy treats these blocks as leaks.
template <class Policy, class ForEachInUse>
void observe_end([[maybe_unused]] const char* pool_name, [[maybe_unused]] std::size_t block_size,
                 [[maybe_unused]] std::size_t count, [[maybe_unused]] bool is_leak,
                 [[maybe_unused]] ForEachInUse&& for_each_in_use) noexcept
{
    if constexpr (observes_end<Policy>)
        if (count != 0)
            Policy::observer::ended(pool_name, block_size, count, is_leak, for_each_in_use);
}

/// Rejects an invalid policy; called by the constructors of class templates with a policy.
template <class Policy>
constexpr void check_policy() noexcept
{
    static_assert(is_policy<Policy>, "a policy has two constants, counts and checks: derive yours from "
                                     "memory_pool::default_policy and redefine the constants that differ");
}

/// The `outliving` of a policy; `allowed` if the policy has none.
template <class Policy, class = void>
inline constexpr outliving outliving_of = outliving::allowed;
template <class Policy>
inline constexpr outliving outliving_of<Policy, std::void_t<decltype(Policy::outliving)>> = Policy::outliving;

/// Rejects a policy about leaks where it would have no effect. Called by the constructors of pools that free their
/// memory when they are destroyed.
template <class Policy>
constexpr void check_outliving_is_allowed() noexcept
{
    static_assert(outliving_of<Policy> == outliving::allowed,
                  "a policy about leaks is for pools whose objects return by themselves, as intrusive_pool and "
                  "shared_pool: nothing outlives this one");
}

/// For resources that neither notify observers nor count: rejects a policy with an observer, and a policy that counts
/// but does not check.
template <class Policy>
constexpr void check_resource_policy() noexcept
{
    static_assert(!has_observer<Policy>, "this resource does not notify observers of its blocks: pools do");
    using checked = checked_policy<Policy>;
    static_assert(!checked::counts || checked::checks,
                  "this resource does not count: put a tracking_resource before it; checking_policy finds misuse");
    check_policy<Policy>();
    check_outliving_is_allowed<Policy>();
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::base
