// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Finds the function of another library that a function of this library shadows (as by LD_PRELOAD).
///
///     first   the libraries that the process began with, behind this one
///     then    the caller's library and its dependencies, which may have been loaded since
///
/// Invariant: the result is not a function of this library, so a caller never finds itself.
///
/// Thread safety: any thread. A call may wait for the loader.
#pragma once

#include <memory_pool/base/config.hpp>

#include <array>
#include <cstddef>
#include <cstring>

#if !defined(_WIN32)
#include <dlfcn.h>
#endif
#if defined(__linux__)
#include <link.h>
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
#if defined(_WIN32)
/// Returns: nullptr: no function shadows another.
inline void* find_shadowed_function(const char*, const void*) noexcept
{
    return nullptr;
}
#else
/// Returns: the base address of the library that contains `address`; nullptr if there is none.
inline const void* library_of(const void* address) noexcept
{
    Dl_info info{};
    return ::dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

/// Returns: the function `name` that code at `caller` would call without this library; nullptr if there is none.
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
    (void)::dlclose(library); // It stays loaded, because the caller is part of it.
    const void* const here = reinterpret_cast<const void*>(&find_shadowed_function);
    return library_of(found) != library_of(here) ? found : nullptr;
}
#endif

#if defined(__linux__)
/// The path of a library of the process.
struct library_path
{
    std::size_t number; ///< The number of libraries before it.
    std::array<char, 4096> text;
};

/// Effects: sets `path` to the path of library `number`, or to an empty text if the path is too long.
/// Returns: whether there is such a library.
inline bool find_library_path(library_path& path, std::size_t number) noexcept
{
    path.number = number;
    path.text[0] = '\0';
    return ::dl_iterate_phdr(
               [](dl_phdr_info* info, std::size_t, void* wanted) {
                   auto& found = *static_cast<library_path*>(wanted);
                   if (found.number-- != 0)
                       return 0;
                   const std::size_t length = std::strlen(info->dlpi_name);
                   if (length < found.text.size())
                       std::memcpy(found.text.data(), info->dlpi_name, length + 1);
                   return 1;
               },
               &path) != 0;
}

/// Returns: whether the library at `path` defines `name` itself; a definition in a dependency does not count.
inline bool defines_function(const char* path, const char* name) noexcept
{
    void* const library = ::dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr)
        return false;
    Dl_info info{};
    void* const found = ::dlsym(library, name);
    const bool is_defined_here =
        found != nullptr && ::dladdr(found, &info) != 0 && std::strcmp(info.dli_fname, path) == 0;
    (void)::dlclose(library);
    return is_defined_here;
}
#endif

/// Returns: whether another library of the process defines a function `name`. This library, the program itself, and
///   libraries with `is_expected(path)` do not count. False if the system cannot tell.
/// Complexity: quadratic in libraries.
template <class IsExpected>
MEMORY_POOL_SLOW_PATH bool is_defined_elsewhere([[maybe_unused]] const char* name,
                                                [[maybe_unused]] IsExpected&& is_expected) noexcept
{
#if defined(__linux__)
    Dl_info here{};
    if (::dladdr(reinterpret_cast<const void*>(&find_library_path), &here) == 0)
        return false;
    library_path path;
    // The loader locks its list during a visit, so the visit must not call dlopen or dlsym.
    for (std::size_t number = 0; find_library_path(path, number); ++number) {
        const char* const text = path.text.data();
        if (*text != '\0' && std::strcmp(text, here.dli_fname) != 0 && !is_expected(text) &&
            defines_function(text, name))
            return true;
    }
#endif
    return false;
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
