// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The base class of reference-counted objects. An object returns to its pool when the last pointer to it goes.
///
///     struct session : memory_pool::pooled<session> { ... };      8 bytes
///
/// The base class has no virtual functions. Pointers to an object or to its bases may be boost::intrusive_ptr, or any
/// other pointer that calls `intrusive_ptr_add_ref` and `intrusive_ptr_release`.
///
/// Thread safety: any thread may drop the last pointer to an object; with plain_references, one thread at a time may
/// use the pool and its objects.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/objects/counted_object.hpp>
#include <memory_pool/core/objects/reference_count.hpp>
#include <memory_pool/fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// Counts references for one thread.
struct plain_references
{
    using count = detail::core::plain_reference_count<std::uint32_t>; ///< A count that saturates.
    static constexpr bool are_shared = false;                         ///< The pool is for one thread at a time.
};

/// Counts references for many threads: any thread may drop the last reference. Needs a pool that threads share.
struct atomic_references
{
    using count = detail::core::atomic_reference_count<std::uint32_t>; ///< A count that saturates.
    static constexpr bool are_shared = true;                           ///< Threads share the pool.
};

/// The base class of a pooled type: `struct item : pooled<item>`. If `item` takes arguments, give it a constructor: in
/// an aggregate, the first initializer would initialize the base. Dropping the last reference to an object outside of a
/// pool does nothing. Copying an object, or assigning to it, does not copy its references or its position in the pool.
template <class T, class References>
class pooled : public detail::core::counted_object<typename References::count>
{
    using base_type = detail::core::counted_object<typename References::count>;

public:
    /// The kind of reference count.
    using references = References;

    /// Returns: the number of references; 0 for an object outside of a pool, or while the object is constructed,
    ///   destroyed or reset.
    /// Complexity: O(1).
    /// Thread safety: any thread; with atomic_references, other threads may change the number at any time.
    std::size_t use_count() const noexcept
    {
        const std::uint32_t count = detail::core::object_access::count(*this).read();
        return count < detail::core::reference_zones<std::uint32_t>::idle ||
                       count >= detail::core::reference_zones<std::uint32_t>::half
                   ? count
                   : 0;
    }

    /// Effects: adds a reference. At 2^31 references the count saturates, and the object is never freed.
    /// Complexity: O(1).
    /// Thread safety: as `References`.
    friend void intrusive_ptr_add_ref(const pooled* object) noexcept
    {
        detail::core::object_access::count(*object).add();
    }

    /// Effects: drops a reference. If it was the last reference, the object returns to its pool. If this thread is
    ///   destroying or resetting another object of the pool, the object returns afterwards.
    /// Complexity: O(1), plus destroying or resetting the object.
    /// Thread safety: as `References`.
    friend void intrusive_ptr_release(const pooled* object) noexcept { detail::core::object_access::release(*object); }

protected:
    // Protected, rather than private with T as a friend: T may derive from `pooled` through other classes.
    pooled() noexcept = default; // NOLINT(bugprone-crtp-constructor-accessibility)
    ~pooled() = default;
};

namespace detail::core {
/// Never defined. Its type is the second argument of the `pooled` that `T` is derived from.
template <class T, class References>
References references_in(const pooled<T, References>*);
} // namespace detail::core

/// True if `T` is not const, and derives from `pooled` exactly once and publicly.
template <class T, class = void>
inline constexpr bool is_pooled = false;
template <class T>
inline constexpr bool is_pooled<T, std::void_t<decltype(detail::core::references_in(static_cast<const T*>(nullptr)))>> =
    !std::is_const_v<T>;

/// The second argument of the `pooled` that `T` derives from, even if `T` declares another `references`.
template <class T>
using references_of = decltype(detail::core::references_in(static_cast<const T*>(nullptr)));
}} // namespace memory_pool::MEMORY_POOL_ABI
