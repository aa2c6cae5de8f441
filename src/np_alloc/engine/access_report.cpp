// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include "../hardening/access_report.hpp"
#include "../support/internals.hpp"

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>
#include <memory_pool/core/reports/call_lines.hpp>
#include <memory_pool/os/call_stack.hpp>
#include <memory_pool/os/fork.hpp>
#include <memory_pool/os/thread_id.hpp>
#include <memory_pool/os/uncancelled.hpp>

#include "../hardening/guarded_slots.hpp"
#include "../os/fault.hpp"
#include "../support/misuse.hpp"
#include "../support/output.hpp"
#include "engine.hpp"

#include <atomic>
#include <cstddef>
#include <optional>

namespace memory_pool::np {
namespace {
/// The kind, name and remedy of a refused access.
struct description
{
    np_error kind;
    const char* name;
    const char* remedy;
};

constexpr description describe(wrong_access kind) noexcept
{
    switch (kind) {
    case wrong_access::overflow:
        return {np_error_buffer_overflow, "buffer overflow", "find the access past the end of this block"};
    case wrong_access::underflow:
        return {np_error_buffer_underflow, "buffer underflow", "find the access before the beginning of this block"};
    case wrong_access::use_after_free: break;
    }
    return {np_error_use_after_free, "use after free", "find the access through an old pointer"};
}

const char* name_of(os::access how) noexcept
{
    switch (how) {
    case os::access::read: return "a read";
    case os::access::write: return "a write";
    case os::access::unknown: break;
    }
    return "an access";
}

/// Returns: the position of an address relative to a block.
base::message place_of(const void* address, const guarded_block& block) noexcept
{
    const auto* const place = static_cast<const std::byte*>(address);
    if (place < block.begin)
        return base::message("%zu bytes before the block", static_cast<std::size_t>(block.begin - place));
    if (place >= block.end())
        return base::message("%zu bytes past the end of the block", static_cast<std::size_t>(place - block.end()));
    return base::message("at byte %zu of the block", static_cast<std::size_t>(place - block.begin));
}

base::message name_of_this_thread() noexcept
{
    return base::message("thread %llu of process %ld", static_cast<unsigned long long>(os::thread_number()),
                         os::process_number());
}

void print_calls(const char* title, const os::call_stack& calls) noexcept
{
    const output to(nullptr, nullptr);
    core::print_calls(
        title, calls,
        [&to](const base::message& line) {
            to.print(line);
            to.print("\n");
        },
        os::file_of_library(reinterpret_cast<const void*>(&report_wrong_access)));
}

void print_report(const guarded_block& block, const void* address, os::access how, const os::call_stack& accessed_by)
{
    const description what = describe(guarded_slots::kind_of(block, address));
    const base::message text("memory_pool: %s: access to address %p, block %p, block size %zu bytes, pool 'np_alloc'\n"
                             "  remedy: %s, in the calls below\n"
                             "  %s %s, by %s\n",
                             what.name, address, static_cast<const void*>(block.begin), block.bytes, what.remedy,
                             name_of(how), place_of(address, block).c_str(), name_of_this_thread().c_str());
    output(nullptr, nullptr).print(text);
    print_calls("accessed", accessed_by);
    print_calls("allocated", block.allocated_at);
    print_calls("freed", block.freed_at);
    tell_of_access({what.kind, what.name, address, block.bytes, "np_alloc", text.c_str()});
}
} // namespace

void report_wrong_access(const void* address, os::access how)
{
    static std::atomic<const void*> last_reported{nullptr};
    const page_heap& memory = registry().pages();
    const guarded_slots& places = memory.slots();
    const guarded_block* block = places.contain(address) ? places.nearest(address) : memory.large().freed_at(address);
    const std::optional<guarded_block> guarded = block == nullptr ? memory.large().guarded_at(address) : std::nullopt;
    if (guarded)
        block = &*guarded;
    // If a signal handler of the program returns, the access repeats.
    if (block == nullptr || last_reported.exchange(address, std::memory_order_relaxed) == address)
        return;
    misuse_reports.fetch_add(1, std::memory_order_relaxed);
    print_report(*block, address, how, os::call_stack::of_interrupted());
}

void print_context(const void* block) noexcept
{
    const os::uncancelled until_printed; // See print().
    output(nullptr, nullptr).print(base::message("  %s\n", name_of_this_thread().c_str()));
    print_calls("called", os::call_stack::of_this_thread());
    const guarded_slots& places = registry().pages().slots();
    const guarded_block* const sample = places.contain(block) ? places.nearest(block) : nullptr;
    if (sample == nullptr || !sample->holds(block))
        return;
    print_calls("allocated", sample->allocated_at);
    print_calls("freed", sample->freed_at);
}
} // namespace memory_pool::np
