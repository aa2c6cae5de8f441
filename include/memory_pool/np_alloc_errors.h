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

#include <memory_pool/os/c_attributes.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(modernize-use-using): for C, too. */

/** What went wrong. Numbers are stable; new ones may be added. */
typedef enum np_error
{
    /** A block was freed that is not in use. */
    np_error_double_free = 1,
    /** A pointer was freed that no block contains. */
    np_error_foreign_pointer = 2,
    /** A pointer was freed that points into a block, not at its start. */
    np_error_misaligned_pointer = 3,
    /** A block was freed with another size than requested. */
    np_error_size_mismatch = 4,
    /** The bytes just behind a block were written to, or, behind a sample, read. */
    np_error_buffer_overflow = 5,
    /** A block was written to after it was freed. */
    np_error_write_after_free = 6,

    /* Of the pools in C++: see memory_pool/base/errors.hpp. */

    np_error_leak = 7,
    np_error_hook_failed = 8,
    np_error_pool_exhausted = 9,
    np_error_size_overflow = 10,
    np_error_out_of_memory = 11,
    np_error_invalid_argument = 12,
    np_error_wrong_thread = 13,
    np_error_limit_exceeded = 14,
    np_error_forbidden_allocation = 15,

    /* In the checked build. */

    /** A block was freed by a function that does not match its allocation, such as by delete if it is of malloc. */
    np_error_mismatched_deallocation = 16,

    /* Accesses to samples, and in the checked build to large free blocks. */

    /** The bytes just before a block were accessed. */
    np_error_buffer_underflow = 64,
    /** A block was accessed after it was freed. */
    np_error_use_after_free = 65
} np_error;

/** The argument of an error handler. The strings live until it returns. Members are only added, at the end. */
typedef struct np_error_report
{
    /** What went wrong. */
    np_error kind;
    /** The same, as the report says it: "double free", "foreign pointer", ... */
    const char* name;
    /** The pointer in question, or the address that was accessed. */
    const void* address;
    /** Bytes of its block, in the checked build as requested; 0 if there is no block, or it is gone. */
    size_t block_size;
    /** The interface that reports it: "np_alloc" or "np_heap". */
    const char* where;
    /** The lines that were printed. */
    const char* text;
} np_error_report;

/** Called after a misuse was printed on stderr, with no lock held. If it returns, the call that was
 *  wrong is ignored.
 *
 *  After a wrong access to a sample, or to a large free block in the checked build, it is called from the signal
 *  handler, and must be async-signal-safe; if it returns, the signal ends the program. */
typedef void (*np_error_handler)(const np_error_report* report);

/** Effects: installs `handler` as the error handler; NULL stands for the default, which aborts. It replaces a handler
 *    set by memory_pool::set_error_handler in C++, and vice versa; one in C++ is not called for accesses.
 *    libnp_malloc.so has the default.
 *  Returns: the previous handler; NULL if that was the default. For one in C++, a function that calls the last such
 *    handler, and can be installed again. */
np_error_handler np_set_error_handler(np_error_handler handler) MEMORY_POOL_NP_NOEXCEPT;

/* NOLINTEND(modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif
