// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Bases of coroutine promises that allocate frames from process-wide pools, one for each size class, or from a memory
/// resource.
///
///     struct promise_type : memory_pool::pooled_frame { ... };
///
///     task load(int key);                                         its frame comes from a pool
///
///     struct promise_type : memory_pool::resource_frame { ... };
///
///     task load(std::allocator_arg_t, std::pmr::memory_resource*, int key);        its frame comes from that resource
///
///     block of a resource_frame:   | frame | the resource, or nullptr: the pools |
///
/// The pools have caches for each thread: see concurrent_block_pool.hpp. They are never destroyed, so any thread may
/// destroy a coroutine, even after the thread that made it has ended, at thread exit, or during static destruction.
///
/// This header does not need C++20: any class may derive from one of these bases, and `new` then allocates its objects
/// like frames.
///
/// Thread safety: any thread; with a resource, as the resource.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/policy_checks.hpp>
#include <memory_pool/base/static_checks.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/core/blocks/pool_arguments.hpp>
#include <memory_pool/core/resources/process_pools.hpp>
#include <memory_pool/fwd.hpp>
#include <memory_pool/policies.hpp>

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <new>
#include <type_traits>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
namespace detail::core {
template <std::size_t Alignment>
constexpr void check_frame_alignment() noexcept
{
    static_assert(base::is_power_of_two(Alignment) && Alignment >= alignof(std::max_align_t),
                  "the alignment of frames must be a power of two, and at least that of std::max_align_t");
}

/// True if `Source` has a resource(), as std::pmr::polymorphic_allocator and resource_allocator do.
template <class Source, class = void>
inline constexpr bool has_resource = false;
template <class Source>
inline constexpr bool
    has_resource<Source, std::enable_if_t<std::is_convertible_v<decltype(std::declval<const Source&>().resource()),
                                                                std::pmr::memory_resource*>>> = true;

/// Returns: the resource of the argument behind std::allocator_arg, which is a pointer to the resource or an allocator
///   over it.
template <class Source>
std::pmr::memory_resource* resource_of(const Source& source)
{
    constexpr bool is_pointer =
        std::is_convertible_v<const Source&, std::pmr::memory_resource*> && !std::is_null_pointer_v<Source>;
    static_assert(is_pointer || has_resource<Source>,
                  "after std::allocator_arg, a resource_frame takes a pointer to a std::pmr::memory_resource, "
                  "or an allocator over one");
    std::pmr::memory_resource* resource = nullptr;
    if constexpr (is_pointer)
        resource = source;
    else if constexpr (has_resource<Source>)
        resource = source.resource();
    check_upstream(resource, "of coroutine frames");
    return resource;
}
} // namespace detail::core

/// A base of promises that allocates frames from process-wide pools. Each `Policy` has its own set of pools. Frames of
/// more than 32 KiB, including alignment, are allocated by new, under a lock.
///
/// Frames are aligned to `Alignment`. Compilers do not pass on the alignment that a frame needs. If a promise or a
/// local variable of the coroutine needs a larger alignment than new provides, specify it here.
template <class Policy, std::size_t Alignment>
class basic_pooled_frame
{
    using pools = detail::core::process_pools<basic_concurrent_block_pool<Policy>>;

public:
    /// The policy of the pools.
    using policy = Policy;

    /// Effects: allocates a frame.
    /// Returns: the frame: `bytes` bytes, aligned to `Alignment`. Never nullptr.
    /// Throws: what new throws.
    /// Complexity: O(1), and occasionally a call to new.
    /// Thread safety: any thread.
    [[nodiscard]] MEMORY_POOL_INLINE_IN_COROUTINE static void* operator new(std::size_t bytes)
    {
        return pools::allocate(bytes, Alignment);
    }

