// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/np_alloc.hpp>

#include <support/child.hpp>
#include <support/system_calls.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <ios>
#include <memory>
#include <pthread.h>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {
/// A block that a line has asked for, until the end of its life.
class traced
{
public:
    traced(std::size_t bytes, const char* file, int line) : block_(np_alloc_at(bytes, file, line)) {}
    traced(const traced&) = delete;
    traced& operator=(const traced&) = delete;
    ~traced() { np_free(block_); }

    void resize(std::size_t bytes) { block_ = np_realloc(block_, bytes); }

private:
    void* block_;
};

/// What a report says, and what it returns.
struct report
{
    std::string text;
    std::size_t blocks;

    static void append(const char* text, std::size_t length, void* to)
    {
        static_cast<std::string*>(to)->append(text, length);
    }
};

report report_since(std::uint64_t checkpoint, np_format format = np_format_text)
{
    report made;
    made.blocks = np_leak_diff(checkpoint, format, &report::append, &made.text);
    return made;
}

report report_of_all(np_format format = np_format_text)
{
    report made;
    made.blocks = np_leak_report(format, &report::append, &made.text);
    return made;
}

// Reports.

TEST(np_leak_report, lists_what_is_in_use_by_allocation_site_with_the_most_bytes_first)
{
    const traced a(64, "orders.c", 42);
    const traced b(128, "orders.c", 42);
    const traced c(100'000, "pages.c", 3);
    const traced d(100, "parser.c", 7);
    const report made = report_of_all();
    EXPECT_EQ(made.text, "np_alloc: in use, by allocation site:\n"
                         "  pages.c:3  1 block  100000 bytes\n"
                         "  orders.c:42  2 blocks  192 bytes\n"
                         "  parser.c:7  1 block  100 bytes\n"
                         "  in all  4 blocks  100292 bytes\n");
    EXPECT_EQ(made.blocks, 4U);
}

TEST(np_leak_report, lists_lines_with_as_many_bytes_by_their_blocks_and_then_by_their_names)
{
    const traced a(20, "b.c", 2);
    const traced b(20, "b.c", 1);
    const traced c(20, "a.c", 3);
    const traced d(10, "z.c", 1);
    const traced e(10, "z.c", 1);
    EXPECT_EQ(report_of_all().text, "np_alloc: in use, by allocation site:\n"
                                    "  z.c:1  2 blocks  20 bytes\n"
                                    "  a.c:3  1 block  20 bytes\n"
                                    "  b.c:1  1 block  20 bytes\n"
                                    "  b.c:2  1 block  20 bytes\n"
                                    "  in all  5 blocks  80 bytes\n");
}

TEST(np_leak_report, prints_nothing_if_nothing_is_in_use_that_has_an_allocation_site)
{
    np_free(np_alloc_at(64, "orders.c", 42));
    void* const of_no_line = np_alloc(64);
    const report made = report_of_all();
    np_free(of_no_line);
    EXPECT_EQ(made.text, "");
    EXPECT_EQ(made.blocks, 0U);
}

TEST(np_leak_report, prints_the_same_as_json_also_if_it_is_nothing)
{
    np_free(np_alloc_at(1, "before.c", 1)); // From then on, they are tracked.
    EXPECT_EQ(report_of_all(np_format_json).text, "{\n"
                                                  "  \"tracked\": true,\n"
                                                  "  \"blocks\": 0,\n"
                                                  "  \"bytes\": 0,\n"
                                                  "  \"sites\": [\n"
                                                  "  ]\n"
                                                  "}\n");
    const traced a(64, "orders.c", 42);
    const traced b(100, "parser.c", 7);
    const report made = report_of_all(np_format_json);
    EXPECT_EQ(made.text, "{\n"
                         "  \"tracked\": true,\n"
                         "  \"blocks\": 2,\n"
                         "  \"bytes\": 164,\n"
                         "  \"sites\": [\n"
                         "    {\"file\": \"parser.c\", \"line\": 7, \"blocks\": 1, \"bytes\": 100},\n"
                         "    {\"file\": \"orders.c\", \"line\": 42, \"blocks\": 1, \"bytes\": 64}\n"
                         "  ]\n"
                         "}\n");
    EXPECT_EQ(made.blocks, 2U);
}

TEST(np_leak_report, has_json_with_any_name_of_a_file)
{
    const traced block(1, "C:\\new \"folder\"\n\x7f\xc3\xa4.c", 1);
    EXPECT_NE(report_of_all(np_format_json).text.find("\"C:\\u005cnew \\u0022folder\\u0022\\u000a\\u007f\xc3\xa4.c\""),
              std::string::npos);
}

TEST(np_leak_report, has_json_also_with_a_name_that_is_no_utf_8)
{
    const auto name_in_json = [](const char* name) {
        const traced block(1, name, 1);
        const std::string text = report_of_all(np_format_json).text;
        const std::size_t begin = text.find("\"file\": \"") + std::strlen("\"file\": \"");
        return text.substr(begin, text.find('"', begin) - begin);
    };
    const std::string unknown = "\xef\xbf\xbd"; // U+FFFD, which stands for what is no character
    EXPECT_EQ(name_in_json("caf\xe9.c"), "caf" + unknown + ".c") << "Latin 1";
    EXPECT_EQ(name_in_json("\x80\xff."), unknown + unknown + ".") << "no first byte";
    EXPECT_EQ(name_in_json("\xc0\xaf"), unknown + unknown) << "longer than it has to be";
    EXPECT_EQ(name_in_json("\xed\xa0\x80"), unknown + unknown + unknown) << "half of a pair of UTF-16";
    EXPECT_EQ(name_in_json("\xf4\x90\x80\x80"), unknown + unknown + unknown + unknown) << "no character";
    EXPECT_EQ(name_in_json("\xe2\x82"), unknown + unknown) << "cut off";
    for (const char* const name : {"\xc3\xa4", "\xe2\x82\xac", "\xef\xbf\xbd", "\xf0\x9f\x98\x80"})
        EXPECT_EQ(name_in_json(name), name);
}

TEST(np_leak_report, tells_a_line_below_zero_as_it_was_told)
{
    const traced block(1, "made.c", -1);
    EXPECT_NE(report_of_all().text.find("  made.c:-1  1 block"), std::string::npos);
    EXPECT_NE(report_of_all(np_format_json).text.find("\"line\": -1,"), std::string::npos);
}

TEST(np_leak_report, shortens_a_name_that_is_too_long_for_a_line_at_its_beginning_and_never_in_json)
{
    const std::string name = std::string(1000, 'x') + "/file.c";
    const traced block(1, name.c_str(), 12);
    EXPECT_NE(report_of_all().text.find("xx/file.c:12  1 block  1 bytes\n"), std::string::npos);
    EXPECT_LT(report_of_all().text.size(), 500U);
    EXPECT_NE(report_of_all(np_format_json).text.find('"' + name + '"'), std::string::npos);
}

TEST(np_leak_report, says_what_a_block_has_after_it_was_resized_for_the_allocation_site)
{
    traced block(10, "a.c", 1);
    for (const std::size_t bytes : {12U, 5000U, 200'000U, 400'000U, 7U}) {
        block.resize(bytes);
        EXPECT_NE(report_of_all().text.find("  a.c:1  1 block  " + std::to_string(bytes) + " bytes\n"),
                  std::string::npos);
    }
}

TEST(np_leak_report, goes_to_the_standard_error_if_nothing_else_is_said)
{
    const traced block(64, "orders.c", 42);
    const std::string expected = report_of_all().text;
    testing::internal::CaptureStderr();
    EXPECT_EQ(np_leak_report(np_format_text, nullptr, nullptr), 1U);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), expected);
    testing::internal::CaptureStderr();
    EXPECT_EQ(np_leak_report(), 1U);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), expected);
}

