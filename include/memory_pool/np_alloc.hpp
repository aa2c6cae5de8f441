// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Blocks of any size, for any thread: the C++ interface of np_alloc. Link with the CMake target memory_pool::np_alloc.
///
///     np_allocator<T> ----+
///     np_resource() ------+-->  np_allocate  -->  np_alloc, np_aligned_alloc  <-----+
///                                                            |                      |
///                                            out of memory   v                      |
///                                     std::bad_alloc  <--  std::new_handler  -------+
///                                             no handler             retry: it may have freed memory
///
/// np_free and its relatives free blocks from any of these interfaces, and each interface frees blocks from the others.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/static_checks.hpp>
#include <memory_pool/os/uncancelled.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iosfwd>
#include <limits>
#include <memory_resource>
#include <new>
#include <type_traits>

inline namespace MEMORY_POOL_GLOBAL_ABI {
/// Returns: as np_alloc(bytes). `file` and `line` are the call site.
/// Preconditions: `file` is a string that outlives the block, as `__FILE__` does.
/// Complexity: as np_alloc(bytes).
/// Thread safety: any thread.
#if !defined(MEMORY_POOL_NP_MAY_LOSE_BLOCKS)
[[nodiscard]]
#endif
inline void* np_alloc(std::size_t bytes, const char* file, int line) noexcept
{
    return np_alloc_at(bytes, file, line);
}
} // namespace MEMORY_POOL_GLOBAL_ABI

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
// Writing is a cancellation point. Cancellation is an exception, which must not leave these functions.

/// Writes to the FILE `to`, which records errors.
inline void write_to_file(const char* text, std::size_t length, void* to) noexcept
{
    const os::uncancelled until_written;
    (void)std::fwrite(text, 1, length, static_cast<std::FILE*>(to));
}

