/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 The memory_pool authors
 */
/** \file
 * Scopes in which a thread must not allocate, such as an audio callback: the C interface. In C++, use
 * no_allocation_scope.hpp, which does not need np_alloc.
 *
 *     np_no_allocation_scope scope = {"audio callback", np_allocating_reported, 0, 0, NULL};
 *     np_no_allocation_scope* const outer = np_set_no_allocation_scope(&scope);
 *     ...                                       an allocation is counted in the scope, and reported
 *     np_set_no_allocation_scope(outer);
 *
 * Thread safety: any thread; a scope belongs to one.
 */
#ifndef MEMORY_POOL_NO_ALLOCATION_SCOPE_H
#define MEMORY_POOL_NO_ALLOCATION_SCOPE_H

#include <memory_pool/os/c_attributes.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(modernize-use-using): for C, too. */

/** The treatment of an allocation in a scope, which always counts it and never prevents it. */
typedef enum np_allocating
{
    /** Only counted. */
    np_allocating_counted = 1,
    /** Reported on stderr, with its call stack; once for each of up to 256 call stacks of the process. */
    np_allocating_reported = 2,
    /** Reported each time, also to the error handler, which aborts by default. */
    np_allocating_fatal = 3
} np_allocating;

/** A scope in which its thread must not allocate. Members are only added, at the end. */
typedef struct np_no_allocation_scope
{
    /** The name in reports; NULL: "unnamed". */
    const char* name;
    /** The treatment of allocations. */
    np_allocating allocating;
    /** Allocations so far. */
    size_t allocations;
    /** Their bytes, as requested. */
    size_t bytes;
    /** Called for each allocation after it was made and counted, by the allocating thread; `allocator` is "np_alloc" or
     *  the name of a pool. It may allocate, also from that pool, but not throw: a pool calls it when it has grown, with
     *  no lock held; if it needed more than 8 blocks for that, once for those after the first 7, with all their bytes.
     *  np_set_no_allocation_scope replaces NULL with a function that does what `allocating` says. */
    void (*note)(struct np_no_allocation_scope* scope, size_t bytes, const char* allocator);
} np_no_allocation_scope;

/** Effects: makes the scope apply to this thread in place of the previous one. NULL: allocations are allowed.
 *
 *    A call of np_alloc and the like, or of malloc and operator new where np_alloc replaces them, counts if it returns
 *    another block, or enlarges one by calling the OS. So does each call of a pool or arena of memory_pool that gets
 *    memory from its upstream: one allocation, whatever upstream does. Frees do not count. Calls that fail neither
 *    count nor get reported, even if allocations are fatal: their caller sees the failure, and may have a fallback,
 *    such as a pool that then asks for less.
 *
 *    While a scope applies, each allocation and each free of the thread takes the slow path.
 *  Returns: the previous scope; NULL if there was none.
 *  Preconditions: the scope lives until another one, or NULL, is set.
 *  Complexity: linear in size classes, about 70. */
np_no_allocation_scope* np_set_no_allocation_scope(np_no_allocation_scope* scope) MEMORY_POOL_NP_NOEXCEPT;

/* NOLINTEND(modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif
