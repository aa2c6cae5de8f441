// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Variants of a pool, as template arguments. A policy is a type with two constants, and any type that has them will do:
///
/// | policy            | counts | checks | for                                                        |
/// |-------------------|--------|--------|------------------------------------------------------------|
/// | `default_policy`  | no     | no     | speed                                                      |
/// | `counting_policy` | yes    | no     | exact statistics                                           |
/// | `checking_policy` | yes    | yes    | finding misuse: double free, overflow, write after free... |
///
/// They are types, not macros, so that two translation units never disagree about the layout of one pool.
#pragma once

namespace memory_pool
{
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

/// Statistics, and every misuse reported where it can be seen: see memory_pool::error.
struct checking_policy : counting_policy
{
    static constexpr bool checks = true; ///< Yes.
};
} // namespace memory_pool
