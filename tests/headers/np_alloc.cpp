// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// np_alloc for C++, its drop-in, and new and delete over it, as a user's translation unit: see headers.cmake.
#include <memory_pool/np_alloc.hpp>
#include <memory_pool/np_new_delete.hpp>

#include <np_alloc.h>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <sstream>
#include <vector>

template class memory_pool::np_allocator<int>;

namespace headers {
std::size_t use_np_alloc(std::uint64_t checkpoint);
std::size_t use_np_alloc(std::uint64_t checkpoint)
{
    std::ostringstream stream;
    np_statistics_print(np_format_text, stream);
    const std::size_t leaks = np_leak_diff(checkpoint, np_format_text, stream) + np_leak_report(np_format_text, stream);
    const std::vector<int, memory_pool::np_allocator<int>> numbers(10, 1);
    const std::pmr::vector<int> others(10, 1, memory_pool::np_resource());
    np_free(np_alloc(100, __FILE__, __LINE__));
    np_free(np_alloc(100));
    return leaks + numbers.size() + others.size();
}
} // namespace headers