    /// Rejects a resource, which would have no effect.
    template <class Source, class... Arguments>
    static void* operator new(std::size_t bytes, std::allocator_arg_t, const Source&, Arguments&&...)
    {
        static_assert(detail::core::is_of_use<Source>,
                      "a pooled_frame has pools of its own: derive the promise from resource_frame for a resource");
        return pools::allocate(bytes, Alignment);
    }
    /// Rejects a resource for a coroutine that is a member function or a lambda.
    template <class Object, class Source, class... Arguments>
    static void* operator new(std::size_t bytes, Object&, std::allocator_arg_t, const Source& source, Arguments&&...)
    {
        return operator new(bytes, std::allocator_arg, source);
    }

    /// Effects: frees a frame. nullptr is ignored.
    /// Preconditions: `frame` is in use, and from `operator new` of this class with the same size. Otherwise, the pools
    ///   report the misuse that the policy detects.
    /// Complexity: O(1).
    /// Thread safety: any thread, not only the thread that allocated the frame.
    MEMORY_POOL_INLINE_IN_COROUTINE static void operator delete(void* frame, std::size_t bytes) noexcept
    {
        pools::deallocate(frame, bytes, Alignment);
    }

    /// Effects: returns all slabs without frames in use to new and delete, for all frames with this policy.
    /// Returns: the number of bytes returned.
    /// Complexity: linear in slabs and free frames.
    /// Thread safety: any thread.
    static std::size_t trim() noexcept { return pools::trim(); }

    /// Returns: the bytes of frames in use, each rounded up to its size class, for all frames with this policy;
    ///   approximate while other threads allocate or free frames.
    /// Complexity: linear in pools and threads.
    /// Thread safety: any thread.
    static std::size_t bytes_in_use() noexcept { return pools::bytes_in_use(); }

    /// Returns: the bytes allocated by new and not yet deleted, including bookkeeping, for all frames with this policy.
    /// Complexity: linear in pools.
    /// Thread safety: any thread.
    static std::size_t bytes_reserved() noexcept { return pools::bytes_reserved(); }

    /// Returns: whether the invariants hold. For tests.
    /// Complexity: linear in frames.
    /// Thread safety: any thread.
    static bool verify() noexcept { return pools::verify(); }

protected:
    basic_pooled_frame() noexcept
    {
        detail::base::check_resource_policy<Policy>();
        detail::core::check_frame_alignment<Alignment>();
    }
    ~basic_pooled_frame() = default;
};

/// A base of promises that allocates frames from the memory resource that follows std::allocator_arg among the first
/// arguments of the coroutine, as for std::generator. If the coroutine has no such argument, frames come from the pools
/// of pooled_frame. Pass the resource as a pointer, or as an allocator with a resource(), such as
/// std::pmr::polymorphic_allocator.
///
///     task load(std::allocator_arg_t, std::pmr::memory_resource*, int key);
///     task client::load(std::allocator_arg_t, std::pmr::polymorphic_allocator<>, int key);        also a lambda
///
/// Each frame is larger by the size of a pointer. See basic_pooled_frame for `Alignment`.
template <std::size_t Alignment>
class basic_resource_frame
{
    using pools = detail::core::process_pools<concurrent_block_pool>;

public:
    /// Effects: allocates a frame from the pools.
    /// Returns: the frame: `bytes` bytes, aligned to `Alignment`. Never nullptr.
    /// Throws: what new throws.
    /// Complexity: O(1), and occasionally a call to new.
    /// Thread safety: any thread.
    [[nodiscard]] static void* operator new(std::size_t bytes) { return allocate(bytes, nullptr); }

    // Always inlined: GCC does not match a template of operator new with operator delete (-Wmismatched-new-delete).

    /// Effects: allocates the frame of a function or static member function from the resource of `source`.
    /// Returns: the frame: `bytes` bytes, aligned to `Alignment`.
    /// Preconditions: the resource outlives the frame.
    /// Throws: std::invalid_argument if the resource is nullptr; what the resource throws.
    /// Complexity: as the resource.
    /// Thread safety: as the resource.
    template <class Source, class... Arguments>
    [[nodiscard]] MEMORY_POOL_INLINE_IN_COROUTINE static void* operator new(std::size_t bytes, std::allocator_arg_t,
                                                                            const Source& source, Arguments&&...)
    {
        return allocate(bytes, detail::core::resource_of(source));
    }

