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
/// A block with a call site.
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

/// The text of a report, and the number of blocks it returned.
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

TEST(np_leak_report, lists_call_sites_by_bytes_in_use)
{
    const traced a(64, "orders.c", 42);
    const traced b(128, "orders.c", 42);
    const traced c(100'000, "pages.c", 3);
    const traced d(100, "parser.c", 7);
    const report made = report_of_all();
    EXPECT_EQ(made.text, "np_alloc: in use, by call site:\n"
                         "  pages.c:3  1 block  100000 bytes\n"
                         "  orders.c:42  2 blocks  192 bytes\n"
                         "  parser.c:7  1 block  100 bytes\n"
                         "  in all  4 blocks  100292 bytes\n");
    EXPECT_EQ(made.blocks, 4U);
}

TEST(np_leak_report, orders_call_sites_of_equal_bytes_by_blocks_and_name)
{
    const traced a(20, "b.c", 2);
    const traced b(20, "b.c", 1);
    const traced c(20, "a.c", 3);
    const traced d(10, "z.c", 1);
    const traced e(10, "z.c", 1);
    EXPECT_EQ(report_of_all().text, "np_alloc: in use, by call site:\n"
                                    "  z.c:1  2 blocks  20 bytes\n"
                                    "  a.c:3  1 block  20 bytes\n"
                                    "  b.c:1  1 block  20 bytes\n"
                                    "  b.c:2  1 block  20 bytes\n"
                                    "  in all  5 blocks  80 bytes\n");
}

TEST(np_leak_report, prints_nothing_without_blocks_of_call_sites)
{
    np_free(np_alloc_at(64, "orders.c", 42));
    void* const of_no_line = np_alloc(64);
    const report made = report_of_all();
    np_free(of_no_line);
    EXPECT_EQ(made.text, "");
    EXPECT_EQ(made.blocks, 0U);
}

TEST(np_leak_report, prints_json_even_without_leaks)
{
    np_free(np_alloc_at(1, "before.c", 1)); // The first call starts tracking.
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

TEST(np_leak_report, escapes_file_names_in_json)
{
    const traced block(1, "C:\\new \"folder\"\n\x7f\xc3\xa4.c", 1);
    EXPECT_NE(report_of_all(np_format_json).text.find("\"C:\\u005cnew \\u0022folder\\u0022\\u000a\\u007f\xc3\xa4.c\""),
              std::string::npos);
}

TEST(np_leak_report, replaces_invalid_utf_8_in_json)
{
    const auto name_in_json = [](const char* name) {
        const traced block(1, name, 1);
        const std::string text = report_of_all(np_format_json).text;
        const std::size_t begin = text.find("\"file\": \"") + std::strlen("\"file\": \"");
        return text.substr(begin, text.find('"', begin) - begin);
    };
    const std::string unknown = "\xef\xbf\xbd"; // U+FFFD, the replacement character
    EXPECT_EQ(name_in_json("caf\xe9.c"), "caf" + unknown + ".c") << "Latin 1";
    EXPECT_EQ(name_in_json("\x80\xff."), unknown + unknown + ".") << "invalid first bytes";
    EXPECT_EQ(name_in_json("\xc0\xaf"), unknown + unknown) << "overlong";
    EXPECT_EQ(name_in_json("\xed\xa0\x80"), unknown + unknown + unknown) << "surrogate";
    EXPECT_EQ(name_in_json("\xf4\x90\x80\x80"), unknown + unknown + unknown + unknown) << "above U+10FFFF";
    EXPECT_EQ(name_in_json("\xe2\x82"), unknown + unknown) << "truncated";
    for (const char* const name : {"\xc3\xa4", "\xe2\x82\xac", "\xef\xbf\xbd", "\xf0\x9f\x98\x80"})
        EXPECT_EQ(name_in_json(name), name);
}

TEST(np_leak_report, prints_negative_line_numbers)
{
    const traced block(1, "made.c", -1);
    EXPECT_NE(report_of_all().text.find("  made.c:-1  1 block"), std::string::npos);
    EXPECT_NE(report_of_all(np_format_json).text.find("\"line\": -1,"), std::string::npos);
}

TEST(np_leak_report, cuts_the_beginning_of_a_long_file_name_in_text_only)
{
    const std::string name = std::string(1000, 'x') + "/file.c";
    const traced block(1, name.c_str(), 12);
    EXPECT_NE(report_of_all().text.find("xx/file.c:12  1 block  1 bytes\n"), std::string::npos);
    EXPECT_LT(report_of_all().text.size(), 500U);
    EXPECT_NE(report_of_all(np_format_json).text.find('"' + name + '"'), std::string::npos);
}

TEST(np_leak_report, counts_the_bytes_of_a_resized_block)
{
    traced block(10, "a.c", 1);
    for (const std::size_t bytes : {12U, 5000U, 200'000U, 400'000U, 7U}) {
        block.resize(bytes);
        EXPECT_NE(report_of_all().text.find("  a.c:1  1 block  " + std::to_string(bytes) + " bytes\n"),
                  std::string::npos);
    }
}

TEST(np_leak_report, writes_to_stderr_by_default)
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

TEST(np_leak_report, writes_to_a_file_or_stream)
{
    const traced block(64, "orders.c", 42);
    testing::internal::CaptureStdout();
    EXPECT_EQ(np_leak_report(np_format_json, stdout), 1U);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), report_of_all(np_format_json).text);
    std::ostringstream stream;
    EXPECT_EQ(np_leak_report(np_format_text, stream), 1U);
    EXPECT_EQ(stream.str(), report_of_all().text);
}

