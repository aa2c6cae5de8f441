// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Rejects unsupported types with a single compiler error: a failed check replaces the type with `no_object`, so that
/// the rest of the code still compiles.
///
///     T  ->  checked_object<T>  ->  T, or else a static_assert and no_object
///
/// Thread safety: compile time only.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/lifetime_access.hpp>
#include <memory_pool/policies.hpp>

#include <cstddef>
#include <memory_resource>
#include <type_traits>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
struct pool_options;

namespace detail::core {
/// Dependent false: for a static_assert in a template that must not be instantiated.
template <class...>
inline constexpr bool is_of_use = false;

/// Replaces an unsupported type.
struct no_object
{
    template <class... Arguments>
    explicit no_object(Arguments&&...) noexcept
    {
    }
};

/// True if the type is complete at the first instantiation.
template <class T, class = void>
inline constexpr bool is_complete = false;
template <class T>
inline constexpr bool is_complete<T, std::void_t<decltype(sizeof(T))>> = true;

template <class T, bool IsObject = std::is_object_v<T> && !std::is_array_v<T>>
struct object_check
{
    using type = no_object; // First, because clang ignores members after a failed static_assert.
    static_assert(std::is_object_v<T>, "a pool is for objects, not for references, functions or void");
    static_assert(!std::is_array_v<T>, "a pool is for single objects: pool an array in a struct");
};
template <class T>
struct object_check<T, true>
{
    using type = T;
};

/// `T` if it is an object type but not an array, else an error and no_object.
template <class T>
using checked_object = typename object_check<T>::type;

/// As checked_object, but without an error: for a base class, which clang drops after an error.
template <class T>
using object_or_none = std::conditional_t<std::is_object_v<T> && !std::is_array_v<T>, T, no_object>;

template <class T, bool IsComplete = is_complete<T>>
struct completeness_check
{
    using type = no_object;
    static_assert(IsComplete,
                  "the objects of the pool have an incomplete type here: include the header that defines it");
};
template <class T>
struct completeness_check<T, true>
{
    using type = T;
};

/// `T` if it is complete, else an error and no_object. Checked late: a class with members that own objects of its pool
/// is incomplete when the class of the pool is instantiated.
template <class T>
using complete_object = typename completeness_check<T>::type;

// After a failed check in a base clause, clang drops the base. So the base clause replaces the type silently, and the
// static_assert is in the class.

/// True if pools can have objects of type `T` that their last pointer destroys: `T` is a complete, non-const,
/// non-volatile object type.
template <class T, class = void>
inline constexpr bool can_return = false;
template <class T>
inline constexpr bool can_return<
    T, std::enable_if_t<std::is_object_v<T> && !std::is_array_v<T> && !std::is_const_v<T> && !std::is_volatile_v<T>>> =
    is_complete<T>;

template <class T>
using returning_object = std::conditional_t<can_return<T>, T, no_object>;

template <class T>
struct returning_object_check
{
    static constexpr bool is_made = true;
    static_assert(std::is_object_v<T>, "a pool is for objects, not for references, functions or void");
    static_assert(!std::is_array_v<T>, "a pool is for single objects: pool an array in a struct");
    static_assert(!std::is_const_v<T> && !std::is_volatile_v<T>,
                  "objects that return by themselves are neither const nor volatile: hold them by pointers to const");
    static_assert(can_return<T> || std::is_const_v<T> || std::is_volatile_v<T> || !std::is_object_v<T> ||
                      std::is_array_v<T>,
                  "the objects of the pool have an incomplete type here: include the header that defines it");
};

template <class T>
using kept_object = std::conditional_t<base::is_constructible<returning_object<T>>, returning_object<T>, no_object>;

template <class T, class Returning = returning_object<T>>
struct kept_object_check : returning_object_check<T>
{
    static_assert(!std::is_abstract_v<Returning>,
                  "objects of an abstract class cannot be made: pool each class derived from it");
    static_assert(base::is_constructible<Returning> || std::is_abstract_v<Returning>,
                  "recycled objects are constructed before they are requested: give them a default constructor, and an "
                  "init() or a function");
};

/// Enables a constructor whose only argument is a pointer to a memory resource. A template, so that `{}` still means
/// options, and nullptr is rejected.
template <class Resource>
using if_resource = std::enable_if_t<std::is_convertible_v<Resource*, std::pmr::memory_resource*>>;

// The names of these types state why a function is deleted: compilers print the template argument. A static_assert in
// the body would be an error, too, but type traits would report that the function can be called.
struct a_pool_takes_a_pool_options_with_initial_or_max_capacity_and_then_a_memory_resource;
struct a_block_pool_takes_a_block_size_a_pool_options_with_max_capacity_and_a_memory_resource;
struct a_recycling_pool_takes_a_recycle_or_a_function_a_pool_options_and_a_memory_resource;
struct an_arena_resource_takes_arena_options_with_arena_count_or_size_and_a_memory_resource;
struct a_pool_resource_takes_a_std_pmr_pool_options_and_then_a_memory_resource;
struct hold_it_by_a_std_unique_ptr;
struct threads_share_the_objects_use_for_each_instead_of_a_loop;
struct an_allocator_takes_the_address_of_a_memory_resource;

/// Valid arguments of a constructor: the first converts to one of `Right`, the second to one of `Right` or to a pointer
/// to a memory resource.
template <class... Right>
struct takes
{
    template <class Given>
    static constexpr bool one = (std::is_convertible_v<const Given&, Right> || ...);
    template <class Given, class Second = std::pmr::memory_resource*, class...>
    static constexpr bool all =
        one<Given> && (one<Second> || std::is_convertible_v<const Second&, std::pmr::memory_resource*>);
};

/// `Reason`, for a deleted constructor; enabled for arguments that `Takes` rejects.
template <class Reason, class Takes, class... Given>
using if_wrong = std::enable_if_t<!Takes::template all<Given...>, Reason>;

/// As if_wrong, for a pool of objects. A class that inherits the other constructors declares its own deleted
/// constructor: GCC reports an inherited deleted constructor twice.
template <class Pool, class... Given>
using if_no_options = if_wrong<a_pool_takes_a_pool_options_with_initial_or_max_capacity_and_then_a_memory_resource,
                               takes<const pool_options&, const Pool&>, Given...>;

/// The base of pools of objects that threads share: rejects a loop over the objects.
class shared_objects
{
public:
    /// Rejects a range-based for loop.
    template <class Reason = threads_share_the_objects_use_for_each_instead_of_a_loop>
    void* begin() const = delete;
    /// Not defined rather than deleted: a deleted function would cause a second error.
    void* end() const;
};

/// A base of memory resources: rejects a resource that is passed to a container instead of its address. Not derived
/// from std::pmr::memory_resource: otherwise, the destructor of this class would reset a destroyed resource to pure
/// virtual functions, and the library could not report a late call.
class resource_by_address
{
public:
    /// Rejects the resource as an allocator.
    template <class T, class Reason = an_allocator_takes_the_address_of_a_memory_resource>
    operator std::pmr::polymorphic_allocator<T>() const = delete;
};
} // namespace detail::core
}} // namespace memory_pool::MEMORY_POOL_ABI
