// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <fuzz/text_tape.hpp>

#include <support/sanitizers.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mp = memory_pool;

namespace {
TEST(text_tape, agrees_with_the_model_on_random_tapes)
{
    // The log shows the seed of a failing tape.
    for (std::uint32_t seed = 0; seed != (test::under_a_sanitizer ? 20 : 100); ++seed) {
        SCOPED_TRACE(seed);
        const std::vector<std::uint8_t> tape = fuzz::random_tape(seed);
        fuzz::play_text(tape.data(), tape.size());
    }
}

/// Changes each report.
class faulty_writer : public fuzz::report_writer
{
public:
    explicit faulty_writer(std::string (*change)(std::string written)) : change_(change) {}

    std::string write(mp::report_format format, const mp::report_snapshot& taken) override
    {
        return change_(report_writer::write(format, taken));
    }

private:
    std::string (*change_)(std::string written);
};

void play_on(std::string (*change)(std::string written), std::uint8_t operation)
{
    // Makes a pool named "nab\"" with three objects, and reports it.
    const std::vector<std::uint8_t> tape{0, 0, 3, 'a', 'b', '"', 3, operation};
    faulty_writer writer(change);
    fuzz::text_player::play(tape.data(), tape.size(), writer);
}

TEST(text_tape_death, detects_faulty_reports)
{
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    constexpr std::uint8_t as_json = 3;
    constexpr std::uint8_t as_text = 5;
    constexpr std::uint8_t for_prometheus = 6;
    for (const std::uint8_t operation : {as_json, as_text, for_prometheus})
        play_on([](std::string written) { return written += ""; }, operation);
    EXPECT_DEATH(play_on([](std::string written) { return written += "}"; }, as_json), "not valid JSON");
    EXPECT_DEATH(play_on(
                     [](std::string written) {
                         const std::size_t escape = written.find("\\u0022");
                         return written.replace(escape, 6, "\"");
                     },
                     as_json),
                 "not valid JSON");
    EXPECT_DEATH(play_on([](std::string written) { return written.insert(1, "\"pools\": [], "); }, as_json),
                 "not valid JSON");
    EXPECT_DEATH(play_on(
                     [](std::string written) {
                         const std::size_t name = written.find("nab");
                         return written.replace(name, 3, "nac");
                     },
                     as_json),
                 "names in report and snapshot differ");
    EXPECT_DEATH(play_on(
                     [](std::string written) {
                         const std::size_t name = written.find("nab");
                         return name != std::string::npos ? written.replace(name, 3, "n\nb") : written;
                     },
                     as_text),
                 "not one line per pool");
    EXPECT_DEATH(play_on(
                     [](std::string written) {
                         const std::size_t escape = written.find("\\\"");
                         return written.replace(escape, 2, "\"");
                     },
                     for_prometheus),
                 "malformed line");
}
} // namespace