TEST(np_leak_report, is_no_cancellation_point)
{
    const traced block(64, "orders.c", 42);
    static std::size_t reported;
    reported = 0;
    const auto report_while_cancelled = [](void*) -> void* {
        std::FILE* const file = std::fopen("/dev/null", "w");
        std::ofstream stream;
        // Without a buffer, each line is written at once; each write is a cancellation point.
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

TEST(np_leak_report, propagates_exceptions_of_the_stream)
{
    const traced block(64, "orders.c", 42);
    std::ostream broken(nullptr);
    EXPECT_EQ(np_leak_report(np_format_text, broken), 1U);
    EXPECT_TRUE(broken.bad());
    EXPECT_THROW(broken.exceptions(std::ios::badbit), std::ios::failure);
    EXPECT_THROW((void)np_leak_report(np_format_text, broken), std::ios::failure);
}

TEST(np_leak_report, lists_all_blocks_as_unknown_without_memory_for_a_list)
{
    const traced a(64, "orders.c", 42);
    const traced b(100, "parser.c", 7);
    const test::system_calls calls;
    for (const std::size_t call : {1U, 2U}) { // The call for the count of blocks, then the call for the list.
        test::system_calls::refuse_from(test::system_call::map, call);
        const report made = report_of_all();
        EXPECT_EQ(made.text, "np_alloc: in use, by call site:\n"
                             "  unknown:0  2 blocks  164 bytes\n"
                             "  in all  2 blocks  164 bytes\n");
        EXPECT_EQ(made.blocks, 2U);
    }
    test::system_calls::refuse_nothing();
    EXPECT_NE(report_of_all().text.find("orders.c:42"), std::string::npos);
}

TEST(np_leak_report, lets_the_callback_allocate_with_call_sites)
{
    const traced block(64, "orders.c", 42);
    EXPECT_EQ(
        np_leak_report(
            np_format_text, [](const char*, std::size_t, void*) { const traced another(100, "write.c", 1); }, nullptr),
        1U);
}

TEST(np_call_site_visit, copies_names_that_the_callback_may_free)
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
                      auto& loaded = *static_cast<plugin*>(argument);
                      np_free(loaded.block);
                      loaded.block = nullptr;
                      loaded.file.reset();
                      loaded.seen.emplace_back(site->file);
                      return 1;
                  },
                  &unloaded),
              1);
    EXPECT_EQ(unloaded.seen, (std::vector<std::string>{"main.c", "plugin.c"}));
}

// Checkpoints.

TEST(np_leak_diff, lists_blocks_allocated_since_the_checkpoint)
{
    const traced before(64, "a.c", 1);
    const std::uint64_t checkpoint = np_leak_checkpoint();
    EXPECT_EQ(report_since(checkpoint).text, "");
    np_free(np_alloc_at(100, "b.c", 2));
    EXPECT_EQ(report_since(checkpoint).blocks, 0U) << "the block is not in use";
    const traced same_line(30, "a.c", 1);
    const traced other_line(20, "b.c", 2);
    const report made = report_since(checkpoint);
    EXPECT_EQ(made.text, "np_alloc: in use, by call site:\n"
                         "  a.c:1  1 block  30 bytes\n"
                         "  b.c:2  1 block  20 bytes\n"
                         "  in all  2 blocks  50 bytes\n");
    EXPECT_EQ(made.blocks, 2U);
    EXPECT_EQ(report_of_all().blocks, 3U);
}

