// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Construction and destruction of objects in the blocks of pools.
///
///     T has a matching constructor:    T(arguments...)
///     T is an aggregate:               T{arguments...}
///     neither:                         T(arguments...), for the compiler's error message
///
/// Braces are for aggregates only: for other types they may select an initializer-list constructor unexpectedly.
///
/// Thread safety: as the constructor.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/lifetime_access.hpp>
#include <memory_pool/base/policy_checks.hpp>
#include <memory_pool/base/static_checks.hpp>
#include <memory_pool/core/blocks/pool_access.hpp>

#include <new>
#include <type_traits>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// True if only `T{arguments...}` may construct a `T` from these arguments.
template <class T, class... Arguments>
inline constexpr bool takes_braces = std::is_aggregate_v<T> && !base::is_constructible<T, Arguments...>;

/// Returns: whether `construct_at` does not throw.
template <class T, class... Arguments>
constexpr bool is_nothrow_makeable() noexcept
{
    if constexpr (!is_complete<T>)
        return true; // Rejected elsewhere.
    else if constexpr (takes_braces<T, Arguments...>)
        return noexcept(::new (std::declval<void*>()) T{std::declval<Arguments>()...});
    else if constexpr (base::is_constructible<T, Arguments...>)
        return noexcept(lifetime_access::construct<T>(std::declval<void*>(), std::declval<Arguments>()...));
    else
        return false;
}

/// Effects: constructs a `T` in `block`.
/// Returns: the object.
/// Throws: exceptions from the constructor.
template <class T, class... Arguments>
MEMORY_POOL_ALWAYS_INLINE T* construct_at(void* block, Arguments&&... arguments)
{
    static_assert(!std::is_abstract_v<complete_object<T>>,
                  "objects of an abstract class cannot be made: pool each class derived from it");
    if constexpr (std::is_abstract_v<complete_object<T>> || !is_complete<T>)
        return nullptr; // Avoids a second error.
    else if constexpr (takes_braces<T, Arguments...>)
        return ::new (block) T{std::forward<Arguments>(arguments)...};
    else if constexpr (!std::is_constructible_v<T, Arguments...> && base::is_constructible<T, Arguments...>)
        return lifetime_access::construct<T>(block, std::forward<Arguments>(arguments)...);
    else
        return ::new (block) T(std::forward<Arguments>(arguments)...);
}

/// Destroys an object. A no-op for types without an accessible destructor, which are rejected elsewhere.
template <class T>
MEMORY_POOL_ALWAYS_INLINE void destroy_object([[maybe_unused]] T* object) noexcept
{
    if constexpr (!is_complete<T> || !base::is_destructible<complete_object<T>>)
        return;
    else if constexpr (std::is_destructible_v<T>)
        object->~T();
    else
        lifetime_access::destroy(*object);
}

/// Effects: frees the block of an object that was destroyed or whose constructor threw. A checking policy reports an
///   overflow. The block is freed even then, because no other call will free it.
template <class Blocks>
MEMORY_POOL_ALWAYS_INLINE void give_back_ended(Blocks& blocks, void* block) noexcept
{
    if constexpr (base::checked_policy<typename Blocks::policy>::checks) {
        if (!blocks.check(block) && !pool_access::is_in_use(blocks, block))
            return;
    }
    blocks.deallocate(block);
}

/// Returns: the object in a block. nullptr if `T` is incomplete: complete_object reports the error, and the standard
///   library should not add another one.
template <class T>
T* laundered(void* block) noexcept
{
    if constexpr (std::is_same_v<complete_object<T>, T>)
        return std::launder(static_cast<T*>(block));
    else
        return nullptr;
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
