// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// `memory_pool::MemoryPool<T>`, the interface of the library of that name, over object_pool.
///
///     allocate(n) -> [ T | T | - | - | - ]  at most n objects at one time;  size() = n = in use + available_capacity()
///
/// What differs from the original: objects are constructed when a block is handed out and destroyed when it is given
/// back; asking for one too many throws std::out_of_range in Debug and Release alike; creation takes the same time for any
/// size. Include path: drop_in/, or the CMake target memory_pool::drop_in.
///
/// Thread safety: none of its own: one thread at a time may use a pool.
#pragma once

#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/object_pool.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

/// The most objects that one pool may be made for. Define it before the first inclusion, alike everywhere, to raise it.
#ifndef MEMORY_POOL_MAX_NUMBER_OF_OBJECTS_IN_POOL
#define MEMORY_POOL_MAX_NUMBER_OF_OBJECTS_IN_POOL 1000
#endif

namespace memory_pool
{
inline namespace MEMORY_POOL_ABI
{
/// A number of objects.
using SizeT = std::uint64_t;

/// The most objects that one pool may be made for.
inline constexpr SizeT g_MaxNumberOfObjectsInPool = MEMORY_POOL_MAX_NUMBER_OF_OBJECTS_IN_POOL;

/// A pool of a fixed number of objects. `Policy` is the library's own: `checking_policy` reports a double delete.
template <class T, class Policy = default_policy>
class MemoryPool
{
public:
    /// Effects: makes a pool for no object, until `allocate`.
    MemoryPool() noexcept = default;

    /// Effects: makes a pool for `num_blocks` objects.
    /// Throws: as `allocate`.
    MemoryPool(const SizeT& num_blocks) { allocate(num_blocks); }

    MemoryPool(const MemoryPool&) = delete;
    MemoryPool& operator=(const MemoryPool&) = delete;

    /// Effects: destroys the objects that are alive and gives the memory back.
    ~MemoryPool() { clear(); }

    /// Effects: clears the pool and makes room for `num_blocks` objects.
    /// Throws: std::bad_alloc if that is more than `g_MaxNumberOfObjectsInPool`, or than there is memory for; std::invalid_argument
    ///   if a constructor or destructor of its objects calls it.
    /// Complexity: O(1), and that of `clear`.
    void allocate(const SizeT& num_blocks = g_MaxNumberOfObjectsInPool)
    {
        const SizeT count = num_blocks; // which may be in an object of this pool
        if (count > g_MaxNumberOfObjectsInPool)
            base::throw_exhausted("MemoryPool, limited by MEMORY_POOL_MAX_NUMBER_OF_OBJECTS_IN_POOL",
                                  g_MaxNumberOfObjectsInPool, sizeof(T));
        if (at_work_ != 0)
            base::throw_invalid_argument(base::message(
                "MemoryPool: allocate was called by a constructor or destructor of an object in the pool"));
        clear();
        if (count == 0)
            return;
        pool_options options;
        options.initial_capacity = options.max_capacity = static_cast<std::size_t>(count);
        options.name = "MemoryPool";
        pool_.emplace(options);
        size_ = count;
    }

    /// Effects: destroys the objects that are alive and gives the memory back. If a constructor or destructor of its objects calls
    ///   it, that is done when all of them have returned.
    /// Complexity: linear in objects.
    void clear() noexcept
    {
        is_to_be_cleared_ = at_work_ != 0;
        if (is_to_be_cleared_ || !pool_)
            return;
        ++at_work_;
        pool_->clear(); // Destructors may use the pool, which is whole meanwhile.
        --at_work_;
        is_to_be_cleared_ = false;
        pool_.reset();
        size_ = 0;
    }

    /// Returns: a new object, made by its default constructor; nullptr if that has cleared the pool.
    /// Throws: std::out_of_range if `size()` objects are alive; what the constructor throws.
    /// Complexity: O(1).
    T* new_block_pt() { return make(); }

    /// Returns: a new object, made from `obj`.
    /// Throws: as the other one.
    /// Complexity: O(1).
    T* new_block_pt(T&& obj) { return make(std::move(obj)); }

    /// Effects: destroys the object and sets the pointer to nullptr, which may be given again.
    /// Complexity: O(1).
    void delete_block_pt(T*& obj_pt) noexcept
    {
        T* const object = std::exchange(obj_pt, nullptr);
        if (!pool_)
            return;
        ++at_work_;
        pool_->destroy(object);
        (void)end_work();
    }

    /// Returns: the most objects that can be alive at one time.
    SizeT size() const noexcept { return size_; }

    /// Returns: how many more objects can be made.
    SizeT available_capacity() const noexcept { return pool_ ? pool_->available() : 0; }

private:
    template <class... Arguments>
    T* make(Arguments&&... arguments)
    {
        if (!pool_ || pool_->available() == 0)
            throw_out_of_range();
        ++at_work_;
        base::failure_guard guard([this] { (void)end_work(); });
        T* const object = pool_->create(std::forward<Arguments>(arguments)...);
        guard.succeeded();
        return end_work() ? object : nullptr;
    }

    /// Effects: clears the pool if it was to be cleared meanwhile.
    /// Returns: whether it was not.
    bool end_work() noexcept
    {
        if (--at_work_ != 0 || !is_to_be_cleared_)
            return true;
        clear();
        return false;
    }

    [[noreturn]] void throw_out_of_range() const
    {
#if MEMORY_POOL_EXCEPTIONS
        throw std::out_of_range("MemoryPool: all " + std::to_string(size()) + " objects of the pool are in use");
#else
        base::throw_exhausted("MemoryPool", static_cast<std::size_t>(size()), sizeof(T));
#endif
    }

    std::optional<object_pool<T, Policy>> pool_; // none while there is room for no object
    SizeT size_ = 0;
    std::size_t at_work_ = 0; // constructors and destructors that have not returned
    bool is_to_be_cleared_ = false;
};
} // namespace MEMORY_POOL_ABI
} // namespace memory_pool
