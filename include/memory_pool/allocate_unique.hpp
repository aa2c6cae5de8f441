// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Objects of std::unique_ptr in memory of a resource.
///
///     allocate_unique<T>(resource, arguments...)  ->  block from the resource  ->  T  ->  std::unique_ptr<T, ...>
///     the pointer goes                            ->  T destroyed              ->  block back to the resource
///
/// A pool of such objects has make_unique instead, which needs no size: see object_pool.hpp.
///
/// Thread safety: that of the resource.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/base/refusals.hpp>
#include <memory_pool/core/blocks/pool_use.hpp>
#include <memory_pool/core/objects/construct.hpp>
#include <memory_pool/polymorphic_deleter.hpp>

#include <memory>
#include <memory_resource>
#include <type_traits>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
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
