// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The two ways in which pools signal errors.
///
/// - What a program can meet and handle is thrown: `pool_exhausted`, `limit_exceeded`, `size_overflow`,
///   `out_of_memory`, `std::invalid_argument`.
/// - Misuse by the program is reported: two lines on stderr (what, and what to do), then the error handler,
///   which aborts unless it was replaced. Where exceptions are off, the first kind goes this way too.
///
/// Nothing here allocates, so that it works when out of memory (throwing `std::invalid_argument` is the
/// exception: the standard library keeps its text on the heap).
///
/// Thread safety: every function may be called from any thread at any time.
#pragma once

#include <memory_pool/base/config.hpp>

#include <atomic>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace memory_pool {
// Shared by all modules and translation units of a process, in any build configuration: outside of MEMORY_POOL_ABI and
// with default visibility, so that a library calls the program's error handler and the program can catch the library's
// exceptions. Frozen once released: inline functions must not depend on the configuration, classes must not change, and
// error kinds and members of a report are only appended.

/// What went wrong.
enum class MEMORY_POOL_VISIBLE error_kind
{
    double_free,          ///< A block was freed that is not in use.
    foreign_pointer,      ///< A pointer was freed that no block of this pool contains, or a handle of another was used.
    misaligned_pointer,   ///< A pointer was freed that points into a block, not at its start.
    size_mismatch,        ///< A block was freed to a resource with another size or alignment than requested.
    buffer_overflow,      ///< The bytes just behind a block were written to.
    write_after_free,     ///< A block was written to after it was freed.
    leak,                 ///< Objects outlive the pool that they were to return to, and its policy forbids it.
    hook_failed,          ///< A function that resets returned objects threw.
    pool_exhausted,       ///< A bounded pool or resource had nothing left. Reported only where exceptions are off.
    size_overflow,        ///< A size did not fit into std::size_t. Reported only where exceptions are off.
    out_of_memory,        ///< No memory was available. Reported only where exceptions are off.
    invalid_argument,     ///< An option made no sense. Reported only where exceptions are off.
    wrong_thread,         ///< A single-threaded pool was used by another thread. Reported only by pools that check it.
    limit_exceeded,       ///< A limit in bytes would have been exceeded. Reported only where exceptions are off.
    forbidden_allocation, ///< A thread has allocated in a no_allocation_scope in which that is fatal.
    mismatched_deallocation, ///< A function freed a block of a non-matching one: delete after malloc or new[].
    buffer_underflow,        ///< The bytes just before a block were written to.
};

/// The argument of the error handler. The strings live until it returns.
struct MEMORY_POOL_VISIBLE error_report
{
    error_kind kind;        ///< What went wrong.
    const void* address;    ///< The pointer in question, or nullptr if there is none.
    std::size_t block_size; ///< Bytes in a block of the pool, or 0 if no pool is concerned.
    const char* pool_name;  ///< `pool_options::name`, or nullptr.
    const char* text;       ///< The lines that were printed.
};

/// Called after the error was printed on stderr, with no lock held, and when the pool is consistent: it may use the
/// pool, but not throw. If it returns, the pool ignores the operation that was wrong and stays intact; an operation by
/// the wrong thread proceeds. Where exceptions are off and a result is due, the program aborts.
using error_handler = void (*)(const error_report&);

namespace process_wide {
/// A text formatted without the heap, truncated to its capacity.
class MEMORY_POOL_VISIBLE message
{
public:
    MEMORY_POOL_PRINTF_LIKE(2, 3) explicit message(const char* format, ...) noexcept
    {
        std::va_list arguments;
        va_start(arguments, format);
        (void)std::vsnprintf(text_, sizeof text_, format, arguments);
        va_end(arguments);
    }

    const char* c_str() const noexcept { return text_; }

private:
    char text_[448];
};

[[noreturn]] MEMORY_POOL_VISIBLE inline void abort_program(const error_report&)
{
    std::abort();
}

MEMORY_POOL_ONE_PER_PROCESS extern std::atomic<error_handler> current_error_handler;
// NOLINTNEXTLINE(misc-definitions-in-headers): it is weak.
MEMORY_POOL_ONE_PER_PROCESS std::atomic<error_handler> current_error_handler{&abort_program};

MEMORY_POOL_VISIBLE inline message text_of_exhausted(const char* pool_name, std::size_t max_capacity,
                                                     std::size_t block_size) noexcept
{
    return message("memory_pool: pool '%.100s' is exhausted: max_capacity allows %zu block%s of %zu bytes", pool_name,
                   max_capacity, max_capacity == 1 ? "" : "s", block_size);
}

MEMORY_POOL_VISIBLE inline message text_of_size_overflow(std::size_t count, std::size_t size) noexcept
{
    return message("memory_pool: %zu block%s of %zu bytes: that is more than a program can address", count,
                   count == 1 ? "" : "s", size);
}

MEMORY_POOL_VISIBLE inline message text_of_limit_exceeded(const char* resource_name, std::size_t limit,
                                                          std::size_t bytes_in_use, std::size_t bytes) noexcept
{
    return message(
        "memory_pool: resource '%.100s': %zu bytes more than the %zu in use are above its limit of %zu bytes",
        resource_name, bytes, bytes_in_use, limit);
}
} // namespace process_wide

/// Effects: installs `handler` as the error handler; nullptr stands for the default, which aborts. Shared libraries use
///   the handler of the program, except libraries loaded by dlopen if the program does not export its symbols
///   (-rdynamic; in CMake, ENABLE_EXPORTS), and libraries linked with the symbols of namespace memory_pool hidden
///   (--version-script, --exclude-libs, -Bsymbolic): those have a handler of their own.
/// Returns: the previous handler.
/// Thread safety: any thread.
MEMORY_POOL_VISIBLE inline error_handler set_error_handler(error_handler handler) noexcept
{
    return process_wide::current_error_handler.exchange(handler != nullptr ? handler : &process_wide::abort_program);
}

