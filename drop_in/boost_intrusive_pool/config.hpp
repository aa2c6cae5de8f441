// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The macros of boost_intrusive_pool.hpp, and a namespace whose name depends on their values.
///
/// Thread safety: compile time only.
#pragma once

#include <memory_pool/base/config.hpp>

// Programs can define these macros before including this header, with the same values in all translation units.
#ifndef BOOST_INTRUSIVE_POOL_DEFAULT_POOL_SIZE
#define BOOST_INTRUSIVE_POOL_DEFAULT_POOL_SIZE (64) ///< Initial number of items.
#endif
#ifndef BOOST_INTRUSIVE_POOL_INCREASE_STEP
#define BOOST_INTRUSIVE_POOL_INCREASE_STEP (64) ///< Items to grow by.
#endif
#ifndef BOOST_INTRUSIVE_POOL_NO_MAX_SIZE
#define BOOST_INTRUSIVE_POOL_NO_MAX_SIZE (0) ///< No limit.
#endif
#ifndef BOOST_INTRUSIVE_POOL_DEBUG_CHECKS
#define BOOST_INTRUSIVE_POOL_DEBUG_CHECKS (0) ///< 1: checks that a returned item is from the pool it returns to.
#endif
#ifndef BOOST_INTRUSIVE_POOL_DEBUG_THREAD_ACCESS
#define BOOST_INTRUSIVE_POOL_DEBUG_THREAD_ACCESS (0) ///< 1: reports use by a thread other than the first.
#endif
#ifdef BOOST_INTRUSIVE_POOL_DEBUG_MAX_REFCOUNT
#define BOOST_INTRUSIVE_POOL_COUNTS_POINTERS 1
#else
#define BOOST_INTRUSIVE_POOL_COUNTS_POINTERS BOOST_INTRUSIVE_POOL_DEBUG_CHECKS
/// The maximum number of pointers to an item. The pool reports a higher number if the program defines this macro or
/// sets BOOST_INTRUSIVE_POOL_DEBUG_CHECKS.
#define BOOST_INTRUSIVE_POOL_DEBUG_MAX_REFCOUNT (1024)
#endif

// Functions with and without checks need different mangled names (one definition rule).
#if BOOST_INTRUSIVE_POOL_DEBUG_CHECKS
#define BOOST_INTRUSIVE_POOL_ABI_CHECKS _debug_checks
#else
#define BOOST_INTRUSIVE_POOL_ABI_CHECKS
#endif
#if BOOST_INTRUSIVE_POOL_DEBUG_THREAD_ACCESS
#define BOOST_INTRUSIVE_POOL_ABI_THREAD _debug_thread_access
#else
#define BOOST_INTRUSIVE_POOL_ABI_THREAD
#endif
#if BOOST_INTRUSIVE_POOL_COUNTS_POINTERS
#define BOOST_INTRUSIVE_POOL_ABI_POINTERS _debug_max_refcount
#else
#define BOOST_INTRUSIVE_POOL_ABI_POINTERS
#endif
#define BOOST_INTRUSIVE_POOL_ABI_PASTED(checks, thread, pointers) checks##thread##pointers
#define BOOST_INTRUSIVE_POOL_ABI_JOINED(checks, thread, pointers)                                                      \
    BOOST_INTRUSIVE_POOL_ABI_PASTED(checks, thread, pointers)
#define BOOST_INTRUSIVE_POOL_ABI                                                                                       \
    MEMORY_POOL_ABI_NAMED(, BOOST_INTRUSIVE_POOL_ABI_JOINED(BOOST_INTRUSIVE_POOL_ABI_CHECKS,                           \
                                                            BOOST_INTRUSIVE_POOL_ABI_THREAD,                           \
                                                            BOOST_INTRUSIVE_POOL_ABI_POINTERS))
