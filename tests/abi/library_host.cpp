// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A program that links with the library of library.cpp, or loads the file given as argument by dlopen.
#include <memory_pool/errors.hpp>

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

#if !LOADS_THE_LIBRARY
extern "C" void misuse_a_pool();
extern "C" void exhaust_a_pool();
#endif

namespace {
int reports = 0;

void fail(const char* text)
{
    std::fprintf(stderr, "%s\n", text);
    std::exit(EXIT_FAILURE);
}

void use(void (*misuse)(), void (*exhaust)())
{
    memory_pool::set_error_handler([](const memory_pool::error_report&) { ++reports; });
    misuse();
    if (reports != 1)
        fail("the program's error handler was not called");
    try {
        exhaust();
    } catch (const memory_pool::pool_exhausted&) {
        return;
    } catch (...) {
    }
    fail("the program did not catch the library's exception");
}
} // namespace

int main([[maybe_unused]] int count, [[maybe_unused]] char** arguments)
{
#if LOADS_THE_LIBRARY
    void* const library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (count != 2 || library == nullptr)
        fail(dlerror());
    use(reinterpret_cast<void (*)()>(dlsym(library, "misuse_a_pool")),
        reinterpret_cast<void (*)()>(dlsym(library, "exhaust_a_pool")));
#else
    use(&misuse_a_pool, &exhaust_a_pool);
#endif
}
