// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/objects/reference_count.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace core = memory_pool::detail::core;

namespace {
/// A count of 8 bits, so that tests reach its limits: half is 128, idle 64, saturated 192.
template <class Count>
class reference_count_test : public testing::Test
{
protected:
    using zones = core::reference_zones<std::uint8_t>;
    Count count_;
};

using counts = testing::Types<core::plain_reference_count<std::uint8_t>, core::atomic_reference_count<std::uint8_t>>;
TYPED_TEST_SUITE(reference_count_test, counts, );

TYPED_TEST(reference_count_test, begins_with_one_reference)
{
    this->count_.begin();
    EXPECT_EQ(this->count_.read(), 1);
    EXPECT_EQ(this->count_.drop(), core::dropped::the_last);
}

TYPED_TEST(reference_count_test, detects_the_last_drop)
{
    this->count_.begin();
    this->count_.add();
    this->count_.add();
    EXPECT_EQ(this->count_.drop(), core::dropped::one_of_many);
    EXPECT_EQ(this->count_.drop(), core::dropped::one_of_many);
    EXPECT_EQ(this->count_.drop(), core::dropped::the_last);
    EXPECT_EQ(this->count_.read(), 0);
}

TYPED_TEST(reference_count_test, keeps_references_added_before_begin)
{
    this->count_.add();
    this->count_.begin();
    EXPECT_EQ(this->count_.read(), 2);
}

TYPED_TEST(reference_count_test, never_drops_the_last_reference_while_idle)
{
    for (int i = 0; i != 3; ++i) {
        this->count_.add();
        EXPECT_EQ(this->count_.drop(), core::dropped::one_of_many);
    }
    EXPECT_EQ(this->count_.resume(), 0);
}

TYPED_TEST(reference_count_test, resumes_with_the_remaining_references)
{
    this->count_.add();
    EXPECT_EQ(this->count_.resume(), 1);
    EXPECT_EQ(this->count_.drop(), core::dropped::the_last);
}

TYPED_TEST(reference_count_test, saturates_instead_of_overflowing)
{
    this->count_.begin();
    for (int i = 0; i != 1000; ++i)
        this->count_.add();
    EXPECT_EQ(this->count_.read(), TestFixture::zones::saturated);
    for (int i = 0; i != 1000; ++i)
        ASSERT_EQ(this->count_.drop(), core::dropped::one_of_many) << i;
    EXPECT_GE(this->count_.read(), TestFixture::zones::half);
}

TYPED_TEST(reference_count_test, does_not_saturate_below_half)
{
    this->count_.begin();
    for (int i = 1; i != TestFixture::zones::half - 1; ++i)
        this->count_.add();
    EXPECT_EQ(this->count_.read(), TestFixture::zones::half - 1);
    for (int i = TestFixture::zones::half - 1; i != 1; --i)
        ASSERT_EQ(this->count_.drop(), core::dropped::one_of_many);
    EXPECT_EQ(this->count_.drop(), core::dropped::the_last);
}

TYPED_TEST(reference_count_test, reports_a_drop_without_a_reference)
{
    this->count_.write(0);
    EXPECT_EQ(this->count_.drop(), core::dropped::one_too_many);
    EXPECT_EQ(this->count_.read(), 0);
}

TEST(atomic_reference_count, has_exactly_one_last_drop_among_threads)
{
    for (int round = 0; round != 200; ++round) {
        core::atomic_reference_count<std::uint32_t> count;
        count.begin();
        int seen = 0; // The thread that drops last sees the writes of all threads.
        std::atomic<int> last{0};
        constexpr int threads = 4;
        std::vector<int> written(threads, 0);
        std::vector<std::thread> all;
        for (int i = 0; i != threads; ++i)
            count.add();
        for (int i = 0; i != threads; ++i)
            all.emplace_back([&, i] {
                written[static_cast<std::size_t>(i)] = 1;
                if (count.drop() == core::dropped::the_last) {
                    ++last;
                    for (const int one : written)
                        seen += one;
                }
            });
        if (count.drop() == core::dropped::the_last) {
            ++last;
            for (const int one : written)
                seen += one;
        }
        for (std::thread& thread : all)
            thread.join();
        ASSERT_EQ(last, 1);
        ASSERT_EQ(seen, threads);
    }
}
} // namespace
