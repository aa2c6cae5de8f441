// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Misuse that is found in the middle of an operation, to be reported at its end: the error handler may use the pool.
///
///     operation:  [ changes ... finds ... changes ... finds ... ]  in order again:  reports, reports
///
/// Thread safety: none; whoever uses the store has it. (Where threads share a store, its lock has the log.)
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/misuse_log.hpp>
#include <memory_pool/core/slabs/slab_store.hpp>

namespace memory_pool
{
inline namespace MEMORY_POOL_ABI
{
namespace core
{
/// While it lives, a store writes down what misuse it finds; then it is reported. Within another one for the same store, it leaves
/// that to the outer one.
class late_reports
{
public:
    explicit late_reports(slab_store& store) noexcept : store_(store), is_outermost_(store.log() == nullptr)
    {
        if (is_outermost_)
            store_.log_misuse_to(&log_);
    }

    late_reports(const late_reports&) = delete;
    late_reports& operator=(const late_reports&) = delete;

    ~late_reports()
    {
        if (!is_outermost_)
            return;
        store_.log_misuse_to(nullptr);
        if (MEMORY_POOL_UNLIKELY(!log_.empty()))
            report();
    }

private:
    MEMORY_POOL_SLOW_PATH void report() const noexcept
    {
        const pool_identity identity = store_.identity();
        log_.report(identity.block_size, identity.name);
    }

    slab_store& store_;
    const bool is_outermost_;
    misuse_log log_;
};
} // namespace core
} // namespace MEMORY_POOL_ABI
} // namespace memory_pool
