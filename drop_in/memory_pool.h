// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// `memory_pool::MemoryPool<T>`: the interface of the original MemoryPool library, over an array of blocks.
///
///     allocate(n) -> [ T | T | - | - | - ]  at most n objects at one time;  size() = n = in use + available_capacity()
///
/// The content of a new block depends on the call, and on the existence of a default constructor:
///
///     | call              | T() exists | in the block                                    | at delete_block_pt, clear |
///     |-------------------|------------|-------------------------------------------------|---------------------------|
///     | new_block_pt(T&&) | yes or no  | an object, constructed from the argument        | destroyed                 |
///     | new_block_pt()    | yes        | an object, default-initialised, so not zeroed   | destroyed                 |
///     | new_block_pt()    | no         | no object: storage to assign to or construct in | nothing                   |
///
/// Assign to storage without an object only if T is trivially copyable. Otherwise construct objects there by placement
/// new, and destroy them before delete_block_pt or clear.
///
/// Differences from the original:
/// - Objects are destroyed as in the table, including when the pool is cleared or destroyed.
/// - Creating a pool is O(1). If T is not trivially destructible, creation is linear and takes one byte per object.
///   Never-used blocks are allocated in address order.
/// - Over-aligned types are aligned.
/// - A pool cannot be copied or moved.
/// - delete_block_pt ignores nullptr and detectable double frees. All double frees are detectable if T is not trivially
///   destructible. Translation units built with AddressSanitizer report all of them.
/// - Include this header instead of declaring its classes: a forward declaration by the program declares another class,
///   and makes the name ambiguous.
/// - Constructors and destructors of objects may use the pool, and clear it.
/// - MEMORY_POOL_MAX_NUMBER_OF_OBJECTS_IN_POOL sets the limit.
/// - A second template argument selects a policy. With `checking_policy`, the pool reports misuse, and allocates blocks
///   in unspecified order.
/// - Exception texts differ, and exception types may derive from the original's types. Without exceptions, the pool
///   prints the text and aborts.
/// - BlockTracker::setup pushes the indices so that 0 is popped first.
///
/// Include path: drop_in/, or the CMake target memory_pool::drop_in.
///
/// Thread safety: one thread at a time may use a pool.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/base/policy_checks.hpp>
#include <memory_pool/block_pool.hpp>
#include <memory_pool/core/blocks/block_array.hpp>
#include <memory_pool/core/blocks/pool_access.hpp>
#include <memory_pool/core/blocks/pool_arguments.hpp>

// Programs may rely on these includes.
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <stack>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// The maximum size of a pool, in objects. To change the maximum, define this macro before the first inclusion, with
/// the same value in all translation units.
#ifndef MEMORY_POOL_MAX_NUMBER_OF_OBJECTS_IN_POOL
#define MEMORY_POOL_MAX_NUMBER_OF_OBJECTS_IN_POOL 1000
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// A byte of memory.
using Byte = std::byte;

/// A number of objects.
using SizeT = std::uint64_t;

/// The maximum size of a pool, in objects.
inline constexpr SizeT g_MaxNumberOfObjectsInPool = MEMORY_POOL_MAX_NUMBER_OF_OBJECTS_IN_POOL;

/// A stack of the indices of free blocks. For programs that use it directly; MemoryPool does not.
class BlockTracker
{
public:
    /// Effects: constructs an empty stack.
    BlockTracker() = default;

    /// Effects: constructs a stack with the indices of `num_blocks` blocks.
    /// Throws: as `setup`.
    BlockTracker(const SizeT& num_blocks) { setup(num_blocks); }

    /// Effects: replaces the content with the indices of `num_blocks` blocks; 0 is popped first.
    /// Throws: std::bad_alloc, std::length_error. The stack is then unchanged.
    /// Complexity: linear in `num_blocks`.
    void setup(const SizeT& num_blocks)
    {
        std::vector<SizeT> indices(num_blocks);
        SizeT index = num_blocks;
        for (SizeT& each : indices)
            each = --index;
        free_.swap(indices);
    }

