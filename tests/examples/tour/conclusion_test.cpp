// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include "tour/conclusion.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace {
using tour::compared_job;
using tour::conclusion;
using tour::cost;

cost took(double milliseconds, double mebibytes)
{
    return {static_cast<std::uint64_t>(milliseconds * 1e6), static_cast<std::uint64_t>(mebibytes * 1024 * 1024)};
}

const cost reference = took(100, 100);

/// A job that takes 100 ms and 100 MiB with new and delete, and the given time and memory with a pool.
compared_job job(const std::string& name, double milliseconds, double mebibytes)
{
    return {name, reference, {took(milliseconds, mebibytes)}};
}

TEST(conclusion, reports_the_savings_of_pools_and_jobs_without_savings)
{
    EXPECT_EQ(conclusion({job("index", 70, 50), job("tree", 70, 50), job("replay", 100, 100)}),
              "For this text, pools save 30 % of the time and half of the memory; for the replay they gain nothing.");
}

TEST(conclusion, names_no_job_if_all_results_are_similar)
{
    EXPECT_EQ(conclusion({job("index", 70, 50), job("tree", 55, 50)}),
              "For this text, pools save 30 to 45 % of the time and half of the memory.");
    EXPECT_EQ(conclusion({job("index", 100, 100), job("tree", 98, 103)}), "For this text, pools gain nothing.");
    EXPECT_EQ(conclusion({job("index", 120, 130), job("tree", 150, 130)}),
              "For this text, pools take 20 to 50 % more time and 30 % more memory.");
}

TEST(conclusion, reports_jobs_in_which_pools_lose)
{
    EXPECT_EQ(
        conclusion({job("index", 70, 80), job("tree", 112, 125)}),
        "For this text, pools save 30 % of the time and 20 % of the memory; for the tree they take 12 % more time "
        "and 25 % more memory.");
    EXPECT_EQ(
        conclusion({job("index", 250, 100), job("tree", 1060, 400)}),
        "For this text, pools take 2.5 to 10.6 times the time. They save no memory; for the tree they use 4.0 times "
        "the memory.");
}

TEST(conclusion, has_separate_sentences_if_time_and_memory_differ)
{
    EXPECT_EQ(
        conclusion({job("index", 70, 100), job("tree", 70, 50), job("replay", 101, 100), job("queue", 130, 50)}),
        "For this text, pools save 30 % of the time; for the replay they gain no time; for the queue they take 30 % "
        "more time. They save half of the memory; for the index and the replay they save no memory.");
}

TEST(conclusion, can_be_about_memory_only)
{
    EXPECT_EQ(conclusion({job("index", 100, 60), job("tree", 97, 70)}),
              "For this text, pools gain no time. They save 30 to 40 % of the memory.");
}

TEST(conclusion, begins_with_the_result_of_most_jobs)
{
    EXPECT_EQ(
        conclusion({job("index", 100, 100), job("tree", 100, 100), job("replay", 60, 60), job("queue", 100, 100)}),
        "For this text, pools gain nothing; for the replay they save 40 % of the time and 40 % of the memory.");
    EXPECT_EQ(
        conclusion({job("index", 120, 120), job("tree", 120, 120), job("replay", 60, 60)}),
        "For this text, pools take 20 % more time and 20 % more memory; for the replay they save 40 % of the time and "
        "40 % of the memory.");
}

TEST(conclusion, ignores_differences_below_five_percent)
{
    EXPECT_EQ(conclusion({job("index", 95, 95)}), "For this text, pools save 5 % of the time and 5 % of the memory.");
    EXPECT_EQ(conclusion({job("index", 95.1, 95.1)}), "For this text, pools gain nothing.");
    EXPECT_EQ(conclusion({job("index", 104.9, 104.9)}), "For this text, pools gain nothing.");
    EXPECT_EQ(conclusion({job("index", 105, 105)}), "For this text, pools take 5 % more time and 5 % more memory.");
}

TEST(conclusion, never_claims_that_pools_save_everything)
{
    EXPECT_EQ(conclusion({job("index", 0.1, 0)}), "For this text, pools save 99 % of the time and 99 % of the memory.");
}

TEST(conclusion, is_about_the_fastest_pool)
{
    EXPECT_EQ(conclusion({{"index", reference, {took(90, 40), took(70, 80), took(110, 10)}}}),
              "For this text, pools save 30 % of the time and 20 % of the memory.");
}

TEST(conclusion, is_about_the_smallest_of_equally_fast_pools)
{
    EXPECT_EQ(conclusion({{"index", reference, {took(70, 80), took(72, 60), took(71, 90)}}}),
              "For this text, pools save 28 % of the time and 40 % of the memory.");
}

