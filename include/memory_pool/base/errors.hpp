// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Throws and reports the errors that errors.hpp declares.
///
/// Thread safety: every function may be called from any thread at any time.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/errors.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::base {
using process_wide::abort_program;
using process_wide::message;

/// Effects: prints `text` on stderr.
MEMORY_POOL_SLOW_PATH inline void print(const char* text) noexcept
{
    (void)std::fputs(text, stderr);
    (void)std::fputc('\n', stderr);
    (void)std::fflush(stderr);
}

/// Effects: prints `report.text` on stderr and calls the error handler.
MEMORY_POOL_SLOW_PATH inline void report(const error_report& report) noexcept
{
    print(report.text);
    get_error_handler()(report);
}

/// Returns: the remedy for a kind of misuse.
constexpr const char* remedy_for(error_kind kind) noexcept
{
    switch (kind) {
    case error_kind::double_free: return "give each block back once; set the pointer to nullptr afterwards";
    case error_kind::foreign_pointer: return "give a block back to the pool that allocated it, and to no other";
    case error_kind::misaligned_pointer: return "give back the pointer that the pool returned, not one into the block";
    case error_kind::size_mismatch: return "give a block back with the size and alignment that it was allocated with";
    case error_kind::buffer_overflow: return "find the write past the end of this block; AddressSanitizer stops at it";
    case error_kind::write_after_free: return "find the write through an old pointer; AddressSanitizer stops at it";
    case error_kind::buffer_underflow:
        return "find the write before the beginning of this block; AddressSanitizer stops at it";
    case error_kind::hook_failed: return "catch exceptions in the function; the object was returned as it was";
    case error_kind::wrong_thread:
        return "use a pool and its objects from one thread, call hand_over() in between, or take a pool that threads "
               "may share";
    case error_kind::forbidden_allocation:
        return "allocate before the scope (reserve, and in each thread reserve_for_thread), or permit it by an "
               "allocation_scope";
    case error_kind::mismatched_deallocation: return "give a block back by the function that pairs with its allocation";
    case error_kind::leak:
    case error_kind::pool_exhausted:
    case error_kind::size_overflow:
    case error_kind::out_of_memory:
    case error_kind::invalid_argument:
    case error_kind::limit_exceeded: break;
    }
    return "see the line above";
}

/// Returns: the report of a misuse of the block at `address`, with its `remedy`.
MEMORY_POOL_SLOW_PATH inline message text_of_misuse(error_kind kind, const void* address, std::size_t block_size,
                                                    const char* pool_name, const char* remedy) noexcept
{
    return message("memory_pool: %s: address %p, block size %zu bytes, pool '%.100s'\n  remedy: %s", error_name(kind),
                   address, block_size, pool_name, remedy);
}

/// Effects: reports a misuse of the block at `address`.
MEMORY_POOL_SLOW_PATH inline void report_misuse(error_kind kind, const void* address, std::size_t block_size,
                                                const char* pool_name) noexcept
{
    const message text = text_of_misuse(kind, address, block_size, pool_name, remedy_for(kind));
    report({kind, address, block_size, pool_name, text.c_str()});
}

/// Effects: reports the use of a handle that the pool did not make.
MEMORY_POOL_SLOW_PATH inline void report_foreign_handle(std::uint32_t index, std::uint32_t generation,
                                                        std::size_t block_size, const char* pool_name) noexcept
{
    const message text("memory_pool: foreign handle: index %lu, generation %lu, block size %zu bytes, pool '%.100s'\n"
                       "  remedy: use a handle with the pool that made it, and with no other",
                       static_cast<unsigned long>(index), static_cast<unsigned long>(generation), block_size,
                       pool_name);
    report({error_kind::foreign_pointer, nullptr, block_size, pool_name, text.c_str()});
}