TEST(np_leak_diff, keeps_the_age_of_a_resized_block)
{
    traced before(64, "a.c", 1);
    const std::uint64_t checkpoint = np_leak_checkpoint();
    traced since(64, "b.c", 1);
    for (const std::size_t bytes : {70U, 5000U, 200'000U, 7U}) {
        before.resize(bytes);
        since.resize(bytes);
        EXPECT_EQ(report_since(checkpoint).text, "np_alloc: in use, by call site:\n"
                                                 "  b.c:1  1 block  " +
                                                     std::to_string(bytes) + " bytes\n  in all  1 block  " +
                                                     std::to_string(bytes) + " bytes\n");
    }
}

TEST(np_leak_diff, counts_a_block_in_reused_memory_as_new)
{
    auto before = std::make_unique<traced>(64, "a.c", 1);
    const std::uint64_t checkpoint = np_leak_checkpoint();
    before.reset();
    before = std::make_unique<traced>(64, "a.c", 1);
    EXPECT_EQ(report_since(checkpoint).blocks, 1U);
}

TEST(np_leak_diff, accepts_any_number_of_checkpoints_in_any_order)
{
    std::vector<std::uint64_t> checkpoints;
    std::vector<std::unique_ptr<traced>> blocks;
    for (int i = 0; i != 10; ++i) {
        checkpoints.push_back(np_leak_checkpoint()); // NOLINT(performance-inefficient-vector-operation)
        blocks.push_back(std::make_unique<traced>(10, "a.c", i));
    }
    for (std::size_t i : {5U, 0U, 9U, 2U})
        EXPECT_EQ(report_since(checkpoints[i]).blocks, blocks.size() - i);
    EXPECT_EQ(report_since(0).blocks, blocks.size()) << "0 includes all blocks";
}

TEST(np_leak_diff, counts_blocks_of_other_threads)
{
    std::vector<std::unique_ptr<traced>> blocks(4);
    test::in_threads(2, [&](std::size_t thread) { blocks[thread] = std::make_unique<traced>(10, "before.c", 1); });
    const std::uint64_t checkpoint = np_leak_checkpoint();
    test::in_threads(2, [&](std::size_t thread) { blocks[2 + thread] = std::make_unique<traced>(10, "since.c", 1); });
    EXPECT_NE(report_since(checkpoint).text.find("  since.c:1  2 blocks  20 bytes\n  in all  2 "), std::string::npos);
}

TEST(np_leak_diff, writes_to_a_file_or_stream)
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

// The memory of call sites.

std::size_t bytes_of_call_sites()
{
    np_statistics statistics;
    np_get_statistics(&statistics);
    return statistics.bytes_of_call_sites;
}

TEST(np_statistics, count_the_memory_of_call_sites_which_follows_the_blocks_in_use)
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

TEST(np_leak_report, may_run_while_threads_allocate)
{
    constexpr std::size_t max_kept = std::size_t{3} * 16;
    std::atomic<bool> ends{false};
    std::thread reader([&] {
        std::uint64_t checkpoint = 0;
        while (!ends) {
            const report made = report_since(checkpoint);
            EXPECT_LE(made.blocks, max_kept);
            EXPECT_EQ(made.text.empty(), made.blocks == 0);
            checkpoint = checkpoint == 0 ? np_leak_checkpoint() : 0;
        }
    });
    test::in_threads(3, [](std::size_t thread) {
        std::array<std::unique_ptr<traced>, 16> blocks;
        for (std::size_t step = 0; step != 3000; ++step) {
            std::unique_ptr<traced>& block = blocks[step * 7 % blocks.size()];
            if (step % 5 == 0 && block != nullptr) {
                block->resize(step % 3000);
                continue;
            }
            block.reset();
            block = std::make_unique<traced>(step % 200, step % 2 == 0 ? "a.c" : "b.c", static_cast<int>(thread));
        }
    });
    ends = true;
    reader.join();
    EXPECT_EQ(report_of_all().text, "");
}

#if TESTS_MAY_FORK
TEST(np_leak_report, lists_the_blocks_of_the_child_of_a_fork)
{
    const traced of_parent(64, "parent.c", 1);
    test::expect_in_child([] {
        const std::uint64_t checkpoint = np_leak_checkpoint();
        const traced of_child(100, "child.c", 2);
        return report_since(checkpoint).text.find("  child.c:2  1 block  100 bytes\n  in all  1 ") !=
                   std::string::npos &&
               report_of_all().blocks == 2;
    });
    EXPECT_EQ(report_of_all().blocks, 1U) << "the child does not affect its parent";
}

TEST(np_leak_report, works_in_the_child_of_a_fork_while_threads_allocate)
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
