// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Predicts which large blocks the program will fill, based on earlier blocks of about the same size.
///
///     blocks of 4 to 8 MiB:   probe: dense | 8 with huge pages | probe: dense | 16 with huge pages | probe: sparse | .
///
/// If a block has huge pages, how much of it the program has touched cannot be measured without touching more. So one
/// of every few blocks is a probe, without huge pages. When a probe is freed, some of its pages are examined. After a
/// dense probe, the next few blocks may have huge pages. After a sparse probe, blocks may have huge pages only after
/// three dense probes in a row.
///
/// Thread safety: none.
#pragma once

#include <algorithm>

namespace memory_pool::np {
/// The history of one size range.
class density_history
{
public:
    /// Returns: whether there has been no block of this size yet.
    bool is_unknown() const noexcept { return !was_seen_; }
    /// Returns: whether the last probes were dense.
    bool is_dense() const noexcept { return confidence_ >= enough_confidence; }
    /// Returns: whether the last probe was sparse.
    bool is_sparse() const noexcept { return confidence_ == 0; }

    /// Returns: whether a block allocated now may have huge pages.
    bool take_grant() noexcept
    {
        was_seen_ = true;
        if (grants_ == 0)
            return false;
        --grants_;
        return true;
    }

    /// Returns: whether a block without huge pages becomes the probe. While a probe is in use (`is_one_in_use`), only
    ///   after a number of blocks, because the program may never free that probe.
    bool take_probe(bool is_one_in_use) noexcept
    {
        if (is_one_in_use && waiting_++ < max_waiting)
            return false;
        waiting_ = 0;
        if (skips_ == 0)
            return true;
        --skips_;
        return false;
    }

    /// Effects: records whether a probe was dense.
    void note(bool is_dense_probe) noexcept
    {
        if (!is_dense_probe) {
            confidence_ = grants_ = 0;
            skips_ = next_skips_;
            next_skips_ = std::min(2 * next_skips_ + 1, max_skips);
            return;
        }
        skips_ = next_skips_ = 0;
        confidence_ = std::min(confidence_ + 1, max_confidence);
        if (is_dense())
            grants_ = 1U << confidence_;
    }

    /// Effects: if blocks of another size were dense, grants huge pages to a few blocks before the first probe.
    void inherit(const density_history& other) noexcept
    {
        if (other.is_dense())
            grants_ = inherited_grants;
    }

private:
    static constexpr unsigned enough_confidence = 3;
    static constexpr unsigned max_confidence = 5;
    static constexpr unsigned max_skips = 31;
    /// Blocks allocated while a probe is in use, until another probe replaces it.
    static constexpr unsigned max_waiting = 64;
    static constexpr unsigned inherited_grants = 2;

    bool was_seen_ = false;
    unsigned confidence_ = enough_confidence - 1; ///< Dense probes in a row.
    unsigned grants_ = 0;                         ///< Blocks that may have huge pages until the next probe.
    unsigned skips_ = 0;                          ///< Blocks to leave unprobed after a sparse probe.
    unsigned next_skips_ = 0;
    unsigned waiting_ = 0;
};
} // namespace memory_pool::np
