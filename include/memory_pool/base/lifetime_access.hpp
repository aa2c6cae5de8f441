// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The friend of classes that let only pools call their constructors or destructor.
///
///     class session                                   object_pool<session> pool;      pool.create("name")
///     {
///         friend memory_pool::lifetime_access;
///         explicit session(std::string name);
///         ~session();
///     };
///
/// The type traits of the standard library are not friends of these classes, so pools use the traits below.
///
/// Thread safety: as the constructors and destructors.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/fwd.hpp>

#include <new>
#include <type_traits>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// Constructs and destroys the objects of pools.
struct lifetime_access
{
    lifetime_access() = delete;

    /// Effects: constructs a `T(arguments...)` in `block`.
    /// Returns: the object.
    template <class T, class... Arguments>
    MEMORY_POOL_ALWAYS_INLINE static auto construct(void* block, Arguments&&... arguments) noexcept(
        noexcept(::new(block) T(std::forward<Arguments>(arguments)...)))
        -> decltype(::new(block) T(std::forward<Arguments>(arguments)...))
    {
        return ::new (block) T(std::forward<Arguments>(arguments)...);
    }

    /// Effects: destroys an object.
    template <class T>
    MEMORY_POOL_ALWAYS_INLINE static auto destroy(T& object) noexcept(noexcept(object.~T())) -> decltype(object.~T())
    {
        object.~T();
    }
};

namespace detail::base {
/// True if pools can construct a `T(arguments...)`.
template <class Void, class T, class... Arguments>
inline constexpr bool can_construct = false;
template <class T, class... Arguments>
inline constexpr bool can_construct<
    std::void_t<decltype(lifetime_access::construct<T>(std::declval<void*>(), std::declval<Arguments>()...))>, T,
    Arguments...> = true;
template <class T, class... Arguments>
inline constexpr bool is_constructible = can_construct<void, T, Arguments...>;

/// True if pools can destroy a `T`.
template <class T, class = void>
inline constexpr bool is_destructible = false;
template <class T>
inline constexpr bool is_destructible<T, std::void_t<decltype(lifetime_access::destroy(std::declval<T&>()))>> = true;

/// True if pools can destroy a `T`, and its destructor is noexcept.
template <class T, bool IsDestructible = is_destructible<T>>
inline constexpr bool is_nothrow_destructible = false;
template <class T>
inline constexpr bool is_nothrow_destructible<T, true> =
    std::is_nothrow_destructible_v<T> ||
    noexcept(lifetime_access::destroy(std::declval<T&>())); // GCC: not after an error.
} // namespace detail::base
}} // namespace memory_pool::MEMORY_POOL_ABI
