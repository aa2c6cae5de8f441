/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 The memory_pool authors
 */
/** \file
 * The version of the library, for programs in C and C++. CMake and the packages read it here, too: docs/versioning.md.
 *
 * Thread safety: constants.
 */
#ifndef MEMORY_POOL_VERSION_H
#define MEMORY_POOL_VERSION_H

/** Grows when programs must be changed to build; in 0.x, MINOR does. */
#define MEMORY_POOL_VERSION_MAJOR 0
/** Grows when something is added. */
#define MEMORY_POOL_VERSION_MINOR 1
/** Grows when something is mended. */
#define MEMORY_POOL_VERSION_PATCH 0

/** The version as a number to compare with: 10,203 is 1.2.3. */
#define MEMORY_POOL_VERSION                                                                                            \
    (10000 * MEMORY_POOL_VERSION_MAJOR + 100 * MEMORY_POOL_VERSION_MINOR + MEMORY_POOL_VERSION_PATCH)

#endif
