// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A log of misuse that an operation finds while the pool is inconsistent or locked. The operation reports the log at
/// its end, because the error handler may use the pool.
///
///     operation:  [ changes ... finds ... changes ... finds ... ]  consistent and unlocked:  reports, reports
///
/// Thread safety: none; the lock of the owner guards the log.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/immovable.hpp>

#include <array>
#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::base {
/// A limited number of findings, and a count of the omitted ones.
class misuse_log
{
public:
    struct finding
    {
        error_kind kind;
        const void* address;
        std::size_t block_size;
    };

    bool empty() const noexcept { return count_ == 0; }

    void add(error_kind kind, const void* address, std::size_t block_size) noexcept
    {
        last_ = {kind, address, block_size};
        if (count_ < findings_.size())
            findings_[count_] = last_;
        ++count_;
    }

    /// Effects: calls `report(finding)` for each finding, and `report_left_out(count, last)` if some were omitted.
    template <class Report, class ReportLeftOut>
    void report(Report&& report, ReportLeftOut&& report_left_out) const
    {
        for (std::size_t i = 0; i != count_ && i != findings_.size(); ++i)
            report(findings_[i]);
        if (count_ > findings_.size())
            report_left_out(count_ - findings_.size(), last_);
    }

    /// Effects: reports all findings for the pool named `pool_name`.
    MEMORY_POOL_SLOW_PATH void report(const char* pool_name) const
    {
        report([&](const finding& each) { report_misuse(each.kind, each.address, each.block_size, pool_name); },
               [&](std::size_t count, const finding& last) {
                   report_more_misuse(count, last.kind, last.block_size, pool_name);
               });
    }

private:
    std::array<finding, 16> findings_;
    std::size_t count_ = 0;
    finding last_{};
};

/// Makes `Owner` log the misuse that it finds, by `log_misuse_to`, and reports the log at the end of the scope. Of
/// nested scopes of one owner, only the outermost reports.
template <class Owner>
class late_reports : immovable<late_reports<Owner>>
{
public:
    explicit late_reports(Owner& owner) noexcept : owner_(owner), outer_(owner.log())
    {
        if (outer_ == nullptr)
            owner_.log_misuse_to(&log_);
    }
    ~late_reports()
    {
        owner_.log_misuse_to(outer_);
        if (MEMORY_POOL_UNLIKELY(!log_.empty()))
            log_.report(owner_.identity().name);
    }

private:
    Owner& owner_;
    misuse_log* const outer_;
    misuse_log log_;
};
template <class Owner>
late_reports(Owner&) -> late_reports<Owner>;
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::base
