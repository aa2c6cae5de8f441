// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A std Allocator over a resource whose type is known, so that no call is virtual.
///
///     std::pmr::polymorphic_allocator<T> -> std::pmr::memory_resource -> virtual call -> any resource
///     resource_allocator<T, Resource>    -> Resource                                     that one, inlined
///
/// The container's type then depends on the resource's type: suited to the innermost containers.
///
/// Thread safety: that of the resource.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>

#include <cstddef>
#include <limits>
#include <memory>
#include <memory_resource>
#include <type_traits>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
#if MEMORY_POOL_STD_ALLOCATION_RESULT
/// What allocate_at_least returns: `ptr`, and the `count` of objects that there is room for.
template <class Pointer>
using allocation_result = std::allocation_result<Pointer, std::size_t>;
#else
/// What allocate_at_least returns: that of the standard library, from C++23 on.
template <class Pointer>
struct allocation_result
{
    Pointer ptr;       ///< The memory.
    std::size_t count; ///< How many objects it has room for.
};
#endif

namespace detail::core {
/// Whether a resource has `good_size(bytes, alignment)`.
template <class Resource, class = void>
inline constexpr bool has_good_size = false;
template <class Resource>
inline constexpr bool has_good_size<
    Resource, std::void_t<decltype(std::declval<const Resource&>().good_size(std::size_t{}, std::size_t{}))>> = true;
} // namespace detail::core

/// Allocates objects of type `T` from a `Resource`: anything with `allocate(bytes, alignment)` and
/// `deallocate(block, bytes, alignment)`, as every resource has.
///
/// The memory belongs to the resource, so a container that is moved or swapped takes its resource along, and one that
/// is assigned to keeps its own. A copy of a container uses the same resource as the original.
template <class T, class Resource>
class resource_allocator
{
    static_assert(!std::is_reference_v<T> && !std::is_const_v<T> && !std::is_volatile_v<T>,
                  "an allocator is for objects that are neither const nor volatile");

public:
    using value_type = T;                                           ///< What it allocates.
    using resource_type = Resource;                                 ///< Its upstream.
    using propagate_on_container_copy_assignment = std::false_type; ///< The container keeps its memory.
    using propagate_on_container_move_assignment = std::true_type;  ///< The memory moves, so where it belongs moves.
    using propagate_on_container_swap = std::true_type;             ///< The same.
    using is_always_equal = std::false_type;                        ///< There may be several resources.

    /// The allocator for another type over the same kind of resource.
    template <class Other>
    struct rebind
    {
        using other = resource_allocator<Other, Resource>; ///< That.
    };

    /// Effects: allocates from `resource`.
    /// Preconditions: `resource` outlives all that is allocated.
    resource_allocator(Resource& resource) noexcept : resource_(std::addressof(resource)) {}

    /// Effects: allocates from `*resource`.
    /// Preconditions: `resource` is not nullptr, and outlives all that is allocated.
    resource_allocator(Resource* resource) noexcept : resource_(resource) {}

    /// Effects: allocates from the same resource.
    template <class Other>
    resource_allocator(const resource_allocator<Other, Resource>& other) noexcept : resource_(other.resource())
    {
    }

    /// Returns: room for `count` objects.
    /// Throws: size_overflow, which is a std::bad_array_new_length, if their size does not fit; what the resource
    ///   throws.
    /// Complexity: that of the resource.
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE T* allocate(std::size_t count)
    {
        if (MEMORY_POOL_UNLIKELY(count > std::numeric_limits<std::size_t>::max() / sizeof(T)))
            detail::base::throw_size_overflow(count, sizeof(T));
        return static_cast<T*>(resource_->allocate(count * sizeof(T), alignof(T)));
    }

    /// Returns: room for at least `count` objects, and for how many: as many as fit into the block that the resource
    ///   hands out for `count`, if it has a `good_size`.
    /// Throws: as `allocate`.
    /// Complexity: that of the resource.
    // A template, as the type depends on the language level: units of different levels can be linked.
    template <class Result = allocation_result<T*>>
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE Result allocate_at_least(std::size_t count)
    {
        if constexpr (detail::core::has_good_size<Resource>) {
            if (count <= std::numeric_limits<std::size_t>::max() / sizeof(T))
                count = resource_->good_size(count * sizeof(T), alignof(T)) / sizeof(T);
        }
        return {allocate(count), count};
    }

    /// Effects: frees room for `count` objects.
    /// Preconditions: `objects` came from `allocate(count)` of an equal allocator, or from its `allocate_at_least`
    ///   with that `count`.
    /// Complexity: that of the resource.
    MEMORY_POOL_ALWAYS_INLINE void deallocate(T* objects, std::size_t count) noexcept
    {
        resource_->deallocate(objects, count * sizeof(T), alignof(T));
    }

    /// Returns: where it allocates from.
    Resource* resource() const noexcept { return resource_; }

private:
    Resource* resource_;
};

/// Returns: whether each can give back what the other has allocated.
template <class A, class B, class Resource>
bool operator==(const resource_allocator<A, Resource>& a, const resource_allocator<B, Resource>& b) noexcept
{
    if constexpr (std::is_base_of_v<std::pmr::memory_resource, Resource>)
        return a.resource() == b.resource() || a.resource()->is_equal(*b.resource());
    else
        return a.resource() == b.resource();
}

/// Returns: whether not.
template <class A, class B, class Resource>
bool operator!=(const resource_allocator<A, Resource>& a, const resource_allocator<B, Resource>& b) noexcept
{
    return !(a == b);
}
}} // namespace memory_pool::MEMORY_POOL_ABI
