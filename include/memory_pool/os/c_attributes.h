/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 The memory_pool authors
 */
/** \file
 * Macros for attributes of C functions. The arguments are the positions of parameters.
 *
 * (GCC and Clang: __attribute__. C++17: [[nodiscard]].)
 *
 * Thread safety: constants.
 */
#ifndef MEMORY_POOL_OS_C_ATTRIBUTES_H
#define MEMORY_POOL_OS_C_ATTRIBUTES_H

/** Attributes of GCC and Clang; nothing for other compilers. */
#if defined(__GNUC__)
#define MEMORY_POOL_NP_ATTRIBUTE(...) __attribute__((__VA_ARGS__))
#else
#define MEMORY_POOL_NP_ATTRIBUTE(...)
#endif

/** A function whose result must be used. Off for programs written for the np_alloc.h that the drop-in replaces: they
 *  may discard blocks. */
#if defined(MEMORY_POOL_NP_MAY_LOSE_BLOCKS)
#define MEMORY_POOL_NP_RESULT
#elif defined(__cplusplus) && __cplusplus >= 201703
#define MEMORY_POOL_NP_RESULT [[nodiscard]]
#else
#define MEMORY_POOL_NP_RESULT MEMORY_POOL_NP_ATTRIBUTE(warn_unused_result)
#endif

/** A function that resizes a block. Arguments: the parameters for the size in bytes, or for count and size. */
#define MEMORY_POOL_NP_RESIZES(...) MEMORY_POOL_NP_RESULT MEMORY_POOL_NP_ATTRIBUTE(alloc_size(__VA_ARGS__))
/** A function that resizes a block. The first argument is the parameter for the alignment. */
#define MEMORY_POOL_NP_RESIZES_ALIGNED(alignment, ...)                                                                 \
    MEMORY_POOL_NP_RESULT MEMORY_POOL_NP_ATTRIBUTE(alloc_size(__VA_ARGS__), alloc_align(alignment))
/** A function that allocates a block. Arguments: as for MEMORY_POOL_NP_RESIZES. */
#define MEMORY_POOL_NP_ALLOCATES(...) MEMORY_POOL_NP_RESULT MEMORY_POOL_NP_ATTRIBUTE(malloc, alloc_size(__VA_ARGS__))
/** A function that allocates a block. The first argument is the parameter for the alignment. */
#define MEMORY_POOL_NP_ALLOCATES_ALIGNED(alignment, ...)                                                               \
    MEMORY_POOL_NP_RESULT MEMORY_POOL_NP_ATTRIBUTE(malloc, alloc_size(__VA_ARGS__), alloc_align(alignment))
/** A function that allocates a block for a string. */
#define MEMORY_POOL_NP_ALLOCATES_TEXT MEMORY_POOL_NP_RESULT MEMORY_POOL_NP_ATTRIBUTE(malloc)

/** For C++: a function that does not throw. */
#ifdef __cplusplus
#define MEMORY_POOL_NP_NOEXCEPT noexcept
#else
#define MEMORY_POOL_NP_NOEXCEPT
#endif

#endif