    /// Effects: empties the stack.
    void clear() noexcept { free_.clear(); }

    /// Returns: the number of indices on the stack.
    SizeT size() const noexcept { return free_.size(); }

    /// Effects: pushes an index.
    /// Throws: std::bad_alloc. The stack is then unchanged.
    void push(const SizeT& index) { free_.push_back(index); }

    /// Effects: pops the index pushed last.
    /// Returns: the index.
    /// Throws: std::runtime_error if the stack is empty.
    SizeT pop()
    {
        if (free_.empty())
            throw_empty();
        const SizeT index = free_.back();
        free_.pop_back();
        return index;
    }

private:
    [[noreturn]] MEMORY_POOL_SLOW_PATH static void throw_empty()
    {
        constexpr const char* text =
            "BlockTracker: pop from an empty stack: all blocks are in use; push one, or set up more";
#if MEMORY_POOL_EXCEPTIONS
        throw std::runtime_error(text);
#else
        detail::base::throw_exhausted(detail::base::message("memory_pool: %s", text), "BlockTracker", 0, 0);
#endif
    }

    std::vector<SizeT> free_;
};

namespace detail::drop_in {
/// The blocks of a checking pool. The state of a block is stored after the object.
template <class T, class Policy>
class checked_blocks
{
public:
    void allocate(std::size_t count)
    {
        pool_options options;
        options.initial_capacity = options.max_capacity = count;
        options.name = name;
        pool_.emplace(sizeof(T) + (has_states ? sizeof(core::block_state) : 0),
                      core::with_alignment(alignof(T), options));
        core::pool_access::store(*pool_).allow_any_thread(); // The interface has no hand_over.
    }

    void release() noexcept { pool_.reset(); }

    bool is_exhausted() const noexcept { return available() == 0; }

    void* take()
    {
        void* const block = pool_->allocate();
        if constexpr (has_states)
            state(block) = core::block_state::free;
        return block;
    }

    void put(void* block) noexcept { pool_->deallocate(block); }

    /// Returns whether the block can be freed. Otherwise reports the misuse, unless the pool has no blocks. Reports
    /// each overflow once.
    bool check(const void* block) noexcept
    {
        if (!pool_)
            return false;
        const bool is_sound = pool_->check(block);
        if (!has_states || !core::pool_access::is_in_use(*pool_, block) || is_state(state(block)))
            return is_sound;
        state(block) = core::block_state::raw; // The content is unknown.
        if (is_sound)
            base::report_misuse(error_kind::buffer_overflow, block, sizeof(T), name);
        return false;
    }

    core::block_state& state(const void* block) noexcept
    {
        return *reinterpret_cast<core::block_state*>(static_cast<std::byte*>(const_cast<void*>(block)) + sizeof(T));
    }

    template <class Visit>
    void for_each(Visit&& visit)
    {
        pool_->for_each(visit);
    }

    std::size_t size() const noexcept { return pool_ ? pool_->max_capacity() : 0; }
    std::size_t available() const noexcept { return pool_ ? pool_->available() : 0; }

private:
    static constexpr bool has_states = !std::is_trivially_destructible_v<T>;
    static constexpr const char* name = "MemoryPool";

    static bool is_state(core::block_state state) noexcept
    {
        return state == core::block_state::free || state == core::block_state::raw ||
               state == core::block_state::object || state == core::block_state::ending;
    }

    std::optional<basic_block_pool<Policy>> pool_; // Empty while the capacity is 0.
};
} // namespace detail::drop_in

/// A pool of a fixed number of objects. `Policy` is an extension: `checking_policy` reports a double delete.
template <class T, class Policy = default_policy>
class MemoryPool
{
public:
    /// Effects: creates a pool without capacity. Call `allocate` before use.
    MemoryPool() noexcept = default;

    /// Effects: creates a pool for `num_blocks` objects.
    /// Throws: as `allocate`.
    MemoryPool(const SizeT& num_blocks)
    {
        require_at_most_the_maximum(num_blocks);
        make_blocks(num_blocks);
    }

