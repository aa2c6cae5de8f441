// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// All forms of operator new and delete, for a library that is loaded before the C++ standard library, or without it.
///
///     operator new(bytes)  -->  np_alloc  -- OOM -->  the same form of the C++ library  -->  new_handler, bad_alloc
///                                  ^                                 |
///                                  +-------------  malloc  <---------+
///
/// So the exception comes from the program's C++ library, and a program in C need not load one. The C++ library calls
/// the malloc of this library.
///
/// The forms call one another through the dynamic linker (see CMakeLists.txt). If a program replaces only the plain
/// forms, all other forms call the program's plain forms, as the standard requires.
///
/// Thread safety: any thread.
#include "../engine/engine.hpp"
#include "../support/internals.hpp"

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>

#include "../hardening/dealloc_mismatch.hpp"
#include "../os/shadowed_function.hpp"
#include "../support/arguments.hpp"
#include "../support/build_variant.hpp"
#include "../support/misuse.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <limits>
#include <new>

namespace np = memory_pool::np;
namespace base = memory_pool::detail::base;
namespace os = memory_pool::detail::os;

// Aliases of this library's forms, under names that no program replaces.
extern "C" {
MEMORY_POOL_HIDDEN void* np_new(std::size_t bytes) __attribute__((alias("_Znwm"), malloc, alloc_size(1)));
MEMORY_POOL_HIDDEN void* np_new_array(std::size_t bytes) __attribute__((alias("_Znam"), malloc, alloc_size(1)));
MEMORY_POOL_HIDDEN void* np_new_aligned(std::size_t bytes, std::align_val_t alignment)
    __attribute__((alias("_ZnwmSt11align_val_t"), malloc, alloc_size(1), alloc_align(2)));
MEMORY_POOL_HIDDEN void* np_new_aligned_array(std::size_t bytes, std::align_val_t alignment)
    __attribute__((alias("_ZnamSt11align_val_t"), malloc, alloc_size(1), alloc_align(2)));
MEMORY_POOL_HIDDEN void* np_new_quiet(std::size_t bytes, const std::nothrow_t& quiet) noexcept
    __attribute__((alias("_ZnwmRKSt9nothrow_t"), malloc, alloc_size(1)));
MEMORY_POOL_HIDDEN void* np_new_array_quiet(std::size_t bytes, const std::nothrow_t& quiet) noexcept
    __attribute__((alias("_ZnamRKSt9nothrow_t"), malloc, alloc_size(1)));
MEMORY_POOL_HIDDEN void* np_new_aligned_quiet(std::size_t bytes, std::align_val_t alignment,
                                              const std::nothrow_t& quiet) noexcept
    __attribute__((alias("_ZnwmSt11align_val_tRKSt9nothrow_t"), malloc, alloc_size(1), alloc_align(2)));
MEMORY_POOL_HIDDEN void* np_new_aligned_array_quiet(std::size_t bytes, std::align_val_t alignment,
                                                    const std::nothrow_t& quiet) noexcept
    __attribute__((alias("_ZnamSt11align_val_tRKSt9nothrow_t"), malloc, alloc_size(1), alloc_align(2)));
MEMORY_POOL_HIDDEN void np_delete(void* block) noexcept __attribute__((alias("_ZdlPv")));
MEMORY_POOL_HIDDEN void np_delete_array(void* block) noexcept __attribute__((alias("_ZdaPv")));
MEMORY_POOL_HIDDEN void np_delete_aligned(void* block, std::align_val_t alignment) noexcept
    __attribute__((alias("_ZdlPvSt11align_val_t")));
MEMORY_POOL_HIDDEN void np_delete_aligned_array(void* block, std::align_val_t alignment) noexcept
    __attribute__((alias("_ZdaPvSt11align_val_t")));
MEMORY_POOL_HIDDEN void np_delete_sized(void* block, std::size_t bytes) noexcept __attribute__((alias("_ZdlPvm")));
MEMORY_POOL_HIDDEN void np_delete_array_sized(void* block, std::size_t bytes) noexcept
    __attribute__((alias("_ZdaPvm")));
MEMORY_POOL_HIDDEN void np_delete_aligned_sized(void* block, std::size_t bytes, std::align_val_t alignment) noexcept
    __attribute__((alias("_ZdlPvmSt11align_val_t")));
MEMORY_POOL_HIDDEN void np_delete_aligned_array_sized(void* block, std::size_t bytes,
                                                      std::align_val_t alignment) noexcept
    __attribute__((alias("_ZdaPvmSt11align_val_t")));
}

