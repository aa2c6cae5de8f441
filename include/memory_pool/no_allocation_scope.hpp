// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Scopes in which a thread must not allocate, such as an audio callback or the step of a controller.
///
///     void audio_callback(float* samples, int count)
///     {
///         no_allocation_scope guard("audio callback");
///         voices.create(...);                 not reported, unless the pool needs memory from upstream
///         text.append("...");                 reported when the string grows, if np_alloc replaces malloc
///     }
///
/// These allocations of the thread count:
///
/// - A call of upstream by a pool, arena or pool resource, even during construction. Each call counts as one
///   allocation, whatever upstream does.
/// - A block from np_alloc, including through malloc and operator new if np_alloc replaces them (libnp_malloc.so,
///   np_new_delete.hpp). Blocks from another malloc are not detected.
///
/// An allocation is counted, and reported on stderr with its call stack. If the allocation is fatal, the error handler
/// is called, which aborts. Frees and failed allocations are neither counted nor reported.
///
/// (Allocations from np_alloc are detected only on ELF platforms.)
///
/// Thread safety: a scope belongs to the thread that began it.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/core/reports/allocation_report.hpp>
#include <memory_pool/core/reports/upstream_call.hpp>
#include <memory_pool/no_allocation_scope.h>

#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// The treatment of allocations in a no_allocation_scope. The scope always counts them and never prevents them.
enum class allocating
{
    counted = np_allocating_counted,   ///< Only counted.
    reported = np_allocating_reported, ///< Reported on stderr; once for each of up to 256 call stacks of the process.
    fatal = np_allocating_fatal,       ///< Reported each time, also to the error handler, which aborts by default.
};

/// While a scope exists, its thread must not allocate. The innermost scope applies.
class no_allocation_scope : detail::base::immovable<no_allocation_scope>
{
public:
    /// Effects: begins the scope. `name` is its name in reports.
    /// Preconditions: `name` outlives the scope.
    /// Complexity: O(1); with np_alloc, linear in size classes (about 70).
    explicit no_allocation_scope(const char* name, allocating treatment = allocating::reported) noexcept
        : scope_{name, static_cast<np_allocating>(treatment), 0, 0, &detail::core::report_allocation},
          outer_(detail::core::set_no_allocation_scope(&scope_))
    {
    }

    /// Effects: ends the scope. The outer scope applies again.
    /// Preconditions: called by the thread that began the scope.
    /// Complexity: as the constructor.
    ~no_allocation_scope()
    {
        if (detail::core::these_notes.count != 0) // A function that a pool calls, such as upstream, ends the scope.
            detail::core::these_notes.give();
        (void)detail::core::set_no_allocation_scope(outer_);
    }

    /// Returns: the number of allocations, excluding nested scopes.
    std::size_t allocations() const noexcept { return scope_.allocations; }

    /// Returns: the requested bytes of these allocations.
    std::size_t bytes() const noexcept { return scope_.bytes; }

private:
    np_no_allocation_scope scope_;
    np_no_allocation_scope* const outer_;
};

/// While an allocation_scope exists, its thread may allocate, even within a no_allocation_scope.
class allocation_scope : detail::base::immovable<allocation_scope>
{
public:
    /// Effects: begins the scope.
    allocation_scope() noexcept = default;

    /// Effects: ends the scope. The outer scope applies again.
    /// Preconditions: called by the thread that began the scope.
    ~allocation_scope() { (void)detail::core::set_no_allocation_scope(outer_); }

private:
    np_no_allocation_scope* const outer_ = detail::core::set_no_allocation_scope(nullptr);
};
}} // namespace memory_pool::MEMORY_POOL_ABI
