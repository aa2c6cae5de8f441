// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/reports/pprof_profile.hpp>

#include <memory_pool/core/reports/code_modules.hpp>
#include <memory_pool/core/reports/system_pages.hpp>
#include <memory_pool/os/loaded_code.hpp>

#include <support/pprof_reader.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace core = memory_pool::detail::core;
namespace os = memory_pool::detail::os;

namespace {
void append(const char* text, std::size_t length, void* to)
{
    static_cast<std::string*>(to)->append(text, length);
}

const void* at(std::uintptr_t address)
{
    return reinterpret_cast<const void*>(address);
}

struct pprof_profile : testing::Test
{
    std::string file;
    core::pprof_profile profile{core::report_output(&append, &file)};

    test::pprof_reader finished() { return test::pprof_reader(file); }

    void sample(const std::vector<const void*>& calls, const core::profile_values& values)
    {
        std::vector<core::code_frame> frames;
        for (const void* const each : calls)
            frames.push_back({nullptr, reinterpret_cast<std::uintptr_t>(each)});
        profile.sample({frames.data(), frames.data() + frames.size(), values});
    }
};

TEST_F(pprof_profile, declares_the_sample_types_of_heap_profiles)
{
    profile.begin({1'700'000'000'123, 524'288, "malloc|free", ""});
    const test::pprof_reader read = finished();
    EXPECT_EQ(read.sample_types, (std::vector<std::string>{"alloc_objects/count", "alloc_space/bytes",
                                                           "inuse_objects/count", "inuse_space/bytes"}));
    EXPECT_EQ(read.text(read.number(14)), "inuse_space") << "the default sample type";
    EXPECT_EQ(read.text(read.number(7)), "malloc|free") << "frames to drop";
    EXPECT_EQ(read.number(9), 1'700'000'000'123'000'000U) << "nanoseconds";
    EXPECT_EQ(read.number(12), 524'288U) << "the period";
}

TEST_F(pprof_profile, round_trips_stacks_and_values)
{
    profile.begin({0, 1, "", ""});
    sample({at(0x10), at(0x20), at(0x30)}, {1, 2, 3, ~std::uint64_t{0}});
    sample({at(0x20)}, {0, 0, 0, 0});
    const test::pprof_reader read = finished();
    ASSERT_EQ(read.samples.size(), 2U);
    EXPECT_EQ(read.samples[0].addresses, (std::vector<std::uint64_t>{0x10, 0x20, 0x30}));
    EXPECT_EQ(read.samples[0].values, (std::vector<std::uint64_t>{1, 2, 3, ~std::uint64_t{0}}));
    EXPECT_EQ(read.samples[1].addresses, (std::vector<std::uint64_t>{0x20}));
    EXPECT_EQ(read.locations.size(), 3U) << "location 0x20 is written once";
}

TEST_F(pprof_profile, encodes_the_deepest_stack)
{
    profile.begin({0, 1, "", ""});
    std::vector<const void*> calls;
    std::vector<std::uint64_t> addresses;
    for (std::uint64_t i = 0; i != core::profile_sample::max_frames; ++i) {
        addresses.push_back(~i);
        calls.push_back(at(addresses.back()));
    }
    for (int times = 0; times != 3; ++times)
        sample(calls, {~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}});
    EXPECT_EQ(finished().samples[2].addresses, addresses);
}

TEST_F(pprof_profile, is_complete_with_more_locations_than_it_caches)
{
    profile.begin({0, 1, "", ""});
    for (std::uintptr_t address = 1; address != 5000; ++address)
        sample({at(address * 16)}, {1, 1, 1, 1});
    const test::pprof_reader read = finished();
    ASSERT_EQ(read.samples.size(), 4999U);
    for (std::uintptr_t address = 1; address != 5000; ++address)
        ASSERT_EQ(read.samples[address - 1].addresses[0], address * 16);
}

TEST_F(pprof_profile, writes_a_mapping_with_a_build_id_for_each_module)
{
    using namespace std::string_view_literals;
    const os::loaded_code program{0x10'0000, 0x1000, 0x2000, 0x800, "/usr/bin/program", "\x01\xAB\0"sv};
    core::code_modules<core::system_pages> modules;
    const os::load_counts first{2, 0};
    const std::uint64_t walk = modules.begin(first);
    modules.note(program, walk);
    modules.note({0x20'0000, 0x3000, 0x1000, 0x400, "/lib/closed.so", "\xFF"sv}, walk);
    modules.end(walk, first);
    const std::array<const void*, 3> calls{at(0x20'3010), at(0x10'1020), at(0x30'0000)};
    std::array<core::code_frame, 3> frames;
    modules.find(calls.data(), calls.data() + calls.size(), frames.data());
    const os::load_counts later{3, 1};
    const std::uint64_t next_walk = modules.begin(later);
    modules.note(program, next_walk);
    modules.note({0x20'0000, 0x3000, 0x1000, 0x400, "/lib/other.so", {}}, next_walk);
    modules.end(next_walk, later);
    core::code_frame of_other;
    modules.find(calls.data(), calls.data() + 1, &of_other);

    profile.begin({0, 1, "", "", modules.first()});
    profile.sample({frames.data(), frames.data() + frames.size(), {1, 1, 1, 1}});
    profile.sample({&of_other, &of_other + 1, {1, 1, 1, 1}});
    const test::pprof_reader read = finished();
    ASSERT_EQ(read.mappings.size(), 3U);
    const auto& of_program = read.mappings.at(1);
    EXPECT_EQ(of_program.begin, 0x10'1000U);
    EXPECT_EQ(of_program.end, 0x10'3000U);
    EXPECT_EQ(of_program.file_offset, 0x800U);
    EXPECT_EQ(of_program.file, "/usr/bin/program");
    EXPECT_EQ(of_program.build_id, "01ab00");
    ASSERT_EQ(read.samples.size(), 2U);
    const auto& locations = read.samples[0].locations;
    ASSERT_EQ(locations.size(), 3U);
    EXPECT_EQ(locations[0].address, 0x20'3010U);
    EXPECT_EQ(read.mappings.at(locations[0].mapping).file, "/lib/closed.so");
    EXPECT_EQ(read.mappings.at(locations[0].mapping).build_id, "ff");
    EXPECT_EQ(locations[1].mapping, 1U);
    EXPECT_EQ(locations[2].mapping, 0U) << "no module has this address";
    EXPECT_EQ(read.samples[1].addresses[0], 0x20'3010U) << "the same address";
    EXPECT_EQ(read.mappings.at(read.samples[1].locations[0].mapping).file, "/lib/other.so");
}

TEST_F(pprof_profile, names_the_root_of_a_truncated_stack)
{
    profile.begin({0, 1, "", ""});
    const std::array<core::code_frame, 2> calls{core::code_frame{nullptr, 16}, core::code_frame{}};
    for (int i = 0; i != 2; ++i)
        profile.sample({calls.data(), calls.data() + 2, {1, 1, 1, 1}});
    const test::pprof_reader read = finished();
    for (const test::pprof_reader::sample& each : read.samples) {
        ASSERT_EQ(each.locations.size(), 2U);
        EXPECT_EQ(each.locations[0].function, "");
        EXPECT_EQ(each.locations[1].function, "[truncated]");
        EXPECT_EQ(each.locations[1].mapping, 0U);
    }
}
} // namespace
