// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Policies select a variant of a pool, as template arguments. A policy is any type with two constants:
///
/// | policy            | counts | checks | for                                                        |
/// |-------------------|--------|--------|------------------------------------------------------------|
/// | `default_policy`  | no     | no     | speed                                                      |
/// | `counting_policy` | yes    | no     | exact statistics, of pools                                 |
/// | `checking_policy` | yes    | yes    | finding misuse: double free, overflow, write after free... |
///
/// A policy for reference-counted objects may have a third constant, `outliving`; without this constant, objects may
/// outlive their pool. If a policy has a type `observer`, the pool notifies it of each block: see observing_policy.
///
/// Policies are types, not macros, so that two translation units never disagree about the layout of a pool.
#pragma once

#include <memory_pool/base/config.hpp>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// The treatment of reference-counted objects that outlive their pool.
enum class outliving
{
    allowed,  ///< Valid: the memory stays until the last object returns.
    reported, ///< A leak, which is reported on stderr. The memory stays.
    fatal,    ///< A leak, which is reported to the error handler. The default handler aborts.
};

/// No statistics, and only checks that cost nothing on the fast path.
struct default_policy
{
    static constexpr bool counts = false; ///< True: the pool keeps exact statistics.
    static constexpr bool checks = false; ///< True: the pool verifies every block that it allocates or frees.
};

/// Exact statistics: every allocation, deallocation and failure is counted.
struct counting_policy : default_policy
{
    static constexpr bool counts = true; ///< The pool keeps exact statistics.
};

/// Exact statistics, and one report of each detectable misuse: see memory_pool::error_kind.
struct checking_policy : counting_policy
{
    static constexpr bool checks = true; ///< The pool verifies every block that it allocates or frees.
};

/// Notifies `Observer` of each block of a pool. Use this policy for profilers, which otherwise see only the memory that
/// pools take from upstream: see tracy_policy.hpp, heaptrack_policy.hpp and massif_policy.hpp. `Observer` has two
/// static functions. Any thread that uses the pool calls them, and they must not use the pool:
///
///     static void allocated(const char* pool_name, const void* block, std::size_t bytes) noexcept;
///     static void freed(const char* pool_name, const void* block) noexcept;  also by clear, release and the destructor
template <class Observer, class Policy = default_policy>
struct observing_policy : Policy
{
    using observer = Observer; ///< The type that is notified.
};

/// Reports objects that outlive their pool as leaks, on stderr.
template <class Policy = default_policy>
struct leak_reporting_policy : Policy
{
    static constexpr memory_pool::outliving outliving = memory_pool::outliving::reported; ///< A leak.
};

/// Reports objects that outlive their pool to the error handler, which aborts by default.
template <class Policy = default_policy>
struct leak_fatal_policy : Policy
{
    static constexpr memory_pool::outliving outliving = memory_pool::outliving::fatal; ///< A fatal leak.
};
}} // namespace memory_pool::MEMORY_POOL_ABI
