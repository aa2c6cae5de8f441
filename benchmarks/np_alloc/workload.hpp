// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Shared by the workloads of the race. A workload is a program that uses only malloc and related functions of the
/// process. It takes arguments as `name=value`, marks each block, checks the marks before it frees the block, and
/// prints one line:
///
///     <workload> operations=<blocks freed> sum=<a number derived from the arguments> | <name>=<value> ...
///
/// The part before the bar is the same under every malloc. A workload that finds a corrupted block reports it and exits
/// with 1. It exits with 2 if an argument is invalid.
#pragma once

#include "support/threads.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace workload {
/// Effects: ends the process at once, without waiting for other threads.
[[noreturn]] inline void leave(int status)
{
    std::fflush(stdout);
    std::_Exit(status);
}

/// Effects: prints the message, and ends the process with exit status 1.
[[noreturn]] inline void fail(const char* what)
{
    std::fprintf(stderr, "%s\n", what);
    leave(1);
}

/// The command line. A workload reads each of its arguments by name, then calls `end`. Arguments are numbers from 1 to
/// 2^32, the range of random numbers. If a workload has `least` and `most`, it reads `least` first.
class arguments
{
public:
    arguments(int count, char** values, const char* purpose) : given_(values + 1, values + count), help_(purpose)
    {
        help_ += "\nArguments, with their defaults:\n";
    }

    /// Returns: the first argument, if it has no name; else an empty string.
    std::string first(const std::string& what, const std::string& meaning)
    {
        help_.append("  ").append(what).append("  ").append(meaning).append("\n");
        std::string value;
        if (!given_.empty() && given_.front().find_first_of("=-") == std::string::npos) {
            value = given_.front();
            given_.erase(given_.begin());
        }
        return value;
    }

    /// Returns: the value of the argument, or `otherwise` if it was not given.
    std::size_t number(std::string_view name, std::size_t otherwise, std::string_view meaning)
    {
        help_.append("  ").append(name).append("=").append(std::to_string(otherwise)).append("  ");
        help_.append(meaning).append("\n");
        std::size_t value = otherwise;
        const auto is_named = [name](const std::string& argument) {
            return argument.size() > name.size() && argument.compare(0, name.size(), name) == 0 &&
                   argument[name.size()] == '=';
        };
        const auto found = std::find_if(given_.begin(), given_.end(), is_named);
        if (found != given_.end()) {
            const char* const end = found->data() + found->size();
            const auto result = std::from_chars(found->data() + name.size() + 1, end, value);
            if (result.ec == std::errc() && result.ptr == end && value != 0 && value <= greatest)
                given_.erase(found);
        }
        if (name == "least")
            min_value_ = value;
        else if (name == "most" && value < min_value_)
            given_.push_back("most=" + std::to_string(value) + ", which is below least=" + std::to_string(min_value_));
        return value;
    }

    /// Effects: ends the process if an argument is left that was not read, or is not a valid number.
    void end() const
    {
        if (given_.empty())
            return;
        const bool is_help = given_.front() == "--help";
        if (!is_help)
            std::fprintf(stderr, "not understood: %s\n", given_.front().c_str());
        std::fputs(help_.c_str(), is_help ? stdout : stderr);
        leave(is_help ? 0 : 2);
    }

private:
    static constexpr std::size_t greatest = std::size_t{1} << 32U;

    std::vector<std::string> given_;
    std::string help_;
    std::size_t min_value_ = 0;
};

/// Random numbers (splitmix64): the same on every system, and too fast to affect the measurement.
class random
{
public:
    explicit random(std::uint64_t seed) noexcept : state_(seed) {}

    std::uint64_t operator()() noexcept
    {
        std::uint64_t mixed = state_ += 0x9E37'79B9'7F4A'7C15U;
        mixed = (mixed ^ (mixed >> 30U)) * 0xBF58'476D'1CE4'E5B9U;
        mixed = (mixed ^ (mixed >> 27U)) * 0x94D0'49BB'1331'11EBU;
        return mixed ^ (mixed >> 31U);
    }

    /// Preconditions: `end` is neither 0 nor above 2^32.
    std::size_t below(std::size_t end) noexcept { return (operator()() >> 32U) * end >> 32U; }

    std::size_t between(std::size_t least, std::size_t most) noexcept { return least + below(most - least + 1); }

    /// Returns: a random size. All powers of two are equally likely, so most sizes are small.
    /// Preconditions: 0 < least <= most.
    std::size_t size_between(std::size_t least, std::size_t most) noexcept
    {
        std::size_t doublings = 0;
        while (least << (doublings + 1) <= most)
            ++doublings;
        const std::size_t floor = least << below(doublings + 1);
        return between(floor, std::min(2 * floor - 1, most));
    }

private:
    std::uint64_t state_;
};

/// A block of malloc, and the mark that is written to it.
struct block
{
    std::byte* memory = nullptr;
    std::size_t bytes = 0;
    std::uint64_t mark = 0;
};

/// Returns: `address`. Hides from the compiler that the result equals `address`, so that it cannot elide the
///   allocation.
inline std::byte* hide(void* address)
{
    asm volatile("" : "+r"(address)); // With a volatile variable, later code would wait for a store.
    return static_cast<std::byte*>(address);
}

/// Writes and checks the marks: one byte in each `stride` bytes, and the last byte of the block.
class marks
{
public:
    explicit marks(arguments& given, std::size_t stride)
        : stride_(given.number("stride", stride, "bytes from one mark in a block to the next"))
    {
    }

    void write(const block& to) const noexcept
    {
        for (std::size_t place = 0; place < to.bytes; place += stride_)
            to.memory[place] = wanted(to, place);
        to.memory[to.bytes - 1] = wanted(to, to.bytes - 1);
    }

    void check(const block& marked) const
    {
        bool is_intact = marked.memory[marked.bytes - 1] == wanted(marked, marked.bytes - 1);
        for (std::size_t place = 0; place < marked.bytes; place += stride_)
            is_intact = is_intact && marked.memory[place] == wanted(marked, place);
        if (!is_intact)
            fail("a block was overwritten");
    }

    /// Returns: a new block from malloc, with its marks written.
    block allocate(std::size_t bytes, std::uint64_t mark) const { return adopt(std::malloc(bytes), bytes, mark); }

    /// Returns: the memory as a block, with its marks written.
    block adopt(void* memory, std::size_t bytes, std::uint64_t mark) const
    {
        if (memory == nullptr)
            fail("there is no memory");
        const block adopted{hide(memory), bytes, mark};
        write(adopted);
        return adopted;
    }

    /// Effects: checks the marks, and frees the block.
    void free(const block& ended) const
    {
        check(ended);
        std::free(ended.memory);
    }

private:
    static std::byte wanted(const block& of, std::size_t place) noexcept
    {
        return static_cast<std::byte>((of.mark * 0xD1B5'4A32'D192'ED03U + place * 0x9E37'79B9'7F4A'7C15U) >> 56U);
    }

    std::size_t stride_;
};

/// The work done so far.
struct tally
{
    std::uint64_t operations = 0;
    std::uint64_t sum = 0;

    void count(std::uint64_t value) noexcept
    {
        ++operations;
        sum += value;
    }

    void count(const block& ended) noexcept { count(ended.mark ^ ended.bytes); }

    tally& operator+=(const tally& other) noexcept
    {
        operations += other.operations;
        sum += other.sum;
        return *this;
    }

    /// Effects: prints the line of the workload. `statistics` are `name=value` pairs, in kilobytes or in the unit that
    ///   the name ends with.
    void print(const char* workload, const std::string& statistics = {}) const
    {
        std::printf("%s operations=%llu sum=%016llx |%s%s\n", workload, static_cast<unsigned long long>(operations),
                    static_cast<unsigned long long>(sum), statistics.empty() ? "" : " ", statistics.c_str());
    }
};

/// Runs `action(thread, random, tally)` in `threads` threads, each with its own random numbers.
/// Returns: the work of all threads.
template <class Action>
tally in_threads(std::size_t threads, std::uint64_t seed, Action&& action)
{
    std::vector<tally> tallies(threads);
    test::in_threads(threads, [&](std::size_t thread) {
        random numbers(seed + thread);
        tally done; // Not in the vector, where threads would share cache lines.
        action(thread, numbers, done);
        tallies[thread] = done;
    });
    tally all;
    for (const tally& done : tallies)
        all += done;
    return all;
}
} // namespace workload
