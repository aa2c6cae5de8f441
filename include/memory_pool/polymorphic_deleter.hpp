// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Owners of a base: the deleters of pools and resources convert to one deleter, whatever they delete and where it is
/// from.
///
///     std::unique_ptr<circle, object_pool<circle>::deleter>    --+
///     std::unique_ptr<square, resource_deleter<square>>        --+-->  std::unique_ptr<shape, polymorphic_deleter>
///
/// Thread safety: that of the pool or resource.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>

#include <type_traits>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
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
}} // namespace memory_pool::MEMORY_POOL_ABI
