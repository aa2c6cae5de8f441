// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Variants of a pool, as template arguments. A policy is a type with two constants, and any type that has them will
/// do:
///
/// | policy            | counts | checks | for                                                        |
/// |-------------------|--------|--------|------------------------------------------------------------|
/// | `default_policy`  | no     | no     | speed                                                      |
/// | `counting_policy` | yes    | no     | exact statistics, of pools                                 |
/// | `checking_policy` | yes    | yes    | finding misuse: double free, overflow, write after free... |
///
/// Pools of reference-counted objects look for a third constant, `outliving`; without it, objects may outlive the pool.
/// A type `observer` is notified of each block: see observing_policy.
///
/// They are types, not macros, so that two translation units never disagree about the layout of one pool.
#pragma once

#include <memory_pool/base/config.hpp>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// The treatment of reference-counted objects that outlive their pool.
enum class outliving
{
    allowed,  ///< Valid: the memory stays until the last of them returns.
    reported, ///< A leak, which is reported on stderr, and the memory stays.
    fatal,    ///< A leak, which is reported to the error handler, which aborts unless it was replaced.
};

/// No statistics and no checks beyond those that cost nothing on the fast path.
struct default_policy
{
    static constexpr bool counts = false; ///< Keep exact statistics?
    static constexpr bool checks = false; ///< Verify every block that is handed out or given back?
};

/// Exact statistics: every allocation, deallocation and failure is counted.
struct counting_policy : default_policy
{
    static constexpr bool counts = true; ///< Yes.
};

/// Statistics, and each detectable misuse is reported, once: see memory_pool::error_kind.
struct checking_policy : counting_policy
{
    static constexpr bool checks = true; ///< Yes.
};

/// Notifies `Observer` of each block of a pool: for profilers, which otherwise see only the memory that pools take from
/// upstream: see tracy_policy.hpp, heaptrack_policy.hpp and massif_policy.hpp. `Observer` has two static functions,
/// which any thread that uses the pool calls, and which must not use the pool:
///
///     static void allocated(const char* pool_name, const void* block, std::size_t bytes) noexcept;
///     static void freed(const char* pool_name, const void* block) noexcept;  also by clear, release and the destructor
template <class Observer, class Policy = default_policy>
struct observing_policy : Policy
{
    using observer = Observer; ///< Is notified.
};

/// Reports objects that outlive their pool as leaks.
template <class Policy = default_policy>
struct leak_reporting_policy : Policy
{
    static constexpr memory_pool::outliving outliving = memory_pool::outliving::reported; ///< Says so.
};

/// Has the error handler end a program whose objects outlive their pool.
template <class Policy = default_policy>
struct leak_fatal_policy : Policy
{
    static constexpr memory_pool::outliving outliving = memory_pool::outliving::fatal; ///< Says so.
};
}} // namespace memory_pool::MEMORY_POOL_ABI
