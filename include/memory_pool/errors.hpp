// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The two ways in which pools signal errors.
///
/// - Errors that a correct program may encounter and handle are exceptions: `pool_exhausted`, `limit_exceeded`,
///   `size_overflow`, `out_of_memory`, `std::invalid_argument`.
/// - Misuse by the program is reported: two lines on stderr (error and remedy), then a call of the error handler, which
///   aborts by default. Without exceptions, errors of the first kind are reported, too.
///
/// No function here allocates, so errors are signalled even when out of memory, except for `std::invalid_argument`: the
/// standard library allocates its text on the heap.
///
/// Thread safety: any thread, at any time.
#pragma once

#include <memory_pool/base/config.hpp>

#include <atomic>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace memory_pool {
// These declarations are shared by all modules and translation units of a process, in any build configuration. They are
// outside of MEMORY_POOL_ABI and have default visibility, so that a library calls the program's error handler, and the
// program can catch the library's exceptions. Frozen once released: inline functions must not depend on the
// configuration, classes must not change, and error kinds and members of a report are only appended.

/// The kind of an error.
enum class MEMORY_POOL_VISIBLE error_kind
{
    double_free,             ///< A block was freed that is not in use.
    foreign_pointer,         ///< A freed pointer was in no block of this pool, or a handle of another pool was used.
    misaligned_pointer,      ///< A pointer was freed that points into a block, not at its start.
    size_mismatch,           ///< A block was freed with a size or alignment other than the requested one.
    buffer_overflow,         ///< The bytes just behind a block were written to.
    write_after_free,        ///< A block was written to after it was freed.
    leak,                    ///< Objects outlived their pool, and its policy forbids that.
    hook_failed,             ///< A function that resets returned objects threw.
    pool_exhausted,          ///< A bounded pool or resource was exhausted. Reported only without exceptions.
    size_overflow,           ///< A size did not fit into std::size_t. Reported only without exceptions.
    out_of_memory,           ///< No memory was available. Reported only without exceptions.
    invalid_argument,        ///< An option was invalid. Reported only without exceptions.
    wrong_thread,            ///< Another thread used a single-threaded pool. Reported only by pools that check this.
    limit_exceeded,          ///< A limit in bytes would have been exceeded. Reported only without exceptions.
    forbidden_allocation,    ///< A thread allocated in a no_allocation_scope in which that is fatal.
    mismatched_deallocation, ///< A block was freed by a non-matching function: delete after malloc or new[].
    buffer_underflow,        ///< The bytes just before a block were written to.
};

/// The argument of the error handler. The strings are valid until the handler returns.
struct MEMORY_POOL_VISIBLE error_report
{
    error_kind kind;        ///< The kind of the error.
    const void* address;    ///< The pointer in question, or nullptr if there is none.
    std::size_t block_size; ///< Bytes in a block of the pool, or 0 if no pool is involved.
    const char* pool_name;  ///< `pool_options::name`, or nullptr.
    const char* text;       ///< The lines that were printed.
};

/// Called after the error was printed on stderr, with no lock held and the pool in a consistent state. The handler may
/// use the pool, but must not throw. If the handler returns, the pool ignores the wrong operation and stays intact; an
/// operation by the wrong thread proceeds. Without exceptions, an operation that must return a result aborts the
/// program.
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
    return message("memory_pool: resource '%.100s': %zu more bytes would exceed its limit of %zu bytes; %zu are in use",
                   resource_name, bytes, limit, bytes_in_use);
}
} // namespace process_wide

/// Effects: installs `handler` as the error handler; nullptr: the default, which aborts. Shared libraries use the
///   handler of the program. Two kinds of shared libraries have their own handler: libraries loaded by dlopen into a
///   program that does not export its symbols (-rdynamic; in CMake, ENABLE_EXPORTS), and libraries linked with the
///   symbols of namespace memory_pool hidden (--version-script, --exclude-libs, -Bsymbolic).
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
    /// Effects: stores the values, and `text`, which names the exhausted resource and its limit.
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

    /// Returns: the text, valid for the lifetime of the exception.
    const char* what() const noexcept override { return text_.c_str(); }

    /// Returns: the name from the options of the pool, not a copy.
    const char* pool_name() const noexcept { return pool_name_; }

    /// Returns: the maximum number of blocks, or arenas, of the pool.
    std::size_t max_capacity() const noexcept { return max_capacity_; }

    /// Returns: the bytes in each block or arena.
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

    /// Returns: the text, valid for the lifetime of the exception.
    const char* what() const noexcept override { return text_.c_str(); }

    /// Returns: the requested number of blocks or objects.
    std::size_t count() const noexcept { return count_; }

    /// Returns: the bytes in each block or object.
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
    /// Effects: formats a text with the name of the resource and the three byte counts.
    limit_exceeded(const char* resource_name, std::size_t limit, std::size_t bytes_in_use, std::size_t bytes) noexcept
        : text_(process_wide::text_of_limit_exceeded(resource_name, limit, bytes_in_use, bytes)),
          resource_name_(resource_name), limit_(limit), bytes_in_use_(bytes_in_use), bytes_(bytes)
    {
    }

    /// Returns: the text, valid for the lifetime of the exception.
    const char* what() const noexcept override { return text_.c_str(); }

    /// Returns: the name from the options of the resource, not a copy.
    const char* resource_name() const noexcept { return resource_name_; }

    /// Returns: the limit, in bytes.
    std::size_t limit() const noexcept { return limit_; }

    /// Returns: the bytes in use when the allocation failed.
    std::size_t bytes_in_use() const noexcept { return bytes_in_use_; }

    /// Returns: the requested bytes.
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

    /// Returns: the text, valid for the lifetime of the exception.
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
