// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// plugin_host LIBRARY: repeatedly loads and closes a library with its own np_alloc while threads that have used
// it continue and end later; expects that hardly any addresses leak.
#include <support/check.hpp>
#include <support/threads.hpp>

#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <fstream>
#include <list>

namespace {
std::size_t pages_of_addresses()
{
    std::size_t pages = 0;
    CHECK(std::ifstream("/proc/self/statm") >> pages);
    return pages;
}
} // namespace

int main(int count, char** arguments)
{
    CHECK(count == 2);
    const std::size_t pages_before = pages_of_addresses();
    std::list<test::lasting_thread> threads;
    for (int round = 0; round != 20; ++round) {
        void* const library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
        CHECK(library != nullptr);
        auto* const use = reinterpret_cast<bool (*)()>(dlsym(library, "use_np_alloc"));
        CHECK(use != nullptr);
        CHECK(use());
        threads.emplace_back().does([use] { CHECK(use()); });
        threads.front().does([use] { CHECK(use()); });
        CHECK(dlclose(library) == 0);
        CHECK(dlopen(arguments[1], RTLD_NOW | RTLD_NOLOAD) == nullptr);
        if (round % 3 == 2)
            threads.pop_front();
    }
    constexpr std::size_t few = std::size_t{1} << 24; // of the 2^35 that a process has
    CHECK(pages_of_addresses() - pages_before < few);
    std::puts("loaded and closed");
}
