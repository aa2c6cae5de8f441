// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// host LIBRARY: loads a library that, like this program, is linked with libnp_alloc.so. They share one heap and one
// error handler.
#include <memory_pool/errors.hpp>
#include <memory_pool/np_alloc.h>

#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {
void check(bool is_right, const char* what)
{
    if (!is_right) {
        std::fprintf(stderr, "failed: %s\n", what);
        std::exit(1);
    }
}

template <class Function>
Function* function_of(void* library, const char* name)
{
    void* const found = dlsym(library, name);
    check(found != nullptr, name);
    return reinterpret_cast<Function*>(found);
}

std::size_t bytes_in_use()
{
    np_statistics now;
    np_get_statistics(&now);
    return now.bytes_in_use;
}

const void* reported = nullptr;
} // namespace

int main(int, char** arguments)
{
    void* const library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    check(library != nullptr, "the library can be loaded");
    auto* const allocate = function_of<void*(std::size_t)>(library, "plugin_allocate");
    auto* const give_back = function_of<void(void*)>(library, "plugin_free");
    auto* const create_heap = function_of<np_heap*()>(library, "plugin_create_heap");

    const std::size_t bytes_before = bytes_in_use();
    std::vector<void*> blocks;
    std::thread([&] {
        for (std::size_t bytes = 0; bytes != 3000; ++bytes)
            blocks.push_back(bytes % 2 == 0 ? allocate(bytes) : np_alloc(bytes));
    }).join();
    check(bytes_in_use() > bytes_before, "blocks of the library are counted in the program");
    for (std::size_t i = 0; i != blocks.size(); ++i)
        i % 4 < 2 ? give_back(blocks[i]) : np_free(blocks[i]);
    check(bytes_in_use() == bytes_before, "program and library free each other's blocks");
    check(np_verify() == 1, "np_verify finds no damage");

    np_heap* const heap = create_heap();
    check(np_heap_alloc(heap, 100) != nullptr, "a heap of the library serves the program");
    np_heap_destroy(heap);

    memory_pool::set_error_handler([](const memory_pool::error_report& report) { reported = report.address; });
    int no_block = 0;
    give_back(&no_block);
    check(reported == &no_block, "misuse in the library is reported to the error handler of the program");

    check(dlclose(library) == 0, "the library can be closed");
    np_free(np_alloc(100));
    check(bytes_in_use() == bytes_before, "np_alloc works after the library was closed");
    return 0;
}
