// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include "../hardening/access_report.hpp"
#include "../support/internals.hpp"

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>
#include <memory_pool/core/reports/call_lines.hpp>
#include <memory_pool/os/call_stack.hpp>

#include "../hardening/guarded_slots.hpp"
#include "../support/misuse.hpp"
#include "../support/output.hpp"
#include "engine.hpp"

#include <atomic>
#include <optional>

namespace memory_pool::np {
namespace {
/// What is said of an access.
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

void print_report(const guarded_block& block, const void* address, const os::call_stack& accessed_by)
{
    const output to(nullptr, nullptr);
    const description what = describe(guarded_slots::kind_of(block, address));
    const base::message text("memory_pool: %s: access to address %p, block %p, block size %zu bytes, pool 'np_alloc'\n"
                             "  remedy: %s, in the calls below\n",
                             what.name, address, static_cast<const void*>(block.begin), block.bytes, what.remedy);
    to.print(text);
    const auto print_line = [&to](const base::message& line) {
        to.print(line);
        to.print("\n");
    };
    core::print_calls("accessed", accessed_by, print_line);
    core::print_calls("allocated", block.allocated_by, print_line);
    core::print_calls("freed", block.freed_by, print_line);
    tell_of_access({what.kind, what.name, address, block.bytes, "np_alloc", text.c_str()});
}
} // namespace

void report_wrong_access(const void* address)
{
    static std::atomic<const void*> last_reported{nullptr};
    const page_heap& memory = registry().pages();
    const guarded_slots& places = memory.slots();
    const guarded_block* block = places.contain(address) ? places.nearest(address) : memory.freed_at(address);
    const std::optional<guarded_block> guarded = block == nullptr ? memory.guarded_at(address) : std::nullopt;
    if (guarded)
        block = &*guarded;
    // A handler of the program that returns has the access come again.
    if (block == nullptr || last_reported.exchange(address, std::memory_order_relaxed) == address)
        return;
    misuse_reports.fetch_add(1, std::memory_order_relaxed);
    print_report(*block, address, os::call_stack::of_interrupted());
}
} // namespace memory_pool::np