    MemoryPool(const MemoryPool&) = delete;
    MemoryPool& operator=(const MemoryPool&) = delete;

    /// Effects: as `clear`.
    ~MemoryPool() { clear(); }

    /// Effects: clears the pool and makes room for `num_blocks` objects.
    /// Throws: std::bad_alloc if `num_blocks` is more than `g_MaxNumberOfObjectsInPool`; std::invalid_argument if
    ///   called by a constructor or destructor of an object in the pool. In both cases the pool is unchanged.
    ///   std::bad_alloc if out of memory; the pool is then cleared.
    /// Complexity: O(1) plus `clear`; linear in `num_blocks` if T is not trivially destructible.
    void allocate(const SizeT& num_blocks = g_MaxNumberOfObjectsInPool)
    {
        const SizeT count = num_blocks; // A copy: `num_blocks` may refer to an object of this pool.
        require_at_most_the_maximum(count);
        if (at_work_ != 0)
            detail::base::throw_invalid_argument(
                detail::base::message("MemoryPool: allocate was called by a constructor or destructor "
                                      "of an object in the pool; call it later"));
        clear();
        make_blocks(count);
    }

    /// Effects: destroys all objects and frees the memory. If a constructor or destructor of an object calls `clear`,
    ///   clearing is deferred until all constructors and destructors have returned. Destructors may use the pool during
    ///   `clear`. Deletions nested more than 500 deep are deferred, too.
    /// Complexity: linear in blocks that have ever been in use; O(1) if T is trivially destructible.
    void clear() noexcept
    {
        is_to_be_cleared_ = true;
        if (at_work_ != 0)
            return;
        if constexpr (!std::is_trivially_destructible_v<T>)
            end_objects();
        is_to_be_cleared_ = false;
        blocks_.release();
    }

    /// Effects: allocates the most recently freed block, and default-initialises an object in it if T has a default
    ///   constructor.
    /// Returns: the block; nullptr if the constructor cleared the pool.
    /// Throws: std::out_of_range if `size()` blocks are in use; exceptions from the constructor. The pool is then
    ///   unchanged.
    /// Complexity: O(1) plus the constructor.
    T* new_block_pt()
    {
        void* const block = take();
        if constexpr (std::is_default_constructible_v<T>) {
            return construct<std::is_trivially_default_constructible_v<T>>(block, [block] { return ::new (block) T; });
        } else {
            set_state(block, detail::core::block_state::raw);
            return static_cast<T*>(block);
        }
    }

    /// Effects: as the other overload, but constructs the object from `obj`.
    /// Returns, throws, complexity: as the other overload.
    T* new_block_pt(T&& obj)
    {
        void* const block = take();
        return construct<std::is_trivially_move_constructible_v<T>>(
            block, [block, &obj] { return ::new (block) T(std::move(obj)); });
    }

    /// Effects: destroys the object that new_block_pt constructed in the block, if any, frees the block, and sets the
    ///   pointer to nullptr. Ignores nullptr.
    /// Preconditions: the block is from this pool and in use. If not, a checking policy reports misuse and ignores the
    ///   call. With AddressSanitizer, any policy does so for a block that is known to be free.
    /// Complexity: O(1) plus the destructor.
    void delete_block_pt(T*& obj_pt) noexcept
    {
        void* const block = std::exchange(obj_pt, nullptr);
        if (block == nullptr)
            return;
        if constexpr (checks) {
            if (!blocks_.check(block))
                return;
        } else if (!is_to_be_cleared_ && blocks_.is_known_to_be_free(block)) {
            detail::base::report_misuse(error_kind::double_free, block, sizeof(T), "MemoryPool");
            return;
        }
        if constexpr (std::is_trivially_destructible_v<T>)
            blocks_.put(block);
        else
            end_and_put(block);
    }

    /// Returns: the maximum number of objects alive at a time.
    SizeT size() const noexcept { return blocks_.size(); }

