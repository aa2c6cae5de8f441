// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The arguments of long-running programs: duration and seed. Invalid ones must fail: a run that does nothing would
/// pass.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

namespace test {
struct long_run
{
    double amount; ///< Seconds, or how often something is done.
    std::uint64_t seed;
};

/// Effects: says on stderr which argument is not understood, and ends the program with 2, if there is one.
/// Returns: what the command line says: how much, and the seed. What it does not say is `amount`, and drawn at random.
inline long_run long_run_of(int count, char** arguments, double amount)
{
    const auto require = [&](bool is_understood, const char* argument, const char* what) {
        if (is_understood)
            return;
        std::fprintf(stderr, "%s: '%s' is not %s; usage: %s [AMOUNT [SEED]]\n", arguments[0], argument, what,
                     arguments[0]);
        std::exit(2);
    };
    long_run told{amount, 0};
    char* end = nullptr;
    if (count > 1) {
        told.amount = std::strtod(arguments[1], &end);
        constexpr double most = 4e9; // A clock counts as many seconds.
        require(*end == '\0' && told.amount > 0 && told.amount <= most, arguments[1], "a number above 0, up to 4e9");
    }
    if (count > 2) {
        told.seed = std::strtoull(arguments[2], &end, 10);
        require(std::to_string(told.seed) == arguments[2], arguments[2], "a whole number that fits into 64 bits");
    } else {
        told.seed = std::random_device()();
    }
    if (count > 3)
        require(false, arguments[3], "asked for");
    return told;
}
} // namespace test