/// Writes to the stream `to`, which records errors. Does not throw, because the caller could not handle an exception.
template <class Stream>
void write_to_stream(const char* text, std::size_t length, void* to) noexcept
{
    const os::uncancelled until_written;
    (void)base::succeeds([&] { static_cast<Stream*>(to)->write(text, static_cast<std::ptrdiff_t>(length)); });
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core

inline namespace MEMORY_POOL_GLOBAL_ABI {
/// Effects: as np_statistics_print(format, write, argument), to a file.
/// Complexity: as np_statistics_print(format, write, argument).
/// Thread safety: any thread.
inline void np_statistics_print(np_format format = np_format_text, std::FILE* file = stderr) noexcept
{
    ::np_statistics_print(format, &memory_pool::detail::core::write_to_file, file);
}

/// Effects: as np_statistics_print(format, write, argument), to a stream.
/// Throws: what the stream throws on failure, if its exceptions are enabled.
/// Complexity: as np_statistics_print(format, write, argument).
/// Thread safety: any thread.
template <class Traits>
void np_statistics_print(np_format format, std::basic_ostream<char, Traits>& stream)
{
    ::np_statistics_print(format, &memory_pool::detail::core::write_to_stream<std::basic_ostream<char, Traits>>,
                          &stream);
    stream.clear(stream.rdstate());
}

/// Effects: as np_leak_diff(checkpoint, format, write, argument), to a file.
/// Returns: the number of blocks in use that were allocated after the checkpoint.
/// Complexity, thread safety: as np_leak_diff(checkpoint, format, write, argument).
inline std::size_t np_leak_diff(std::uint64_t checkpoint, np_format format = np_format_text,
                                std::FILE* file = stderr) noexcept
{
    return ::np_leak_diff(checkpoint, format, &memory_pool::detail::core::write_to_file, file);
}

/// Effects: as np_leak_diff(checkpoint, format, write, argument), to a stream.
/// Returns: the number of blocks in use that were allocated after the checkpoint.
/// Throws: what the stream throws on failure, if its exceptions are enabled.
/// Complexity, thread safety: as np_leak_diff(checkpoint, format, write, argument).
template <class Traits>
std::size_t np_leak_diff(std::uint64_t checkpoint, np_format format, std::basic_ostream<char, Traits>& stream)
{
    const std::size_t blocks = ::np_leak_diff(
        checkpoint, format, &memory_pool::detail::core::write_to_stream<std::basic_ostream<char, Traits>>, &stream);
    stream.clear(stream.rdstate());
    return blocks;
}

/// Effects: as np_leak_report(format, write, argument), to a file.
/// Returns: the number of blocks in use with a call site.
/// Complexity, thread safety: as np_leak_report(format, write, argument).
inline std::size_t np_leak_report(np_format format = np_format_text, std::FILE* file = stderr) noexcept
{
    return np_leak_diff(0, format, file);
}

/// Effects: as np_leak_report(format, write, argument), to a stream.
/// Returns: the number of blocks in use with a call site.
/// Throws: what the stream throws on failure, if its exceptions are enabled.
/// Complexity, thread safety: as np_leak_report(format, write, argument).
template <class Traits>
std::size_t np_leak_report(np_format format, std::basic_ostream<char, Traits>& stream)
{
    return np_leak_diff(0, format, stream);
}
} // namespace MEMORY_POOL_GLOBAL_ABI

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// The minimum alignment of a block of np_alloc, in bytes.
inline constexpr std::size_t np_alignment = 16;

namespace detail::core {
MEMORY_POOL_ALWAYS_INLINE void* try_np_allocate(std::size_t bytes, std::size_t alignment) noexcept
{
    return alignment <= np_alignment ? ::np_alloc(bytes) : ::np_aligned_alloc(alignment, bytes);
}

/// Calls the std::new_handler and retries until the allocation succeeds. Returns nullptr if no handler is set (any
/// more), or `alignment` is invalid. Throws what the handler throws.
MEMORY_POOL_SLOW_PATH inline void* np_allocate_with_handler(std::size_t bytes, std::size_t alignment)
{
    if (alignment > np_alignment && !base::is_power_of_two(alignment))
        return nullptr;
    void* block = nullptr;
    while (block == nullptr) {
        const std::new_handler free_some = std::get_new_handler();
        if (free_some == nullptr)
            return nullptr;
        free_some();
        block = try_np_allocate(bytes, alignment);
    }
    return block;
}

/// The slow path of np_allocate, after np_alloc has failed.
MEMORY_POOL_SLOW_PATH inline void* np_allocate_slowly(std::size_t bytes, std::size_t alignment)
{
    void* const block = np_allocate_with_handler(bytes, alignment);
    if (block == nullptr)
        base::throw_out_of_memory(
            base::message("memory_pool: np_alloc has no %zu bytes aligned to %zu", bytes, alignment));
    return block;
}
} // namespace detail::core

/// Effects: allocates as `new` does: while out of memory, calls the std::new_handler and retries.
/// Returns: a block of at least `bytes`, with indeterminate contents; unique even for 0 bytes.
/// Preconditions: `alignment` is a power of two.
/// Throws: out_of_memory, which is a std::bad_alloc, if there is no memory and no handler; what the handler throws.
/// Complexity: as np_alloc.
/// Thread safety: any thread.
[[nodiscard]] MEMORY_POOL_ALWAYS_INLINE void* np_allocate(std::size_t bytes, std::size_t alignment = np_alignment)
{
    void* const block = detail::core::try_np_allocate(bytes, alignment);
    return MEMORY_POOL_LIKELY(block != nullptr) ? block : detail::core::np_allocate_slowly(bytes, alignment);
}

/// Effects: frees a block. Ignores nullptr.
/// Preconditions: `block` is from np_alloc or a relative, was requested with that size and alignment, and is in use.
/// Complexity: as np_free.
/// Thread safety: any thread, not only the thread that allocated the block.
MEMORY_POOL_ALWAYS_INLINE void np_deallocate(void* block, std::size_t bytes,
                                             std::size_t alignment = np_alignment) noexcept
{
    if (alignment <= np_alignment)
        ::np_free_sized(block, bytes);
    else
        ::np_free_aligned_sized(block, alignment, bytes);
}

namespace detail::core {
class np_memory_resource final : public std::pmr::memory_resource
{
    void* do_allocate(std::size_t bytes, std::size_t alignment) override { return np_allocate(bytes, alignment); }

    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override
    {
        np_deallocate(block, bytes, alignment);
    }

    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
};
} // namespace detail::core

/// Returns: the process-wide memory resource over np_alloc, which allocates as np_allocate does. Never destroyed.
/// Complexity: O(1).
/// Thread safety: any thread, even during static destruction.
inline std::pmr::memory_resource* np_resource() noexcept
{
    alignas(detail::core::np_memory_resource) static std::byte memory[sizeof(detail::core::np_memory_resource)];
    static auto* const resource = ::new (static_cast<void*>(memory)) detail::core::np_memory_resource;
    return resource;
}

/// A heap of np_alloc as a memory resource. Clearing or destroying the resource frees all of its blocks at once.
///
/// Thread safety: any thread. `clear` and the destructor need exclusive access.
class np_heap_resource final : public std::pmr::memory_resource, public detail::core::resource_by_address
{
public:
    /// Effects: creates a heap.
    /// Throws: out_of_memory if there is no memory for the heap.
    np_heap_resource() : np_heap_resource(nullptr) {}

    /// Effects: creates a heap that reports list by name, as np_heap_create_named does.
    /// Throws: out_of_memory if there is no memory for the heap.
    explicit np_heap_resource(const char* name) : heap_(::np_heap_create_named(name))
    {
        if (heap_ == nullptr)
            detail::base::throw_out_of_memory(detail::base::message("memory_pool: np_alloc has no memory for a heap"));
    }

    np_heap_resource(const np_heap_resource&) = delete;
    np_heap_resource& operator=(const np_heap_resource&) = delete;

    /// Effects: frees the heap and all of its blocks.
    /// Complexity: as np_heap_destroy.
    ~np_heap_resource() override { ::np_heap_destroy(heap_); }

    /// Effects: allocates from the heap. A call through the concrete type is not virtual; see resource_allocator.
    /// Returns: a block of at least `bytes`, aligned to `alignment`.
    /// Preconditions: `alignment` is a power of two.
    /// Throws: out_of_memory if there is no memory.
    /// Complexity: as np_heap_alloc.
    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment = np_alignment)
    {
        void* const block = alignment <= np_alignment ? ::np_heap_alloc(heap_, bytes)
                                                      : ::np_heap_aligned_alloc(heap_, alignment, bytes);
        if (MEMORY_POOL_UNLIKELY(block == nullptr))
            detail::base::throw_out_of_memory(detail::base::message(
                "memory_pool: a heap of np_alloc has no %zu bytes aligned to %zu", bytes, alignment));
        return block;
    }

    /// Effects: frees a block. Ignores nullptr.
    /// Preconditions: `block` is from this heap, was requested with that size and alignment, and is in use.
    /// Complexity: as np_free.
    void deallocate(void* block, std::size_t bytes, std::size_t alignment = np_alignment) noexcept
    {
        np_deallocate(block, bytes, alignment);
    }

    /// Effects: frees every block of the heap. The heap remains usable.
    /// Complexity: as np_heap_clear.
    void clear() noexcept { ::np_heap_clear(heap_); }

    /// Returns: whether `block` is a block of this heap that is in use.
    /// Preconditions: `block` is nullptr, or a block of np_alloc in use.
    /// Complexity: as np_heap_of.
    bool owns(const void* block) const noexcept { return ::np_heap_of(block) == heap_ && block != nullptr; }

    /// Returns: the bytes of blocks in use.
    /// Complexity: as np_heap_get_statistics.
    std::size_t bytes_in_use() const noexcept { return statistics().bytes_in_use; }

    /// Returns: the bytes of slabs and large blocks.
    /// Complexity: as np_heap_get_statistics.
    std::size_t bytes_reserved() const noexcept { return statistics().bytes_reserved; }

    /// Returns: the heap, for the functions of np_alloc.h that take a heap.
    np_heap* heap() const noexcept { return heap_; }

private:
    np_heap_statistics statistics() const noexcept
    {
        np_heap_statistics now{};
        (void)::np_heap_get_statistics(heap_, &now);
        return now;
    }

    void* do_allocate(std::size_t bytes, std::size_t alignment) override { return allocate(bytes, alignment); }
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override
    {
        deallocate(block, bytes, alignment);
    }
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

    np_heap* const heap_;
};

