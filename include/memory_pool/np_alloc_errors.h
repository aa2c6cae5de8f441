/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 The memory_pool authors
 */
/** \file
 * Misuse of np_alloc: what an error handler is told. See np_alloc.h.
 *
 * Thread safety: any thread.
 */
#ifndef MEMORY_POOL_NP_ALLOC_ERRORS_H
#define MEMORY_POOL_NP_ALLOC_ERRORS_H

#include <stddef.h>

#ifdef __cplusplus
#define MEMORY_POOL_NP_NOEXCEPT noexcept
extern "C" {
#else
#define MEMORY_POOL_NP_NOEXCEPT
#endif

/* NOLINTBEGIN(modernize-use-using): for C, too. */

/** The argument of an error handler. The strings live until it returns. */
typedef struct np_error_report
{
    /** What went wrong, as the report says it: "double free", "foreign pointer", ... */
    const char* kind;
    /** The pointer in question. */
    const void* address;
    /** Its bytes, in the checked build as requested; or 0 if there is no such block, or no longer. */
    size_t block_size;
    /** What it was given to: "np_alloc" or "np_heap". */
    const char* where;
    /** The lines that were printed. */
    const char* text;
} np_error_report;

/** Called after a misuse was printed on the standard error, with no lock held. If it returns, the call that was
 *  wrong is ignored. */
typedef void (*np_error_handler)(const np_error_report* report);

/** Effects: installs `handler` as the error handler; NULL stands for the default, which aborts. It replaces a handler
 *    set by memory_pool::set_error_handler in C++, and vice versa.
 *    libnp_malloc.so has the default. */
void np_set_error_handler(np_error_handler handler) MEMORY_POOL_NP_NOEXCEPT;

/* NOLINTEND(modernize-use-using) */

#ifdef __cplusplus
}
#endif

#undef MEMORY_POOL_NP_NOEXCEPT

#endif
