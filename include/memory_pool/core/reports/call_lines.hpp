// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A call stack as lines of a report.
///
///       called by:
///         /usr/bin/program+0x11d4 (parse)
///         /usr/bin/program+0x1290
///         0x7f52a4018000                    of no module
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/os/call_stack.hpp>

#include <cstddef>
#include <cstring>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Effects: calls `print(line)` for each line, without a line break. Prints nothing if there are no calls. `title` is
///   the verb of the first line. `inner`: a module whose innermost calls are left out; nullptr for none.
template <class Calls, class Print>
MEMORY_POOL_SLOW_PATH void print_calls(const char* title, const Calls& calls, Print&& print,
                                       const char* inner = nullptr)
{
    if (calls.begin() == calls.end())
        return;
    print(base::message("  %s by:", title));
    for (const void* const address : calls) {
        const os::code_place where = os::find_code(address);
        if (inner != nullptr && where.module != nullptr && std::strcmp(where.module, inner) == 0)
            continue;
        inner = nullptr;
        if (where.module == nullptr)
            print(base::message("    %p", address));
        else if (where.function == nullptr)
            print(base::message("    %.200s+0x%zx", where.module, static_cast<std::size_t>(where.offset)));
        else
            print(base::message("    %.200s+0x%zx (%.100s)", where.module, static_cast<std::size_t>(where.offset),
                                where.function));
    }
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
