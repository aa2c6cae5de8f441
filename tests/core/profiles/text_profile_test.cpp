// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/profiles/text_profile.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace core = memory_pool::detail::core;

namespace {
void append(const char* text, std::size_t length, void* to)
{
    static_cast<std::string*>(to)->append(text, length);
}

template <class Format>
std::string written(const core::profile_values& values)
{
    // Code of the C library, which exports its names, and no code.
    const std::array<const void*, 2> calls{reinterpret_cast<const void*>(&std::abort),
                                           reinterpret_cast<const void*>(std::uintptr_t{16})};
    std::string text;
    Format format{core::report_output(&append, &text)};
    format.begin(0, 4096, "");
    format.sample({calls.data(), calls.data() + calls.size(), values});
    format.end();
    return text;
}

TEST(folded_profile, has_a_line_for_each_stack_outermost_first)
{
    EXPECT_EQ(written<core::folded_profile>({1, 2, 3, 4}), "0x10;abort 4\n");
}

TEST(folded_profile, leaves_out_what_is_not_in_use)
{
    EXPECT_EQ(written<core::folded_profile>({1, 2, 0, 0}), "");
}

TEST(text_profile, has_all_figures_and_the_stack_innermost_first)
{
    EXPECT_EQ(written<core::text_profile>({1, 2, 3, 4}),
              "np_alloc: allocations by call stack, estimated from samples, one for 4096 bytes in the mean\n"
              "4 bytes in use in 3 blocks; 2 bytes allocated in 1 blocks:\n"
              "    abort\n"
              "    0x10\n");
}
} // namespace
