// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/os/loaded_code.hpp>

#include <memory_pool/os/call_stack.hpp>
#include <memory_pool/os/pages.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#if defined(__linux__)
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <cstring>
#endif

namespace os = memory_pool::detail::os;

namespace {
struct code
{
    std::uintptr_t begin;
    std::uintptr_t end;
    std::string file;
    std::string build_id;
};

std::vector<code> all_code()
{
    std::vector<code> all;
    const os::load_counts counts =
        os::for_each_loaded_code([](const os::load_counts&) { return true; },
                                 [&all](const os::loaded_code& each) {
                                     EXPECT_EQ((each.base + each.begin) % 4096, 0U);
                                     EXPECT_EQ(each.bytes % 4096, 0U);
                                     EXPECT_EQ(each.file_offset % 4096, 0U);
                                     all.push_back({each.base + each.begin, each.base + each.begin + each.bytes,
                                                    each.file, std::string(each.build_id)});
                                 });
    EXPECT_GE(counts.loads, counts.unloads);
    return all;
}

std::string path_of(const char* file)
{
    std::array<char, 4096> path{};
    const std::size_t length = os::write_path_of_code(file, path.data(), path.size());
    EXPECT_EQ(path[length], '\0');
    return {path.data(), length};
}

#if defined(__linux__)
const code* code_at(const std::vector<code>& all, const void* address)
{
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    for (const code& each : all)
        if (at >= each.begin && at < each.end)
            return &each;
    return nullptr;
}

TEST(loaded_code, lists_the_program_first)
{
    const std::vector<code> all = all_code();
    const code* const own = code_at(all, reinterpret_cast<const void*>(&path_of));
    ASSERT_NE(own, nullptr);
    EXPECT_EQ(own->file, "");
    EXPECT_EQ(all[0].file, "");
}

TEST(loaded_code, excludes_data)
{
    static int data = 0;
    EXPECT_EQ(code_at(all_code(), &data), nullptr);
}

#if defined(__GLIBC__)
TEST(loaded_code, lists_libraries_with_their_build_ids)
{
    const std::vector<code> all = all_code();
    const os::code_place place = os::find_code(reinterpret_cast<const void*>(&std::abort));
    const code* const library = code_at(all, reinterpret_cast<const void*>(&std::abort));
    ASSERT_NE(library, nullptr);
    if (library != &all[0]) { // Otherwise, the program is linked statically.
        EXPECT_EQ(library->file, place.module);
        EXPECT_FALSE(library->build_id.empty()) << "distributions build the C library with a build id";
    }
}
#endif

TEST(loaded_code, visits_nothing_when_unchanged)
{
    std::size_t visits = 0;
    os::load_counts seen{};
    const os::load_counts counts = os::for_each_loaded_code(
        [&seen](const os::load_counts& now) {
            seen = now;
            return false;
        },
        [&visits](const os::loaded_code&) { ++visits; });
    EXPECT_EQ(visits, 0U);
    EXPECT_EQ(seen.loads, counts.loads);
    EXPECT_EQ(seen.unloads, counts.unloads);
    EXPECT_GT(counts.loads, 0U);
}

/// Program headers that describe memory of the test.
struct headers
{
    std::array<ElfW(Phdr), 3> parts{};
    std::array<char, 256> memory{};
    std::size_t used = 0;

    void add_note(const char* name, ElfW(Word) type, const std::string& content)
    {
        const ElfW(Nhdr)
            note{static_cast<ElfW(Word)>(std::strlen(name) + 1), static_cast<ElfW(Word)>(content.size()), type};
        std::memcpy(memory.data() + used, &note, sizeof note);
        used += sizeof note;
        std::memcpy(memory.data() + used, name, std::strlen(name) + 1);
        used += (std::strlen(name) + 1 + 3) / 4 * 4;
        std::memcpy(memory.data() + used, content.data(), content.size());
        used += (content.size() + 3) / 4 * 4;
    }

    std::string build_id()
    {
        parts[0].p_type = PT_LOAD;
        parts[0].p_flags = PF_R;
        parts[0].p_vaddr = 0;
        parts[0].p_filesz = parts[0].p_memsz = memory.size();
        parts[1].p_type = PT_NOTE;
        parts[1].p_memsz = used;
        parts[1].p_align = 4;
        parts[2].p_type = PT_LOAD;
        parts[2].p_flags = PF_R | PF_X;
        parts[2].p_vaddr = 0x10'0000;
        parts[2].p_memsz = 1;
        dl_phdr_info info{};
        info.dlpi_addr = reinterpret_cast<ElfW(Addr)>(memory.data());
        info.dlpi_name = "library";
        info.dlpi_phdr = parts.data();
        info.dlpi_phnum = static_cast<ElfW(Half)>(parts.size());
        std::string id = "no code";
        os::program_headers(info).for_each_code([&id](const os::loaded_code& each) { id = each.build_id; });
        return id;
    }
};

TEST(loaded_code, finds_a_build_id_among_other_notes)
{
    headers mine;
    mine.add_note("stapsdt", 3, "probes");
    mine.add_note("GNU", NT_GNU_ABI_TAG, "tag");
    mine.add_note("GNU", NT_GNU_BUILD_ID, std::string("\x01\0\xFF", 3));
    EXPECT_EQ(mine.build_id(), std::string("\x01\0\xFF", 3));
}

TEST(loaded_code, has_no_build_id_if_the_notes_are_truncated_or_unmapped)
{
    headers none;
    none.add_note("GNU", NT_GNU_ABI_TAG, "tag");
    EXPECT_EQ(none.build_id(), "");
    headers cut_off;
    cut_off.add_note("GNU", NT_GNU_BUILD_ID, "12345678");
    cut_off.used -= 4;
    EXPECT_EQ(cut_off.build_id(), "");
    headers elsewhere;
    elsewhere.add_note("GNU", NT_GNU_BUILD_ID, "12345678");
    elsewhere.parts[1].p_vaddr = 0x20'0000;
    EXPECT_EQ(elsewhere.build_id(), "");
}

TEST(loaded_code, returns_absolute_paths)
{
    std::array<char, 4096> directory{};
    ASSERT_NE(getcwd(directory.data(), directory.size()), nullptr);
    EXPECT_EQ(path_of("/lib/a.so"), "/lib/a.so");
    EXPECT_EQ(path_of("./a.so"), std::string(directory.data()) + "/a.so");
    EXPECT_EQ(path_of("lib/a.so"), std::string(directory.data()) + "/lib/a.so");
    EXPECT_EQ(path_of("linux-vdso.so.1"), "linux-vdso.so.1") << "not a file";
    EXPECT_EQ(path_of("").front(), '/') << "the program";
    std::array<char, 8> small{};
    EXPECT_EQ(os::write_path_of_code("/lib/library.so", small.data(), small.size()), 7U);
    EXPECT_STREQ(small.data(), "/lib/li");
}
#else
TEST(loaded_code, is_empty_on_other_systems)
{
    EXPECT_TRUE(all_code().empty());
    EXPECT_EQ(path_of("a"), "");
}
#endif
} // namespace