namespace {
/// Returns: true if the linker chose a function other than ours. Hides the comparison from the optimizer, because Clang
///   19 treats an alias and its target as different functions and folds the comparison.
template <class Function>
bool is_replaced(Function* chosen, Function* ours) noexcept
{
    asm("" : "+r"(chosen));
    return chosen != ours;
}

// The operators that the program has replaced.
bool new_is_replaced() noexcept
{
    return is_replaced<void*(std::size_t)>(&::operator new, &np_new);
}

bool new_array_is_replaced() noexcept
{
    return is_replaced<void*(std::size_t)>(&::operator new[], &np_new_array) || new_is_replaced();
}

bool new_aligned_is_replaced() noexcept
{
    return is_replaced<void*(std::size_t, std::align_val_t)>(&::operator new, &np_new_aligned);
}

bool new_aligned_array_is_replaced() noexcept
{
    return is_replaced<void*(std::size_t, std::align_val_t)>(&::operator new[], &np_new_aligned_array) ||
           new_aligned_is_replaced();
}

// Only the checked build uses the results for nothrow forms: a replacement may allocate more bytes than requested, and
// the same `delete` frees its blocks and the blocks of this library.
[[maybe_unused]] bool new_quiet_is_replaced() noexcept
{
    return is_replaced<void*(std::size_t, const std::nothrow_t&)>(&::operator new, &np_new_quiet);
}

[[maybe_unused]] bool new_array_quiet_is_replaced() noexcept
{
    return is_replaced<void*(std::size_t, const std::nothrow_t&)>(&::operator new[], &np_new_array_quiet);
}

[[maybe_unused]] bool new_aligned_quiet_is_replaced() noexcept
{
    return is_replaced<void*(std::size_t, std::align_val_t, const std::nothrow_t&)>(&::operator new,
                                                                                    &np_new_aligned_quiet);
}

[[maybe_unused]] bool new_aligned_array_quiet_is_replaced() noexcept
{
    return is_replaced<void*(std::size_t, std::align_val_t, const std::nothrow_t&)>(&::operator new[],
                                                                                    &np_new_aligned_array_quiet);
}

[[maybe_unused]] bool delete_is_replaced() noexcept
{
    return is_replaced<void(void*)>(&::operator delete, &np_delete);
}

[[maybe_unused]] bool delete_array_is_replaced() noexcept
{
    return is_replaced<void(void*)>(&::operator delete[], &np_delete_array) || delete_is_replaced();
}

[[maybe_unused]] bool delete_aligned_is_replaced() noexcept
{
    return is_replaced<void(void*, std::align_val_t)>(&::operator delete, &np_delete_aligned);
}

[[maybe_unused]] bool delete_aligned_array_is_replaced() noexcept
{
    return is_replaced<void(void*, std::align_val_t)>(&::operator delete[], &np_delete_aligned_array) ||
           delete_aligned_is_replaced();
}

[[maybe_unused]] bool sized_delete_is_replaced() noexcept
{
    return is_replaced<void(void*, std::size_t)>(&::operator delete, &np_delete_sized) ||
           is_replaced<void(void*, std::size_t)>(&::operator delete[], &np_delete_array_sized) ||
           is_replaced<void(void*, std::size_t, std::align_val_t)>(&::operator delete, &np_delete_aligned_sized) ||
           is_replaced<void(void*, std::size_t, std::align_val_t)>(&::operator delete[],
                                                                   &np_delete_aligned_array_sized);
}

void* allocate(std::size_t bytes, std::align_val_t alignment, [[maybe_unused]] np::allocated_by function) noexcept
{
    if constexpr (np::is_checked) {
        if (!np::is_alignment(static_cast<std::size_t>(alignment)))
            return nullptr;
        return np::checked_paths::allocate_aligned(static_cast<std::size_t>(alignment), bytes, function);
    } else {
        return ::np_aligned_alloc(static_cast<std::size_t>(alignment), bytes);
    }
}

/// Effects: records that the C++ library allocated `block` for `function`, unless an operator of the program may have.
/// Returns: `block`.
void* noted(void* block, [[maybe_unused]] np::allocated_by function) noexcept
{
    if constexpr (np::is_checked)
        if (block != nullptr && !np::operators_are_replaced())
            np::checked_paths::note_function(block, function);
    return block;
}

/// A form of operator new.
template <class... Further>
using form_of_new = void* (*)(std::size_t bytes, Further... further);

/// Returns: the form `name` of the C++ library, for a call from `caller`; nullptr if there is no C++ library.
template <class... Further>
form_of_new<Further...> find_form(const char* name, const void* caller) noexcept
{
    return reinterpret_cast<form_of_new<Further...>>(os::find_shadowed_function(name, caller));
}

/// Returns: the size to request from the C++ library: small enough that the library can round the size up.
std::size_t bytes_to_ask_for(std::size_t bytes) noexcept
{
    return std::min<std::size_t>(bytes, std::numeric_limits<std::ptrdiff_t>::max());
}

/// Returns: a block from the form `name` of the C++ library.
/// Preconditions: `name` is not an array form. An array form would call this library's form for single objects, which
///   might mistake this library for its caller, and would then find no C++ library.
/// Throws: as that form.
template <class... Further>
MEMORY_POOL_SLOW_PATH void* new_of_library(const char* name, const void* caller, std::size_t bytes, Further... further)
{
    const auto form = find_form<Further...>(name, caller);
    if (form == nullptr)
        base::throw_out_of_memory(base::message(
            "memory_pool: operator new cannot allocate %zu bytes, and no C++ library can throw std::bad_alloc", bytes));
    return form(bytes_to_ask_for(bytes), further...);
}

using quietly = const std::nothrow_t&;

/// Returns: as new_of_library, for a form that does not throw; nullptr if there is no C++ library, and therefore no
///   handler.
template <class... Further>
MEMORY_POOL_SLOW_PATH void* quiet_new_of_library(const char* name, const void* caller, std::size_t bytes,
                                                 Further... further) noexcept
{
    const auto form = find_form<Further...>(name, caller);
    return form != nullptr ? form(bytes_to_ask_for(bytes), further...) : nullptr;
}

/// Checked build: frees the block and compares `bytes` with the requested size, unless the program has replaced an
/// operator, which may have requested more. Returns true if the block was freed.
bool free_checked(void* block, [[maybe_unused]] std::size_t bytes, [[maybe_unused]] np::freed_by function,
                  [[maybe_unused]] bool is_replaced) noexcept
{
    if constexpr (np::is_checked) {
        if (!is_replaced) {
            np::free_sized(block, bytes, function);
            return true;
        }
    }
    (void)block;
    return false;
}
} // namespace

