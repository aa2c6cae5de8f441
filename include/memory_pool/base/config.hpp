// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Macros and constants for the compiler, the platform and the build configuration. Apart from os/, no other header
/// tests for a compiler or platform. Every macro is always defined; a yes/no macro is 1 or 0. No macro changes the
/// layout of a type. A macro that changes an inline function also changes its mangled name: see MEMORY_POOL_ABI.
#pragma once

// Pre-C++17 programs reach this header through the drop-ins. A missing include stops the compiler. After an #error, the
// compiler would continue, with hundreds of follow-up errors.
#if __cplusplus < 201703L && !(defined(_MSVC_LANG) && _MSVC_LANG >= 201703L)
#include <memory_pool: these headers need C++17: -std=c++17, or CMAKE_CXX_STANDARD 17>
#endif
#ifdef MEMORY_POOL_SINGLE_HEADER // Defined at the end of the single header: tools/amalgamate.py
#include <memory_pool: these headers need a translation unit without the single header>
#endif

#include <memory_pool/version.h>

#include <cstddef>
#if defined(__has_include)
#if __has_include(<version>)
#include <version>
#endif
#endif

// Are exceptions enabled in this translation unit? If not, a function that would throw calls the error handler instead.
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS) || defined(_CPPUNWIND)
#define MEMORY_POOL_EXCEPTIONS 1
#else
#define MEMORY_POOL_EXCEPTIONS 0
#endif

// Is this translation unit built with AddressSanitizer?
#if defined(__SANITIZE_ADDRESS__)
#define MEMORY_POOL_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MEMORY_POOL_ASAN 1
#endif
#endif
#ifndef MEMORY_POOL_ASAN
#define MEMORY_POOL_ASAN 0
#endif

// Is it built with ThreadSanitizer?
#if defined(__SANITIZE_THREAD__)
#define MEMORY_POOL_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MEMORY_POOL_TSAN 1
#endif
#endif
#ifndef MEMORY_POOL_TSAN
#define MEMORY_POOL_TSAN 0
#endif

// Is it built with MemorySanitizer?
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#define MEMORY_POOL_MSAN 1
#endif
#endif
#ifndef MEMORY_POOL_MSAN
#define MEMORY_POOL_MSAN 0
#endif

/// Defined to 1 by a build for Valgrind's memcheck (needs Valgrind's own header at compile time).
#ifndef MEMORY_POOL_VALGRIND
#define MEMORY_POOL_VALGRIND 0
#endif

/// Expands to the arguments after `flag` if the macro `flag` is 1, and to nothing if it is 0.
#define MEMORY_POOL_IF(flag, ...) MEMORY_POOL_IF_PASTED(flag, __VA_ARGS__)
#define MEMORY_POOL_IF_PASTED(flag, ...) MEMORY_POOL_IF_##flag(__VA_ARGS__)
#define MEMORY_POOL_IF_0(...)
#define MEMORY_POOL_IF_1(...) __VA_ARGS__

/// Incremented by a release that changes the layout of a type, or an assumption of older inline functions about it.
#define MEMORY_POOL_ABI_VERSION 0

// The build configuration changes the bodies of inline functions, but the one definition rule requires equal bodies for
// equal names. MEMORY_POOL_ABI, the inline namespace around all declarations of these headers, therefore encodes the
// configuration: `v0` with exceptions and without sanitizers and Valgrind, otherwise, for example, `v0_noexcept` or
// `v0_asan`. Passing a pool to a unit of another configuration is a link error, whose message contains this name.
// errors.hpp lists the declarations outside of this namespace.
//
// Not encoded, because mixing is harmless:
// - position-independent code (MEMORY_POOL_EXECUTABLE_CODE): each body is correct in each module it can be linked into;
// - the language level, optimisation, NDEBUG: no body depends on them. (But use one compiler: GCC and Clang lay out
//   closures with implicit captures differently, so code from one may pass a closure to a template instance from the
//   other that reads it wrongly);
// - RTTI: no body depends on it. Only dynamic_cast and typeid of a resource may fail, as for any class in a header;
// - MEMORY_POOL_DELAY_POINT and MEMORY_POOL_LOCK_POINT, which tests and benchmarks define for the whole program.
#if MEMORY_POOL_EXCEPTIONS
#define MEMORY_POOL_ABI_EXCEPTIONS
#else
#define MEMORY_POOL_ABI_EXCEPTIONS _noexcept
#endif

