// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Misuse that was found while a lock was held, to be reported when it is not: the error handler may be one that asks the pool
/// something.
///
/// Thread safety: none; whoever has the lock has the log.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>

#include <array>
#include <cstddef>

namespace memory_pool
{
inline namespace MEMORY_POOL_ABI
{
namespace core
{
/// A few findings, and how many more there were.
class misuse_log
{
public:
    bool empty() const noexcept { return count_ == 0; }

    void add(error kind, const void* address) noexcept
    {
        if (count_ != findings_.size()) {
            findings_[count_++] = {kind, address};
        } else {
            ++more_;
            last_ = kind;
        }
    }

    /// Effects: reports all, for a pool of that name with blocks of that size.
    void report(std::size_t block_size, const char* pool_name) const
    {
        for (std::size_t i = 0; i != count_; ++i)
            base::report_misuse(findings_[i].kind, findings_[i].address, block_size, pool_name);
        if (more_ != 0)
            base::report_more_misuse(more_, last_, block_size, pool_name);
    }

private:
    struct finding
    {
        error kind;
        const void* address;
    };

    std::array<finding, 16> findings_;
    std::size_t count_ = 0;
    std::size_t more_ = 0;
    error last_ = error::double_free; ///< Of those.
};
} // namespace core
} // namespace MEMORY_POOL_ABI
} // namespace memory_pool
