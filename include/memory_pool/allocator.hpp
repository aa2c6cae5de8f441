// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A standard allocator and owners of objects, over a resource of known type, so that no call is virtual.
///
///     std::pmr::polymorphic_allocator<T> -> std::pmr::memory_resource -> virtual call -> any resource
///     resource_allocator<T, Resource>    -> Resource                                     one resource, inlined
///
/// The type of the container then depends on the type of the resource, which suits the innermost containers.
///
/// Objects owned by a std::unique_ptr, in memory from a resource:
///
///     allocate_unique<T>(resource, arguments...)  ->  block from the resource  ->  T  ->  std::unique_ptr<T, ...>
///     the pointer is destroyed                    ->  T destroyed              ->  block back to the resource
///
/// An object pool has make_unique instead: see object_pool.hpp. For owners of a base class, the deleters of all pools
/// and resources convert to one type of deleter:
///
///     std::unique_ptr<circle, object_pool<circle>::deleter>    --+
///     std::unique_ptr<square, resource_deleter<square>>        --+-->  std::unique_ptr<shape, polymorphic_deleter>
///
/// Thread safety: as the resource or the pool.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/base/static_checks.hpp>
#include <memory_pool/core/blocks/pool_use.hpp>
#include <memory_pool/core/objects/construct.hpp>

#include <cstddef>
#include <limits>
#include <memory>
#include <memory_resource>
#include <type_traits>
#include <utility>
namespace memory_pool { inline namespace MEMORY_POOL_ABI {
#if MEMORY_POOL_STD_ALLOCATION_RESULT
/// The result of allocate_at_least: `ptr`, and `count`, the number of objects for which there is room.
template <class Pointer>
using allocation_result = std::allocation_result<Pointer, std::size_t>;
#else
/// The result of allocate_at_least. From C++23 on, this is std::allocation_result.
template <class Pointer>
struct allocation_result
{
    Pointer ptr;       ///< The memory.
    std::size_t count; ///< The number of objects that fit.
};
#endif

namespace detail::core {
/// True if a resource has `good_size(bytes, alignment)`.
template <class Resource, class = void>
inline constexpr bool has_good_size = false;
template <class Resource>
inline constexpr bool has_good_size<
    Resource, std::void_t<decltype(std::declval<const Resource&>().good_size(std::size_t{}, std::size_t{}))>> = true;
} // namespace detail::core

/// Allocates objects of type `T` from a `Resource`: anything with `allocate(bytes, alignment)` and
/// `deallocate(block, bytes, alignment)`, as every resource has.
///
/// The memory belongs to the resource. A container therefore takes its resource along when it is moved or swapped, and
/// keeps its resource when it is the target of a copy assignment. A copy of a container uses the resource of the
/// original.
template <class T, class Resource>
class resource_allocator
{
    static_assert(!std::is_reference_v<T> && !std::is_const_v<T> && !std::is_volatile_v<T>,
                  "an allocator is for objects that are neither const nor volatile");

public:
    using value_type = T;                                           ///< The type of the objects.
    using resource_type = Resource;                                 ///< The type of the resource.
    using propagate_on_container_copy_assignment = std::false_type; ///< The container keeps its memory.
    using propagate_on_container_move_assignment = std::true_type;  ///< The memory moves, so its resource moves.
    using propagate_on_container_swap = std::true_type;             ///< The memory is swapped, so its resources are.
    using is_always_equal = std::false_type;                        ///< There may be several resources.

    /// The allocator for objects of another type.
    template <class Other>
    struct rebind
    {
        using other = resource_allocator<Other, Resource>; ///< The allocator for `Other`.
    };

    /// Effects: allocates from `resource`.
    /// Preconditions: `resource` outlives all allocations.
    resource_allocator(Resource& resource) noexcept : resource_(std::addressof(resource)) {}

    /// Effects: allocates from `*resource`.
    /// Preconditions: `resource` is not nullptr, and outlives all allocations.
    resource_allocator(Resource* resource) noexcept : resource_(resource) {}

    /// Effects: allocates from the resource of `other`.
    template <class Other>
    resource_allocator(const resource_allocator<Other, Resource>& other) noexcept : resource_(other.resource())
    {
    }

    /// Returns: memory for `count` objects.
    /// Throws: size_overflow, a std::bad_array_new_length, if the size overflows; what the resource throws.
    /// Complexity: as the resource.
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE T* allocate(std::size_t count)
    {
        if (MEMORY_POOL_UNLIKELY(count > std::numeric_limits<std::size_t>::max() / sizeof(T)))
            detail::base::throw_size_overflow(count, sizeof(T));
        return static_cast<T*>(resource_->allocate(count * sizeof(T), alignof(T)));
    }

    /// Returns: memory for at least `count` objects, and the number of objects that fit. If the resource has a
    ///   `good_size`, the objects fill the whole block that the resource allocates for `count`.
    /// Throws: as `allocate`.
    /// Complexity: as the resource.
    // A template, so that units of different language levels, in which the type differs, can be linked.
    template <class Result = allocation_result<T*>>
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE Result allocate_at_least(std::size_t count)
    {
        if constexpr (detail::core::has_good_size<Resource>) {
            if (count <= std::numeric_limits<std::size_t>::max() / sizeof(T))
                count = resource_->good_size(count * sizeof(T), alignof(T)) / sizeof(T);
        }
        return {allocate(count), count};
    }

    /// Effects: frees the memory of `count` objects.
    /// Preconditions: `objects` is from `allocate(count)` of an equal allocator, or from a call of its
    ///   `allocate_at_least` that returned `count`.
    /// Complexity: as the resource.
    MEMORY_POOL_ALWAYS_INLINE void deallocate(T* objects, std::size_t count) noexcept
    {
        resource_->deallocate(objects, count * sizeof(T), alignof(T));
    }

