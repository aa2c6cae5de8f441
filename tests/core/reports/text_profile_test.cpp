// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/reports/text_profile.hpp>

#include <memory_pool/core/reports/code_modules.hpp>
#include <memory_pool/core/reports/system_pages.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace core = memory_pool::detail::core;

namespace {
void append(const char* text, std::size_t length, void* to)
{
    static_cast<std::string*>(to)->append(text, length);
}

template <class Format>
std::string written(const core::profile_values& values, std::string_view pool = {})
{
    // A function that the C library exports, and an address without code.
    const std::array<core::code_frame, 2> calls{
        core::code_frame{nullptr, reinterpret_cast<std::uintptr_t>(&std::abort)}, core::code_frame{nullptr, 16}};
    std::string text;
    Format format{core::report_output(&append, &text)};
    format.begin({0, 4096, "", "np_alloc"});
    format.sample({calls.data(), calls.data() + calls.size(), values, pool});
    return text;
}

TEST(folded_profile, writes_a_line_for_each_stack_outermost_frame_first)
{
    EXPECT_EQ(written<core::folded_profile>({1, 2, 3, 4}), "0x10;abort 4\n");
}

TEST(folded_profile, puts_the_pool_outermost)
{
    EXPECT_EQ(written<core::folded_profile>({1, 2, 3, 4}, "or;ders"), "or ders;0x10;abort 4\n");
}

TEST(folded_profile, omits_stacks_without_blocks_in_use)
{
    EXPECT_EQ(written<core::folded_profile>({1, 2, 0, 0}), "");
}

TEST(text_profile, writes_all_values_and_the_stack_innermost_frame_first)
{
    EXPECT_EQ(written<core::text_profile>({1, 2, 3, 4}),
              "np_alloc: allocations by call stack, estimated from samples, one per 4096 bytes on average\n"
              "4 bytes in use in 3 blocks; 2 bytes allocated in 1 blocks:\n"
              "    abort\n"
              "    0x10\n");
}

TEST(text_profile, names_the_pool_after_the_values)
{
    EXPECT_NE(written<core::text_profile>({1, 2, 3, 4}, "orders").find("allocated in 1 blocks; pool 'orders':\n"),
              std::string::npos);
}

TEST(in_use_list, writes_each_call_site_with_its_callers_below)
{
    const std::array<core::code_frame, 2> calls{
        core::code_frame{nullptr, reinterpret_cast<std::uintptr_t>(&std::abort)}, core::code_frame{nullptr, 16}};
    std::string text;
    core::in_use_list list{core::report_output(&append, &text)};
    list.begin("pool 'orders'", 1);
    list.sample({calls.data(), calls.data() + calls.size(), {1, 2, 3, 400}});
    list.sample({calls.data(), calls.data(), {0, 0, 1, 100}});
    list.end(4, 500);
    EXPECT_EQ(text, "pool 'orders': in use, by call site:\n"
                    "  abort  3 blocks  400 bytes\n"
                    "    0x10\n"
                    "  unknown  1 block  100 bytes\n"
                    "  in all  4 blocks  500 bytes\n");
}

TEST(code_name, uses_the_module_after_it_is_unloaded)
{
    // The test records a module at the address of std::abort, where another module is loaded now.
    const auto address = reinterpret_cast<std::uintptr_t>(&std::abort);
    core::code_modules<core::system_pages> modules;
    const std::uint64_t walk = modules.begin({1, 0});
    modules.note({address - 0x1234, 0, 0x10'0000, 0, "/lib/closed.so", {}}, walk);
    modules.end(walk, {1, 0});
    const void* const call = reinterpret_cast<const void*>(address);
    core::code_frame frame;
    modules.find(&call, &call + 1, &frame);
    const auto name = [&frame] {
        std::string text;
        core::report_output to(&append, &text);
        core::write_code_name(to, frame);
        return text;
    };
    EXPECT_EQ(name(), "abort") << "while the module is loaded";
    modules.end(modules.begin({1, 1}), {1, 1});
    EXPECT_EQ(name(), "closed.so+0x1234");
}

TEST(code_name, marks_truncated_stacks)
{
    const std::array<core::code_frame, 2> calls{core::code_frame{nullptr, 16}, core::code_frame{}};
    const core::profile_sample sample{calls.data(), calls.data() + 2, {1, 2, 3, 4}};
    std::string text;
    core::folded_profile(core::report_output(&append, &text)).sample(sample);
    EXPECT_EQ(text, "[truncated];0x10 4\n");
    text.clear();
    core::text_profile(core::report_output(&append, &text)).sample(sample);
    EXPECT_EQ(text, "4 bytes in use in 3 blocks; 2 bytes allocated in 1 blocks:\n    0x10\n    [truncated]\n");
    text.clear();
    core::in_use_list(core::report_output(&append, &text)).sample(sample);
    EXPECT_EQ(text, "  0x10  3 blocks  4 bytes\n    [truncated]\n");
}

TEST(in_use_list, labels_estimates)
{
    std::string text;
    core::in_use_list(core::report_output(&append, &text)).begin("np_alloc", 512);
    EXPECT_EQ(text, "np_alloc: in use, by call site, estimated from samples, one per 512 bytes on average:\n");
}
} // namespace