#define MEMORY_POOL_ABI_PASTED(prefix, version, exceptions, asan, msan, tsan, valgrind, suffix)                        \
    prefix##v##version##exceptions##asan##msan##tsan##valgrind##suffix
#define MEMORY_POOL_ABI_JOINED(prefix, version, exceptions, asan, msan, tsan, valgrind, suffix)                        \
    MEMORY_POOL_ABI_PASTED(prefix, version, exceptions, asan, msan, tsan, valgrind, suffix)

/// The name of the inline namespace with a prefix and a suffix, each of which may be empty or a macro. A header whose
/// inline functions depend on macros of its own encodes their non-default values in the suffix.
#define MEMORY_POOL_ABI_NAMED(prefix, suffix)                                                                          \
    MEMORY_POOL_ABI_JOINED(prefix, MEMORY_POOL_ABI_VERSION, MEMORY_POOL_ABI_EXCEPTIONS,                                \
                           MEMORY_POOL_IF(MEMORY_POOL_ASAN, _asan), MEMORY_POOL_IF(MEMORY_POOL_MSAN, _msan),           \
                           MEMORY_POOL_IF(MEMORY_POOL_TSAN, _tsan), MEMORY_POOL_IF(MEMORY_POOL_VALGRIND, _valgrind),   \
                           suffix)

/// Does this unit have RTTI?
#if defined(__cpp_rtti) || defined(__GXX_RTTI) || defined(_CPPRTTI)
#define MEMORY_POOL_RTTI 1
#else
#define MEMORY_POOL_RTTI 0
#endif
/// Is the C++ library libc++?
#if defined(_LIBCPP_VERSION)
#define MEMORY_POOL_LIBCXX 1
#else
#define MEMORY_POOL_LIBCXX 0
#endif
/// The configuration of this unit, as a number: the options that MEMORY_POOL_ABI encodes, RTTI (libmemory_pool has the
/// type information of its resources), and the C++ library. A unit can use libmemory_pool only if their numbers are
/// equal.
#define MEMORY_POOL_CONFIGURATION                                                                                      \
    (1 + MEMORY_POOL_EXCEPTIONS + 2 * MEMORY_POOL_ASAN + 4 * MEMORY_POOL_MSAN + 8 * MEMORY_POOL_TSAN +                 \
     16 * MEMORY_POOL_VALGRIND + 32 * MEMORY_POOL_RTTI + 64 * MEMORY_POOL_LIBCXX)
/// Defined by memory_pool::compiled to the MEMORY_POOL_CONFIGURATION of libmemory_pool.
#ifndef MEMORY_POOL_COMPILED
#define MEMORY_POOL_COMPILED 0
#endif
/// Defined to 1 in the sources of libmemory_pool.
#ifndef MEMORY_POOL_COMPILING
#define MEMORY_POOL_COMPILING 0
#endif
/// Does this unit use the template instances in libmemory_pool? It does not if its configuration differs, or if it
/// defines MEMORY_POOL_DELAY_POINT.
#if MEMORY_POOL_COMPILED == MEMORY_POOL_CONFIGURATION && !MEMORY_POOL_COMPILING && !defined(MEMORY_POOL_DELAY_POINT)
#define MEMORY_POOL_USES_LIBRARY 1
#else
#define MEMORY_POOL_USES_LIBRARY 0
#endif

