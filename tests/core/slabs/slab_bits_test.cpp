// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Compares each operation, for words of 32 and 64 bits, with a bit-by-bit implementation on a std::vector<bool>.
#include <memory_pool/core/slabs/slab_bits.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace core = memory_pool::detail::core;

namespace {
template <class Word>
class slab_bits : public testing::Test
{
protected:
    using bits_type = core::slab_bits<Word>;
    static constexpr std::size_t of_word = bits_type::bits_of_word;
    static constexpr std::size_t words = 4;
    static constexpr std::size_t max_size = words * of_word;

    /// Sizes near the ends of words, and some others.
    static std::vector<std::size_t> sizes()
    {
        std::vector<std::size_t> all;
        for (std::size_t size = 1; size <= max_size; ++size)
            if (size % of_word <= 2 || size % of_word + 2 >= of_word || size % 7 == 0)
                all.push_back(size);
        return all;
    }

    bits_type bits() { return bits_type(words_.data()); }

    void set(const std::vector<bool>& wanted)
    {
        words_.fill(0);
        for (std::size_t i = 0; i != wanted.size(); ++i)
            if (wanted[i])
                words_[i / of_word] |= static_cast<Word>(Word{1} << (i % of_word));
    }

    void expect(const std::vector<bool>& expected)
    {
        for (std::size_t i = 0; i != max_size; ++i)
            ASSERT_EQ(bits().is_free(i), i < expected.size() && expected[i]) << i;
    }

    /// Random bits: about one in `one_of` begins a row of set bits.
    std::vector<bool> some(std::size_t size, unsigned one_of)
    {
        std::vector<bool> all(size);
        for (std::size_t i = 0; i != size; ++i)
            all[i] = random_() % one_of == 0 || (i != 0 && all[i - 1] && random_() % 3 != 0);
        return all;
    }

