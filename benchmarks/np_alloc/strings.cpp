// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Builds lines of text from words, keeps them for a while, and splits them into words again.
#include "workload.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {
/// A word derived from its number, of 1 to 40 letters. Most words are short; some exceed the small-string buffer.
std::string word(std::uint64_t number)
{
    workload::random random(number);
    std::string text(random.size_between(1, 40), ' ');
    for (char& letter : text)
        letter = static_cast<char>('a' + random.below(26));
    return text;
}

/// A line, and the number of the first of its words.
struct line
{
    std::string text;
    std::uint64_t first = 0;
};

line read_line(std::uint64_t first, std::size_t words)
{
    line read{{}, first};
    for (std::size_t i = 0; i != words; ++i) {
        read.text += word(first + i);
        read.text += ' ';
    }
    return read;
}

std::vector<std::string> split(const std::string& text)
{
    std::vector<std::string> words;
    for (std::size_t begin = 0; begin != text.size();) {
        const std::size_t end = text.find(' ', begin);
        words.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return words;
}

void check(const line& kept, workload::tally& done)
{
    std::uint64_t number = kept.first;
    for (const std::string& each : split(kept.text)) {
        if (each != word(number))
            workload::fail("a word was overwritten");
        done.count(number++ ^ each.size());
    }
}
} // namespace

int main(int argc, char** argv)
{
    workload::arguments arguments(argc, argv, "strings: lines are built from words, and split again.");
    const std::size_t threads = arguments.number("threads", 1, "at once");
    const std::size_t lines = arguments.number("lines", 200000, "that each thread reads");
    const std::size_t live = arguments.number("live", 2000, "lines that a thread keeps");
    const std::size_t most = arguments.number("most", 40, "words of a line");
    const std::size_t seed = arguments.number("seed", 1, "of the random numbers");
    arguments.end();

    const workload::tally done =
        workload::in_threads(threads, seed, [&](std::size_t, workload::random& random, workload::tally& thread_tally) {
            std::vector<line> kept(live);
            for (std::size_t left = lines; left != 0; --left) {
                line& chosen = kept[random.below(live)];
                check(chosen, thread_tally);
                chosen = read_line(random(), random.between(1, most));
            }
            for (const line& each : kept)
                check(each, thread_tally);
        });
    done.print("strings");
}
