// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Finds the function of another library that a function of this library shadows (as by LD_PRELOAD).
///
///     first   what the process began with, behind this library
///     else    the library that the call came from, and those it needs, which may have been loaded since
///
/// Invariant: the function found is not of this library, so the caller never finds itself.
///
/// Thread safety: any thread. It may have to wait for the loader.
#pragma once

#include <memory_pool/base/config.hpp>

#if !defined(_WIN32)
#include <dlfcn.h>
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
#if defined(_WIN32)
/// Returns: nullptr. No function shadows another.
inline void* find_shadowed_function(const char*, const void*) noexcept
{
    return nullptr;
}
#else
/// Returns: the base address of the library that contains `address`; nullptr if none does.
inline const void* library_of(const void* address) noexcept
{
    Dl_info info{};
    return ::dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

/// Returns: the function called `name` that code at `caller` would call without this library; nullptr if there is none.
MEMORY_POOL_SLOW_PATH inline void* find_shadowed_function(const char* name, const void* caller) noexcept
{
    if (void* const next = ::dlsym(RTLD_NEXT, name))
        return next;
    Dl_info code{};
    if (::dladdr(caller, &code) == 0)
        return nullptr;
    void* const library = ::dlopen(code.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr)
        return nullptr;
    void* const found = ::dlsym(library, name);
    (void)::dlclose(library); // It stays loaded, as the caller is in it.
    const void* const here = reinterpret_cast<const void*>(&find_shadowed_function);
    return library_of(found) != library_of(here) ? found : nullptr;
}
#endif
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