#if MEMORY_POOL_USES_LIBRARY || MEMORY_POOL_COMPILING
// Visible even with -fvisibility=hidden: the program and the library share variables.
#define MEMORY_POOL_ABI MEMORY_POOL_ABI_NAMED(, ) MEMORY_POOL_VISIBLE
#else
#define MEMORY_POOL_ABI MEMORY_POOL_ABI_NAMED(, ) ///< In memory_pool and the namespaces of drop-ins.
#endif
#define MEMORY_POOL_GLOBAL_ABI MEMORY_POOL_ABI_NAMED(memory_pool_, ) ///< In the global namespace.

#if defined(__GNUC__) || defined(__clang__)
#define MEMORY_POOL_GNU_BUILTINS 1
#define MEMORY_POOL_LIKELY(condition) __builtin_expect((condition), 1)
#define MEMORY_POOL_UNLIKELY(condition) __builtin_expect((condition), 0)
#define MEMORY_POOL_ASSUME(condition) ((condition) ? static_cast<void>(0) : __builtin_unreachable())
#define MEMORY_POOL_ALWAYS_INLINE inline __attribute__((always_inline))
#define MEMORY_POOL_SLOW_PATH __attribute__((noinline, cold))
#define MEMORY_POOL_NOINLINE __attribute__((noinline))
// In GCC for Windows, `printf` means Microsoft's printf, which libstdc++ does not call.
#if defined(__MINGW32__) && !defined(__clang__)
#define MEMORY_POOL_PRINTF_LIKE(text, values) __attribute__((format(gnu_printf, text, values)))
#else
#define MEMORY_POOL_PRINTF_LIKE(text, values) __attribute__((format(printf, text, values)))
#endif
#define MEMORY_POOL_PREFETCH(address) __builtin_prefetch(address)
#define MEMORY_POOL_PREFETCH_FOR_WRITE(address) __builtin_prefetch(address, 1)
#define MEMORY_POOL_MAY_RACE __attribute__((noinline, no_sanitize("thread"))) ///< A function that races on purpose.
#else
#define MEMORY_POOL_GNU_BUILTINS 0
#define MEMORY_POOL_LIKELY(condition) (condition)
#define MEMORY_POOL_UNLIKELY(condition) (condition)
#define MEMORY_POOL_ASSUME(condition) static_cast<void>(0)
#define MEMORY_POOL_ALWAYS_INLINE inline
#define MEMORY_POOL_SLOW_PATH
#define MEMORY_POOL_NOINLINE
#define MEMORY_POOL_PRINTF_LIKE(text, values)
#define MEMORY_POOL_PREFETCH(address) static_cast<void>(address)
#define MEMORY_POOL_PREFETCH_FOR_WRITE(address) static_cast<void>(address)
#define MEMORY_POOL_MAY_RACE ///< A function that races on purpose.
#endif

/// Attribute of operator new and delete of coroutine frames. Clang inlines these before it splits the coroutine.
/// Without optimisation, the local variables of operator delete would then be in the frame that it frees. With
/// AddressSanitizer, the local variables of operator new would be reported as out of scope.
#if defined(__clang__) && (!defined(__OPTIMIZE__) || MEMORY_POOL_ASAN)
#define MEMORY_POOL_INLINE_IN_COROUTINE MEMORY_POOL_NOINLINE
#else
#define MEMORY_POOL_INLINE_IN_COROUTINE MEMORY_POOL_ALWAYS_INLINE
#endif

