// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Replaces the global operators new and delete of a program with np_alloc.
///
///     new T[n], new (std::nothrow) T, ...  ->  operator new(bytes)           ->  np_allocate
///     delete[] p, delete of a known size   ->  operator delete(block)        ->  np_free
///     new and delete, over-aligned types   ->  operators with an alignment   ->  np_allocate, np_free
///
/// Include this header in exactly one source file of a program that links memory_pool::np_alloc. According to the
/// standard, the operators must not be inline, so a second definition is a linker error. As in the standard library,
/// all forms call the plain form, or the plain form with an alignment.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/np_alloc.hpp>

#include <cstddef>
#include <new>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
inline constexpr std::size_t alignment_of_new(std::align_val_t alignment) noexcept
{
    return static_cast<std::size_t>(alignment);
}

#if MEMORY_POOL_EXCEPTIONS
/// Returns: the result of `allocate()`; nullptr if it throws.
template <class Allocate>
void* new_without_throwing(Allocate&& allocate, std::size_t, std::size_t = np_alignment) noexcept
{
    void* block = nullptr;
    return base::succeeds([&] { block = allocate(); }) ? block : nullptr;
}
#else
/// Returns: a block as from `allocate()`; nullptr instead of terminating the program, because exceptions are off.
template <class Allocate>
void* new_without_throwing(Allocate&&, std::size_t bytes, std::size_t alignment = np_alignment) noexcept
{
    void* const block = try_np_allocate(bytes, alignment);
    return block != nullptr ? block : np_allocate_with_handler(bytes, alignment);
}
#endif
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core

// NOLINTBEGIN(misc-definitions-in-headers): a replacement of these operators must not be inline.

/// Returns: as memory_pool::np_allocate(bytes).
/// Throws: std::bad_alloc if there is no memory and no std::new_handler; what the handler throws.
void* operator new(std::size_t bytes)
{
    return memory_pool::np_allocate(bytes);
}

/// Returns, throws: as the plain form.
void* operator new[](std::size_t bytes)
{
    return ::operator new(bytes);
}

/// Returns: as the plain form, but nullptr instead of an exception.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept
{
    return memory_pool::detail::core::new_without_throwing([bytes] { return ::operator new(bytes); }, bytes);
}

/// Returns: as the plain form, but nullptr instead of an exception.
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept
{
    return memory_pool::detail::core::new_without_throwing([bytes] { return ::operator new[](bytes); }, bytes);
}

/// Returns, throws: as memory_pool::np_allocate(bytes, alignment).
void* operator new(std::size_t bytes, std::align_val_t alignment)
{
    return memory_pool::np_allocate(bytes, memory_pool::detail::core::alignment_of_new(alignment));
}

/// Returns, throws: as the plain form with an alignment.
void* operator new[](std::size_t bytes, std::align_val_t alignment)
{
    return ::operator new(bytes, alignment);
}

/// Returns: as the plain form with an alignment, but nullptr instead of an exception.
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept
{
    return memory_pool::detail::core::new_without_throwing([=] { return ::operator new(bytes, alignment); }, bytes,
                                                           memory_pool::detail::core::alignment_of_new(alignment));
}

/// Returns: as the plain form with an alignment, but nullptr instead of an exception.
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept
{
    return memory_pool::detail::core::new_without_throwing([=] { return ::operator new[](bytes, alignment); }, bytes,
                                                           memory_pool::detail::core::alignment_of_new(alignment));
}

/// Effects: as np_free.
void operator delete(void* block) noexcept
{
    np_free(block);
}

/// Effects: as the plain form.
void operator delete[](void* block) noexcept
{
    ::operator delete(block);
}

/// Effects: as np_free_sized.
void operator delete(void* block, std::size_t bytes) noexcept
{
    np_free_sized(block, bytes);
}

/// Effects: as the plain form.
void operator delete[](void* block, std::size_t bytes) noexcept
{
    ::operator delete(block, bytes);
}

/// Effects: as the plain form.
void operator delete(void* block, const std::nothrow_t&) noexcept
{
    ::operator delete(block);
}

/// Effects: as the plain form.
void operator delete[](void* block, const std::nothrow_t&) noexcept
{
    ::operator delete[](block);
}

/// Effects: as np_free.
void operator delete(void* block, std::align_val_t) noexcept
{
    np_free(block);
}

/// Effects: as the plain form with an alignment.
void operator delete[](void* block, std::align_val_t alignment) noexcept
{
    ::operator delete(block, alignment);
}

/// Effects: as np_free_aligned_sized.
void operator delete(void* block, std::size_t bytes, std::align_val_t alignment) noexcept
{
    np_free_aligned_sized(block, memory_pool::detail::core::alignment_of_new(alignment), bytes);
}

/// Effects: as the plain form with an alignment.
void operator delete[](void* block, std::size_t bytes, std::align_val_t alignment) noexcept
{
    ::operator delete(block, bytes, alignment);
}

/// Effects: as the plain form with an alignment.
void operator delete(void* block, std::align_val_t alignment, const std::nothrow_t&) noexcept
{
    ::operator delete(block, alignment);
}

/// Effects: as the plain form with an alignment.
void operator delete[](void* block, std::align_val_t alignment, const std::nothrow_t&) noexcept
{
    ::operator delete[](block, alignment);
}

// NOLINTEND(misc-definitions-in-headers)
