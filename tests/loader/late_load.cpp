// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// late_load LIBRARY [must]: loads libnp_malloc.so while threads are running, uses it in all of them
// and closes it before they end. Unless `must` is given, loading may fail: its thread-local storage needs static TLS,
// which may be exhausted.
#include "use.hpp"

#include <support/check.hpp>
#include <support/threads.hpp>

#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <string>

namespace {
template <class Function>
Function* function_of(void* library, const char* name)
{
    auto* const found = reinterpret_cast<Function*>(dlsym(library, name));
    CHECK(found != nullptr);
    return found;
}
} // namespace

int main(int count, char** arguments)
{
    CHECK(count == 2 || (count == 3 && arguments[2] == std::string("must")));
    test::lasting_thread before;
    before.does([] {});
    void* const library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const std::string reason = dlerror();
        std::printf("refused: %s\n", reason.c_str());
        CHECK(count == 2 && reason.find("static TLS") != std::string::npos);
        return 0;
    }
    auto* const allocate = function_of<void*(std::size_t)>(library, "malloc");
    auto* const reallocate = function_of<void*(void*, std::size_t)>(library, "realloc");
    auto* const free = function_of<void(void*)>(library, "free");
    const auto use = [&] { CHECK(test::use(allocate, reallocate, free)); };
    before.does(use);
    use();
    test::in_a_thread(use);
    before.does(use);
    CHECK(dlclose(library) == 0);
    std::puts("loaded and closed");
}
