// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// What page faults cost here and now, and whether huge ones are worth it.
///
///     huge faults:   200 us  210 us  2.5 ms | 16 parts without |  2.4 ms | 32 parts without |  190 us   220 us ...
///
/// A huge page is asked for as one fault of it costs less than the 512 small ones that it stands for. That need not be so: where a
/// virtual machine has given its free huge pages back to the host, each takes milliseconds to come again, while there are small ones
/// left over. So the first fault of each part is timed. While the huge ones are dear, none are asked for, in ever more parts before
/// one more is tried.
///
/// Thread safety: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np
{
/// The costs of one process, in nanoseconds.
class fault_costs
{
public:
    /// Returns: whether huge pages may be asked for in so many parts, which are about to be used.
    bool admit(std::size_t parts) noexcept
    {
        if (backed_off_ == 0)
            return true;
        backed_off_ -= std::min(backed_off_, parts);
        return false;
    }

    /// Returns: whether huge pages were dear when one was last tried.
    bool are_huge_dear() const noexcept { return backed_off_ != 0; }

    /// Returns: whether the cost of small faults is to be measured now.
    bool wants_small() const noexcept { return small_count_ < enough_small; }

    void note_small(std::uint64_t cost) noexcept
    {
        if (cost == 0) // The clock is too coarse.
            return;
        // The least, as all else that happens meanwhile makes it more.
        small_ = small_count_ == 0 ? cost : std::min(small_, cost);
        ++small_count_;
    }

    void note_huge(std::uint64_t cost) noexcept
    {
        huge_ = huge_ == 0 ? cost : (3 * huge_ + cost) / 4;
        if (huge_ <= worth_in_small * small_) {
            back_off_ = 0;
            return;
        }
        huge_ = 0;
        back_off_ = std::min(std::max(2 * back_off_, least_back_off), most_back_off);
        backed_off_ = back_off_;
    }

    /// So many parts are used with small pages after the first huge page that was dear.
    static constexpr std::size_t least_back_off = 16;
    static constexpr std::size_t most_back_off = 4096;
    /// A huge page that costs more than so many small ones is dear: half of those it stands for, as not all of it may be used.
    static constexpr std::uint64_t worth_in_small = 256;
    static constexpr unsigned enough_small = 4;

private:
    std::uint64_t small_ = 2'000; ///< Before any was measured: as in a virtual machine.
    std::uint64_t huge_ = 0;      ///< Of the last few; 0: none since it was dear.
    std::size_t back_off_ = 0;
    std::size_t backed_off_ = 0; ///< Parts that are left of that.
    unsigned small_count_ = 0;
};
} // namespace memory_pool::np
