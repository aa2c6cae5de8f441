// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A fixed number of blocks for objects of one type, in one array.
///
///     memory:  [ stack of free blocks | states | block 0 | block 1 | ... | block n - 1 ]
///                 ^bottom   ^top                               ^next: never-used blocks from here on
///
///     take:  pop; if the stack is empty, push the next 16 blocks first         put:  push
///     n = outstanding + on the stack + from next to the end
///
/// Freed blocks are reused in LIFO order. If there are none, never-used blocks are taken in address order. The array
/// writes nothing to a block, so creating an array is O(1), except for the states: one byte per block, only if T is not
/// trivially destructible.
///
/// Thread safety: one thread at a time.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/poisoning.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The content of a block. A stray write is unlikely to produce one of these values.
enum class block_state : unsigned char
{
    free = 0xf1,   ///< No object, or one under construction.
    raw = 0xa5,    ///< Storage that the program manages.
    object = 0x3c, ///< An object, which the pool destroys.
    ending = 0x96, ///< An object whose destructor is running.
};

/// Blocks for objects of type `T`. If T is not trivially destructible, each block also has a state, which the owner of
/// the array maintains.
template <class T>
class block_array : base::immovable<block_array<T>>
{
public:
    ~block_array() { release(); }

    /// Effects: allocates memory for `count` free blocks.
    /// Preconditions: the array has no memory.
    /// Throws: size_overflow, std::bad_alloc; the array then still has no memory.
    void allocate(std::size_t count)
    {
        constexpr std::size_t bytes_a_block = sizeof(T) + sizeof(std::uintptr_t) + bytes_of_state;
        const std::size_t max_bytes = base::saturating_add(base::saturating_multiply(count, bytes_a_block), alignment);
        if (max_bytes == std::numeric_limits<std::size_t>::max())
            base::throw_size_overflow(count, sizeof(T));
        const std::size_t before = base::round_up(count * (sizeof(std::uintptr_t) + bytes_of_state), alignment);
        void* const memory = new_bytes(before + count * sizeof(T));
        bottom_ = top_ = static_cast<std::uintptr_t*>(memory);
        limit_ = bottom_ + count;
        next_ = static_cast<std::byte*>(memory) + before;
        end_ = next_ + count * sizeof(T);
        if constexpr (has_states)
            std::memset(limit_, static_cast<int>(block_state::free), count);
        base::pool_made(this);
        base::forbid_access(next_, count * sizeof(T));
    }

    /// Effects: frees the memory of all blocks, in use or not.
    void release() noexcept
    {
        if (bottom_ == nullptr)
            return;
        base::pool_gone(this);
        base::permit_access(first(), size() * sizeof(T));
        delete_bytes(bottom_);
        bottom_ = top_ = limit_ = nullptr;
        next_ = end_ = nullptr;
    }

    /// Returns: true if no block is free.
    MEMORY_POOL_ALWAYS_INLINE bool is_exhausted() noexcept
    {
        return MEMORY_POOL_UNLIKELY(top_ == bottom_) && !push_new_blocks();
    }

    /// Returns: a block with indeterminate content, which is then in use.
    /// Preconditions: is_exhausted() has just returned false.
    MEMORY_POOL_ALWAYS_INLINE void* take() noexcept
    {
        void* const block = reinterpret_cast<void*>(*--top_);
        base::block_allocated(this, block, sizeof(T));
        return block;
    }

    /// Effects: frees a block. Ignores a double free if all blocks are free.
    /// Preconditions: `block` is from this array and in use.
    MEMORY_POOL_ALWAYS_INLINE void put(void* block) noexcept
    {
        if (MEMORY_POOL_UNLIKELY(top_ == limit_))
            return; // All blocks are free: a double free would overflow the stack.
        *top_++ = reinterpret_cast<std::uintptr_t>(block);
        base::block_given_back(this, block, sizeof(T));
    }

