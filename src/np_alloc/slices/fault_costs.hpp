// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Measures what page faults cost on this machine, to decide whether huge pages pay.
///
///     huge faults:   200 us  2.5 ms  2.4 ms  2.5 ms | 16 parts without |  2.4 ms | 32 parts without |  190 us   220 us
///
/// Huge pages pay if one huge fault costs less than the 512 small faults it replaces. A huge fault may cost more: if a
/// virtual machine has returned its free huge pages to the host, getting one back takes milliseconds, while small pages
/// are still available. So the first fault of each part is timed, with a clock that needs no system call. Other work on
/// the machine adds to the time, so the minimum of three faults counts. After expensive huge faults, a number of parts
/// go without huge pages (exponential back-off), and then one more huge fault is tried.
///
/// Thread safety: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
/// Fault costs of one process, in nanoseconds.
class fault_costs
{
public:
    /// Returns: whether the next `parts` parts may have huge pages. If not, these parts count towards the back-off.
    bool admit(std::size_t parts) noexcept
    {
        if (backed_off_ == 0)
            return true;
        backed_off_ -= std::min(backed_off_, parts);
        return false;
    }

    /// Returns: whether the last huge faults were too expensive.
    bool huge_faults_expensive() const noexcept { return backed_off_ != 0; }

    /// Returns: whether the last huge fault was too expensive, possibly by chance.
    bool may_be_expensive() const noexcept { return expensive_in_a_row_ != 0 && !huge_faults_expensive(); }

    /// Returns: whether more small faults should be timed.
    bool wants_small() const noexcept { return small_count_ < enough_small; }

    void note_small(std::uint64_t cost) noexcept
    {
        if (cost == 0) // The clock is too coarse.
            return;
        // The minimum, because other work on the machine adds to the cost.
        small_ = small_count_ == 0 ? cost : std::min(small_, cost);
        ++small_count_;
    }

    void note_huge(std::uint64_t cost) noexcept
    {
        if (cost <= worth_in_small * small_) {
            expensive_in_a_row_ = 0;
            back_off_ = 0;
            return;
        }
        if (++expensive_in_a_row_ < enough_expensive)
            return;
        expensive_in_a_row_ = enough_expensive - 1; // One more expensive fault starts the next back-off.
        back_off_ = std::min(std::max(2 * back_off_, min_back_off), max_back_off);
        backed_off_ = back_off_;
    }

    /// Parts that go without huge pages after the first expensive huge fault.
    static constexpr std::size_t min_back_off = 16;
    static constexpr std::size_t max_back_off = 4096;
    /// A huge fault is too expensive above the cost of this many small faults: half of 512, because the program may not
    /// use the whole page.
    static constexpr std::uint64_t worth_in_small = 256;
    static constexpr unsigned enough_small = 4;
    static constexpr unsigned enough_expensive = 3;

private:
    std::uint64_t small_ = 2'000; ///< Before the first measurement: a typical value in a virtual machine.
    std::size_t back_off_ = 0;
    std::size_t backed_off_ = 0; ///< Parts left without huge pages.
    unsigned small_count_ = 0;
    unsigned expensive_in_a_row_ = 0;
};
} // namespace memory_pool::np