TEST(np_leak_report, goes_to_a_file_or_a_stream)
{
    const traced block(64, "orders.c", 42);
    testing::internal::CaptureStdout();
    EXPECT_EQ(np_leak_report(np_format_json, stdout), 1U);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), report_of_all(np_format_json).text);
    std::ostringstream stream;
    EXPECT_EQ(np_leak_report(np_format_text, stream), 1U);
    EXPECT_EQ(stream.str(), report_of_all().text);
}

TEST(np_leak_report, comes_to_its_end_also_where_the_thread_is_to_be_cancelled)
{
    const traced block(64, "orders.c", 42);
    static std::size_t reported;
    reported = 0;
    const auto report_while_cancelled = [](void*) -> void* {
        std::FILE* const file = std::fopen("/dev/null", "w");
        std::ofstream stream;
        // Without buffers, so that each line is written at once: that is a cancellation point.
        (void)std::setvbuf(file, nullptr, _IONBF, 0);
        (void)stream.rdbuf()->pubsetbuf(nullptr, 0);
        stream.open("/dev/null");
        (void)pthread_cancel(pthread_self());
        reported = np_leak_report(np_format_text, file) + np_leak_report(np_format_text, stream);
        (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
        (void)std::fclose(file);
        return nullptr;
    };
    pthread_t thread{};
    ASSERT_EQ(pthread_create(&thread, nullptr, report_while_cancelled, nullptr), 0);
    ASSERT_EQ(pthread_join(thread, nullptr), 0);
    EXPECT_EQ(reported, 2U);
}

TEST(np_leak_report, throws_what_the_stream_throws_after_all_is_done_if_it_was_told_to)
{
    const traced block(64, "orders.c", 42);
    std::ostream broken(nullptr);
    EXPECT_EQ(np_leak_report(np_format_text, broken), 1U);
    EXPECT_TRUE(broken.bad());
    EXPECT_THROW(broken.exceptions(std::ios::badbit), std::ios::failure);
    EXPECT_THROW((void)np_leak_report(np_format_text, broken), std::ios::failure);
}

TEST(np_leak_report, has_all_blocks_as_of_one_line_if_there_is_no_memory_for_a_list)
{
    const traced a(64, "orders.c", 42);
    const traced b(100, "parser.c", 7);
    const test::system_calls calls;
    for (const std::size_t call : {1U, 2U}) { // for what counts, and for the list
        test::system_calls::refuse_from(test::system_call::map, call);
        const report made = report_of_all();
        EXPECT_EQ(made.text, "np_alloc: in use, by allocation site:\n"
                             "  unknown:0  2 blocks  164 bytes\n"
                             "  in all  2 blocks  164 bytes\n");
        EXPECT_EQ(made.blocks, 2U);
    }
    test::system_calls::refuse_nothing();
    EXPECT_NE(report_of_all().text.find("orders.c:42"), std::string::npos);
}

TEST(np_leak_report, lets_the_function_that_writes_use_blocks_whose_lines_are_known)
{
    const traced block(64, "orders.c", 42);
    EXPECT_EQ(
        np_leak_report(
            np_format_text, [](const char*, std::size_t, void*) { const traced another(100, "write.c", 1); }, nullptr),
        1U);
}

TEST(np_call_site_visit, tells_names_that_may_be_gone_meanwhile)
{
    struct plugin
    {
        std::unique_ptr<std::string> file = std::make_unique<std::string>("plugin.c");
        void* block = np_alloc_at(10, file->c_str(), 1);
        std::vector<std::string> seen;
    } unloaded;
    const traced larger(100, "main.c", 1);
    EXPECT_EQ(np_call_site_visit(
                  [](const np_call_site* site, void* argument) {
                      auto& its = *static_cast<plugin*>(argument);
                      np_free(its.block);
                      its.block = nullptr;
                      its.file.reset();
                      its.seen.emplace_back(site->file);
                      return 1;
                  },
                  &unloaded),
              1);
    EXPECT_EQ(unloaded.seen, (std::vector<std::string>{"main.c", "plugin.c"}));
}

// Checkpoints.

TEST(np_leak_diff, lists_what_is_in_use_and_was_not_at_the_checkpoint)
{
    const traced before(64, "a.c", 1);
    const std::uint64_t checkpoint = np_leak_checkpoint();
    EXPECT_EQ(report_since(checkpoint).text, "");
    np_free(np_alloc_at(100, "b.c", 2));
    EXPECT_EQ(report_since(checkpoint).blocks, 0U) << "it is not in use";
    const traced same_line(30, "a.c", 1);
    const traced other_line(20, "b.c", 2);
    const report made = report_since(checkpoint);
    EXPECT_EQ(made.text, "np_alloc: in use, by allocation site:\n"
                         "  a.c:1  1 block  30 bytes\n"
                         "  b.c:2  1 block  20 bytes\n"
                         "  in all  2 blocks  50 bytes\n");
    EXPECT_EQ(made.blocks, 2U);
    EXPECT_EQ(report_of_all().blocks, 3U);
}

TEST(np_leak_diff, takes_a_block_for_as_old_as_it_was_when_it_is_resized)
{
    traced before(64, "a.c", 1);
    const std::uint64_t checkpoint = np_leak_checkpoint();
    traced since(64, "b.c", 1);
    for (const std::size_t bytes : {70U, 5000U, 200'000U, 7U}) {
        before.resize(bytes);
        since.resize(bytes);
        EXPECT_EQ(report_since(checkpoint).text, "np_alloc: in use, by allocation site:\n"
                                                 "  b.c:1  1 block  " +
                                                     std::to_string(bytes) + " bytes\n  in all  1 block  " +
                                                     std::to_string(bytes) + " bytes\n");
    }
}

TEST(np_leak_diff, takes_a_block_for_new_that_lies_where_an_older_one_was)
{
    auto before = std::make_unique<traced>(64, "a.c", 1);
    const std::uint64_t checkpoint = np_leak_checkpoint();
    before.reset();
    before = std::make_unique<traced>(64, "a.c", 1);
    EXPECT_EQ(report_since(checkpoint).blocks, 1U);
}

TEST(np_leak_diff, knows_any_number_of_checkpoints_in_any_order)
{
    std::vector<std::uint64_t> checkpoints;
    std::vector<std::unique_ptr<traced>> blocks;
    for (int i = 0; i != 10; ++i) {
        checkpoints.push_back(np_leak_checkpoint()); // NOLINT(performance-inefficient-vector-operation)
        blocks.push_back(std::make_unique<traced>(10, "a.c", i));
    }
    for (std::size_t i : {5U, 0U, 9U, 2U})
        EXPECT_EQ(report_since(checkpoints[i]).blocks, blocks.size() - i);
    EXPECT_EQ(report_since(0).blocks, blocks.size()) << "from the beginning on";
}

TEST(np_leak_diff, counts_what_other_threads_have_asked_for)
{
    std::vector<std::unique_ptr<traced>> blocks(4);
    test::in_threads(2, [&](std::size_t thread) { blocks[thread] = std::make_unique<traced>(10, "before.c", 1); });
    const std::uint64_t checkpoint = np_leak_checkpoint();
    test::in_threads(2, [&](std::size_t thread) { blocks[2 + thread] = std::make_unique<traced>(10, "since.c", 1); });
    EXPECT_NE(report_since(checkpoint).text.find("  since.c:1  2 blocks  20 bytes\n  in all  2 "), std::string::npos);
}

TEST(np_leak_diff, goes_to_a_file_or_a_stream)
{
    const traced before(64, "a.c", 1);
    const std::uint64_t checkpoint = np_leak_checkpoint();
    const traced since(64, "b.c", 1);
    testing::internal::CaptureStderr();
    EXPECT_EQ(np_leak_diff(checkpoint), 1U);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), report_since(checkpoint).text);
    std::ostringstream stream;
    EXPECT_EQ(np_leak_diff(checkpoint, np_format_json, stream), 1U);
    EXPECT_EQ(stream.str(), report_since(checkpoint, np_format_json).text);
}

