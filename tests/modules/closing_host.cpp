// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// closing_host FIRST SECOND: a program that closes a library with outstanding blocks and loads another one, if
/// possible at the same addresses. Profiles name both. With libnp_malloc.so preloaded, its profile is checked, too.
#include <memory_pool/block_pool.hpp>
#include <memory_pool/profiling_policy.hpp>
#include <memory_pool/report.hpp>

#include <support/check.hpp>
#include <support/pprof_reader.hpp>

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

extern "C" __attribute__((weak)) int np_profile_dump(const char* path) noexcept;

namespace {
using function = void* (*)(void* (*allocate)());

memory_pool::basic_block_pool<memory_pool::profiling_policy<>> pool(64);

void* allocate_twice()
{
    void* const block = std::malloc(1'000); // stays outstanding, like the pool's block
    CHECK(block != nullptr);
    return pool.allocate();
}

function load(void*& library, const char* path, const char* name)
{
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != nullptr);
    auto* const found = reinterpret_cast<function>(dlsym(library, name));
    CHECK(found != nullptr);
    return found;
}

bool contains(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

/// Checks that a text profile names calls in the first library by offset and calls in the second by function.
void check_names(const std::string& text)
{
    CHECK(contains(text, "libmodule_first.so+0x"));
    CHECK(!contains(text, "first_library_allocates"));
    CHECK(contains(text, "second_library_allocates"));
}

void check_mappings(const std::string& profile)
{
    const test::pprof_reader read(profile);
    for (const char* const library : {"libmodule_first.so", "libmodule_second.so"}) {
        const auto uses = [&](const test::pprof_reader::location& each) {
            const auto mapping = read.mappings.find(each.mapping);
            return mapping != read.mappings.end() && contains(mapping->second.file, library) &&
                   mapping->second.file.front() == '/' && mapping->second.build_id.size() >= 16;
        };
        const auto in_use = std::count_if(read.samples.begin(), read.samples.end(), [&](const auto& sample) {
            return std::any_of(sample.locations.begin(), sample.locations.end(), uses);
        });
        CHECK(in_use >= 1);
    }
}

std::string content_of(const std::string& path)
{
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

template <class Write>
void check(Write&& write)
{
    check_names(write("folded"));
    check_names(write("txt"));
    check_mappings(write("pb"));
}
} // namespace

int main(int count, char** arguments)
{
    CHECK(count == 3);
    memory_pool::set_profile_bytes(1);
    void* library = nullptr;
    const function first = load(library, arguments[1], "first_library_allocates");
    CHECK(first(&allocate_twice) != nullptr);
    CHECK(dlclose(library) == 0);
    CHECK(dlopen(arguments[1], RTLD_NOW | RTLD_NOLOAD) == nullptr);
    const function second = load(library, arguments[2], "second_library_allocates");
    std::printf("%s\n", first == second ? "at the same address" : "elsewhere");
    CHECK(second(&allocate_twice) != nullptr);

    const auto write_by = [](auto&& dump) {
        return [&dump](const std::string& ending) {
            const std::string path = "closing_host." + std::to_string(getpid()) + "." + ending;
            CHECK(dump(path.c_str()));
            const std::string content = content_of(path);
            CHECK(unlink(path.c_str()) == 0);
            return content;
        };
    };
    check(write_by([](const char* path) { return memory_pool::dump_profile(path); }));
    if (np_profile_dump != nullptr)
        check(write_by([](const char* path) { return np_profile_dump(path) == 0; }));
}