// Attributes of clang's thread safety analysis (-Wthread-safety): see docs/design.md, Lock annotations.
/// Expands to one of these attributes; to nothing for other compilers.
#if defined(__clang__)
#define MEMORY_POOL_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define MEMORY_POOL_THREAD_SAFETY(attribute)
#endif
/// Marks a class as a lock.
#define MEMORY_POOL_CAPABILITY MEMORY_POOL_THREAD_SAFETY(capability("mutex"))
/// Marks a class as a lock guard.
#define MEMORY_POOL_SCOPED_CAPABILITY MEMORY_POOL_THREAD_SAFETY(scoped_lockable)
/// Marks a member: access requires the named lock.
#define MEMORY_POOL_GUARDED_BY(lock) MEMORY_POOL_THREAD_SAFETY(guarded_by(lock))
/// Marks a pointer: access to its pointee requires the named lock.
#define MEMORY_POOL_POINTEE_GUARDED_BY(lock) MEMORY_POOL_THREAD_SAFETY(pt_guarded_by(lock))
/// Marks a function: its caller must hold the named lock.
#define MEMORY_POOL_REQUIRES(lock) MEMORY_POOL_THREAD_SAFETY(requires_capability(lock))
/// Marks a function that acquires a lock: `this`, unless another one is named.
#define MEMORY_POOL_ACQUIRE(...) MEMORY_POOL_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
/// Marks a function that releases a lock: `this`, unless another one is named.
#define MEMORY_POOL_RELEASE(...) MEMORY_POOL_THREAD_SAFETY(release_capability(__VA_ARGS__))
/// Marks a function that tries to acquire a lock. The first argument is the return value for success.
#define MEMORY_POOL_TRY_ACQUIRE(...) MEMORY_POOL_THREAD_SAFETY(try_acquire_capability(__VA_ARGS__))
/// Marks a function that asserts to the analysis that the lock is held.
#define MEMORY_POOL_ASSUMES_HELD(lock) MEMORY_POOL_THREAD_SAFETY(assert_capability(lock))
/// Marks a function that returns a reference to the named lock.
#define MEMORY_POOL_LOCK_RETURNED(lock) MEMORY_POOL_THREAD_SAFETY(lock_returned(lock))
/// Disables the analysis for a function whose locking it cannot follow. A comment there states why the code is correct.
#define MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS MEMORY_POOL_THREAD_SAFETY(no_thread_safety_analysis)

/// Can default arguments tell a function its call site?
#if defined(__clang__)
#if __has_builtin(__builtin_FILE) && __has_builtin(__builtin_LINE)
#define MEMORY_POOL_KNOWS_CALLER 1
#endif
#elif defined(__GNUC__)
#define MEMORY_POOL_KNOWS_CALLER 1
#elif defined(_MSC_VER)
#if _MSC_VER >= 1926
#define MEMORY_POOL_KNOWS_CALLER 1
#endif
#endif
#ifndef MEMORY_POOL_KNOWS_CALLER
#define MEMORY_POOL_KNOWS_CALLER 0
#endif
#if MEMORY_POOL_KNOWS_CALLER
#define MEMORY_POOL_CALLER_FILE() __builtin_FILE()                        ///< The file of the call.
#define MEMORY_POOL_CALLER_LINE() static_cast<unsigned>(__builtin_LINE()) ///< The line of the call.
#else
#define MEMORY_POOL_CALLER_FILE() "unknown" ///< The file of the call, if it were known.
#define MEMORY_POOL_CALLER_LINE() 0u        ///< The line of the call, if it were known.
#endif

/// Does the standard library have std::allocation_result?
#if defined(__cpp_lib_allocate_at_least)
#define MEMORY_POOL_STD_ALLOCATION_RESULT 1
#else
#define MEMORY_POOL_STD_ALLOCATION_RESULT 0
#endif

/// Is this code for an executable only, not for a shared library? In an executable, every access to a thread-local
/// variable of this library refers to the same variable.
#if defined(__ELF__) && (!defined(__PIC__) || defined(__PIE__))
#define MEMORY_POOL_EXECUTABLE_CODE 1
#else
#define MEMORY_POOL_EXECUTABLE_CODE 0
#endif

