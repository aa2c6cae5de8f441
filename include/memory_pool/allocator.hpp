// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A std Allocator, and owners, over a resource whose type is known, so that no call is virtual.
///
///     std::pmr::polymorphic_allocator<T> -> std::pmr::memory_resource -> virtual call -> any resource
///     resource_allocator<T, Resource>    -> Resource                                     that one, inlined
///
/// The container's type then depends on the resource's type: suited to the innermost containers.
///
/// Objects of std::unique_ptr in memory of a resource:
///
///     allocate_unique<T>(resource, arguments...)  ->  block from the resource  ->  T  ->  std::unique_ptr<T, ...>
///     the pointer goes                            ->  T destroyed              ->  block back to the resource
///
/// A pool of such objects has make_unique instead, which needs no size: see object_pool.hpp. Owners of a base: the
/// deleters of pools and resources convert to one deleter, whatever they delete and where it is from:
///
///     std::unique_ptr<circle, object_pool<circle>::deleter>    --+
///     std::unique_ptr<square, resource_deleter<square>>        --+-->  std::unique_ptr<shape, polymorphic_deleter>
///
/// Thread safety: that of the resource, or of the pool.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/base/refusals.hpp>
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
/// The result of allocate_at_least. From C++23 on, it is the type of the standard library.
template <class Pointer>
struct allocation_result
{
    Pointer ptr;       ///< The memory.
    std::size_t count; ///< How many objects it has room for.
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
/// The memory belongs to the resource, so a container that is moved or swapped takes its resource along, and one that
/// is assigned to keeps its own. A copy of a container uses the same resource as the original.
template <class T, class Resource>
class resource_allocator
{
    static_assert(!std::is_reference_v<T> && !std::is_const_v<T> && !std::is_volatile_v<T>,
                  "an allocator is for objects that are neither const nor volatile");

public:
    using value_type = T;                                           ///< The type of the objects.
    using resource_type = Resource;                                 ///< Its upstream.
    using propagate_on_container_copy_assignment = std::false_type; ///< The container keeps its memory.
    using propagate_on_container_move_assignment = std::true_type;  ///< The memory moves, so its resource moves.
    using propagate_on_container_swap = std::true_type;             ///< The memory is swapped, so the resources are.
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

/// Destroys an object, and frees its block, through a pointer to a base with a virtual destructor.
class polymorphic_deleter
{
public:
    /// Effects: makes a deleter without an owner, for nullptr only.
    polymorphic_deleter() noexcept = default;

    /// Effects: makes a deleter that calls `end(owner, object)` with the address of the whole object. For the
    ///   conversion of other deleters.
    polymorphic_deleter(void* owner, void (*end)(void* owner, void* object) noexcept) noexcept
        : owner_(owner), end_(end)
    {
    }

    /// Effects: destroys the whole object that `*object` is a part of, and frees its block.
    /// Preconditions: it is alive and from the owner, which lives.
    template <class Base>
    void operator()(Base* object) const noexcept
    {
        static_assert(std::has_virtual_destructor_v<Base>,
                      "an owner of a base needs one with a virtual destructor, which knows where the object begins");
        if constexpr (std::is_polymorphic_v<Base>) // Avoids a second error.
            end_(owner_, detail::base::address_of(dynamic_cast<const volatile void*>(object)));
    }

private:
    void* owner_ = nullptr;
    void (*end_)(void* owner, void* object) noexcept = nullptr;
};

/// Destroys an object in memory of a `Resource`: anything with `allocate(bytes, alignment)` and
/// `deallocate(block, bytes, alignment)`, as every resource has. Converts to a polymorphic_deleter.
template <class T, class Resource = std::pmr::memory_resource>
class resource_deleter
{
public:
    /// The resource's type.
    using resource_type = Resource;

    /// Effects: makes a deleter without a resource, for nullptr only.
    resource_deleter() noexcept = default;

    /// Effects: makes a deleter for objects in memory of `resource`.
    explicit resource_deleter(Resource& resource) noexcept : resource_(std::addressof(resource)) {}

    /// Effects: destroys `object`, and gives its memory back.
    /// Preconditions: it is alive, its memory is from the resource, and the resource lives. An arena or pool resource
    ///   with a checking policy reports a violation, if it was destroyed; as a memory_resource, after the destructor.
    void operator()(T* object) const noexcept
    {
        if (detail::core::is_gone(resource_, detail::base::address_of(object)))
            return;
        detail::core::destroy_object(object);
        resource_->deallocate(detail::base::address_of(object), sizeof(T), alignof(T));
    }

    /// Returns: where the memory is from.
    Resource* resource() const noexcept { return resource_; }

    /// Returns: the same deleter, for pointers to a base.
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
/// Returns: its owner, which must not outlive the resource.
/// Throws: what the resource and the constructor throw. On failure the memory is freed.
/// Complexity: that of the resource, and of the constructor.
/// Thread safety: that of the resource.
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

/// Effects: as the first, in memory from `*resource`.
/// Preconditions: `resource` is not nullptr.
template <class T, class Resource, class... Arguments>
[[nodiscard]] detail::core::unique_in<T, Resource> allocate_unique(Resource* resource, Arguments&&... arguments)
{
    return allocate_unique<T>(*resource, std::forward<Arguments>(arguments)...);
}
}} // namespace memory_pool::MEMORY_POOL_ABI