// What it takes.

std::size_t bytes_of_call_sites()
{
    np_statistics statistics;
    np_get_statistics(&statistics);
    return statistics.bytes_of_call_sites;
}

TEST(np_statistics, count_what_it_takes_to_know_lines_in_proportion_to_the_blocks_in_use_and_it_is_given_back)
{
    constexpr std::size_t page = 4096;
    std::vector<std::unique_ptr<traced>> blocks(10'000);
    for (std::size_t i = 0; i != blocks.size(); ++i) {
        blocks[i] = std::make_unique<traced>(10, "a.c", 1);
        ASSERT_LE(bytes_of_call_sites(), (i + 1) * 320 + 16 * page);
    }
    EXPECT_GE(bytes_of_call_sites(), blocks.size() * 53);
    while (!blocks.empty()) {
        blocks.pop_back();
        ASSERT_LE(bytes_of_call_sites(), blocks.size() * 320 + 16 * page);
    }
    EXPECT_LE(bytes_of_call_sites(), 16 * page);
}

TEST(np_leak_checkpoint, takes_no_memory)
{
    const std::vector<std::unique_ptr<traced>> blocks = [] {
        std::vector<std::unique_ptr<traced>> all(1000);
        for (auto& each : all)
            each = std::make_unique<traced>(10, "a.c", 1);
        return all;
    }();
    const std::size_t before = bytes_of_call_sites();
    const test::system_calls calls;
    test::system_calls::refuse_from(test::system_call::map, 1);
    const std::uint64_t checkpoint = np_leak_checkpoint();
    test::system_calls::refuse_nothing();
    EXPECT_EQ(report_since(checkpoint).blocks, 0U);
    EXPECT_EQ(bytes_of_call_sites(), before);
}

// Threads and forks.

TEST(np_leak_report, may_be_asked_for_while_threads_are_at_work)
{
    constexpr std::size_t kept_at_most = std::size_t{3} * 16;
    std::atomic<bool> ends{false};
    std::thread asks([&] {
        std::uint64_t checkpoint = 0;
        while (!ends) {
            const report made = report_since(checkpoint);
            EXPECT_LE(made.blocks, kept_at_most);
            EXPECT_EQ(made.text.empty(), made.blocks == 0);
            checkpoint = checkpoint == 0 ? np_leak_checkpoint() : 0;
        }
    });
    test::in_threads(3, [](std::size_t thread) {
        std::array<std::unique_ptr<traced>, 16> blocks;
        for (std::size_t step = 0; step != 3000; ++step) {
            std::unique_ptr<traced>& its = blocks[step * 7 % blocks.size()];
            if (step % 5 == 0 && its != nullptr) {
                its->resize(step % 3000);
                continue;
            }
            its.reset();
            its = std::make_unique<traced>(step % 200, step % 2 == 0 ? "a.c" : "b.c", static_cast<int>(thread));
        }
    });
    ends = true;
    asks.join();
    EXPECT_EQ(report_of_all().text, "");
}

#if TESTS_MAY_FORK
TEST(np_leak_report, lists_in_the_child_of_a_fork_what_that_has)
{
    const traced of_parent(64, "parent.c", 1);
    test::expect_in_child([] {
        const std::uint64_t checkpoint = np_leak_checkpoint();
        const traced of_child(100, "child.c", 2);
        return report_since(checkpoint).text.find("  child.c:2  1 block  100 bytes\n  in all  1 ") !=
                   std::string::npos &&
               report_of_all().blocks == 2;
    });
    EXPECT_EQ(report_of_all().blocks, 1U) << "what the child does is its own affair";
}

TEST(np_leak_report, can_be_asked_for_in_the_child_of_a_fork_whatever_other_threads_were_doing)
{
    std::atomic<bool> ends{false};
    std::vector<std::thread> others;
    for (int number = 0; number != 3; ++number)
        others.emplace_back([&ends, number] {
            while (!ends)
                const traced block(10, "other.c", number);
        });
    for (int forks = 0; forks != 20; ++forks)
        test::expect_in_child([] {
            const traced of_child(100, "child.c", 1);
            const report made = report_of_all();
            return made.text.find("  child.c:1  1 block  100 bytes\n") != std::string::npos && made.blocks <= 1 + 3;
        });
    ends = true;
    for (std::thread& each : others)
        each.join();
    EXPECT_EQ(report_of_all().blocks, 0U);
}
#endif
} // namespace