#define MEMORY_POOL_CALLER() __builtin_return_address(0)

void* operator new(std::size_t bytes)
{
    void* const block = np::allocate(bytes, np::allocated_by::new_object);
    return MEMORY_POOL_LIKELY(block != nullptr)
               ? block
               : noted(new_of_library("_Znwm", MEMORY_POOL_CALLER(), bytes), np::allocated_by::new_object);
}

void* operator new[](std::size_t bytes)
{
    if (new_is_replaced())
        return ::operator new(bytes);
    void* const block = np::allocate(bytes, np::allocated_by::new_array);
    return MEMORY_POOL_LIKELY(block != nullptr)
               ? block
               : noted(new_of_library("_Znwm", MEMORY_POOL_CALLER(), bytes), np::allocated_by::new_array);
}

void* operator new(std::size_t bytes, const std::nothrow_t& quiet) noexcept
{
    void* const block = new_is_replaced() ? nullptr : np::allocate(bytes, np::allocated_by::new_object);
    return block != nullptr
               ? block
               : noted(quiet_new_of_library<quietly>("_ZnwmRKSt9nothrow_t", MEMORY_POOL_CALLER(), bytes, quiet),
                       np::allocated_by::new_object);
}

void* operator new[](std::size_t bytes, const std::nothrow_t& quiet) noexcept
{
    void* const block = new_array_is_replaced() ? nullptr : np::allocate(bytes, np::allocated_by::new_array);
    return block != nullptr
               ? block
               : noted(quiet_new_of_library<quietly>("_ZnamRKSt9nothrow_t", MEMORY_POOL_CALLER(), bytes, quiet),
                       np::allocated_by::new_array);
}

void* operator new(std::size_t bytes, std::align_val_t alignment)
{
    void* const block = allocate(bytes, alignment, np::allocated_by::new_aligned);
    return block != nullptr ? block
                            : noted(new_of_library("_ZnwmSt11align_val_t", MEMORY_POOL_CALLER(), bytes, alignment),
                                    np::allocated_by::new_aligned);
}

void* operator new[](std::size_t bytes, std::align_val_t alignment)
{
    if (new_aligned_is_replaced())
        return ::operator new(bytes, alignment);
    void* const block = allocate(bytes, alignment, np::allocated_by::new_aligned_array);
    return block != nullptr ? block
                            : noted(new_of_library("_ZnwmSt11align_val_t", MEMORY_POOL_CALLER(), bytes, alignment),
                                    np::allocated_by::new_aligned_array);
}

void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t& quiet) noexcept
{
    void* const block = new_aligned_is_replaced() ? nullptr : allocate(bytes, alignment, np::allocated_by::new_aligned);
    return block != nullptr
               ? block
               : noted(quiet_new_of_library<std::align_val_t, quietly>("_ZnwmSt11align_val_tRKSt9nothrow_t",
                                                                       MEMORY_POOL_CALLER(), bytes, alignment, quiet),
                       np::allocated_by::new_aligned);
}

