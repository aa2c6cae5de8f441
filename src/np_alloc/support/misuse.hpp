// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Reports and counts misuse of np_alloc.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/misuse_log.hpp>
#include <memory_pool/os/uncancelled.hpp>

#include "internals.hpp"
#include "options.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace memory_pool::np {
/// Preserves errno during its lifetime.
class errno_as_it_was : base::immovable<errno_as_it_was>
{
public:
    errno_as_it_was() noexcept : value_(errno) {}
    ~errno_as_it_was() { errno = value_; }

private:
    int value_;
};

/// The number of reports so far.
inline std::atomic<std::size_t> misuse_reports{0};

/// The number of blocks freed with a size larger than the block. Only some frees detect these blocks, and none reports
/// them.
inline std::atomic<std::size_t> size_mismatches{0};

/// Effects: prints `text` on stderr. Not a cancellation point, because free is not one either: the thread could end in
///   the middle of free, before the report.
MEMORY_POOL_SLOW_PATH inline void print(const char* text) noexcept
{
    const os::uncancelled until_printed;
    base::print(text);
}

/// Effects: once per process, reports that a foreign pointer is ignored.
MEMORY_POOL_SLOW_PATH inline void ignore_foreign(const void* pointer) noexcept
{
    static std::atomic<bool> was_said{false};
    if (!was_said.exchange(true, std::memory_order_relaxed))
        print(base::message(
                  "np_alloc: foreign pointer: address %p is not from np_alloc and is ignored, as are later ones\n"
                  "  remedy: free each block by the malloc that allocated it; NP_FATAL_FOREIGN=1 ends the program here",
                  pointer)
                  .c_str());
}

/// Returns: the remedy for a misuse of a block of that size.
constexpr const char* remedy_for(error_kind kind, std::size_t block_bytes) noexcept
{
    switch (kind) {
    case error_kind::buffer_overflow:
        return "find the write past the end of this block; NP_SAMPLE_BYTES=64K may stop at it";
    case error_kind::buffer_underflow:
        return "find the write before the beginning of this block; NP_SAMPLE_BYTES=64K may stop at it";
    case error_kind::write_after_free:
        return block_bytes != 0 ? "find the write through an old pointer; NP_SAMPLE_BYTES=64K may stop at it"
                                : "this memory was free: find the write through an old pointer, far past the end of "
                                  "a block, or before its beginning; NP_SAMPLE_BYTES=64K may stop at it";
    case error_kind::foreign_pointer:
        return "free each block by the allocator that allocated it; NP_FATAL_FOREIGN=0 ignores such pointers";
    default: return base::remedy_for(kind);
    }
}

/// Returns: the call site of a misused block; an empty text if the call site is unknown.
base::message site_name(error_kind kind, const void* block) noexcept;

/// Effects: prints the context of a misuse of `block`: the thread, the thread's call stack, and, for a sample, the call
///   stacks of the block's allocation and free.
void print_context(const void* block) noexcept;

/// Returns: the text of a report, which ends with the call site of the block, if known.
MEMORY_POOL_SLOW_PATH inline base::message text_of_misuse(error_kind kind, const void* block, std::size_t block_bytes,
                                                          const char* where, const char* remedy) noexcept
{
    const base::message what_and_remedy = base::text_of_misuse(kind, block, block_bytes, where, remedy);
    const base::message line = site_name(kind, block);
    return base::message("%s%s%s", what_and_remedy.c_str(), *line.c_str() != '\0' ? "\n  allocated at " : "",
                         line.c_str());
}

/// Effects: reports a misuse of `block`. `block_bytes`: its size, or 0 if unknown; `where`: the pool, heap or library
///   that received the block; `remedy`: nullptr for the usual one. Ignores foreign pointers if the user has chosen to.
MEMORY_POOL_SLOW_PATH inline void report_misuse(error_kind kind, const void* block, std::size_t block_bytes,
                                                const char* where = "np_alloc", const char* remedy = nullptr) noexcept
{
    const errno_as_it_was kept;
    misuse_reports.fetch_add(1, std::memory_order_relaxed);
    if (kind == error_kind::foreign_pointer && the_options.get(np_option_fatal_foreign) == 0) {
        ignore_foreign(block);
        return;
    }
    const base::message text =
        text_of_misuse(kind, block, block_bytes, where, remedy != nullptr ? remedy : remedy_for(kind, block_bytes));
    print(text.c_str());
    print_context(block);
    get_error_handler()({kind, block, block_bytes, where, text.c_str()});
}

/// Effects: reports that `count` more errors were found at the same time. `kind` and `block_bytes` describe the last
///   error.
MEMORY_POOL_SLOW_PATH inline void report_more_misuse(std::size_t count, error_kind kind,
                                                     std::size_t block_bytes) noexcept
{
    const errno_as_it_was kept;
    misuse_reports.fetch_add(count, std::memory_order_relaxed);
    if (kind == error_kind::foreign_pointer && the_options.get(np_option_fatal_foreign) == 0)
        return;
    const base::message text =
        base::text_of_more_misuse(count, kind, block_bytes, "np_alloc", remedy_for(kind, block_bytes));
    print(text.c_str());
    get_error_handler()({kind, nullptr, block_bytes, "np_alloc", text.c_str()});
}

/// Effects: calls the error handler if it is a C handler, because C++ handlers have no kinds for accesses.
/// Thread safety: async-signal-safe.
void tell_of_access(const np_error_report& report);

/// Misuse found while locks are held. The destructor reports it without the locks, because an error handler may call
/// np_alloc.
class misuse_list : public base::misuse_log, base::immovable<misuse_list>
{
public:
    ~misuse_list()
    {
        if (MEMORY_POOL_LIKELY(empty()))
            return;
        report([](const finding& each) { report_misuse(each.kind, each.address, each.block_size); },
               [](std::size_t count, const finding& last) { report_more_misuse(count, last.kind, last.block_size); });
    }
};
} // namespace memory_pool::np
