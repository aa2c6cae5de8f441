// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/report.hpp>

#include <memory_pool/core/reports/report_statistics.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>

namespace mp = memory_pool;

namespace {
mp::report_entry entry(const char* kind, const char* name, std::uint64_t block_size, std::uint64_t in_use)
{
    mp::report_entry made;
    made.kind = kind;
    made.name = name;
    made.statistics.block_size = block_size;
    made.statistics.in_use = in_use;
    made.statistics.capacity = 2 * in_use;
    made.statistics.bytes_in_use = block_size * in_use;
    made.statistics.bytes_reserved = 3 * block_size * in_use;
    return made;
}

/// A snapshot with two pools, one of which has a counting policy.
mp::report_snapshot example()
{
    mp::report_snapshot taken;
    taken.time = std::chrono::system_clock::time_point(std::chrono::milliseconds(1'700'000'000'123));
    taken.process = 42;
    taken.entries = {entry("object_pool", "orders", 64, 100), entry("block_pool", "lines", 32, 7)};
    taken.entries[0].age = std::chrono::milliseconds(250);
    taken.entries[1].statistics.counts = 1;
    taken.entries[1].statistics.allocations = 9;
    taken.entries[1].statistics.limit = 20;
    return taken;
}

std::string written(mp::report_format format, const mp::report_snapshot& taken)
{
    std::ostringstream to;
    mp::write_report(to, format, taken);
    return to.str();
}

TEST(write_report, writes_json_with_null_for_unknown_values)
{
    const std::string json = written(mp::report_format::json, example());
    EXPECT_EQ(json.substr(0, json.find("\"np_alloc\"")),
              R"({"schema": "memory_pool.report", "version": 1, "time_ms": 1700000000123, "process": 42, "pools": [
  {"kind": "object_pool", "name": "orders", "block_size": 64, "capacity": 200, "limit": null, "in_use": 100, )"
              R"("peak_in_use": null, "allocations": null, "failures": null, "slabs": 0, "bytes_reserved": 19200, )"
              R"("bytes_in_use": 6400, "bytes_cached": 0, "bytes_of_slack": 0, "age_ms": 250, "of_lost_thread": false},
  {"kind": "block_pool", "name": "lines", "block_size": 32, "capacity": 14, "limit": 20, "in_use": 7, )"
              R"("peak_in_use": 0, "allocations": 9, "failures": 0, "slabs": 0, "bytes_reserved": 672, )"
              R"("bytes_in_use": 224, "bytes_cached": 0, "bytes_of_slack": 0, "age_ms": null, )"
              R"("of_lost_thread": false}], "left_out": 0, "totals": {"bytes_reserved": 19872, )"
              R"("bytes_in_use": 6624, "bytes_cached": 0, "bytes_of_slack": 0}, )");
}

TEST(write_report, escapes_names_and_replaces_invalid_utf_8_in_json)
{
    mp::report_snapshot taken;
    taken.entries = {entry("block_pool", "a\"b\\c\nd\x7F\xC3\xA4\xF0\x9F\x99\x82", 8, 1),
                     entry("block_pool", "\xFF|\xC3|\xED\xA0\x80|\xF0\x80\x80\x80", 8, 1)};
    const std::string json = written(mp::report_format::json, taken);
    EXPECT_NE(json.find("\"a\\u0022b\\u005cc\\u000ad\\u007f\xC3\xA4\xF0\x9F\x99\x82\""), std::string::npos) << json;
    const std::string invalid = "\xEF\xBF\xBD";
    EXPECT_NE(json.find("\"" + invalid + "|" + invalid + "|" + invalid + invalid + invalid + "|" + invalid + invalid +
                        invalid + invalid + "\""),
              std::string::npos)
        << json;
}

TEST(write_report, writes_a_line_of_text_for_each_pool_and_for_the_total)
{
    const std::string text = written(mp::report_format::text, example());
    std::istringstream lines(text);
    std::string line;
    std::getline(lines, line);
    EXPECT_EQ(line, "memory_pool: pools and resources of process 42");
    std::getline(lines, line);
    EXPECT_TRUE(std::regex_search(line, std::regex("^name +kind +block size +in use +peak +capacity +limit"))) << line;
    std::getline(lines, line);
    EXPECT_TRUE(
        std::regex_match(line, std::regex("orders +object_pool +64 +100 +- +200 +- +- +19200 +6400 +0 +0 +- +250")))
        << line;
    std::getline(lines, line);
    EXPECT_TRUE(std::regex_match(line, std::regex("lines +block_pool +32 +7 +0 +14 +20 +- +672 +224 +0 +0 +0 +-")))
        << line;
    std::getline(lines, line);
    EXPECT_TRUE(std::regex_match(line, std::regex("all together +19872 +6624 +0 +0"))) << line;
}

TEST(write_report, writes_no_control_characters_in_text)
{
    mp::report_snapshot taken;
    taken.entries = {entry("block_pool", "red\x1B[31m\n\xC2\x9B\xC2\xA0", 8, 1)};
    EXPECT_NE(written(mp::report_format::text, taken).find("red?[31m??\xC2\xA0  "), std::string::npos);
}

TEST(write_report, reports_missing_entries_in_text)
{
    mp::report_snapshot taken = example();
    taken.left_out = 3;
    taken.entries[0].is_of_lost_thread = true;
    const std::string text = written(mp::report_format::text, taken);
    EXPECT_NE(text.find("3 more are not listed, for lack of memory"), std::string::npos);
    EXPECT_NE(text.find("of a thread that was lost in a fork"), std::string::npos);
}

/// Parses the text format of Prometheus, and fails at a violation of the format.
class metrics
{
public:
    explicit metrics(const std::string& text)
    {
        EXPECT_TRUE(text.empty() || text.back() == '\n') << "the last line ends, too";
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);)
            read(line);
    }

    double value(const std::string& series) const
    {
        const auto found = values_.find(series);
        EXPECT_NE(found, values_.end()) << series;
        return found != values_.end() ? found->second : -1;
    }

    bool has(const std::string& series) const { return values_.count(series) != 0; }

