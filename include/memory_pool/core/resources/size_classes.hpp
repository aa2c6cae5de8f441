// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Size classes: even steps for small sizes, then a fixed number of classes for each doubling.
///
///     step 8 up to 64, then 4 for each doubling:
///
///     8 16 24 32 40 48 56 64 | 80 96 112 128 | 160 192 224 256 | 320 ...
///
/// With n classes for each doubling, rounding up wastes less than 1 / (n + 1) of a block beyond the even steps.
///
/// Thread safety: pure functions.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>

#include <cstddef>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Multiples of `Step` up to `Finest`, then `ToEachDoubling` classes for each doubling up to `Largest`. All parameters
/// are powers of two.
template <std::size_t Step, std::size_t Finest, std::size_t ToEachDoubling, std::size_t Largest>
struct size_classes
{
    static constexpr std::size_t step = Step;
    static constexpr std::size_t finest = Finest;
    static constexpr std::size_t largest = Largest;
    /// The number of classes in even steps.
    static constexpr std::size_t fine_count = Finest / Step;
    /// The number of classes.
    static constexpr std::size_t count =
        fine_count + ToEachDoubling * (base::highest_bit(Largest) - base::highest_bit(Finest));

    /// Returns: the number of the smallest class with room for `bytes`.
    /// Preconditions: `bytes` is not above `largest`.
    static constexpr std::size_t of(std::size_t bytes) noexcept
    {
        if (bytes <= Finest)
            return (bytes - (bytes != 0 ? 1 : 0)) / Step;
        constexpr unsigned part_bits = base::highest_bit(ToEachDoubling);
        const unsigned exponent = base::highest_bit(bytes - 1);
        const std::size_t part = ((bytes - 1) >> (exponent - part_bits)) - ToEachDoubling;
        return fine_count + ToEachDoubling * (exponent - base::highest_bit(Finest)) + part;
    }

    /// Returns: the size in bytes of the blocks of a class.
    static constexpr std::size_t size(std::size_t number) noexcept
    {
        if (number < fine_count)
            return (number + 1) * Step;
        const std::size_t doublings = (number - fine_count) / ToEachDoubling;
        const std::size_t parts = (number - fine_count) % ToEachDoubling + 1;
        return (Finest << doublings) / ToEachDoubling * (ToEachDoubling + parts);
    }

    /// Returns: whether `of` and `size` are consistent, without gaps.
    static constexpr bool are_sound() noexcept
    {
        for (std::size_t number = 0; number != count; ++number) {
            if (of(size(number)) != number || size(number) % Step != 0)
                return false;
            if (number != 0 && of(size(number - 1) + 1) != number)
                return false;
        }
        return of(0) == 0 && size(count - 1) == Largest;
    }

    static_assert(base::is_power_of_two(Step) && base::is_power_of_two(Finest) &&
                      base::is_power_of_two(ToEachDoubling) && base::is_power_of_two(Largest),
                  "sizes of classes are computed by shifting");
    static_assert(Step <= Finest / ToEachDoubling && Finest <= Largest, "steps must not become smaller with the size");
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
