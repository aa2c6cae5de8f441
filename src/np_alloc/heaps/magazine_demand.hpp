// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// How much of each magazine a thread uses, so that unused room can go to the magazines that need it.
///
///     magazine of a class:   | block | block | block | block | block | no block |
///                                    ^ low water mark        ^ high water mark      the swing between them is in use
///
/// The marks come from samples. Each time the share denies a magazine more room, the next class is sampled; after
/// `turns` samples of a class its swing counts. A magazine that was empty or full in the meantime uses all of its room.
/// So calls that need no slab pay nothing.
///
/// Thread safety: none.
#pragma once

#include "../slices/size_classes.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace memory_pool::np {
/// The low and high water marks of the magazines of a heap.
class magazine_demand
{
public:
    /// What a magazine uses.
    struct use
    {
        std::size_t size_class; ///< class_count: not known yet.
        std::uint32_t swing; ///< The most blocks less the fewest in it; at least most_room() if it was empty or full.
    };

    /// Effects: notes that the magazine of a class was empty or full.
    void note_miss(std::size_t size_class) noexcept { marks_[size_class] = {0, all_of_it}; }

    /// Effects: sets the marks of all classes to `held(size_class)`, the number of blocks in the magazine. The swings
    ///   count after one turn, so that a thread that adopts a heap can soon reuse the room of its predecessor.
    template <class Held>
    void restart(Held&& held) noexcept
    {
        for (std::size_t size_class = 0; size_class != class_count; ++size_class)
            marks_[size_class] = at(held(size_class));
        next_ = 0;
        turn_ = turns - 1;
    }

    /// Effects: samples the next magazine, which holds `held(size_class)` blocks.
    /// Returns: its use, if this was its last turn; its marks restart then.
    template <class Held>
    use sample(Held&& held) noexcept
    {
        const std::size_t size_class = next_;
        const marks now = at(held(size_class));
        marks& seen = marks_[size_class];
        seen = {std::min(seen.low, now.low), std::max(seen.high, now.high)};
        const use used{turn_ == turns - 1 ? size_class : class_count, std::uint32_t{seen.high} - seen.low};
        if (turn_ == turns - 1)
            seen = now;
        if (++next_ == class_count) {
            next_ = 0;
            turn_ = (turn_ + 1) % turns;
        }
        return used;
    }

    /// Samples of a magazine until its swing counts. Fewer misjudge a thread that fills and empties tables; more delay
    /// the release of unused room.
    static constexpr std::uint32_t turns = 8;

private:
    struct marks
    {
        std::uint16_t low;
        std::uint16_t high;
    };
    static constexpr std::uint16_t all_of_it = std::numeric_limits<std::uint16_t>::max();

    static marks at(std::size_t held) noexcept
    {
        const auto water = static_cast<std::uint16_t>(held);
        return {water, water};
    }

    std::uint32_t next_ = 0;
    std::uint32_t turn_ = 0;
    std::array<marks, class_count> marks_{};
};
} // namespace memory_pool::np