/// Effects: reports that a scope has ended before a scope nested in it.
MEMORY_POOL_SLOW_PATH inline void report_scope_order(const char* pool_name) noexcept
{
    const message text("memory_pool: scope out of order: it ended before a scope nested in it, which ended as well, "
                       "pool '%.100s'\n  remedy: end scopes in the reverse order of their construction, as local "
                       "variables do",
                       pool_name);
    report({error_kind::double_free, nullptr, 0, pool_name, text.c_str()});
}

/// The size and alignment with which a block is allocated and freed.
struct block_request
{
    std::size_t bytes;
    std::size_t alignment;

    friend bool operator==(const block_request& a, const block_request& b) noexcept
    {
        return a.bytes == b.bytes && a.alignment == b.alignment;
    }
    friend bool operator!=(const block_request& a, const block_request& b) noexcept { return !(a == b); }
};

/// A misuse detected when a block is freed.
struct misuse
{
    /// Any misuse but a size mismatch.
    misuse(error_kind what) noexcept : kind(what) {} // NOLINT(google-explicit-constructor): a kind is a misuse

    /// A size mismatch.
    explicit misuse(const block_request& what_it_is) noexcept : kind(error_kind::size_mismatch), actual(what_it_is) {}

    error_kind kind;
    block_request actual{0, 0}; ///< Size and alignment of the allocation; set for a size mismatch.
};

/// Effects: reports a misuse of the block at `address`, which was freed with the size and alignment `given`.
MEMORY_POOL_SLOW_PATH inline void report_misuse(const misuse& found, const void* address, const block_request& given,
                                                const char* pool_name) noexcept
{
    if (found.kind != error_kind::size_mismatch) {
        report_misuse(found.kind, address, given.bytes, pool_name);
        return;
    }
    const message text(
        "memory_pool: size mismatch: address %p, block of %zu bytes aligned to %zu, given back as one of %zu "
        "bytes aligned to %zu, pool '%.100s'\n  remedy: %s",
        address, found.actual.bytes, found.actual.alignment, given.bytes, given.alignment, pool_name,
        remedy_for(found.kind));
    report({found.kind, address, found.actual.bytes, pool_name, text.c_str()});
}

/// Returns: the message about `count` objects that outlive their pool.
inline message leak_message(std::size_t count, std::size_t block_size, const char* pool_name) noexcept
{
    return message("memory_pool: leak: %zu object%s of %zu bytes outlived pool '%.100s'\n"
                   "  remedy: release every pointer before the pool ends, or use a policy that allows leaks",
                   count, count == 1 ? "" : "s", block_size, pool_name);
}

/// Returns: the message about `count` further misuses in one operation; `kind` is the kind of the last one.
MEMORY_POOL_SLOW_PATH inline message text_of_more_misuse(std::size_t count, error_kind kind, std::size_t block_size,
                                                         const char* pool_name, const char* remedy) noexcept
{
    return message("memory_pool: %zu more at the same time, the last a %s: block size %zu bytes, pool '%.100s'\n"
                   "  remedy: %s",
                   count, error_name(kind), block_size, pool_name, remedy);
}

/// Effects: reports `count` further misuses in one operation.
MEMORY_POOL_SLOW_PATH inline void report_more_misuse(std::size_t count, error_kind kind, std::size_t block_size,
                                                     const char* pool_name) noexcept
{
    const message text = text_of_more_misuse(count, kind, block_size, pool_name, remedy_for(kind));
    report({kind, nullptr, block_size, pool_name, text.c_str()});
}

/// Effects: throws an `Exception` constructed from `arguments`. Without exceptions, reports `text` and ends the
///   program.
template <class Exception, class... Arguments>
[[noreturn]] MEMORY_POOL_SLOW_PATH void fail([[maybe_unused]] error_kind kind, [[maybe_unused]] std::size_t block_size,
                                             [[maybe_unused]] const char* name, [[maybe_unused]] const message& text,
                                             [[maybe_unused]] const Arguments&... arguments)
{
#if MEMORY_POOL_EXCEPTIONS
    throw Exception(arguments...);
#else
    // Must not create exception objects: under -fno-rtti, their vtables have no type information. If the linker picked
    // such a vtable, units that throw and catch would lack the type information, too.
    report({kind, nullptr, block_size, name, text.c_str()});
    std::abort();
#endif
}