/// Allocates objects of type `T` from np_alloc, for standard containers and other users of allocators.
///
/// All np_allocators are equal: each can free memory from any other, even from an allocator for another type.
template <class T>
class np_allocator
{
public:
    using value_type = T;                                           ///< The type of the objects.
    using size_type = std::size_t;                                  ///< A number of objects.
    using difference_type = std::ptrdiff_t;                         ///< A distance between two objects.
    using is_always_equal = std::true_type;                         ///< Stateless.
    using propagate_on_container_copy_assignment = std::false_type; ///< Stateless.
    using propagate_on_container_move_assignment = std::true_type;  ///< Stateless, but the memory moves.
    using propagate_on_container_swap = std::false_type;            ///< Stateless.

    /// Effects: none.
    constexpr np_allocator() noexcept = default;

    /// Effects: none.
    template <class Other>
    constexpr np_allocator(const np_allocator<Other>&) noexcept
    {
    }

    /// Returns: the maximum number of objects that fit into the address space.
    static constexpr std::size_t max_size() noexcept
    {
        return static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / sizeof(T);
    }

    /// Returns: uninitialized, aligned memory for `count` objects.
    /// Throws: size_overflow, which is a std::bad_array_new_length, if `count` is above `max_size()`; otherwise as
    ///   np_allocate.
    /// Complexity: as np_alloc.
    /// Thread safety: any thread.
    [[nodiscard]] MEMORY_POOL_ALWAYS_INLINE T* allocate(std::size_t count)
    {
        if (MEMORY_POOL_UNLIKELY(count > max_size()))
            detail::base::throw_size_overflow(count, sizeof(T));
        return static_cast<T*>(np_allocate(count * sizeof(T), alignof(T)));
    }

    /// Effects: frees memory for `count` objects.
    /// Preconditions: `objects` is from `allocate(count)`.
    /// Complexity: as np_free.
    /// Thread safety: any thread.
    MEMORY_POOL_ALWAYS_INLINE void deallocate(T* objects, std::size_t count) noexcept
    {
        np_deallocate(objects, count * sizeof(T), alignof(T));
    }
};

/// Returns: true.
template <class A, class B>
constexpr bool operator==(const np_allocator<A>&, const np_allocator<B>&) noexcept
{
    return true;
}

/// Returns: false.
template <class A, class B>
constexpr bool operator!=(const np_allocator<A>&, const np_allocator<B>&) noexcept
{
    return false;
}
}} // namespace memory_pool::MEMORY_POOL_ABI
