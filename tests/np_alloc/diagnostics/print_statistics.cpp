// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Prints the statistics of a process with blocks of every kind, for statistics_test.py.   print_statistics json|text
#include <memory_pool/np_alloc.h>

#include <support/check.hpp>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <thread>

int main(int count, char** arguments)
{
    CHECK(count == 2);
    const auto use = [] {
        for (std::size_t bytes = 1; bytes < 1'000'000; bytes += bytes / 2 + 1)
            for (int i = 0; i != 10; ++i)
                if (void* const block = np_alloc(bytes); i % 2 == 0)
                    np_free(block);
    };
    use();
    std::thread(use).join();
    CHECK(np_heap_alloc(np_heap_create(), 5000) != nullptr);
    CHECK(np_alloc_at(64, "orders.c", 42) != nullptr);
    np_statistics_print(
        std::strcmp(arguments[1], "json") == 0 ? np_format_json : np_format_text,
        [](const char* text, std::size_t length, void* file) {
            CHECK(std::fwrite(text, 1, length, static_cast<std::FILE*>(file)) == length);
        },
        stdout);
    return 0;
}