void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t& quiet) noexcept
{
    void* const block =
        new_aligned_array_is_replaced() ? nullptr : allocate(bytes, alignment, np::allocated_by::new_aligned_array);
    return block != nullptr
               ? block
               : noted(quiet_new_of_library<std::align_val_t, quietly>("_ZnamSt11align_val_tRKSt9nothrow_t",
                                                                       MEMORY_POOL_CALLER(), bytes, alignment, quiet),
                       np::allocated_by::new_aligned_array);
}

void operator delete(void* block) noexcept
{
    np::free_block(block, np::freed_by::delete_object);
}

void operator delete[](void* block) noexcept
{
    if constexpr (np::is_checked) {
        if (!delete_is_replaced()) {
            np::free_block(block, np::freed_by::delete_array);
            return;
        }
    }
    ::operator delete(block);
}

void operator delete(void* block, std::size_t bytes) noexcept
{
    if (!free_checked(block, bytes, np::freed_by::delete_object,
                      delete_is_replaced() || new_is_replaced() || new_quiet_is_replaced()))
        ::operator delete(block);
}

void operator delete[](void* block, std::size_t bytes) noexcept
{
    if (!free_checked(block, bytes, np::freed_by::delete_array,
                      delete_array_is_replaced() || new_array_is_replaced() || new_array_quiet_is_replaced()))
        ::operator delete[](block);
}

void operator delete(void* block, const std::nothrow_t&) noexcept
{
    ::operator delete(block);
}

void operator delete[](void* block, const std::nothrow_t&) noexcept
{
    ::operator delete[](block);
}

void operator delete(void* block, std::align_val_t) noexcept
{
    np::free_block(block, np::freed_by::delete_aligned);
}

void operator delete[](void* block, std::align_val_t alignment) noexcept
{
    if constexpr (np::is_checked) {
        if (!delete_aligned_is_replaced()) {
            np::free_block(block, np::freed_by::delete_aligned_array);
            return;
        }
    }
    ::operator delete(block, alignment);
}

void operator delete(void* block, std::size_t bytes, std::align_val_t alignment) noexcept
{
    if (!free_checked(block, bytes, np::freed_by::delete_aligned,
                      delete_aligned_is_replaced() || new_aligned_is_replaced() || new_aligned_quiet_is_replaced()))
        ::operator delete(block, alignment);
}

void operator delete[](void* block, std::size_t bytes, std::align_val_t alignment) noexcept
{
    if (!free_checked(block, bytes, np::freed_by::delete_aligned_array,
                      delete_aligned_array_is_replaced() || new_aligned_array_is_replaced() ||
                          new_aligned_array_quiet_is_replaced()))
        ::operator delete[](block, alignment);
}

void operator delete(void* block, std::align_val_t alignment, const std::nothrow_t&) noexcept
{
    ::operator delete(block, alignment);
}

void operator delete[](void* block, std::align_val_t alignment, const std::nothrow_t&) noexcept
{
    ::operator delete[](block, alignment);
}

#if MEMORY_POOL_NP_CHECKED
namespace memory_pool::np {
namespace {
/// Returns: whether a library other than the C++ library has operators of its own. If such a library is linked to call
///   its own operators (-Bsymbolic), but other code calls ours, blocks that pass between them are mismatched: malloc
///   with delete, or new with free.
bool has_library_with_operators() noexcept
{
    const errno_as_it_was kept;
    const auto is_of_standard = [](const char* path) {
        const char* const slash = std::strrchr(path, '/');
        const char* const name = slash != nullptr ? slash + 1 : path;
        return std::strncmp(name, "libstdc++.", 10) == 0 || std::strncmp(name, "libc++", 6) == 0;
    };
    return os::is_defined_elsewhere("_Znwm", is_of_standard) || os::is_defined_elsewhere("_ZdlPv", is_of_standard);
}
} // namespace

bool operators_are_replaced() noexcept
{
    static std::atomic<bool> has_library{false};
    if (has_library.load(std::memory_order_relaxed))
        return true;
    const bool is_any = new_array_is_replaced() || new_aligned_array_is_replaced() || new_quiet_is_replaced() ||
                        new_array_quiet_is_replaced() || new_aligned_quiet_is_replaced() ||
                        new_aligned_array_quiet_is_replaced() || delete_array_is_replaced() ||
                        delete_aligned_array_is_replaced() || sized_delete_is_replaced();
    if (is_any || !has_library_with_operators())
        return is_any;
    has_library.store(true, std::memory_order_relaxed);
    return true;
}
} // namespace memory_pool::np
#endif