// Each of these functions fails with the error that its name states.

[[noreturn]] MEMORY_POOL_SLOW_PATH inline void throw_exhausted(const message& text, const char* pool_name,
                                                               std::size_t max_capacity, std::size_t block_size)
{
    fail<pool_exhausted>(error_kind::pool_exhausted, block_size, pool_name, text, text, pool_name, max_capacity,
                         block_size);
}

[[noreturn]] MEMORY_POOL_SLOW_PATH inline void throw_exhausted(const char* pool_name, std::size_t max_capacity,
                                                               std::size_t block_size)
{
    throw_exhausted(process_wide::text_of_exhausted(pool_name, max_capacity, block_size), pool_name, max_capacity,
                    block_size);
}

[[noreturn]] MEMORY_POOL_SLOW_PATH inline void throw_size_overflow(std::size_t count, std::size_t size)
{
    fail<size_overflow>(error_kind::size_overflow, size, nullptr, process_wide::text_of_size_overflow(count, size),
                        count, size);
}

[[noreturn]] MEMORY_POOL_SLOW_PATH inline void throw_limit_exceeded(const char* resource_name, std::size_t limit,
                                                                    std::size_t bytes_in_use, std::size_t bytes)
{
    fail<limit_exceeded>(error_kind::limit_exceeded, 0, resource_name,
                         process_wide::text_of_limit_exceeded(resource_name, limit, bytes_in_use, bytes), resource_name,
                         limit, bytes_in_use, bytes);
}

[[noreturn]] MEMORY_POOL_SLOW_PATH inline void throw_out_of_memory(const message& text)
{
    fail<out_of_memory>(error_kind::out_of_memory, 0, nullptr, text, text);
}

[[noreturn]] MEMORY_POOL_SLOW_PATH inline void throw_invalid_argument(const message& text)
{
    fail<std::invalid_argument>(error_kind::invalid_argument, 0, nullptr, text, text.c_str());
}

/// Calls `action`. Drops its exception if `is_enough()` returns true: `action` made enough progress before it failed.
template <class Action, class IsEnough>
void try_to(Action&& action, [[maybe_unused]] IsEnough&& is_enough)
{
#if MEMORY_POOL_EXCEPTIONS
    try {
        std::forward<Action>(action)();
    } catch (...) {
        if (!is_enough())
            throw;
    }
#else
    std::forward<Action>(action)();
#endif
}

/// A function that frees memory when a request fails, and returns whether it freed any memory. May be empty.
struct relief
{
    bool (*free_memory)(void* owner) = nullptr;
    void* owner = nullptr;

    bool operator()() const { return free_memory != nullptr && free_memory(owner); }
};

/// Returns: a relief that trims `owner`.
template <class Owner>
relief by_trimming(Owner& owner) noexcept
{
    return {[](void* trimmed) { return static_cast<Owner*>(trimmed)->trim() != 0; }, &owner};
}

/// Effects: calls `action`. If `action` throws and `relieve()` returns true, calls `action` once more.
/// Throws: the exception of the last call of `action`.
template <class Action>
void try_again_after(relief relieve, Action&& action)
{
    bool has_ended = false;
    try_to(
        [&] {
            action();
            has_ended = true;
        },
        relieve);
    if (!has_ended)
        action();
}

/// Effects: calls `action`, and drops any exception.
/// Returns: whether `action` returned without an exception.
template <class Action>
bool succeeds(Action&& action) noexcept
{
    bool has_ended = false;
    try_to(
        [&] {
            std::forward<Action>(action)();
            has_ended = true;
        },
        [] { return true; });
    return has_ended;
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::base
