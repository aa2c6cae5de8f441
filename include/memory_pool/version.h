/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 The memory_pool authors
 */
/** \file
 * The version of the library, for C and C++. CMake and the packages also read it from this file: docs/versioning.md.
 *
 * Thread safety: constants.
 */
#ifndef MEMORY_POOL_VERSION_H
#define MEMORY_POOL_VERSION_H

/** Incremented for incompatible changes; in 0.x, these increment MINOR. */
#define MEMORY_POOL_VERSION_MAJOR 0
/** Incremented for additions. */
#define MEMORY_POOL_VERSION_MINOR 1
/** Incremented for bug fixes. */
#define MEMORY_POOL_VERSION_PATCH 0

/** The version as one number, for comparisons: 10,203 is 1.2.3. */
#define MEMORY_POOL_VERSION                                                                                            \
    (10000 * MEMORY_POOL_VERSION_MAJOR + 100 * MEMORY_POOL_VERSION_MINOR + MEMORY_POOL_VERSION_PATCH)

#endif