TEST(conclusion, does_not_compare_times_that_are_too_short)
{
    const compared_job short_job{"index", took(2, 100), {took(1.6, 50)}};
    const compared_job small_job{"tree", took(2, 2), {took(2.4, 2.1)}};
    EXPECT_EQ(conclusion({short_job, short_job}),
              "For this text, all times are too short to compare; take a larger one. Pools save half of the memory.");
    EXPECT_EQ(conclusion({small_job}), "This text is too small to tell what pools save; take a larger one.");
    EXPECT_EQ(
        conclusion({short_job, job("replay", 70, 50), job("queue", 70, 50)}),
        "For this text, pools save 30 % of the time; for the index the times are too short to compare. They save half "
        "of the memory.");
    EXPECT_EQ(conclusion({{"index", took(100, 2), {took(70, 2.1)}}}),
              "For this text, pools save 30 % of the time. The memory is too little to compare.");
}

TEST(conclusion, reports_large_differences_of_short_times)
{
    const compared_job short_job{"index", took(2, 100), {took(1.6, 50)}};
    EXPECT_EQ(
        conclusion({short_job, short_job, {"queue", took(0.4, 100), {took(4.2, 50)}}}),
        "For this text, most times are too short to compare; for the queue pools take 10.5 times the time. They save "
        "half of the memory.");
}

TEST(conclusion, does_not_call_half_of_the_jobs_most)
{
    const compared_job short_job{"index", took(2, 100), {took(1.6, 50)}};
    EXPECT_EQ(
        conclusion({short_job, short_job, job("queue", 70, 50), job("replay", 130, 50)}),
        "For this text, pools save 30 % of the time; for the replay they take 30 % more time; for the index and the "
        "index the times are too short to compare. They save half of the memory.");
}

TEST(conclusion, reports_memory_that_is_too_small_to_compare)
{
    const compared_job chapters{"chapters", took(100, 1.2), {took(70, 0.9)}};
    EXPECT_EQ(
        conclusion({job("index", 70, 50), job("tree", 70, 50), chapters}),
        "For this text, pools save 30 % of the time. They save half of the memory; for the chapters the memory is "
        "too little to compare.");
    EXPECT_EQ(conclusion({chapters, {"replay", took(100, 1.2), {took(70, 2)}}, job("tree", 70, 50)}),
              "For this text, pools save 30 % of the time. Most memory is too little to compare; for the tree pools "
              "save half of the memory.");
}

TEST(conclusion, accepts_values_of_zero)
{
    EXPECT_EQ(conclusion({{"index", {0, 0}, {{0, 0}}}}),
              "This text is too small to tell what pools save; take a larger one.");
    EXPECT_EQ(conclusion({{"index", {0, 0}, {took(10, 10)}}}).find("nan"), std::string::npos);
}

TEST(conclusion, is_empty_without_pools)
{
    EXPECT_EQ(conclusion({}), "");
    EXPECT_EQ(conclusion({{"index", reference, {}}}), "");
    EXPECT_EQ(conclusion({{"index", reference, {}}, job("tree", 100, 100)}), "For this text, pools gain nothing.");
}

/// All combinations of four outcomes for three jobs, in time and in memory.
TEST(conclusion, has_at_most_two_sentences_and_names_each_job_once_in_each)
{
    const std::vector<double> values{60, 100, 130, 1};
    const std::vector<std::string> names{"index", "tree", "replay"};
    for (unsigned code = 0; code != 4096; ++code) {
        std::vector<compared_job> jobs;
        for (unsigned each = 0; each != 3; ++each) {
            const double time = values[code >> (4 * each) & 3U];
            const double memory = values[code >> (4 * each + 2) & 3U];
            jobs.push_back({names[each],
                            took(time == 1 ? 1 : 100, memory == 1 ? 1 : 100), // 1: too small to compare.
                            {took(time, memory)}});
        }
        const std::string text = conclusion(jobs);
        std::size_t sentences = 0;
        for (std::size_t end = text.find('.'); end != std::string::npos; end = text.find('.', end + 1))
            ++sentences;
        EXPECT_TRUE(sentences == 1 || sentences == 2) << text;
        EXPECT_EQ(text.back(), '.') << text;
        EXPECT_EQ(text.find("  "), std::string::npos) << text;
        for (const std::string& name : names) {
            const std::size_t first = text.find("the " + name);
            const std::size_t next = first == std::string::npos ? first : text.find("the " + name, first + 1);
            EXPECT_TRUE(next == std::string::npos || text.find(". ") < next) << text;
        }
    }
}

TEST(conclusion, is_wrapped_between_words)
{
    EXPECT_EQ(tour::wrapped("a bc def ghij", 6), "a bc\ndef\nghij");
    EXPECT_EQ(tour::wrapped("abcdefgh ij", 4), "abcdefgh\nij");
    EXPECT_EQ(tour::wrapped("", 4), "");
    EXPECT_EQ(tour::wrapped("ab cd", 5), "ab cd");
}
} // namespace