    /// Returns: the number of free blocks.
    SizeT available_capacity() const noexcept { return blocks_.available(); }

private:
    static constexpr bool checks = detail::base::checked_policy<Policy>::checks;
    /// Maximum nesting of deletions by destructors while the pool is being cleared.
    static constexpr std::size_t deepest = 500;

    static void require_at_most_the_maximum(SizeT count)
    {
        if (count > g_MaxNumberOfObjectsInPool)
            detail::base::throw_exhausted("MemoryPool, limited by MEMORY_POOL_MAX_NUMBER_OF_OBJECTS_IN_POOL",
                                          g_MaxNumberOfObjectsInPool, sizeof(T));
    }

    void make_blocks(SizeT count)
    {
        if (count != 0)
            blocks_.allocate(count);
    }

    MEMORY_POOL_ALWAYS_INLINE void* take()
    {
        if (MEMORY_POOL_UNLIKELY(blocks_.is_exhausted()))
            throw_out_of_range();
        return blocks_.take();
    }

    void set_state(const void* block, detail::core::block_state state) noexcept
    {
        if constexpr (!std::is_trivially_destructible_v<T>)
            blocks_.state(block) = state;
    }

    /// Calls `make` to construct an object in the block. A nontrivial constructor may use the pool during the call.
    template <bool IsTrivial, class Make>
    T* construct(void* block, Make&& make)
    {
        if constexpr (IsTrivial) {
            T* const object = make();
            set_state(block, detail::core::block_state::object);
            return object;
        } else {
            ++at_work_;
            detail::base::failure_guard guard([this, block] {
                blocks_.put(block);
                (void)end_work();
            });
            T* const object = make();
            guard.succeeded();
            set_state(block, detail::core::block_state::object);
            return end_work() ? object : nullptr;
        }
    }

    /// Destroys the object in the block, if any, and frees the block.
    void end_and_put(void* block) noexcept
    {
        if constexpr (!checks) {
            if (!blocks_.owns(block))
                return;
        }
        const detail::core::block_state found = blocks_.state(block);
        if (found == detail::core::block_state::raw)
            put(block);
        else if (found == detail::core::block_state::object && (!is_to_be_cleared_ || at_work_ <= deepest))
            end(block);
    }

    void end(void* block) noexcept
    {
        set_state(block, detail::core::block_state::ending);
        ++at_work_;
        std::launder(static_cast<T*>(block))->~T();
        put(block);
        (void)end_work();
    }

    void put(void* block) noexcept
    {
        set_state(block, detail::core::block_state::free);
        blocks_.put(block);
    }

    /// Destroys objects until none is left, because destructors may construct new objects.
    void end_objects() noexcept
    {
        if (blocks_.size() == 0)
            return;
        ++at_work_;
        bool is_done = false;
        while (!std::exchange(is_done, true)) {
            blocks_.for_each([&](void* block) {
                if constexpr (checks)
                    (void)blocks_.check(block);
                if (blocks_.state(block) == detail::core::block_state::object) {
                    end(block);
                    is_done = false;
                }
            });
        }
        --at_work_;
    }

    /// Ends a constructor or destructor. Clears the pool if clearing was requested in the meantime.
    /// Returns: false if the pool was cleared or will be.
    bool end_work() noexcept
    {
        if (--at_work_ != 0 || !is_to_be_cleared_)
            return true;
        clear();
        return false;
    }

    [[noreturn]] MEMORY_POOL_SLOW_PATH void throw_out_of_range() const
    {
#if MEMORY_POOL_EXCEPTIONS
        throw std::out_of_range("MemoryPool: all " + std::to_string(size()) +
                                " objects of the pool are in use; delete one before the next, or allocate more");
#else
        detail::base::throw_exhausted("MemoryPool", size(), sizeof(T));
#endif
    }

    std::conditional_t<checks, detail::drop_in::checked_blocks<T, Policy>, detail::core::block_array<T>> blocks_;
    std::size_t at_work_ = 0; // The number of constructors and destructors that have not returned.
    bool is_to_be_cleared_ = false;
};
}} // namespace memory_pool::MEMORY_POOL_ABI
