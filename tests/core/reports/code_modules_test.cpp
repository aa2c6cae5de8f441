// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/reports/code_modules.hpp>

#include <memory_pool/core/reports/system_pages.hpp>
#include <memory_pool/os/loaded_code.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace core = memory_pool::detail::core;
namespace os = memory_pool::detail::os;

namespace {
constexpr std::size_t size = 0x1000;

os::loaded_code code(std::uintptr_t base, const char* file, const char* build_id = "")
{
    return {base, 0x2000, size, 0x1000, file, build_id};
}

struct code_modules : testing::Test
{
    core::code_modules<core::system_pages> modules;
    os::load_counts counts{};

    /// Makes `all` the complete list of loaded code.
    void load(const std::vector<os::loaded_code>& all)
    {
        ++counts.loads;
        const std::uint64_t walk = modules.begin(counts);
        ASSERT_NE(walk, 0U);
        for (const os::loaded_code& each : all)
            modules.note(each, walk);
        modules.end(walk, counts);
    }

    core::code_frame frame_at(std::uintptr_t address) const
    {
        const void* const call = reinterpret_cast<const void*>(address);
        core::code_frame frame;
        modules.find(&call, &call + 1, &frame);
        return frame;
    }

    std::size_t count() const
    {
        std::size_t found = 0;
        for (const core::code_module* each = modules.first(); each != nullptr; each = each->next)
            EXPECT_EQ(each->number, ++found);
        return found;
    }
};

TEST_F(code_modules, are_walked_only_after_a_change)
{
    load({code(0x10'0000, "/a.so")});
    EXPECT_EQ(modules.begin(counts), 0U);
    ++counts.unloads;
    EXPECT_NE(modules.begin(counts), 0U);
}

TEST_F(code_modules, find_the_module_and_offset_of_an_address)
{
    load({code(0x10'0000, "/a.so", "id"), code(0x20'0000, "/b.so")});
    const core::code_frame first = frame_at(0x10'2000);
    ASSERT_NE(first.module, nullptr);
    EXPECT_EQ(first.module->path, "/a.so");
    EXPECT_EQ(first.module->build_id, "id");
    EXPECT_EQ(first.offset, 0x2000U);
    EXPECT_EQ(first.address(), 0x10'2000U);
    EXPECT_EQ(frame_at(0x20'2FFF).module->path, "/b.so");
    for (const std::uintptr_t outside : {0x10'1FFFU, 0x10'3000U, 1U}) {
        EXPECT_EQ(frame_at(outside).module, nullptr);
        EXPECT_EQ(frame_at(outside).address(), outside);
    }
}

TEST_F(code_modules, distinguish_modules_loaded_at_a_reused_address)
{
    load({code(0x10'0000, "/a.so", "a")});
    const core::code_frame before = frame_at(0x10'2010);
    load({code(0x10'0000, "/b.so", "b")});
    const core::code_frame after = frame_at(0x10'2010);
    EXPECT_FALSE(before == after);
    EXPECT_FALSE(before.module->is_loaded);
    EXPECT_TRUE(after.module->is_loaded);
    EXPECT_EQ(before.place().module, std::string("/a.so"));
    EXPECT_EQ(before.place().offset, 0x2010U);
    EXPECT_EQ(before.place().function, nullptr);
    EXPECT_EQ(after.module->path, "/b.so");
}

TEST_F(code_modules, recognize_a_library_reloaded_at_another_address)
{
    for (const char* const build_id : {"id", ""}) {
        const core::code_module* known = nullptr;
        for (std::uintptr_t base = 0x10'0000; base != 0x50'0000; base += 0x10'0000) {
            load({code(base, "/a.so", build_id)});
            const core::code_frame frame = frame_at(base + 0x2000);
            ASSERT_NE(frame.module, nullptr);
            EXPECT_TRUE(known == nullptr || frame.module == known);
            EXPECT_EQ(frame.address(), base + 0x2000);
            known = frame.module;
            load({});
            EXPECT_FALSE(known->is_loaded);
            EXPECT_EQ(frame_at(base + 0x2000).module, nullptr);
        }
    }
    EXPECT_EQ(count(), 2U);
}

TEST_F(code_modules, distinguish_two_loaded_copies_of_a_library)
{
    load({code(0x10'0000, "/a.so", "id"), code(0x20'0000, "/a.so", "id")});
    EXPECT_EQ(count(), 2U);
    EXPECT_NE(frame_at(0x10'2000).module, frame_at(0x20'2000).module);
    load({code(0x20'0000, "/a.so", "id"), code(0x10'0000, "/a.so", "id")});
    EXPECT_EQ(count(), 2U);
}

TEST_F(code_modules, distinguish_files_without_build_ids_by_path)
{
    load({code(0x10'0000, "./a.so")});
    load({});
    load({code(0x10'0000, "./b.so")});
    EXPECT_EQ(count(), 2U);
    load({code(0x20'0000, "./a.so")});
    EXPECT_EQ(count(), 2U) << "known already";
}

TEST_F(code_modules, ignore_an_outdated_walk)
{
    const std::uint64_t slow = modules.begin({1, 0});
    const std::uint64_t fast = modules.begin({2, 1});
    modules.note(code(0x10'0000, "/a.so"), fast);
    modules.end(fast, {2, 1});
    modules.note(code(0x20'0000, "/b.so"), slow);
    modules.end(slow, {1, 0});
    EXPECT_TRUE(frame_at(0x10'2000).module->is_loaded);
    EXPECT_EQ(modules.begin({2, 1}), 0U);
}

TEST_F(code_modules, find_frames_of_a_stack_in_one_call)
{
    load({code(0x10'0000, "/a.so"), code(0x20'0000, "/b.so")});
    const std::array<const void*, 4> calls{reinterpret_cast<const void*>(std::uintptr_t{0x10'2000}),
                                           reinterpret_cast<const void*>(std::uintptr_t{0x10'2001}),
                                           reinterpret_cast<const void*>(std::uintptr_t{16}),
                                           reinterpret_cast<const void*>(std::uintptr_t{0x20'2000})};
    std::array<core::code_frame, 4> frames;
    modules.find(calls.data(), calls.data() + calls.size(), frames.data());
    EXPECT_EQ(frames[0].module, frames[1].module);
    EXPECT_EQ(frames[2].module, nullptr);
    EXPECT_EQ(frames[3].module->path, "/b.so");
}

/// A page source that always fails.
struct no_pages
{
    static void* take(std::size_t) noexcept { return nullptr; }
};

TEST(code_modules_without_memory, resolve_addresses_without_modules)
{
    core::code_modules<no_pages> modules;
    const std::uint64_t walk = modules.begin({1, 0});
    modules.note(code(0x10'0000, "/a.so"), walk);
    modules.end(walk, {1, 0});
    const void* const call = reinterpret_cast<const void*>(std::uintptr_t{0x10'2000});
    core::code_frame frame;
    modules.find(&call, &call + 1, &frame);
    EXPECT_EQ(frame.module, nullptr);
    EXPECT_EQ(frame.offset, 0x10'2000U);
}
} // namespace