/// Declares a template instance in libmemory_pool: `class name<argument...>`.
#if MEMORY_POOL_COMPILING || MEMORY_POOL_USES_LIBRARY
#define MEMORY_POOL_INSTANCE(...) extern template __VA_ARGS__;
#else
#define MEMORY_POOL_INSTANCE(...)
#endif
/// Marks a function that is only declared where MEMORY_POOL_USES_LIBRARY is 1.
#if MEMORY_POOL_COMPILING && MEMORY_POOL_GNU_BUILTINS
#define MEMORY_POOL_LIBRARY_FUNCTION inline __attribute__((used))
#else
#define MEMORY_POOL_LIBRARY_FUNCTION inline
#endif

/// Marks a static object that is constructed before all others of its program or library, and destroyed after them.
/// Expands to nothing where the compiler does not support this.
#if defined(__ELF__) && MEMORY_POOL_GNU_BUILTINS
#define MEMORY_POOL_CONSTRUCTED_FIRST __attribute__((init_priority(101)))
#else
#define MEMORY_POOL_CONSTRUCTED_FIRST
#endif

/// Marks a static object that requires constant initialization; otherwise, a compile-time error where supported.
#if defined(__clang__)
#define MEMORY_POOL_CONSTINIT [[clang::require_constant_initialization]]
#elif defined(__GNUC__) && __GNUC__ >= 10
#define MEMORY_POOL_CONSTINIT __constinit
#else
#define MEMORY_POOL_CONSTINIT
#endif

/// A place where a delay of the thread may expose a race. Tests define this macro to delay the thread there.
#ifndef MEMORY_POOL_DELAY_POINT
#define MEMORY_POOL_DELAY_POINT() static_cast<void>(0)
#endif

/// A place where a thread has acquired a lock of np_alloc, or is about to release it. A benchmark defines this macro to
/// measure how long locks are held.
#ifndef MEMORY_POOL_LOCK_POINT
#define MEMORY_POOL_LOCK_POINT(lock, is_taken) static_cast<void>(0)
#endif

#if MEMORY_POOL_GNU_BUILTINS && defined(__ELF__)
#define MEMORY_POOL_HAS_WEAK_FUNCTIONS 1       ///< Can functions be declared weak?
#define MEMORY_POOL_WEAK __attribute__((weak)) ///< If the function is not linked in, its address is nullptr.
#else
#define MEMORY_POOL_HAS_WEAK_FUNCTIONS 0 ///< Can functions be declared weak?
#endif

#if MEMORY_POOL_GNU_BUILTINS && (defined(__ELF__) || defined(__APPLE__))
#define MEMORY_POOL_HIDDEN __attribute__((visibility("hidden"))) ///< Not visible outside of its library.
#define MEMORY_POOL_VISIBLE                                                                                            \
    __attribute__((visibility("default"))) ///< Default visibility, even with -fvisibility=hidden.
#else
#define MEMORY_POOL_HIDDEN  ///< Not visible outside of its library.
#define MEMORY_POOL_VISIBLE ///< Default visibility, even with -fvisibility=hidden.
#endif

/// Marks a variable in a header that exists once per process. GCC would bind an inline variable as STB_GNU_UNIQUE,
/// which prevents dlclose from unloading its library. The linker and the loader merge weak variables, too.
#if MEMORY_POOL_GNU_BUILTINS && defined(__ELF__)
#define MEMORY_POOL_ONE_PER_PROCESS MEMORY_POOL_VISIBLE __attribute__((weak))
#else
#define MEMORY_POOL_ONE_PER_PROCESS MEMORY_POOL_VISIBLE inline
#endif

/// The public names of the library.
namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// The size of a cache line in bytes: the unit that a processor moves between memory and its caches. Two threads should
/// not write to the same line. A fixed number on purpose: std::hardware_destructive_interference_size may differ
/// between translation units.
inline constexpr std::size_t cache_line_size = 64;

static_assert(sizeof(void*) == 8, "memory_pool is for targets with 64 bits");
}} // namespace memory_pool::MEMORY_POOL_ABI
