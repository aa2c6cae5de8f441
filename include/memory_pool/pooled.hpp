// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The base of reference-counted objects that return to their pool when the last pointer to them is gone.
///
///     struct session : memory_pool::pooled<session> { ... };      8 bytes
///
/// It has no virtual function. boost::intrusive_ptr, and any other pointer that calls `intrusive_ptr_add_ref` and
/// `intrusive_ptr_release`, works with the object itself and with its bases.
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
    using count = detail::core::plain_reference_count<std::uint32_t>; ///< Saturates.
    static constexpr bool are_shared = false;                         ///< The pool is for one thread at a time.
};

/// Counts references for many threads, any of which may drop the last one. The pool is one that threads share.
struct atomic_references
{
    using count = detail::core::atomic_reference_count<std::uint32_t>; ///< Saturates.
    static constexpr bool are_shared = true;                           ///< Threads share the pool.
};

/// Derive from it: `struct item : pooled<item>`, and give `item` a constructor if it takes arguments: braces would have
/// to begin with the base. The last pointer to an object that no pool has made does nothing. Copying an object, or
/// assigning to it, copies neither its references nor its place.
template <class T, class References>
class pooled : public detail::core::counted_object<typename References::count>
{
    using base_type = detail::core::counted_object<typename References::count>;

public:
    /// How references are counted.
    using references = References;

    /// Returns: how many references there are; 0 for an object that no pool has made, or that is being made, destroyed
    ///   or reset.
    /// Complexity: O(1).
    /// Thread safety: any thread; with atomic_references, it may have changed since.
    std::size_t use_count() const noexcept
    {
        const std::uint32_t count = detail::core::object_access::count(*this).read();
        return count < detail::core::reference_zones<std::uint32_t>::idle ||
                       count >= detail::core::reference_zones<std::uint32_t>::half
                   ? count
                   : 0;
    }

    /// Effects: adds a reference. With 2^31 of them, the object stays for ever.
    /// Complexity: O(1).
    /// Thread safety: that of `References`.
    friend void intrusive_ptr_add_ref(const pooled* object) noexcept
    {
        detail::core::object_access::count(*object).add();
    }

    /// Effects: drops a reference. If it was the last, the object returns to its pool; or, if that is called while
    ///   another object of the pool is destroyed or reset in this thread, as soon as that is done.
    /// Complexity: O(1), and what ends the object.
    /// Thread safety: that of `References`.
    friend void intrusive_ptr_release(const pooled* object) noexcept { detail::core::object_access::release(*object); }

protected:
    // Protected, not private with T as a friend: there may be classes between the two.
    pooled() noexcept = default; // NOLINT(bugprone-crtp-constructor-accessibility)
    ~pooled() = default;
};

namespace detail::core {
/// Only its type is asked for: the second argument of the `pooled` that `T` is derived from.
template <class T, class References>
References references_in(const pooled<T, References>*);
} // namespace detail::core

/// Whether `T` is derived from a `pooled`, just once and publicly.
template <class T, class = void>
inline constexpr bool is_pooled = false;
template <class T>
inline constexpr bool is_pooled<T, std::void_t<decltype(detail::core::references_in(static_cast<const T*>(nullptr)))>> =
    !std::is_const_v<T>;

/// How the objects of type `T`, which is derived from a `pooled`, count their references. Whatever else in `T` is
/// called `references`, it is not asked.
template <class T>
using references_of = decltype(detail::core::references_in(static_cast<const T*>(nullptr)));
}} // namespace memory_pool::MEMORY_POOL_ABI
