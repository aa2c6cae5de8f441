// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/profiles/pprof_profile.hpp>

#include <support/pprof_reader.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace core = memory_pool::detail::core;

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

    test::pprof_reader finished()
    {
        profile.end();
        return test::pprof_reader(file);
    }

    void sample(const std::vector<const void*>& calls, const core::profile_values& values)
    {
        profile.sample({calls.data(), calls.data() + calls.size(), values});
    }
};

TEST_F(pprof_profile, has_the_sample_types_that_pprof_knows_from_heaps)
{
    profile.begin({1'700'000'000'123, 524'288, "malloc|free", ""});
    const test::pprof_reader read = finished();
    EXPECT_EQ(read.sample_types, (std::vector<std::string>{"alloc_objects/count", "alloc_space/bytes",
                                                           "inuse_objects/count", "inuse_space/bytes"}));
    EXPECT_EQ(read.text(read.number(14)), "inuse_space") << "the default";
    EXPECT_EQ(read.text(read.number(7)), "malloc|free") << "frames to drop";
    EXPECT_EQ(read.number(9), 1'700'000'000'123'000'000U) << "nanoseconds";
    EXPECT_EQ(read.number(12), 524'288U) << "the period";
}

TEST_F(pprof_profile, gives_back_stacks_and_values)
{
    profile.begin({0, 1, "", ""});
    sample({at(0x10), at(0x20), at(0x30)}, {1, 2, 3, ~std::uint64_t{0}});
    sample({at(0x20)}, {0, 0, 0, 0});
    const test::pprof_reader read = finished();
    ASSERT_EQ(read.samples.size(), 2U);
    EXPECT_EQ(read.samples[0].addresses, (std::vector<std::uint64_t>{0x10, 0x20, 0x30}));
    EXPECT_EQ(read.samples[0].values, (std::vector<std::uint64_t>{1, 2, 3, ~std::uint64_t{0}}));
    EXPECT_EQ(read.samples[1].addresses, (std::vector<std::uint64_t>{0x20}));
    EXPECT_EQ(read.locations.size(), 3U) << "0x20 stands there once";
}

TEST_F(pprof_profile, has_room_for_the_deepest_stack)
{
    profile.begin({0, 1, "", ""});
    std::vector<const void*> calls;
    std::vector<std::uint64_t> addresses;
    for (std::uint64_t i = 0; i != core::profile_sample::most_frames; ++i) {
        addresses.push_back(~i);
        calls.push_back(at(addresses.back()));
    }
    for (int times = 0; times != 3; ++times)
        sample(calls, {~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}});
    EXPECT_EQ(finished().samples[2].addresses, addresses);
}

TEST_F(pprof_profile, is_whole_with_more_locations_than_it_remembers)
{
    profile.begin({0, 1, "", ""});
    for (std::uintptr_t address = 1; address != 5000; ++address)
        sample({at(address * 16)}, {1, 1, 1, 1});
    const test::pprof_reader read = finished();
    ASSERT_EQ(read.samples.size(), 4999U);
    for (std::uintptr_t address = 1; address != 5000; ++address)
        ASSERT_EQ(read.samples[address - 1].addresses[0], address * 16);
}

TEST(mapping_numbers, leaves_out_mappings_that_it_has_no_room_for)
{
    core::mapping_numbers numbers;
    std::uint64_t count = 0;
    while (count != 100'000 && numbers.add({count * 16, count * 16 + 8, 0, ""}) == count + 1)
        ++count;
    EXPECT_EQ(count, 65'536U);
    EXPECT_EQ(numbers.add({count * 16, count * 16 + 8, 0, ""}), 0U);
    EXPECT_EQ(numbers.find(16 + 7), 2U);
    EXPECT_EQ(numbers.find(16 + 8), 0U) << "between two";
    EXPECT_EQ(numbers.find((count - 1) * 16), count);
    EXPECT_EQ(numbers.find(count * 16), 0U);
}

#if defined(__linux__)
void is_somewhere() {}

TEST_F(pprof_profile, tells_which_file_code_is_mapped_from)
{
    profile.begin({0, 1, "", ""});
    sample({reinterpret_cast<const void*>(&is_somewhere), at(1)}, {1, 1, 1, 1});
    const test::pprof_reader read = finished();
    ASSERT_FALSE(read.mappings.empty());
    const test::pprof_reader::location& code = read.locations.at(1);
    EXPECT_NE(read.mappings.at(code.mapping).file.find("unit_core"), std::string::npos)
        << read.mappings.at(code.mapping).file;
    EXPECT_EQ(read.locations.at(2).mapping, 0U) << "none is there";
}
#endif
} // namespace
