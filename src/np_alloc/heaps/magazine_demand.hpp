// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Measures how much of each magazine a thread uses, so that unused room can go to the magazines that need it.
///
///     magazine of a class:   | block | block | block | block | block | no block |
///                                    ^ low-water mark        ^ high-water mark      the swing between them is in use
///
/// The marks come from samples. Each time the byte limit denies a magazine more room, the next class is sampled. The
/// swing of a class is valid after `turns` samples. A magazine that was empty or full between samples counts as fully
/// used. Because of sampling, calls that need no slab cost nothing extra.
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
/// The low- and high-water marks of the magazines of a heap.
class magazine_demand
{
public:
    /// The use of one magazine.
    struct use
    {
        std::size_t size_class; ///< class_count: not known yet.
        std::uint32_t swing;    ///< High- minus low-water mark; at least max_room() if the magazine was empty or full.
    };

    /// Effects: records that the magazine of a class was empty or full.
    void note_miss(std::size_t size_class) noexcept { marks_[size_class] = {0, all_of_it}; }

    /// Effects: sets the marks of all classes to `held(size_class)`, the number of blocks in the magazine. The swings
    ///   are valid after one turn, so that a thread that adopts a heap can soon reuse the room of its predecessor.
    template <class Held>
    void restart(Held&& held) noexcept
    {
        for (std::size_t size_class = 0; size_class != class_count; ++size_class)
            marks_[size_class] = at(held(size_class));
        next_ = 0;
        turn_ = turns - 1;
    }

    /// Effects: samples the next magazine, which has `held(size_class)` blocks.
    /// Returns: the magazine's use if this was its last turn (its marks then restart); otherwise, a use of unknown
    ///   class.
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

    /// Samples per swing. With fewer, a thread that fills and empties tables is misjudged; with more, unused room is
    /// released later.
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
