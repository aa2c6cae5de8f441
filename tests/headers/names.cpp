// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// A program whose own namespaces and functions have common names, and which uses all of namespace memory_pool.
#include <memory_pool/arena_resource.hpp>
#include <memory_pool/memory_pool.hpp>

#include <cstddef>

namespace base {
struct thing
{
};
} // namespace base
namespace core {
inline constexpr std::size_t size = 48;
}
namespace os {
inline int error(int code)
{
    return code;
}
} // namespace os
static int error(int code)
{
    return os::error(code);
}

using namespace memory_pool;

std::size_t use_names();

std::size_t use_names()
{
    const base::thing of_the_program{};
    (void)of_the_program;
    block_pool pool(core::size);
    return error(0) == 0 ? pool.block_size() : 0;
}