/// Returns: the current handler.
/// Thread safety: any thread.
MEMORY_POOL_VISIBLE inline error_handler get_error_handler() noexcept
{
    return process_wide::current_error_handler.load();
}

/// Thrown when a bounded pool would need more than `max_capacity` blocks, or another limit would be exceeded.
class MEMORY_POOL_VISIBLE pool_exhausted : public std::bad_alloc
{
public:
    /// Effects: stores `text`, which names the exhausted resource and its limit, and the figures in it.
    pool_exhausted(const process_wide::message& text, const char* pool_name, std::size_t max_capacity,
                   std::size_t block_size) noexcept
        : text_(text), pool_name_(pool_name), max_capacity_(max_capacity), block_size_(block_size)
    {
    }

    /// Effects: formats a text with the name of the pool, its limit in blocks, and the block size in bytes.
    pool_exhausted(const char* pool_name, std::size_t max_capacity, std::size_t block_size) noexcept
        : pool_exhausted(process_wide::text_of_exhausted(pool_name, max_capacity, block_size), pool_name, max_capacity,
                         block_size)
    {
    }

    /// Returns: the text, valid as long as the exception.
    const char* what() const noexcept override { return text_.c_str(); }

    /// Returns: the name that the pool was given in its options, not a copy.
    const char* pool_name() const noexcept { return pool_name_; }

    /// Returns: how many blocks, or arenas, the pool may have.
    std::size_t max_capacity() const noexcept { return max_capacity_; }

    /// Returns: bytes in each of them.
    std::size_t block_size() const noexcept { return block_size_; }

private:
    process_wide::message text_;
    const char* pool_name_;
    std::size_t max_capacity_;
    std::size_t block_size_;
};

/// Thrown when a number of blocks or bytes does not fit into std::size_t.
class MEMORY_POOL_VISIBLE size_overflow : public std::bad_array_new_length
{
public:
    /// Effects: formats a text with both factors.
    size_overflow(std::size_t count, std::size_t size) noexcept
        : text_(process_wide::text_of_size_overflow(count, size)), count_(count), size_(size)
    {
    }

    /// Returns: the text, valid as long as the exception.
    const char* what() const noexcept override { return text_.c_str(); }

    /// Returns: how many blocks or objects were requested.
    std::size_t count() const noexcept { return count_; }

    /// Returns: bytes in each of them.
    std::size_t size() const noexcept { return size_; }

private:
    process_wide::message text_;
    std::size_t count_;
    std::size_t size_;
};

/// Thrown by a resource when an allocation would exceed its limit in bytes.
class MEMORY_POOL_VISIBLE limit_exceeded : public std::bad_alloc
{
public:
    /// Effects: formats a text with the name of the resource and all three numbers of bytes.
    limit_exceeded(const char* resource_name, std::size_t limit, std::size_t bytes_in_use, std::size_t bytes) noexcept
        : text_(process_wide::text_of_limit_exceeded(resource_name, limit, bytes_in_use, bytes)),
          resource_name_(resource_name), limit_(limit), bytes_in_use_(bytes_in_use), bytes_(bytes)
    {
    }

    /// Returns: the text, valid as long as the exception.
    const char* what() const noexcept override { return text_.c_str(); }

    /// Returns: the name that the resource was given in its options, not a copy.
    const char* resource_name() const noexcept { return resource_name_; }

    /// Returns: the limit, in bytes.
    std::size_t limit() const noexcept { return limit_; }

    /// Returns: bytes that were in use.
    std::size_t bytes_in_use() const noexcept { return bytes_in_use_; }

    /// Returns: bytes that were requested.
    std::size_t bytes() const noexcept { return bytes_; }

private:
    process_wide::message text_;
    const char* resource_name_;
    std::size_t limit_;
    std::size_t bytes_in_use_;
    std::size_t bytes_;
};

/// Thrown by a resource that is out of memory and does not fall back to an upstream.
class MEMORY_POOL_VISIBLE out_of_memory : public std::bad_alloc
{
public:
    /// Effects: stores `text`, which names the resource.
    explicit out_of_memory(const process_wide::message& text) noexcept : text_(text) {}

    /// Returns: the text, valid as long as the exception.
    const char* what() const noexcept override { return text_.c_str(); }

private:
    process_wide::message text_;
};

inline namespace MEMORY_POOL_ABI {
/// Returns: the name of an error as reports print it.
constexpr const char* error_name(error_kind kind) noexcept
{
    switch (kind) {
    case error_kind::double_free: return "double free";
    case error_kind::foreign_pointer: return "foreign pointer";
    case error_kind::misaligned_pointer: return "misaligned pointer";
    case error_kind::size_mismatch: return "size mismatch";
    case error_kind::buffer_overflow: return "buffer overflow";
    case error_kind::write_after_free: return "write after free";
    case error_kind::leak: return "leak";
    case error_kind::hook_failed: return "hook failed";
    case error_kind::pool_exhausted: return "pool exhausted";
    case error_kind::size_overflow: return "size overflow";
    case error_kind::out_of_memory: return "out of memory";
    case error_kind::invalid_argument: return "invalid argument";
    case error_kind::wrong_thread: return "wrong thread";
    case error_kind::limit_exceeded: return "limit exceeded";
    case error_kind::forbidden_allocation: return "forbidden allocation";
    case error_kind::mismatched_deallocation: return "mismatched deallocation";
    case error_kind::buffer_underflow: return "buffer underflow";
    }
    return "unknown error";
}
} // namespace MEMORY_POOL_ABI
} // namespace memory_pool