    /// Effects: allocates the frame of a member function or a lambda, whose first argument is the object.
    /// Returns, preconditions, throws, complexity, thread safety: as the overload above.
    template <class Object, class Source, class... Arguments>
    [[nodiscard]] MEMORY_POOL_INLINE_IN_COROUTINE static void* operator new(std::size_t bytes, Object&,
                                                                            std::allocator_arg_t, const Source& source,
                                                                            Arguments&&...)
    {
        return allocate(bytes, detail::core::resource_of(source));
    }

    /// Effects: returns a frame to the pools or its resource. nullptr is ignored.
    /// Preconditions: `frame` is in use, and from `operator new` of this class with the same size.
    /// Complexity: O(1); with a resource, as the resource.
    /// Thread safety: any thread; with a resource, as the resource.
    static void operator delete(void* frame, std::size_t bytes) noexcept
    {
        if (frame == nullptr)
            return;
        const std::size_t offset = offset_of_resource(bytes);
        const std::size_t total = offset + sizeof(resource_pointer);
        std::pmr::memory_resource* const resource =
            *std::launder(static_cast<resource_pointer*>(detail::base::address_past(frame, offset)));
        if (resource != nullptr)
            resource->deallocate(frame, total, Alignment);
        else
            pools::deallocate(frame, total, Alignment);
    }

protected:
    basic_resource_frame() noexcept { detail::core::check_frame_alignment<Alignment>(); }
    ~basic_resource_frame() = default;

private:
    using resource_pointer = std::pmr::memory_resource*;

    /// The offset of the pointer to the resource in the frame, in bytes.
    static constexpr std::size_t offset_of_resource(std::size_t bytes) noexcept
    {
        return detail::base::round_up(bytes, alignof(resource_pointer));
    }

    static void* allocate(std::size_t bytes, resource_pointer resource)
    {
        const std::size_t offset = offset_of_resource(bytes);
        const std::size_t total = offset + sizeof(resource_pointer);
        void* const frame =
            resource != nullptr ? resource->allocate(total, Alignment) : pools::allocate(total, Alignment);
        ::new (detail::base::address_past(frame, offset)) resource_pointer(resource);
        return frame;
    }
};

/// A pooled_frame or resource_frame for promises with get_return_object_on_allocation_failure. The coroutine calls that
/// function if `Frame` throws, which happens on OOM, or if the resource is nullptr.
///
///     struct promise_type : memory_pool::nothrow_frame<memory_pool::pooled_frame> { ... };
template <class Frame>
class nothrow_frame : public Frame
{
public:
    /// Effects: allocates as `Frame` does.
    /// Returns: the frame, or nullptr if `Frame` throws.
    /// Complexity: as `Frame`.
    /// Thread safety: as `Frame`.
    [[nodiscard]] MEMORY_POOL_INLINE_IN_COROUTINE static void* operator new(std::size_t bytes) noexcept
    {
        return try_allocate([&] { return Frame::operator new(bytes); });
    }
    /// Effects: allocates with any other arguments that `Frame` accepts.
    /// Returns, complexity, thread safety: as the overload above.
    template <class... Arguments, class = decltype(Frame::operator new(std::size_t{}, std::declval<Arguments>()...))>
    [[nodiscard]] MEMORY_POOL_INLINE_IN_COROUTINE static void* operator new(std::size_t bytes,
                                                                            Arguments&&... arguments) noexcept
    {
        return try_allocate([&] { return Frame::operator new(bytes, std::forward<Arguments>(arguments)...); });
    }

protected:
    nothrow_frame() noexcept = default;
    ~nothrow_frame() = default;

private:
    template <class Allocate>
    static void* try_allocate(Allocate&& allocate) noexcept
    {
        void* frame = nullptr;
        (void)detail::base::succeeds([&] { frame = allocate(); });
        return frame;
    }
};
}} // namespace memory_pool::MEMORY_POOL_ABI
