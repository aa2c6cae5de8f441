// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Forward declarations of all pools and resources, and the aliases for their variants.
///
///     block_pool = basic_block_pool<>      object_pool<T> = basic_object_pool<T, basic_block_pool<>>      ...
///
/// Thread safety: types named `concurrent_`, `synchronized_` or `shared_` are for many threads. Types named
/// `unsynchronized_`, and those without such a prefix, are for one thread at a time.
#pragma once

#include <memory_pool/base/config.hpp>

#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
namespace detail::core {
template <class Policy>
class local_store;
template <class Policy>
class shared_blocks;
class local_arenas;
class shared_arenas; // NOLINT(cppcoreguidelines-virtual-class-destructor): it is final
class plain_upstream;
class locked_upstream;
} // namespace detail::core

struct default_policy;
struct counting_policy;
struct checking_policy;
struct pool_options;
struct arena_options;
struct page_options;
struct limit_options;
struct pool_statistics;
struct resource_statistics;
struct call_site;
struct lifetime_access;
struct plain_references;
struct atomic_references;

// Blocks of one size.

template <class Policy = default_policy, class Store = detail::core::local_store<Policy>>
class basic_block_pool;

/// Blocks of one size for one thread, without statistics, and with only the checks that cost nothing.
using block_pool = basic_block_pool<>;

/// Blocks of one size for many threads. See policies.hpp for `Policy`, and basic_block_pool for the interface.
template <class Policy = default_policy>
using basic_concurrent_block_pool = basic_block_pool<Policy, detail::core::shared_blocks<Policy>>;

/// Blocks of one size for many threads, without statistics, and with only the checks that cost nothing.
using concurrent_block_pool = basic_concurrent_block_pool<>;

// Objects of one type.

template <class Object, class Blocks>
class basic_object_pool;

/// Objects of type `T` for one thread. See policies.hpp for `Policy`.
template <class T, class Policy = default_policy>
using object_pool = basic_object_pool<T, basic_block_pool<Policy>>;

/// Objects of type `T` for many threads. See policies.hpp for `Policy`.
template <class T, class Policy = default_policy>
using concurrent_object_pool = basic_object_pool<T, basic_concurrent_block_pool<Policy>>;

// Objects of one type, with handles that become stale when the object is destroyed.

template <class T>
struct pool_handle;
template <class T, class Policy = default_policy>
class handle_pool;
template <class T, class Policy = default_policy>
class concurrent_handle_pool;

// Objects that return to their pool automatically.

template <class T, class References = atomic_references>
class pooled;
template <class T, class Policy = default_policy>
class intrusive_pool;
template <class T, class Policy = default_policy>
class recycling_pool;
template <class T, class Blocks>
class basic_shared_pool;
template <class T, class Blocks>
class basic_recycling_shared_pool;

/// Objects for std::shared_ptr. Any thread may drop the last pointer to an object.
template <class T, class Policy = default_policy>
using shared_pool = basic_shared_pool<T, basic_concurrent_block_pool<Policy>>;

/// Objects for std::shared_ptr, for one thread.
template <class T, class Policy = default_policy>
using unsynchronized_shared_pool = basic_shared_pool<T, basic_block_pool<Policy>>;

/// Recycled objects for std::shared_ptr. Any thread may drop the last pointer to an object.
template <class T, class Policy = default_policy>
using recycling_shared_pool = basic_recycling_shared_pool<T, basic_concurrent_block_pool<Policy>>;

/// Recycled objects for std::shared_ptr, for one thread.
template <class T, class Policy = default_policy>
using unsynchronized_recycling_shared_pool = basic_recycling_shared_pool<T, basic_block_pool<Policy>>;

// Frames of coroutines.

template <class Policy = default_policy, std::size_t Alignment = alignof(std::max_align_t)>
class basic_pooled_frame;
template <std::size_t Alignment = alignof(std::max_align_t)>
class basic_resource_frame;
template <class Frame>
class nothrow_frame;

/// A base of promises: frames from process-wide pools.
using pooled_frame = basic_pooled_frame<>;

/// A base of promises: frames from the memory resource passed to the coroutine, or else from process-wide pools.
using resource_frame = basic_resource_frame<>;

// Resources for std::pmr.

template <class Policy, class Arenas>
class basic_arena_resource;

/// Arenas for one thread. See policies.hpp for `Policy`, and basic_arena_resource for the interface.
template <class Policy = default_policy>
using basic_unsynchronized_arena_resource = basic_arena_resource<Policy, detail::core::local_arenas>;

/// Arenas for one thread, with only the checks that cost nothing.
using unsynchronized_arena_resource = basic_unsynchronized_arena_resource<>;

/// Arenas for many threads. See policies.hpp for `Policy`, and basic_arena_resource for the interface.
template <class Policy = default_policy>
using basic_synchronized_arena_resource = basic_arena_resource<Policy, detail::core::shared_arenas>;

/// Arenas for many threads, with only the checks that cost nothing.
using synchronized_arena_resource = basic_synchronized_arena_resource<>;

class arena_scope;

template <class Pool, class Upstream>
class basic_pool_resource;

/// Pools by size class for one thread. See policies.hpp for `Policy`, the policy of the pools, and basic_pool_resource
/// for the interface.
template <class Policy = default_policy>
using basic_unsynchronized_pool_resource = basic_pool_resource<basic_block_pool<Policy>, detail::core::plain_upstream>;

/// Pools by size class for one thread, with only the checks that cost nothing.
using unsynchronized_pool_resource = basic_unsynchronized_pool_resource<>;

/// Pools by size class for many threads. See policies.hpp for `Policy`, the policy of the pools, and
/// basic_pool_resource for the interface.
template <class Policy = default_policy>
using basic_synchronized_pool_resource =
    basic_pool_resource<basic_concurrent_block_pool<Policy>, detail::core::locked_upstream>;

/// Pools by size class for many threads, with only the checks that cost nothing.
using synchronized_pool_resource = basic_synchronized_pool_resource<>;

template <class Pool>
class block_resource;
template <class T, class Resource>
class resource_allocator;
template <class T, class Resource>
class resource_deleter;
class polymorphic_deleter;
class page_resource;
class tracking_resource;
class limit_resource;
class failing_resource;
class synchronized_resource;
}} // namespace memory_pool::MEMORY_POOL_ABI
