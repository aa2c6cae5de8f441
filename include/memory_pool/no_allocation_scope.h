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
 * Thread safety: any thread; a scope belongs to one thread.
 */
#ifndef MEMORY_POOL_NO_ALLOCATION_SCOPE_H
#define MEMORY_POOL_NO_ALLOCATION_SCOPE_H

#include <memory_pool/os/c_attributes.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(modernize-use-using): for C, too. */

/** The treatment of allocations in a scope. The scope always counts them and never prevents them. */
typedef enum np_allocating
{
    /** Only counted. */
    np_allocating_counted = 1,
    /** Reported on stderr, with its call stack; once for each of up to 256 call stacks of the process. */
    np_allocating_reported = 2,
    /** Reported each time, also to the error handler, which aborts by default. */
    np_allocating_fatal = 3
} np_allocating;

/** A scope in which its thread must not allocate. New members are added only at the end. */
typedef struct np_no_allocation_scope
{
    /** The name in reports; NULL: "unnamed". */
    const char* name;
    /** The treatment of allocations. */
    np_allocating allocating;
    /** The number of allocations so far. */
    size_t allocations;
    /** The requested bytes of these allocations. */
    size_t bytes;
    /** Called by the allocating thread after each allocation was made and counted. `allocator` is "np_alloc" or the
     *  name of a pool. The function may allocate, even from that pool, but must not throw. A pool calls the function
     *  after the pool has grown, with no lock held. If growing took more than 8 allocations, one call reports all
     *  allocations after the first 7, with the sum of their bytes. np_set_no_allocation_scope replaces NULL with a
     *  function that implements `allocating`. */
    void (*note)(struct np_no_allocation_scope* scope, size_t bytes, const char* allocator);
} np_no_allocation_scope;

/** Effects: replaces the scope of this thread; NULL: allocations are allowed.
 *
 *    A call of np_alloc or a relative, or of malloc or operator new if np_alloc replaces them, counts if it returns a
 *    new block, or grows a block by a system call. A request of a pool or arena of memory_pool to its upstream counts
 *    as one allocation, whatever upstream does. Frees do not count. Failed calls are neither counted nor reported, even
 *    if allocations are fatal: the caller sees the failure, and may have a fallback, such as a pool that then requests
 *    less.
 *
 *    While a scope applies, each allocation and each free of the thread takes the slow path.
 *  Returns: the previous scope; NULL if there was none.
 *  Preconditions: the scope lives until another one, or NULL, is set.
 *  Complexity: linear in size classes (about 70). */
np_no_allocation_scope* np_set_no_allocation_scope(np_no_allocation_scope* scope) MEMORY_POOL_NP_NOEXCEPT;

/* NOLINTEND(modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif
