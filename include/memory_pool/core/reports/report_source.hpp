// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The functions of the registry of reports that pools call, without the registry: units that use libmemory_pool need
/// not compile it. report_registry.hpp defines them.
///
/// Thread safety: any thread, unless stated otherwise.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/reports/report_figures.hpp>

#include <cstdint>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// How the figures of a pool are read. (Not a virtual function: the pool may be read during its construction and
/// destruction, when its dynamic type may not be the final one.)
struct report_source
{
    /// A function `read_figures` of the pool's class: debuggers deduce the pool's type from its symbol.
    report_figures (*read)(const void* pool) noexcept;
    const void* pool;
    bool is_shared; ///< Any thread may read it; otherwise its owner publishes.
};

class report_record;

/// Effects: registers the fork handlers of the registry, if that has not been done.
void prepare_reports() noexcept;
/// Effects: adds a record with a copy of `name`, of which it keeps the first 127 characters.
/// Returns: it; nullptr if there is no memory for it, which is counted.
report_record* enter_in_reports(const char* kind, const char* name, report_source source) noexcept;
/// Effects: removes a record, after waiting for its readers.
void leave_reports(report_record* record) noexcept;
/// Effects: publishes the figures of a pool that is not shared.
/// Thread safety: the owner of the pool.
void publish(report_record& record) noexcept;
/// Effects: sets the kind under which a pool is listed, when another class is built on it.
void set_kind(report_record& record, const char* kind) noexcept;
/// Effects: sets how many bytes from upstream such a class has in addition to its pool.
void set_more_bytes(report_record& record, std::uint64_t bytes) noexcept;
/// Effects: in the child of a fork, notes that a pool made by a lost thread is in use again.
void enter_again(report_record& record) noexcept;
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
