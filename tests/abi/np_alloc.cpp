// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Like pools.cpp, for np_alloc: units of any configuration share one build of the library.
#include <memory_pool/np_alloc.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory_resource>
#include <vector>

extern "C" int UNIT();

namespace {
constexpr std::size_t more_than_there_is = std::numeric_limits<std::size_t>::max() / 4;

int allocates()
{
    void* const block = memory_pool::np_allocate(100);
    memory_pool::np_deallocate(block, 100);
    np_free(np_alloc(100, __FILE__, __LINE__));
    const std::vector<int, memory_pool::np_allocator<int>> numbers(100, 7);
    const std::pmr::vector<int> others(numbers.begin(), numbers.end(), memory_pool::np_resource());
    if (np_leak_diff(np_leak_checkpoint(), np_format_text, stdout) != 0)
        return __LINE__;
    return others.back() == 7 ? 0 : __LINE__;
}

int fails_as_built()
{
#if MEMORY_POOL_EXCEPTIONS
    try {
        (void)memory_pool::np_allocate(more_than_there_is);
        return __LINE__;
    } catch (const memory_pool::out_of_memory&) {
        return 0;
    }
#else
    memory_pool::set_error_handler([](const memory_pool::error_report& report) {
        std::_Exit(report.kind == memory_pool::error_kind::out_of_memory ? EXIT_SUCCESS : __LINE__ % 256);
    });
    (void)memory_pool::np_allocate(more_than_there_is); // ends the program
    return __LINE__;
#endif
}
} // namespace

int UNIT()
{
    const int line = allocates();
    return line != 0 ? line : fails_as_built();
}