private:
    void read(const std::string& line)
    {
        static const std::regex help("# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) [^\n]+");
        static const std::regex type("# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (gauge|counter)");
        static const std::regex sample(
            R"re(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{([a-zA-Z_]\w*="([^"\\\n]|\\["\\n])*",?)*\})? ([0-9]+))re");
        std::smatch match;
        if (std::regex_match(line, match, help)) {
            EXPECT_TRUE(helped_.insert(match[1]).second) << "once for each metric: " << line;
        } else if (std::regex_match(line, match, type)) {
            EXPECT_TRUE(typed_.insert(match[1]).second) << "once for each metric: " << line;
            EXPECT_EQ(match[2] == "counter", std::regex_search(match[1].str(), std::regex("_total$"))) << line;
            current_ = match[1];
        } else if (std::regex_match(line, match, sample)) {
            EXPECT_EQ(match[1], current_) << "all lines of a metric must be adjacent: " << line;
            EXPECT_TRUE(values_.emplace(match[1].str() + match[2].str(), std::stod(match[5])).second)
                << "a series must occur once: " << line;
        } else {
            ADD_FAILURE() << "not in the format: " << line;
        }
    }

    std::set<std::string> helped_;
    std::set<std::string> typed_;
    std::string current_;
    std::map<std::string, double> values_;
};

TEST(write_report, writes_each_metric_once_and_omits_unknown_values)
{
    const metrics all(written(mp::report_format::prometheus, example()));
    const std::string orders = R"({kind="object_pool",name="orders",block_size="64"})";
    const std::string lines = R"({kind="block_pool",name="lines",block_size="32"})";
    EXPECT_EQ(all.value("memory_pool_in_use_blocks" + orders), 100);
    EXPECT_EQ(all.value("memory_pool_in_use_bytes" + orders), 6400);
    EXPECT_EQ(all.value("memory_pool_reserved_bytes" + lines), 672);
    EXPECT_EQ(all.value("memory_pool_allocations_total" + lines), 9);
    EXPECT_EQ(all.value("memory_pool_limit" + lines), 20);
    EXPECT_FALSE(all.has("memory_pool_allocations_total" + orders));
    EXPECT_FALSE(all.has("memory_pool_limit" + orders));
}

TEST(write_report, adds_up_pools_with_equal_labels_in_metrics)
{
    mp::report_snapshot taken;
    taken.entries = {entry("block_pool", "same", 8, 100), entry("block_pool", "same", 8, 23),
                     entry("block_pool", "same", 16, 1)};
    const metrics all(written(mp::report_format::prometheus, taken));
    EXPECT_EQ(all.value(R"(memory_pool_in_use_blocks{kind="block_pool",name="same",block_size="8"})"), 123);
    EXPECT_EQ(all.value(R"(memory_pool_in_use_blocks{kind="block_pool",name="same",block_size="16"})"), 1);
}

TEST(write_report, adds_up_pools_whose_sanitised_names_are_equal_in_metrics)
{
    mp::report_snapshot taken;
    taken.entries = {entry("block_pool", "\xFF", 8, 100), entry("block_pool", "\xFE", 8, 23)};
    const metrics all(written(mp::report_format::prometheus, taken));
    EXPECT_EQ(all.value("memory_pool_in_use_blocks{kind=\"block_pool\",name=\"\xEF\xBF\xBD\",block_size=\"8\"}"), 123);
}

TEST(write_report, escapes_names_in_metrics)
{
    mp::report_snapshot taken;
    taken.entries = {entry("block_pool", "a\"b\\c\nd", 8, 1)};
    const metrics all(written(mp::report_format::prometheus, taken));
    EXPECT_EQ(all.value(R"(memory_pool_in_use_blocks{kind="block_pool",name="a\"b\\c\nd",block_size="8"})"), 1);
}

TEST(write_report, takes_a_snapshot_by_default)
{
    std::ostringstream to;
    mp::write_report(to, mp::report_format::json);
    EXPECT_NE(to.str().find(R"("pools": [])"), std::string::npos) << to.str();
}
} // namespace
