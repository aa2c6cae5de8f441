// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// libFuzzer target: the same tapes as text_tape_test.cpp, found by coverage. See docs/testing.md.
#include <fuzz/text_tape.hpp>

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size)
{
    fuzz::play_text(bytes, size);
    return 0;
}