    /// Returns: true if `block` is free; always false in units without AddressSanitizer.
    /// Complexity: O(1); linear in blocks if the block may be free.
    bool is_known_to_be_free(const void* block) const noexcept
    {
        // AddressSanitizer can only poison multiples of 8 bytes. Also, the program may have poisoned a block in use.
        constexpr bool has_shadow = sizeof(T) % 8 == 0;
        if (MEMORY_POOL_ASAN == 0 || (has_shadow && !base::is_access_forbidden(block)))
            return false;
        return owns(block) &&
               (block >= next_ || std::find(bottom_, top_, reinterpret_cast<std::uintptr_t>(block)) != top_);
    }

    /// Returns: true if `address` is in one of the blocks.
    bool owns(const void* address) const noexcept
    {
        return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(first()) <
               size() * sizeof(T);
    }

    /// Returns: the state of a block of this array.
    /// Preconditions: T is not trivially destructible; otherwise there are no states. This is not a static_assert,
    ///   because an explicit instantiation of a pool also compiles calls that are never executed.
    block_state& state(const void* block) noexcept
    {
        const auto index = static_cast<std::size_t>(static_cast<const std::byte*>(block) - first()) / sizeof(T);
        return reinterpret_cast<block_state*>(limit_)[index];
    }

    /// Effects: calls `visit(void*)` for each block that was ever in use, and possibly for a few others, in address
    ///   order. `visit` may call take and put.
    template <class Visit>
    void for_each(Visit&& visit)
    {
        for (std::byte* block = first(); block != next_; block += sizeof(T))
            visit(static_cast<void*>(block));
    }

    /// Returns: the number of blocks.
    std::size_t size() const noexcept { return static_cast<std::size_t>(limit_ - bottom_); }

    /// Returns: the number of free blocks.
    std::size_t available() const noexcept
    {
        return static_cast<std::size_t>(top_ - bottom_) + static_cast<std::size_t>(end_ - next_) / sizeof(T);
    }

private:
    static constexpr bool has_states = !std::is_trivially_destructible_v<T>;
    static constexpr std::size_t bytes_of_state = has_states ? sizeof(block_state) : 0;
    /// At least the alignment of `operator new`.
    static constexpr std::size_t alignment = alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__
                                                 ? alignof(T)
                                                 : __STDCPP_DEFAULT_NEW_ALIGNMENT__;
    /// Total size of the blocks pushed at a time.
    static constexpr std::size_t bytes_a_batch = base::saturating_multiply(16, sizeof(T));
    static constexpr bool is_over_aligned = alignment > __STDCPP_DEFAULT_NEW_ALIGNMENT__;

    static void* new_bytes(std::size_t bytes)
    {
        if constexpr (is_over_aligned)
            return ::operator new(bytes, std::align_val_t{alignment});
        else
            return ::operator new(bytes);
    }

    static void delete_bytes(void* memory) noexcept
    {
        if constexpr (is_over_aligned)
            ::operator delete(memory, std::align_val_t{alignment});
        else
            ::operator delete(memory);
    }

    /// Pushes never-used blocks onto the empty stack, the lowest address last. Returns: true if there were any.
    MEMORY_POOL_NOINLINE bool push_new_blocks() noexcept
    {
        std::byte* const from = next_;
        next_ += std::min(bytes_a_batch, static_cast<std::size_t>(end_ - from));
        for (std::byte* block = next_; block != from;)
            *top_++ = reinterpret_cast<std::uintptr_t>(block -= sizeof(T));
        return next_ != from;
    }

    std::byte* first() const noexcept { return end_ - size() * sizeof(T); }

    // The stack holds integers, not pointers: they cannot alias `top_`, so the compiler keeps `top_` in a register.
    std::uintptr_t* bottom_ = nullptr;
    std::uintptr_t* top_ = nullptr;
    std::uintptr_t* limit_ = nullptr;
    std::byte* next_ = nullptr;
    std::byte* end_ = nullptr;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
