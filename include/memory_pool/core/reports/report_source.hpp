// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Declares the registry functions that pools call. report_registry.hpp defines them; translation units that use
/// libmemory_pool need not compile it.
///
/// Thread safety: any thread, unless stated otherwise.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/reports/report_statistics.hpp>

#include <cstdint>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Reads the statistics of a pool. (Not a virtual function: the pool may be read during its construction and
/// destruction, when its dynamic type may not be the final one.)
struct report_source
{
    /// A function `read_statistics` of the pool's class. Debuggers deduce the pool's type from the function's symbol.
    report_statistics (*read)(const void* pool) noexcept;
    const void* pool;
    bool is_shared; ///< Any thread may read the pool; otherwise its owner publishes the statistics.
};

class report_record;

/// Effects: registers the fork handlers of the registry, unless they are registered already.
void prepare_reports() noexcept;
/// Effects: adds a record with a copy of the first 127 characters of `name`.
/// Returns: the record; nullptr on OOM, which the registry counts.
report_record* enter_in_reports(const char* kind, const char* name, report_source source) noexcept;
/// Effects: removes a record, after waiting for its readers.
void leave_reports(report_record* record) noexcept;
/// Effects: publishes the statistics of a pool that is not shared.
/// Thread safety: the owner of the pool.
void publish(report_record& record) noexcept;
/// Effects: sets the kind under which a pool is listed. For classes that are built on a pool.
void set_kind(report_record& record, const char* kind) noexcept;
/// Effects: sets the bytes from upstream that a class holds in addition to the pool on which it is built.
void set_more_bytes(report_record& record, std::uint64_t bytes) noexcept;
/// Effects: in the child of a fork, records that a pool created by a lost thread is in use again.
void enter_again(report_record& record) noexcept;
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
