/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 The memory_pool authors
 */
/** \file
 * A sampling heap profiler: the memory that np_alloc has in use, by call stack. See np_alloc.h.
 *
 * Thread safety: any thread.
 */
#ifndef MEMORY_POOL_NP_ALLOC_PROFILE_H
#define MEMORY_POOL_NP_ALLOC_PROFILE_H

#include <memory_pool/os/c_attributes.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(modernize-use-using): for C, too. */

/** Formats of a profile. */
typedef enum np_profile_format
{
    /** What pprof reads: profile.proto of github.com/google/pprof, with addresses and mappings, so that
     *  pprof finds the symbols. Its sample types are alloc_objects, alloc_space, inuse_objects and inuse_space. */
    np_profile_pprof,
    /** A line for each call stack, outermost function first, and its bytes in use: for flame graphs. */
    np_profile_folded,
    /** For people: call stacks, those with most bytes in use first. */
    np_profile_text
} np_profile_format;

/** Effects: passes the current profile to `write(text, length, argument)`, in parts: for each call stack, the
 *    blocks and bytes that were allocated there, and what of them is in use, estimated from the samples taken since
 *    np_option_profile_bytes was first not 0. No lock is held while `write` runs.
 *  Returns: 0; EINVAL if there is no such format, or `write` is NULL; ENOMEM if there is no memory.
 *  Throws: what `write` throws, if it is a function of C++; the memory for the profile is leaked then.
 *  Complexity: linear in samples in use, and n log n in call stacks. */
int np_profile_write(np_profile_format format, void (*write)(const char* text, size_t length, void* argument),
                     void* argument);

/** Effects: writes the current profile to the file at `path`, in which `%p` stands for the process ID, and `%%`
 *    for `%`: first to one beside it, which then replaces it. A path that ends in ".folded" or ".txt" chooses that
 *    format; any other one is for pprof.
 *  Returns: 0, or an error number.
 *  Complexity: as np_profile_write. */
int np_profile_dump(const char* path) MEMORY_POOL_NP_NOEXCEPT;

/* NOLINTEND(modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif
