// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The arguments of long-running programs: duration and seed. Invalid arguments must fail because a run that does
/// nothing would pass.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

namespace test {
struct long_run
{
    double amount; ///< Seconds or repetitions.
    std::uint64_t seed;
};

/// Effects: exits with 2 and a message on stderr if an argument is invalid.
/// Returns the amount and the seed of the command line. By default, they are `amount` and a random seed.
inline long_run long_run_of(int count, char** arguments, double amount)
{
    const auto require = [&](bool is_understood, const char* argument, const char* what) {
        if (is_understood)
            return;
        std::fprintf(stderr, "%s: '%s' is not %s; usage: %s [AMOUNT [SEED]]\n", arguments[0], argument, what,
                     arguments[0]);
        std::exit(2);
    };
    long_run run{amount, 0};
    char* end = nullptr;
    if (count > 1) {
        run.amount = std::strtod(arguments[1], &end);
        constexpr double max_amount = 4e9; // in the range of a clock in seconds
        require(*end == '\0' && run.amount > 0 && run.amount <= max_amount, arguments[1],
                "a number above 0, up to 4e9");
    }
    if (count > 2) {
        run.seed = std::strtoull(arguments[2], &end, 10);
        require(std::to_string(run.seed) == arguments[2], arguments[2], "a whole number that fits into 64 bits");
    } else {
        run.seed = std::random_device()();
    }
    if (count > 3)
        require(false, arguments[3], "an expected argument");
    return run;
}
} // namespace test
