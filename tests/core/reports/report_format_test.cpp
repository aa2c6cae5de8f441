// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/reports/report_format.hpp>

#include <memory_pool/core/reports/report_registry.hpp>
#include <memory_pool/core/reports/report_statistics.hpp>

#include <support/what.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace core = memory_pool::detail::core;
using memory_pool::report_totals;
using test::contains;

namespace {
/// Returns the text that `write(report_output)` writes.
template <class Write>
std::string text_of(Write&& write)
{
    std::string text;
    write(core::report_output(
        [](const char* piece, std::size_t length, void* to) { static_cast<std::string*>(to)->append(piece, length); },
        &text));
    return text;
}

std::string json_of(std::string_view text)
{
    return text_of([text](core::report_output to) { core::write_json_string(to, text); });
}

core::report_view view_of(const char* name)
{
    core::report_view view{};
    std::strncpy(view.kind.data(), "block_pool", view.kind.size() - 1);
    std::strncpy(view.name.data(), name, view.name.size() - 1);
    view.statistics.block_size = 48;
    view.statistics.in_use = 7;
    view.statistics.bytes_reserved = 4096;
    return view;
}

template <class Report>
std::string report_of(const std::vector<core::report_view>& all, std::size_t left_out = 0)
{
    return text_of([&](core::report_output to) {
        Report report(to);
        report.begin(1234, 99);
        report_totals sums;
        for (const core::report_view& each : all) {
            report.entry(each);
            sums.add(each.statistics);
        }
        report.end(left_out, sums, [](core::report_output& np_alloc) { np_alloc << "null"; });
    });
}

TEST(report_format, writes_any_number_in_decimal)
{
    for (const std::uint64_t number :
         {std::uint64_t{0}, std::uint64_t{9}, std::uint64_t{10}, std::numeric_limits<std::uint64_t>::max()})
        EXPECT_EQ(core::decimal(number).text(), std::to_string(number));
    EXPECT_EQ(text_of([](core::report_output to) {
                  to << std::uint64_t{42};
                  to.fill(2, 5);
                  to.fill(6, 5);
                  to << "end";
              }),
              "42   end");
}

TEST(report_format, validates_utf8)
{
    EXPECT_EQ(core::utf8_length("a"), 1U);
    EXPECT_EQ(core::utf8_length("\xC3\xA9+"), 2U);
    EXPECT_EQ(core::utf8_length("\xE2\x82\xAC"), 3U);
    EXPECT_EQ(core::utf8_length("\xF0\x9F\x98\x80"), 4U);
    EXPECT_EQ(core::utf8_length("\xF4\x8F\xBF\xBF"), 4U) << "the last code point";
    for (const char* const invalid : {"\x80", "\xC3", "\xC3+", "\xE2\x82", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80",
                                      "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"})
        EXPECT_EQ(core::utf8_length(invalid), 0U) << json_of(invalid);
}

TEST(report_format, writes_strings_of_valid_json)
{
    EXPECT_EQ(json_of(""), R"("")");
    EXPECT_EQ(json_of("a \xC3\xA9"), "\"a \xC3\xA9\"");
    EXPECT_EQ(json_of("\"\\\n\x7F"), "\"\\u0022\\u005c\\u000a\\u007f\"");
    EXPECT_EQ(json_of("x\xE2\x82y"), "\"x\xEF\xBF\xBD\xEF\xBF\xBDy\"") << "one replacement per invalid byte";
    EXPECT_EQ(json_of(std::string_view("\0", 1)), "\"\\u0000\"");
}

TEST(report_format, writes_null_in_json_for_unknown_values)
{
    core::report_view view = view_of("orders");
    std::string text = report_of<core::json_report>({view});
    for (const char* const part : {R"("kind": "block_pool", "name": "orders", "block_size": 48)", R"("limit": null)",
                                   R"("in_use": 7)", R"("peak_in_use": null, "allocations": null, "failures": null)",
                                   R"("age_ms": null)", R"("of_lost_thread": false})"})
        EXPECT_TRUE(contains(text, part)) << part << text;
    view.statistics.limit = 100;
    view.statistics.counts = 1;
    view.statistics.failures = 3;
    view.is_published = view.is_of_lost_thread = true;
    view.age_ms = 250;
    text = report_of<core::json_report>({view});
    for (const char* const part : {R"("limit": 100)", R"("peak_in_use": 0, "allocations": 0, "failures": 3)",
                                   R"("age_ms": 250)", R"("of_lost_thread": true})"})
        EXPECT_TRUE(contains(text, part)) << part << text;
}

TEST(report_format, writes_a_whole_report_as_json)
{
    const std::string none = report_of<core::json_report>({}, 2);
    EXPECT_EQ(none, R"({"schema": "memory_pool.report", "version": 1, "time_ms": 1234, "process": 99, "pools": [], )"
                    R"("left_out": 2, "totals": {"bytes_reserved": 0, "bytes_in_use": 0, "bytes_cached": 0, )"
                    R"("bytes_of_slack": 0}, "np_alloc": null})"
                    "\n");
    const std::string two = report_of<core::json_report>({view_of("a"), view_of("b")});
    EXPECT_TRUE(contains(two, "\"pools\": [\n  {\"kind\"")) << two;
    EXPECT_TRUE(contains(two, "false},\n  {\"kind\"")) << two;
    EXPECT_TRUE(contains(two, "false}], \"left_out\": 0, \"totals\": {\"bytes_reserved\": 8192")) << two;
}

TEST(report_format, writes_a_text_table)
{
    core::report_view counted = view_of("\xC3\xA9t\xC3\xA9\n\xC2\x85");
    counted.statistics.counts = 1;
    counted.statistics.peak_in_use = 8;
    counted.is_of_lost_thread = true;
    std::istringstream text(report_of<core::text_report>({view_of("orders"), counted}, 3));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);)
        lines.push_back(line);
    ASSERT_EQ(lines.size(), 7U);
    EXPECT_TRUE(contains(lines[0], "process 99"));
    EXPECT_EQ(lines[2].size(), lines[1].size()) << "as wide as the header line";
    EXPECT_EQ(lines[2].substr(0, 34), "orders                  block_pool");
    EXPECT_EQ(lines[2].substr(60, 36), "          48           7           -");
    EXPECT_EQ(lines[3].substr(0, 5 + 2), "\xC3\xA9t\xC3\xA9??") << "control characters";
    EXPECT_EQ(lines[3].find("block_pool"), lines[2].find("block_pool") + 2) << "two bytes more, the same column";
    EXPECT_TRUE(contains(lines[3], "           8"));
    EXPECT_TRUE(contains(lines[3], "  of a thread that was lost in a fork"));
    EXPECT_EQ(lines[4].substr(0, 12), "all together");
    EXPECT_TRUE(contains(lines[4], "8192"));
    EXPECT_EQ(lines[5], "3 more are not listed, for lack of memory");
    EXPECT_EQ(lines[6], "null");
}
} // namespace
