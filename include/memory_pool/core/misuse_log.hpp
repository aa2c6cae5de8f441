// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Misuse that was found while a lock was held, to be reported when it is not: the error handler may be anything, also one
/// that asks the pool something, or that does not return.
///
/// Thread safety: none; whoever has the lock has the log.
#pragma once

#include <memory_pool/base/errors.hpp>

#include <array>
#include <cstddef>

namespace memory_pool::core
{
/// A few findings. That there are more than a few at one time is rare, and those are reported at once.
class misuse_log
{
public:
    bool empty() const noexcept { return count_ == 0; }

    /// Returns: whether there was room.
    bool add(error kind, const void* address) noexcept
    {
        if (count_ == findings_.size())
            return false;
        findings_[count_++] = {kind, address};
        return true;
    }

    /// Effects: reports all, for a pool of that name with blocks of that size.
    void report(std::size_t block_size, const char* pool_name) const
    {
        for (std::size_t i = 0; i != count_; ++i)
            base::report_misuse(findings_[i].kind, findings_[i].address, block_size, pool_name);
    }

private:
    struct finding
    {
        error kind;
        const void* address;
    };

    std::array<finding, 16> findings_;
    std::size_t count_ = 0;
};
} // namespace memory_pool::core
