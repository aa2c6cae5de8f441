// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The error handler of programs in C, called by memory_pool's error handler.
///
///     report of misuse                        ->  memory_pool's handler = call_handler_in_c  ->  handler in C
///     report of an access (by a signal)       ->  handler in C, if memory_pool's is call_handler_in_c
///
/// Thread safety: any thread.
#include "../support/misuse.hpp"

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>

#include <atomic>

namespace mp = memory_pool;

namespace {
std::atomic<np_error_handler> handler_in_c{nullptr};
std::atomic<mp::error_handler> handler_in_cxx{nullptr}; ///< The handler that a handler in C has replaced.

/// Numbers in C begin at 1, so that 0 means no error.
constexpr np_error in_c(mp::error_kind kind) noexcept
{
    if (kind == mp::error_kind::buffer_underflow) // Its number in C is older and out of order.
        return np_error_buffer_underflow;
    return static_cast<np_error>(static_cast<int>(kind) + 1);
}
static_assert(in_c(mp::error_kind::double_free) == np_error_double_free &&
              in_c(mp::error_kind::leak) == np_error_leak &&
              in_c(mp::error_kind::forbidden_allocation) == np_error_forbidden_allocation &&
              in_c(mp::error_kind::mismatched_deallocation) == np_error_mismatched_deallocation);

constexpr mp::error_kind in_cxx(np_error kind) noexcept
{
    switch (kind) {
    case np_error_buffer_underflow: return mp::error_kind::buffer_underflow;
    case np_error_use_after_free: return in_cxx(np_error_write_after_free);
    default: return static_cast<mp::error_kind>(static_cast<int>(kind) - 1);
    }
}

void call_handler_in_c(const mp::error_report& report)
{
    const np_error_report report_in_c{in_c(report.kind), mp::error_name(report.kind),
                                      report.address,    report.block_size,
                                      report.pool_name,  report.text};
    if (const np_error_handler handler = handler_in_c.load())
        handler(&report_in_c);
}

/// Calls the handler in C++ that a handler in C has replaced.
void call_handler_in_cxx(const np_error_report* report)
{
    if (const mp::error_handler handler = handler_in_cxx.load())
        handler({in_cxx(report->kind), report->address, report->block_size, report->where, report->text});
}

/// Effects: installs a handler in C++.
/// Returns: the previous handler, as a handler in C.
np_error_handler replace_by(mp::error_handler handler) noexcept
{
    const np_error_handler previous_in_c = handler_in_c.load();
    const mp::error_handler previous = mp::set_error_handler(handler);
    if (previous == &call_handler_in_c)
        return previous_in_c;
    if (previous == &mp::detail::base::abort_program)
        return nullptr;
    handler_in_cxx = previous;
    return &call_handler_in_cxx;
}
} // namespace

void memory_pool::np::tell_of_access(const np_error_report& report)
{
    if (get_error_handler() == &call_handler_in_c)
        if (const np_error_handler handler = handler_in_c.load())
            handler(&report);
}

extern "C" {
np_error_handler np_set_error_handler(np_error_handler handler) noexcept
{
    if (handler == nullptr)
        return replace_by(nullptr);
    if (handler == &call_handler_in_cxx)
        return replace_by(handler_in_cxx.load());
    const np_error_handler previous = replace_by(&call_handler_in_c);
    handler_in_c = handler;
    return previous;
}
}