    /// Returns: the resource.
    Resource* resource() const noexcept { return resource_; }

private:
    Resource* resource_;
};

/// Returns: whether each allocator can free the memory of the other.
template <class A, class B, class Resource>
bool operator==(const resource_allocator<A, Resource>& a, const resource_allocator<B, Resource>& b) noexcept
{
    if constexpr (std::is_base_of_v<std::pmr::memory_resource, Resource>)
        return a.resource() == b.resource() || a.resource()->is_equal(*b.resource());
    else
        return a.resource() == b.resource();
}

/// Returns: `!(a == b)`.
template <class A, class B, class Resource>
bool operator!=(const resource_allocator<A, Resource>& a, const resource_allocator<B, Resource>& b) noexcept
{
    return !(a == b);
}

/// Destroys an object, and frees its block, through a pointer to a base with a virtual destructor.
class polymorphic_deleter
{
public:
    /// Effects: makes a deleter without an owner, for nullptr only.
    polymorphic_deleter() noexcept = default;

    /// Effects: makes a deleter that calls `end(owner, object)` with the address of the complete object. Used when
    ///   other deleters convert to this type.
    polymorphic_deleter(void* owner, void (*end)(void* owner, void* object) noexcept) noexcept
        : owner_(owner), end_(end)
    {
    }

    /// Effects: destroys the complete object that `*object` is part of, and frees its block.
    /// Preconditions: the object is alive and from the owner, which still exists.
    template <class Base>
    void operator()(Base* object) const noexcept
    {
        static_assert(std::has_virtual_destructor_v<Base>,
                      "polymorphic_deleter needs a base with a virtual destructor");
        if constexpr (std::is_polymorphic_v<Base>) // Avoids a second error.
            end_(owner_, detail::base::address_of(dynamic_cast<const volatile void*>(object)));
    }

private:
    void* owner_ = nullptr;
    void (*end_)(void* owner, void* object) noexcept = nullptr;
};

/// Destroys an object in memory from a `Resource`: anything with `allocate(bytes, alignment)` and `deallocate(block,
/// bytes, alignment)`, as every resource has. Converts to a polymorphic_deleter.
template <class T, class Resource = std::pmr::memory_resource>
class resource_deleter
{
public:
    /// The resource's type.
    using resource_type = Resource;

    /// Effects: makes a deleter without a resource, for nullptr only.
    resource_deleter() noexcept = default;

    /// Effects: makes a deleter for objects in memory from `resource`.
    explicit resource_deleter(Resource& resource) noexcept : resource_(std::addressof(resource)) {}

    /// Effects: destroys `object`, and frees its memory.
    /// Preconditions: `object` is alive, its memory is from the resource, and the resource still exists. If the
    ///   resource has been destroyed, an arena or pool resource with a checking policy reports this before the
    ///   destructor of `object` would run, or, if `Resource` is std::pmr::memory_resource, after the destructor.
    void operator()(T* object) const noexcept
    {
        if (detail::core::is_gone(resource_, detail::base::address_of(object)))
            return;
        detail::core::destroy_object(object);
        resource_->deallocate(detail::base::address_of(object), sizeof(T), alignof(T));
    }

    /// Returns: the resource.
    Resource* resource() const noexcept { return resource_; }

    /// Returns: a deleter that destroys the object through a pointer to its base.
    operator polymorphic_deleter() const noexcept
    {
        return {resource_, [](void* resource, void* object) noexcept {
                    resource_deleter (*static_cast<Resource*>(resource))(static_cast<T*>(object));
                }};
    }

private:
    Resource* resource_ = nullptr;
};

namespace detail::core {
template <class T>
using unique_object = std::conditional_t<std::is_object_v<T> && !std::is_array_v<T>, T, no_object>;

template <class T, class Resource>
using unique_in = std::unique_ptr<unique_object<T>, resource_deleter<unique_object<T>, Resource>>;
} // namespace detail::core

/// Effects: makes a `T` from `arguments`, as `T(arguments...)`, or `T{arguments...}` for an aggregate, in memory from
///   `resource`.
/// Returns: the owner of the object, which must not outlive the resource.
/// Throws: what the resource and the constructor throw. On failure the memory is freed.
/// Complexity: as the resource, plus the constructor.
/// Thread safety: as the resource.
template <class T, class Resource, class... Arguments>
[[nodiscard]] detail::core::unique_in<T, Resource> allocate_unique(Resource& resource, Arguments&&... arguments)
{
    static_assert(std::is_object_v<T>, "allocate_unique is for objects, not for references, functions or void");
    static_assert(!std::is_array_v<T>, "allocate_unique is for single objects: use a container for an array");
    using object = detail::core::unique_object<T>;
    void* const block = resource.allocate(sizeof(object), alignof(object));
    detail::base::failure_guard guard([&] { resource.deallocate(block, sizeof(object), alignof(object)); });
    auto* const made = detail::core::construct_at<object>(block, std::forward<Arguments>(arguments)...);
    guard.succeeded();
    return detail::core::unique_in<T, Resource>(made, resource_deleter<object, Resource>(resource));
}

/// Effects: as the overload above, in memory from `*resource`.
/// Preconditions: `resource` is not nullptr.
template <class T, class Resource, class... Arguments>
[[nodiscard]] detail::core::unique_in<T, Resource> allocate_unique(Resource* resource, Arguments&&... arguments)
{
    return allocate_unique<T>(*resource, std::forward<Arguments>(arguments)...);
}
}} // namespace memory_pool::MEMORY_POOL_ABI
