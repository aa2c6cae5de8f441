// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A program for profile_test.py, whose functions allocate known amounts.   profiled [FIRST SECOND | wait]
///
/// With two paths, writes a profile to FIRST before load_table() and to SECOND after it, if np_profile_dump exists.
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <unistd.h>

extern "C" __attribute__((weak)) int np_profile_dump(const char* path);

namespace {
std::vector<void*> kept;

template <class Allocate>
void keep(std::size_t count, const Allocate& allocate)
{
    for (std::size_t i = 0; i != count; ++i)
        kept.push_back(allocate());
}
} // namespace

// These functions are not static, so that tools can name them. The last statement of each prevents a tail call.
extern "C" {
__attribute__((noinline)) void read_names() // 3,200,000 bytes in use
{
    keep(50'000, [] { return std::malloc(64); });
    kept.push_back(nullptr);
}

__attribute__((noinline)) void make_pages() // 10,000,000 bytes in use
{
    keep(100, [] { return std::calloc(1, 100'000); });
    kept.push_back(nullptr);
}

__attribute__((noinline)) void parse_lines() // 12,000,000 bytes allocated, none in use
{
    for (int i = 0; i != 100'000; ++i) {
        void* volatile const line = std::malloc(120);
        std::free(line);
    }
    kept.push_back(nullptr);
}

__attribute__((noinline)) void load_table() // 4,000,000 bytes in use, by another thread
{
    std::thread([] { keep(20'000, [] { return ::operator new(200); }); }).join();
    kept.push_back(nullptr);
}
}

int main(int argc, char** argv)
{
    kept.reserve(1'000'000);
    read_names();
    make_pages();
    parse_lines();
    if (argc == 3 && (np_profile_dump == nullptr || np_profile_dump(argv[1]) != 0))
        return 2;
    load_table();
    if (argc == 3 && np_profile_dump(argv[2]) != 0)
        return 3;
    if (argc == 2 && std::strcmp(argv[1], "wait") == 0) {
        (void)::write(STDOUT_FILENO, "ready\n", 6);
        (void)::pause();
        std::exit(0);
    }
    return 0;
}
