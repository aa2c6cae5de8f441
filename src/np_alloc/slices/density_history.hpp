// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Which large blocks will be filled, judged by those of about the same size before them.
///
///     blocks of 4 to 8 MiB:   probe: dense | 8 with huge pages | probe: dense | 16 with huge pages | probe: sparse | ...
///
/// Under huge pages, a block that is filled cannot be told from one that is touched here and there. So now and then one does without
/// them: a probe. When the next of its size is taken, or it is freed, the system is asked how much memory it got. If it is dense, the
/// next few may have huge pages. If it is sparse, it takes three dense ones in a row until any may again.
///
/// Thread safety: none.
#pragma once

#include <algorithm>

namespace memory_pool::np
{
/// How much of a block has memory, where it has any.
enum class density
{
    untouched,
    sparse,
    dense,
};

/// What is known of blocks of about one size.
class density_history
{
public:
    /// Returns: whether no block of that size was seen yet.
    bool is_unknown() const noexcept { return !was_seen_; }
    /// Returns: whether the last blocks that were looked at were filled.
    bool is_dense() const noexcept { return confidence_ >= enough_confidence; }
    /// Returns: whether the last one was not.
    bool is_sparse() const noexcept { return confidence_ == 0; }

    /// Returns: whether a block that is taken now may have huge pages.
    bool take_grant() noexcept
    {
        was_seen_ = true;
        if (grants_ == 0)
            return false;
        --grants_;
        return true;
    }

    /// Returns: whether one without them becomes the probe.
    bool take_probe() noexcept
    {
        if (skips_ == 0)
            return true;
        --skips_;
        return false;
    }

    /// Effects: notes what became of the probe.
    void note(density of_probe) noexcept
    {
        if (of_probe == density::untouched)
            return;
        if (of_probe == density::sparse) {
            confidence_ = grants_ = 0;
            skips_ = next_skips_;
            next_skips_ = std::min(2 * next_skips_ + 1, most_skips);
            return;
        }
        skips_ = next_skips_ = 0;
        confidence_ = std::min(confidence_ + 1, most_confidence);
        if (is_dense())
            grants_ = 1U << confidence_;
    }

    /// Effects: takes over what was found out about another size, for a few blocks, until there is a probe.
    void inherit(const density_history& other) noexcept
    {
        if (other.is_dense())
            grants_ = inherited_grants;
    }

private:
    static constexpr unsigned enough_confidence = 3;
    static constexpr unsigned most_confidence = 5;
    static constexpr unsigned most_skips = 31;
    static constexpr unsigned inherited_grants = 2;

    bool was_seen_ = false;
    unsigned confidence_ = enough_confidence - 1; ///< Dense probes in a row.
    unsigned grants_ = 0;                         ///< Blocks that may have huge pages until the next probe.
    unsigned skips_ = 0;                          ///< Blocks without a probe that are left after a sparse one.
    unsigned next_skips_ = 0;
};
} // namespace memory_pool::np
