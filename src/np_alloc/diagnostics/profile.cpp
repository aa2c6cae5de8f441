// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include "../support/internals.hpp"
#include "profile.hpp"

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/reports/code_modules.hpp>
#include <memory_pool/core/reports/profile_format.hpp>
#include <memory_pool/core/reports/profile_sample.hpp>
#include <memory_pool/core/reports/report_format.hpp>
#include <memory_pool/os/call_stack.hpp>
#include <memory_pool/os/clock.hpp>

#include "../support/allocation_profile.hpp"
#include "../support/misuse.hpp"

#include <cerrno>
#include <cstddef>
#include <string_view>

/// 1 in libnp_malloc, which replaces malloc.
#ifndef MEMORY_POOL_TAKES_PLACE_OF_MALLOC
#define MEMORY_POOL_TAKES_PLACE_OF_MALLOC 0
#endif

namespace memory_pool::np {
namespace {
/// Functions of np_alloc and their callees. The profile hides these functions and shows their callers.
constexpr std::string_view own_functions =
    "memory_pool::np::.*|operator "
    "new.*|malloc|calloc|realloc|reallocarray|memalign|posix_memalign|aligned_alloc|valloc|"
    "pvalloc|np_(heap_)?(aligned_|posix_mem)?(alloc|zalloc|calloc|realloc|reallocarray|align|strdup|strndup)|"
    "np_alloc_at|np_expand";

/// Returns: the beginning of the module that contains a code address; nullptr if unknown.
const void* module_of(const void* address) noexcept
{
    const os::code_place where = os::find_code(address);
    return where.module != nullptr ? static_cast<const char*>(address) - where.offset : nullptr;
}

profile_format in_cpp(np_profile_format format) noexcept
{
    static_assert(static_cast<int>(profile_format::pprof) == np_profile_pprof &&
                  static_cast<int>(profile_format::folded) == np_profile_folded &&
                  static_cast<int>(profile_format::text) == np_profile_text);
    return static_cast<profile_format>(format);
}

/// Returns: an error, or 0.
int write_profile(profile_format format, const core::report_output& to)
{
    taken_profile profile;
    if (!the_profile.take(profile))
        return ENOMEM;
    const core::profile_header header{os::unix_milliseconds(), the_profile.mean_bytes(), own_functions, "np_alloc",
                                      the_profile.modules()};
    core::write_profile(format, header, profile, &without_own_frames, to);
    return 0;
}
} // namespace

core::profile_sample without_own_frames(core::profile_sample sample) noexcept
{
    static const char anchor = 0;
    const void* const own = MEMORY_POOL_TAKES_PLACE_OF_MALLOC != 0 ? module_of(&anchor) : nullptr;
    const core::code_frame* first = sample.begin;
    while (own != nullptr && first != sample.end && module_of(reinterpret_cast<const void*>(first->address())) == own)
        ++first;
    sample.begin = first != sample.end ? first : sample.begin;
    return sample;
}

int dump_profile(const char* path) noexcept
{
    const errno_as_it_was kept;
    return core::write_profile_file(path, &write_profile);
}
} // namespace memory_pool::np

namespace np = memory_pool::np;
namespace core = memory_pool::detail::core;

extern "C" {
MEMORY_POOL_VISIBLE int np_profile_write(np_profile_format format,
                                         void (*write)(const char* text, size_t length, void* argument), void* argument)
{
    if (write == nullptr || format < np_profile_pprof || format > np_profile_text)
        return EINVAL;
    return np::write_profile(np::in_cpp(format), core::report_output(write, argument));
}

MEMORY_POOL_VISIBLE int np_profile_dump(const char* path) noexcept
{
    return path != nullptr ? np::dump_profile(path) : EINVAL;
}
}
