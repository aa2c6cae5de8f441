// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A tape of bytes that encodes operations on a pool or a resource and on a model of it. Any tape is valid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace fuzz {
/// Reads a tape byte by byte. Every byte after its end is 0.
class tape
{
public:
    tape(const std::uint8_t* bytes, std::size_t size) : next_(bytes), end_(bytes + size) {}

    bool at_end() const { return next_ == end_; }
    std::size_t byte() { return at_end() ? 0 : *next_++; }
    std::size_t number()
    {
        const std::size_t high = byte(); // first: the order of evaluation within an expression is unspecified
        return high << 8 | byte();
    }

private:
    const std::uint8_t* next_;
    const std::uint8_t* end_;
};

/// Prints the operations and aborts.
[[noreturn]] inline void disagree(const std::vector<std::string>& log, const char* what)
{
    for (const std::string& operation : log)
        std::fprintf(stderr, "%s\n", operation.c_str());
    std::fprintf(stderr, "the model disagrees: %s\n", what);
    std::abort();
}

/// Returns: a random tape of the given seed; it begins with the seed.
inline std::vector<std::uint8_t> random_tape(std::uint32_t seed, std::size_t max_bytes = 400)
{
    std::mt19937 random(seed);
    std::vector<std::uint8_t> tape(100 + random() % (max_bytes - 100));
    for (std::uint8_t& byte : tape)
        byte = static_cast<std::uint8_t>(random());
    tape[0] = static_cast<std::uint8_t>(seed);
    return tape;
}
} // namespace fuzz
