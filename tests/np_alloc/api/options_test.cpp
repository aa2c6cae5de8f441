// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/support/options.hpp>
#include <memory_pool/np_alloc.h>

#include <support/error_recorder.hpp>
#include <support/option_for_now.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

namespace np = memory_pool::np;

namespace {
/// Options read from the given environment, and the complaints printed while reading.
struct options_of
{
    explicit options_of(std::vector<const char*> variables, const char* embedded = nullptr)
    {
        variables.push_back(nullptr);
        testing::internal::CaptureStderr();
        options.read_once(variables.data(), embedded);
        complaints = testing::internal::GetCapturedStderr();
    }

    np::options options{false};
    std::string complaints;
};

TEST(options, have_default_values)
{
    const np::options linked(false);
    EXPECT_EQ(linked.get(np_option_decay_ms), 1000U);
    EXPECT_EQ(linked.get(np_option_thread_cache_bytes), std::size_t{1} << 20);
    EXPECT_EQ(linked.get(np_option_region_bytes), std::size_t{1} << 40);
    EXPECT_EQ(linked.get(np_option_statistics_at_end), 0U);
    EXPECT_EQ(linked.get(np_option_fatal_foreign), 1U);
    EXPECT_EQ(linked.get(np_option_leaks), 0U);
    EXPECT_EQ(linked.get(np_option_leaks_exit), 0U);
    EXPECT_EQ(linked.get(np_option_sample_bytes), 0U);
    EXPECT_EQ(linked.get(np_option_background_thread), 0U);
    EXPECT_EQ(linked.get(np_option_huge_pages), 1U);
    EXPECT_EQ(linked.get(np_option_profile_bytes), 0U);
    EXPECT_EQ(linked.get(np_option_limit_bytes), 0U);
    EXPECT_EQ(linked.get(np_option_soft_limit_bytes), 0U);
    EXPECT_EQ(np::options(true).get(np_option_fatal_foreign), 0U) << "as a replacement of malloc";
}

TEST(options, are_read_from_the_environment)
{
    const options_of all({"PATH=/bin", "NP_DECAY_MS=0", "NP_THREAD_CACHE_BYTES=300", "NP_REGION_BYTES=16777216",
                          "NP_STATISTICS_AT_END=2", "NP_FATAL_FOREIGN=0", "NP_LEAKS=2", "NP_LEAKS_EXIT=99",
                          "NP_SAMPLE_BYTES=1M", "NP_HUGE_PAGES=0", "NP_PROFILE_BYTES=512K", "HOME=/"});
    EXPECT_EQ(all.options.get(np_option_profile_bytes), 524'288U);
    EXPECT_EQ(all.options.get(np_option_decay_ms), 0U);
    EXPECT_EQ(all.options.get(np_option_thread_cache_bytes), 300U);
    EXPECT_EQ(all.options.get(np_option_region_bytes), 16'777'216U);
    EXPECT_EQ(all.options.get(np_option_statistics_at_end), 2U);
    EXPECT_EQ(all.options.get(np_option_fatal_foreign), 0U);
    EXPECT_EQ(all.options.get(np_option_leaks), 2U);
    EXPECT_EQ(all.options.get(np_option_leaks_exit), 99U);
    EXPECT_EQ(all.options.get(np_option_sample_bytes), std::size_t{1} << 20);
    EXPECT_EQ(all.options.get(np_option_huge_pages), 0U);
    EXPECT_EQ(all.complaints, "");
}

TEST(options, accept_the_suffixes_K_M_and_G)
{
    EXPECT_EQ(options_of({"NP_THREAD_CACHE_BYTES=64K"}).options.get(np_option_thread_cache_bytes),
              std::size_t{64} << 10);
    EXPECT_EQ(options_of({"NP_REGION_BYTES=32M"}).options.get(np_option_region_bytes), std::size_t{32} << 20);
    EXPECT_EQ(options_of({"NP_REGION_BYTES=4G"}).options.get(np_option_region_bytes), std::size_t{4} << 30);
}

TEST(options, keep_their_value_and_report_an_invalid_one_on_one_line)
{
    for (const char* const value : {"", "abc", "-1", "+1", " 1", "1 ", "1.5", "0x10", "1KK", "1k", "K", "4294967296",
                                    "99999999999999999999999", "18446744073709551617"}) {
        const options_of one({("NP_DECAY_MS=" + std::string(value)).c_str()});
        EXPECT_EQ(one.options.get(np_option_decay_ms), 1000U) << value;
        EXPECT_EQ(
            one.complaints,
            "np_alloc: NP_DECAY_MS=" + std::string(value) +
                " is ignored: it must be a number from 0 to 4294967295, or one followed by K, M or G, or never; it "
                "stays 1000\n");
    }
    EXPECT_EQ(options_of({"NP_REGION_BYTES=15M"}).options.get(np_option_region_bytes), std::size_t{1} << 40);
    EXPECT_EQ(options_of({"NP_STATISTICS_AT_END=yes", "NP_FATAL_FOREIGN=2"}).complaints,
              "np_alloc: NP_STATISTICS_AT_END=yes is ignored: it must be a number from 0 to 2; it stays 0\n"
              "np_alloc: NP_FATAL_FOREIGN=2 is ignored: it must be a number from 0 to 1; it stays 1\n");
}

TEST(options, ignore_other_variables)
{
    const options_of none({"NP_DECAY_MS", "XNP_DECAY_MS=5", "NPX_DECAY_MS=5", "=NP_DECAY_MS=5", "NP_"});
    EXPECT_EQ(none.options.get(np_option_decay_ms), 1000U);
    EXPECT_EQ(none.complaints, "");
}

TEST(options, report_an_unknown_variable_with_the_nearest_name)
{
    const auto complaint = [](const std::string& variable, const std::string& nearest) {
        return "np_alloc: " + variable + " is ignored: there is no such option; the nearest is " + nearest + "\n";
    };
    const options_of misspelt({"NP_DECAY_MSX=5", "NP_DECAY=5", "NP_STATISTICS=1", "NP_LEAK=1", "NP_CACHE_BYTES=1M",
                               "NP_HUGEPAGES=0", "NP_PROFIL=a", "NP_=1"});
    EXPECT_EQ(misspelt.options.get(np_option_decay_ms), 1000U);
    EXPECT_EQ(misspelt.complaints,
              complaint("NP_DECAY_MSX", "NP_DECAY_MS") + complaint("NP_DECAY", "NP_DECAY_MS") +
                  complaint("NP_STATISTICS", "NP_STATISTICS_AT_END") + complaint("NP_LEAK", "NP_LEAKS") +
                  complaint("NP_CACHE_BYTES", "NP_THREAD_CACHE_BYTES") + complaint("NP_HUGEPAGES", "NP_HUGE_PAGES") +
                  complaint("NP_PROFIL", "NP_PROFILE") + complaint("NP_", "NP_LEAKS"));
    const std::string longest = "NP_" + std::string(1000, 'X');
    EXPECT_EQ(
        options_of({(longest + "=1").c_str()}).complaints.find(complaint(longest.substr(0, 100), "NP_").substr(0, 120)),
        0U);
}

TEST(options, do_not_report_variables_of_the_other_build)
{
    EXPECT_EQ(options_of({"NP_POISON=0", "NP_QUARANTINE_BYTES=0", "NP_RANDOM_ORDER=x"}).complaints, "");
}

TEST(options, come_from_the_program_unless_the_environment_sets_them)
{
    const options_of both({"NP_LEAKS=1"}, "NP_DECAY_MS=5\t NP_LEAKS=2  NP_THREAD_CACHE_BYTES=64K\n");
    EXPECT_EQ(both.options.get(np_option_decay_ms), 5U);
    EXPECT_EQ(both.options.get(np_option_thread_cache_bytes), std::size_t{64} << 10);
    EXPECT_EQ(both.options.get(np_option_leaks), 1U) << "the environment takes precedence";
    EXPECT_EQ(both.complaints, "");
    for (const char* const nothing : {"", " ", "\n \t"})
        EXPECT_EQ(options_of({}, nothing).complaints, "");
}

TEST(options, report_invalid_values_of_the_program)
{
    EXPECT_EQ(options_of({}, "NP_DECAY=5 decay_ms=5 NP_LEAKS").complaints,
              "np_alloc: NP_DECAY of np_options is ignored: there is no such option; the nearest is NP_DECAY_MS\n"
              "np_alloc: decay_ms of np_options is ignored: there is no such option; the nearest is NP_LEAKS\n"
              "np_alloc: NP_LEAKS= of np_options is ignored: it must be a number from 0 to 2; it stays 0\n");
    const options_of both({"NP_LEAKS=3"}, "NP_LEAKS=2 NP_POISON=0");
    EXPECT_EQ(both.complaints, "np_alloc: NP_LEAKS=3 is ignored: it must be a number from 0 to 2; it stays 2\n");
    EXPECT_EQ(options_of({}, "NP_REPORT=/run/report").complaints,
              "np_alloc: NP_REPORT of np_options is ignored: paths are read from the environment only\n");
    const std::string longest = "NP_LEAKS=0" + std::string(1000, '0') + " NP_LEAKS_EXIT=7";
    const options_of after(std::vector<const char*>(), longest.c_str());
    EXPECT_EQ(after.options.get(np_option_leaks_exit), 7U) << "options behind a long one are read";
    EXPECT_EQ(options_of({}, ("NP_DECAY_MS=" + std::string(500, '0') + "7").c_str()).complaints,
              "np_alloc: NP_DECAY_MS= of np_options is ignored: it must be a number from 0 to 4294967295, or one "
              "followed by K, M or G, or never; it stays 1000\n");
}

TEST(options, accept_never_as_a_decay_time)
{
    EXPECT_EQ(options_of({"NP_DECAY_MS=never"}).options.get(np_option_decay_ms), std::size_t{NP_DECAY_NEVER});
    EXPECT_EQ(options_of({"NP_DECAY_MS=4294967295"}).options.get(np_option_decay_ms), std::size_t{NP_DECAY_NEVER});
    EXPECT_EQ(options_of({"NP_LEAKS_EXIT=never"}).complaints,
              "np_alloc: NP_LEAKS_EXIT=never is ignored: it must be a number from 0 to 255; it stays 0\n");
}

TEST(options, are_read_once_from_the_first_environment)
{
    np::options options(false);
    options.read_once(nullptr);
    const char* const first[] = {"NP_DECAY_MS=5", nullptr};
    const char* const second[] = {"NP_DECAY_MS=6", nullptr};
    options.read_once(first);
    options.read_once(second);
    EXPECT_EQ(options.get(np_option_decay_ms), 5U);
}

TEST(options, have_no_path_unless_the_environment_sets_one)
{
    const char* const both[] = {"NP_REPORT=/run/report", "NP_PROFILE=/run/profile", nullptr};
    EXPECT_STREQ(np::options::report_path(both), "/run/report");
    EXPECT_STREQ(np::options::profile_path(both), "/run/profile");
    const char* const empty[] = {"NP_REPORT=", "NP_PROFILE=", nullptr};
    const char* const none[] = {nullptr};
    for (const char* const* const each : std::initializer_list<const char* const*>{empty, none, nullptr}) {
        EXPECT_EQ(np::options::report_path(each), nullptr);
        EXPECT_EQ(np::options::profile_path(each), nullptr);
    }
}

using test::option_for_now;

TEST(np_option_set, sets_the_value_np_option_get_returns)
{
    const option_for_now five(np_option_decay_ms, 5);
    EXPECT_EQ(np_option_get(np_option_decay_ms), 5U);
    EXPECT_EQ(np_option_set(np_option_decay_ms, 6), 0);
    EXPECT_EQ(np_option_get(np_option_decay_ms), 6U);
}

TEST(np_option_set, rejects_invalid_values_and_options_of_the_other_build)
{
    const np_option none = np_option_quarantine_bytes; // An option of the checked build.
    EXPECT_EQ(np_option_set(none, 0), EINVAL);
    EXPECT_EQ(np_option_get(none), 0U);
    EXPECT_EQ(np_option_set(np_option_fatal_foreign, 2), EINVAL);
    EXPECT_EQ(np_option_get(np_option_fatal_foreign), 1U);
}

TEST(np_option_set, rejects_unknown_option_numbers)
{
    for (const int number : {0, 18, 63, 68, 127, 64}) {
        EXPECT_EQ(np_option_set(static_cast<np_option>(number), 1), EINVAL) << number;
        EXPECT_EQ(np_option_get(static_cast<np_option>(number)), 0U) << number;
    }
}

TEST(np_option_by_name, finds_each_option_by_the_name_of_its_constant)
{
    EXPECT_EQ(np_option_by_name("decay_ms"), np_option_decay_ms);
    EXPECT_EQ(np_option_by_name("profile_bytes"), np_option_profile_bytes);
    EXPECT_EQ(np_option_by_name("thread_cache_bytes"), np_option_thread_cache_bytes);
    EXPECT_EQ(np_option_by_name("region_bytes"), np_option_region_bytes);
    EXPECT_EQ(np_option_by_name("statistics_at_end"), np_option_statistics_at_end);
    EXPECT_EQ(np_option_by_name("fatal_foreign"), np_option_fatal_foreign);
    EXPECT_EQ(np_option_by_name("leaks"), np_option_leaks);
    EXPECT_EQ(np_option_by_name("leaks_exit"), np_option_leaks_exit);
    EXPECT_EQ(np_option_by_name("sample_bytes"), np_option_sample_bytes);
    EXPECT_EQ(np_option_by_name("background_thread"), np_option_background_thread);
    EXPECT_EQ(np_option_by_name("huge_pages"), np_option_huge_pages);
    EXPECT_EQ(np_option_by_name("pressure"), np_option_pressure);
    EXPECT_EQ(np_option_by_name("report_signal"), np_option_report_signal);
    EXPECT_EQ(np_option_by_name("report_slabs"), np_option_report_slabs);
    EXPECT_EQ(np_option_by_name("limit_bytes"), np_option_limit_bytes);
    EXPECT_EQ(np_option_by_name("soft_limit_bytes"), np_option_soft_limit_bytes);
    for (const char* const none : {"", "none", "decay", "decay_msx", "DECAY_MS", "NP_DECAY_MS", "poison"})
        EXPECT_EQ(np_option_by_name(none), np_option_none) << none;
    EXPECT_EQ(np_option_by_name(nullptr), np_option_none);
}

TEST(np_option_set_by_name, accepts_the_values_the_environment_does)
{
    const option_for_now five(np_option_decay_ms, 5);
    EXPECT_EQ(np_option_set_by_name("decay_ms", "2K"), 0);
    EXPECT_EQ(np_option_get(np_option_decay_ms), 2048U);
    EXPECT_EQ(np_option_set_by_name("decay_ms", "never"), 0);
    EXPECT_EQ(np_option_get(np_option_decay_ms), std::size_t{NP_DECAY_NEVER});
    EXPECT_EQ(np_option_set_by_name("decay_ms", "soon"), EINVAL);
    EXPECT_EQ(np_option_set_by_name("fatal_foreign", "2"), EINVAL);
    EXPECT_EQ(np_option_set_by_name("decay", "5"), EINVAL);
    EXPECT_EQ(np_option_set_by_name(nullptr, "5"), EINVAL);
    EXPECT_EQ(np_option_set_by_name("decay_ms", nullptr), EINVAL);
    EXPECT_EQ(np_option_get(np_option_decay_ms), std::size_t{NP_DECAY_NEVER});
    np_free(np_alloc(10));
    EXPECT_EQ(np_option_set_by_name("region_bytes", "32M"), EBUSY);
}

TEST(np_option_set, rejects_impossible_exit_statuses)
{
    EXPECT_EQ(np_option_set(np_option_leaks_exit, 256), EINVAL);
    EXPECT_EQ(np_option_set(np_option_leaks_exit, 255), 0);
    EXPECT_EQ(np_option_set(np_option_leaks_exit, 0), 0);
}

TEST(np_option_set, sets_the_size_of_the_region_only_before_the_first_block)
{
    np_free(np_alloc(10));
    EXPECT_EQ(np_option_set(np_option_region_bytes, std::size_t{1} << 30), EBUSY);
    EXPECT_EQ(np_option_get(np_option_region_bytes), std::size_t{1} << 40);
}

TEST(np_option_set, sets_the_decay_time)
{
    const auto dirty_after_free = [](std::size_t decay) {
        const option_for_now chosen(np_option_decay_ms, decay);
        (void)np_trim();
        np_free(np_alloc(1'000'000));
        np_statistics statistics;
        np_get_statistics(&statistics);
        return statistics.bytes_dirty;
    };
    EXPECT_EQ(dirty_after_free(0), 0U);
    EXPECT_GE(dirty_after_free(1'000'000), 1'000'000U);
    EXPECT_GE(dirty_after_free(NP_DECAY_NEVER), 1'000'000U);
}

TEST(np_option_set, sets_whether_foreign_pointers_are_fatal)
{
    int local = 0;
    const test::error_recorder recorder;
    const option_for_now ignored(np_option_fatal_foreign, 0);
    testing::internal::CaptureStderr();
    np_free(&local);
    EXPECT_EQ(np_realloc(&local, 10), nullptr);
    const std::string output = testing::internal::GetCapturedStderr();
    EXPECT_EQ(recorder.reports().size(), 0U);
    EXPECT_EQ(output.find("np_alloc: foreign pointer: address "), 0U) << output;
    EXPECT_EQ(std::count(output.begin(), output.end(), '\n'), 2) << "only the first, with its remedy";
    auto* const block = static_cast<std::byte*>(np_alloc(100'000));
    np_free(block + 16);
    EXPECT_EQ(recorder.kinds(), test::kinds{memory_pool::error_kind::misaligned_pointer}) << "it is not foreign";
    np_free(block);
}
} // namespace
