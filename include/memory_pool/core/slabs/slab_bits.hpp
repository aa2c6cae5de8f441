// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The bits of the blocks of a slab, by index. A set bit is a free block.
///
///     words:  | 63 ... 1 0 | 127 ... 65 64 | ...
///                     ^
///     hint            no word before this one has a set bit
///
/// The owner of the words maps indices to addresses, and decides the order in which blocks are taken.
///
/// Thread safety: none; the owner of the words guards them.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/bitmap.hpp>
#include <memory_pool/base/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// A view of words of bits: a single pointer.
template <class Word = std::uint64_t>
class slab_bits
{
    using unqualified = std::remove_const_t<Word>;
    static_assert(std::is_unsigned_v<unqualified>);

public:
    static constexpr unsigned bits_of_word = std::numeric_limits<unqualified>::digits;
    static constexpr unqualified all = std::numeric_limits<unqualified>::max();

    constexpr explicit slab_bits(Word* words) noexcept : words_(words) {}

    /// Returns: the number of words that hold `count` bits.
    static constexpr std::size_t words_for(std::size_t count) noexcept
    {
        return base::divide_round_up(count, bits_of_word);
    }

    /// Returns: a word with `count` set bits, from `first` on.
    /// Preconditions: `count` is not 0.
    static constexpr unqualified range(std::size_t first, std::size_t count) noexcept
    {
        return static_cast<unqualified>(static_cast<unqualified>(all >> (bits_of_word - count)) << first);
    }

    static constexpr unqualified bit_of(std::size_t index) noexcept
    {
        return static_cast<unqualified>(unqualified{1} << (index % bits_of_word));
    }

    bool is_free(std::size_t index) const noexcept { return (words_[index / bits_of_word] & bit_of(index)) != 0; }

    /// Returns: the number of set bits among the first `size` bits.
    /// Preconditions: no other bits of their words are set.
    std::size_t count(std::size_t size) const noexcept
    {
        std::size_t set = 0;
        for (std::size_t word = 0; word != words_for(size); ++word)
            set += base::count_bits(words_[word]);
        return set;
    }

    /// Returns: the index of the first clear bit in [from, end); `end` if there is none.
    std::size_t next_in_use(std::size_t from, std::size_t end) const noexcept
    {
        return base::find_bit<false>(words_, from, end);
    }

    /// Returns: whether no word before `hint` has a set bit, and the last word has no set bit beyond the first `size`
    ///   bits.
    bool is_consistent(std::size_t hint, std::size_t size) const noexcept
    {
        const std::size_t end = words_for(size);
        if (std::any_of(words_, words_ + std::min(hint, end), [](Word word) { return word != 0; }))
            return false;
        const std::size_t rest = size % bits_of_word;
        return rest == 0 || (words_[end - 1] >> rest) == 0;
    }

    /// Effects: sets the first `size` bits, and clears the remaining bits of the last word.
    void fill(std::size_t size) noexcept
    {
        std::fill(words_, words_ + size / bits_of_word, all);
        if (const std::size_t rest = size % bits_of_word; rest != 0)
            words_[size / bits_of_word] = range(0, rest);
    }

    /// Effects: clears the lowest `count` set bits from the word at `hint` on. For each word, calls `open(word)`, and
    ///   then the returned function with each cleared bit and the number of bits still to clear.
    /// Preconditions: at least `count` bits are set there.
    template <class Open>
    MEMORY_POOL_ALWAYS_INLINE void take(std::size_t& hint, std::size_t count, Open&& open) noexcept
    {
        for (std::size_t word = hint; count != 0; ++word) {
            auto visit = open(word);
            Word bits = words_[word];
            for (; bits != 0 && count != 0; bits &= bits - 1)
                visit(std::size_t{base::lowest_bit(bits)}, --count);
            words_[word] = bits;
            hint = word;
        }
    }

    /// Effects: calls `visit(bit)` for up to `count` set bits of a word, the lowest first, and clears them.
    /// Returns: their number.
    template <class Visit>
    MEMORY_POOL_ALWAYS_INLINE static std::size_t take_of_word(Word& word, std::size_t count, Visit&& visit) noexcept
    {
        Word bits = word;
        std::size_t taken = 0;
        for (; bits != 0 && taken != count; bits &= bits - 1, ++taken)
            visit(std::size_t{base::lowest_bit(bits)});
        word = bits;
        return taken;
    }

    /// Effects: clears the full words from `word` on, up to the first word that is not full, or `end`.
    /// Returns: the index of that word, or `end`.
    std::size_t take_rows(std::size_t word, std::size_t end) noexcept
    {
        for (; word != end && words_[word] == all; ++word)
            words_[word] = 0;
        return word;
    }

    /// Effects: sets a bit.
    /// Returns: false if the bit was already set.
    MEMORY_POOL_ALWAYS_INLINE bool put(std::size_t index) noexcept
    {
        const Word bit = bit_of(index);
        if (MEMORY_POOL_UNLIKELY((words_[index / bits_of_word] & bit) != 0))
            return false;
        words_[index / bits_of_word] |= bit;
        return true;
    }

    /// Effects: sets `count` bits of one word, from `first` on, unless one of them is already set.
    /// Returns: false if one of them was already set.
    MEMORY_POOL_ALWAYS_INLINE bool put_in_word(std::size_t first, std::size_t count) noexcept
    {
        Word& word = words_[first / bits_of_word];
        const Word row = range(first % bits_of_word, count);
        if (MEMORY_POOL_UNLIKELY((word & row) != 0))
            return false;
        word |= row;
        return true;
    }

    /// Effects: sets `count` bits from `first` on. Calls `on_twice(word, bits)` for each word in which some of these
    ///   bits, `bits`, were already set.
    template <class OnTwice>
    void put_range(std::size_t first, std::size_t count, OnTwice&& on_twice) noexcept
    {
        while (count != 0) {
            const std::size_t bit = first % bits_of_word;
            const std::size_t here = std::min<std::size_t>(count, bits_of_word - bit);
            Word& word = words_[first / bits_of_word];
            const Word row = range(bit, here);
            if (MEMORY_POOL_UNLIKELY((word & row) != 0))
                on_twice(first / bits_of_word, static_cast<Word>(word & row));
            word |= row;
            first += here;
            count -= here;
        }
    }

private:
    Word* words_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
