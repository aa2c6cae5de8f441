// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The values of options, and options that take effect at once. options_test.cpp tests the texts of options.
#include <memory_pool/np_alloc.h>

#include <np_alloc/engine/engine.hpp>
#include <np_alloc/support/allocation_profile.hpp>
#include <np_alloc/support/options.hpp>

#include <support/child.hpp>
#include <support/option_for_now.hpp>
#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <limits>
#include <string>

namespace np = memory_pool::np;

namespace {
constexpr auto infos = np::info_of_options(false);

np_option option_at(std::size_t index)
{
    return static_cast<np_option>(index + 1);
}

TEST(options_api, names_each_option_like_its_variable_in_lower_case)
{
    for (std::size_t index = 0; index != np::options_of_all; ++index) {
        std::string name = std::string(infos[index].variable).substr(3);
        std::transform(name.begin(), name.end(), name.begin(),
                       [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
        EXPECT_EQ(np_option_by_name(name.c_str()), option_at(index)) << name;
        EXPECT_EQ(np_option_by_name((name + 'x').c_str()), np_option_none);
    }
}

TEST(options_api, rejects_values_above_the_maximum_and_keeps_the_old_one)
{
    np_free(np_alloc(1)); // Some options can be set only before the first block.
    for (std::size_t index = 0; index != np::options_of_all; ++index) {
        const np_option option = option_at(index);
        const std::size_t before = np_option_get(option);
        const int refused = np::options::is_for_the_start(option) ? EBUSY : EINVAL;
        EXPECT_EQ(np_option_set(option, infos[index].max + 1), refused) << infos[index].variable;
        EXPECT_EQ(np_option_set(option, std::numeric_limits<std::size_t>::max()), refused) << infos[index].variable;
        EXPECT_EQ(np_option_get(option), before) << infos[index].variable;
    }
}

TEST(options_api, returns_EAGAIN_when_the_system_has_no_background_thread)
{
    {
        const test::system_calls calls;
        calls.refuse_from(test::system_call::make_thread, 1);
        EXPECT_EQ(np_option_set(np_option_background_thread, 1), EAGAIN);
        EXPECT_EQ(np_option_get(np_option_background_thread), 0U);
        EXPECT_EQ(np_option_set_by_name("background_thread", "1"), EAGAIN);
    }
    EXPECT_EQ(np_option_set(np_option_background_thread, 1), 0);
    EXPECT_EQ(np_option_get(np_option_background_thread), 1U);
    EXPECT_EQ(np_option_set(np_option_background_thread, 0), 0);
    EXPECT_EQ(np_option_get(np_option_background_thread), 0U);
}

#if TESTS_MAY_FORK
TEST(options_api, reports_no_background_thread_in_the_child_of_a_fork)
{
    const test::option_for_now background(np_option_background_thread, 1);
    test::expect_in_child([] {
        return np_option_get(np_option_background_thread) == 0 && np_option_set(np_option_background_thread, 1) == 0 &&
               np_option_get(np_option_background_thread) == 1;
    });
}
#endif

TEST(options_api, applies_a_memory_limit_at_once)
{
    constexpr std::size_t bytes = 3'000'000;
    {
        const test::option_for_now limit(np_option_limit_bytes, 1);
        errno = 0;
        EXPECT_EQ(np_alloc(bytes), nullptr);
        EXPECT_EQ(errno, ENOMEM);
    }
    void* const block = np_alloc(bytes);
    EXPECT_NE(block, nullptr);
    np_free(block);
}

TEST(options_api, starts_and_stops_sampling_and_the_profile_at_once)
{
    {
        const test::option_for_now samples(np_option_sample_bytes, 123'456);
        const test::option_for_now profile(np_option_profile_bytes, 654'321);
        EXPECT_EQ(np::registry().sample_bytes(), 123'456U);
        EXPECT_EQ(np::the_profile.mean_bytes(), 654'321U);
    }
    EXPECT_EQ(np::registry().sample_bytes(), 0U);
    EXPECT_EQ(np::the_profile.mean_bytes(), 0U);
}

TEST(options_api, applies_the_decay_time_at_once)
{
    const test::option_for_now decay(np_option_decay_ms, 77);
    EXPECT_EQ(np::pages().source().decay.decay_ms(), 77U);
    EXPECT_EQ(np_option_set_by_name("decay_ms", "1K"), 0);
    EXPECT_EQ(np::pages().source().decay.decay_ms(), 1024U);
}
} // namespace