    std::array<Word, words> words_{};
    std::mt19937 random_{17};
};

using word_types = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(slab_bits, word_types, );

TYPED_TEST(slab_bits, rounds_up_to_whole_words)
{
    for (std::size_t size = 1; size <= this->max_size; ++size)
        ASSERT_EQ(core::slab_bits<TypeParam>::words_for(size), (size + this->of_word - 1) / this->of_word);
    EXPECT_EQ(core::slab_bits<TypeParam>::words_for(0), 0U);
}

TYPED_TEST(slab_bits, computes_each_range_of_a_word)
{
    for (std::size_t first = 0; first != this->of_word; ++first)
        for (std::size_t count = 1; first + count <= this->of_word; ++count) {
            const TypeParam range = core::slab_bits<TypeParam>::range(first, count);
            for (std::size_t bit = 0; bit != this->of_word; ++bit)
                ASSERT_EQ((range >> bit & 1U) != 0, bit >= first && bit < first + count) << first << ' ' << count;
        }
}

TYPED_TEST(slab_bits, fills_exactly_its_size)
{
    for (const std::size_t size : this->sizes()) {
        this->words_.fill(0);
        this->bits().fill(size);
        this->expect(std::vector<bool>(size, true));
        EXPECT_EQ(this->bits().count(size), size);
    }
}

TYPED_TEST(slab_bits, counts_free_bits_and_finds_the_next_in_use)
{
    for (const std::size_t size : this->sizes())
        for (const unsigned one_of : {1U, 2U, 5U, 40U}) {
            const std::vector<bool> all = this->some(size, one_of);
            this->set(all);
            ASSERT_EQ(this->bits().count(size), static_cast<std::size_t>(std::count(all.begin(), all.end(), true)));
            for (std::size_t from = 0; from <= size; ++from) {
                const auto next = std::find(all.begin() + static_cast<std::ptrdiff_t>(from), all.end(), false);
                ASSERT_EQ(this->bits().next_in_use(from, size), static_cast<std::size_t>(next - all.begin()));
            }
        }
}

TYPED_TEST(slab_bits, rejects_bits_before_the_hint_or_beyond_the_size)
{
    for (const std::size_t size : this->sizes()) {
        for (std::size_t bit = 0; bit != this->max_size; ++bit) {
            this->words_.fill(0);
            ASSERT_TRUE(this->bits().put(bit));
            for (std::size_t hint = 0; hint != this->words; ++hint) {
                const std::size_t end = core::slab_bits<TypeParam>::words_for(size) * this->of_word;
                const bool is_before = bit / this->of_word < std::min(hint, end / this->of_word);
                const bool is_beyond = bit >= size && bit < end;
                ASSERT_EQ(this->bits().is_consistent(hint, size), !is_before && !is_beyond) << bit << ' ' << hint;
            }
        }
    }
}

TYPED_TEST(slab_bits, takes_the_lowest_bits_first)
{
    for (const std::size_t size : this->sizes())
        for (const unsigned one_of : {1U, 3U, 30U}) {
            const std::vector<bool> all = this->some(size, one_of);
            const auto set = static_cast<std::size_t>(std::count(all.begin(), all.end(), true));
            for (std::size_t count = 0; count <= set; ++count) {
                this->set(all);
                std::vector<bool> left = all;
                std::vector<std::size_t> expected;
                for (std::size_t i = 0; expected.size() != count; ++i)
                    if (all[i]) {
                        expected.push_back(i);
                        left[i] = false;
                    }
                std::vector<std::size_t> taken;
                std::size_t hint = 0;
                this->bits().take(hint, count, [&](std::size_t word) {
                    return [&taken, word, count](std::size_t bit, std::size_t to_take) {
                        ASSERT_EQ(to_take, count - taken.size() - 1);
                        taken.push_back(word * core::slab_bits<TypeParam>::bits_of_word + bit);
                    };
                });
                ASSERT_EQ(taken, expected);
                this->expect(left);
                ASSERT_TRUE(this->bits().is_consistent(hint, size));
                ASSERT_EQ(hint, expected.empty() ? 0 : expected.back() / this->of_word);
            }
        }
}

TYPED_TEST(slab_bits, takes_bits_of_one_word)
{
    using bits = core::slab_bits<TypeParam>;
    const TypeParam highest = bits::bit_of(this->of_word - 1);
    auto word = static_cast<TypeParam>(highest | 0b1010U);
    std::vector<std::size_t> taken;
    const auto note = [&taken](std::size_t index) { taken.push_back(index); };
    EXPECT_EQ(bits::take_of_word(word, 2, note), 2U);
    EXPECT_EQ(taken, (std::vector<std::size_t>{1, 3}));
    EXPECT_EQ(word, highest);
    EXPECT_EQ(bits::take_of_word(word, 2, note), 1U);
    EXPECT_EQ(word, 0U);
    EXPECT_EQ(bits::take_of_word(word, 2, note), 0U);
    EXPECT_EQ(taken, (std::vector<std::size_t>{1, 3, this->of_word - 1}));
}

TYPED_TEST(slab_bits, takes_full_words_as_rows)
{
    for (std::size_t full = 0; full <= this->words; ++full)
        for (std::size_t first = 0; first <= full; ++first)
            for (std::size_t end = first; end <= this->words; ++end) {
                std::vector<bool> all(this->max_size, true);
                if (full != this->words)
                    all[full * this->of_word + this->of_word / 2] = false;
                this->set(all);
                const std::size_t stopped = std::min(full, end);
                ASSERT_EQ(this->bits().take_rows(first, end), stopped);
                std::fill(all.begin() + static_cast<std::ptrdiff_t>(first * this->of_word),
                          all.begin() + static_cast<std::ptrdiff_t>(stopped * this->of_word), false);
                this->expect(all);
            }
}

TYPED_TEST(slab_bits, puts_a_bit_once)
{
    for (std::size_t bit = 0; bit != this->max_size; ++bit) {
        ASSERT_TRUE(this->bits().put(bit));
        ASSERT_FALSE(this->bits().put(bit));
    }
    this->expect(std::vector<bool>(this->max_size, true));
}

TYPED_TEST(slab_bits, puts_a_row_in_a_word_only_if_all_bits_are_clear)
{
    for (std::size_t first = 0; first != this->max_size; ++first)
        for (std::size_t count = 1; first % this->of_word + count <= this->of_word; ++count) {
            std::vector<bool> all = this->some(this->max_size, 20);
            this->set(all);
            const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
            const auto end = begin + static_cast<std::ptrdiff_t>(count);
            const bool is_possible = std::none_of(begin, end, [](bool each) { return each; });
            ASSERT_EQ(this->bits().put_in_word(first, count), is_possible);
            if (is_possible)
                std::fill(begin, end, true);
            this->expect(all);
        }
}

TYPED_TEST(slab_bits, puts_a_range_and_reports_bits_already_set)
{
    for (std::size_t first = 0; first < this->max_size; first += 5)
        for (std::size_t count = 0; first + count <= this->max_size; count += 3) {
            std::vector<bool> all = this->some(this->max_size, 20);
            this->set(all);
            std::vector<bool> twice(this->max_size);
            this->bits().put_range(first, count, [&](std::size_t word, TypeParam bits) {
                for (std::size_t bit = 0; bit != core::slab_bits<TypeParam>::bits_of_word; ++bit)
                    if ((bits >> bit & 1U) != 0)
                        twice[word * core::slab_bits<TypeParam>::bits_of_word + bit] = true;
            });
            for (std::size_t i = 0; i != this->max_size; ++i) {
                const bool is_within = i >= first && i < first + count;
                ASSERT_EQ(twice[i], is_within && all[i]);
                all[i] = all[i] || is_within;
            }
            this->expect(all);
        }
}
} // namespace
