// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include "../support/misuse.hpp"

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>

#include <atomic>

namespace {
std::atomic<np_error_handler> handler_in_c{nullptr};

void call_handler_in_c(const memory_pool::error_report& report)
{
    const np_error_report told{memory_pool::error_name(report.kind), report.address, report.block_size,
                               report.pool_name, report.text};
    if (const np_error_handler handler = handler_in_c.load())
        handler(&told);
}
} // namespace

extern "C" {
void np_set_error_handler(np_error_handler handler) noexcept
{
    if (handler == nullptr) {
        memory_pool::set_error_handler(nullptr);
        return;
    }
    handler_in_c = handler;
    memory_pool::set_error_handler(&call_handler_in_c);
}
}
