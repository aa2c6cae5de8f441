// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Adds the compiler and the library versions to the context of every report of a benchmark program.
#pragma once

#include <memory_pool/base/config.hpp>

#include <benchmark/benchmark.h>

#include <string>

#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif
#if defined(MEMORY_POOL_BENCHMARK_BOOST)
#include <boost/version.hpp>
#endif
#if defined(MEMORY_POOL_BENCHMARK_FOONATHAN)
#include <foonathan/memory/config.hpp>
#endif

namespace context {
inline std::string version(int major, int minor, int patch)
{
    return std::to_string(major) + '.' + std::to_string(minor) + '.' + std::to_string(patch);
}

/// Returns: true, so that the call can initialise a variable before `main` of Google Benchmark.
inline bool add()
{
#if defined(__clang__)
    benchmark::AddCustomContext("compiler", "Clang " __clang_version__);
#elif defined(__GNUC__)
    benchmark::AddCustomContext("compiler", "GCC " __VERSION__);
#endif
#if defined(__OPTIMIZE__)
    benchmark::AddCustomContext("optimised", "yes");
#else
    benchmark::AddCustomContext("optimised", "no");
#endif
    benchmark::AddCustomContext(
        "memory_pool", version(MEMORY_POOL_VERSION_MAJOR, MEMORY_POOL_VERSION_MINOR, MEMORY_POOL_VERSION_PATCH));
#if defined(__GLIBC__)
    benchmark::AddCustomContext("glibc", gnu_get_libc_version());
#endif
#if defined(MEMORY_POOL_BENCHMARK_BOOST)
    benchmark::AddCustomContext("boost",
                                version(BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100));
#endif
#if defined(MEMORY_POOL_BENCHMARK_FOONATHAN)
    benchmark::AddCustomContext(
        "foonathan_memory",
        version(FOONATHAN_MEMORY_VERSION_MAJOR, FOONATHAN_MEMORY_VERSION_MINOR, FOONATHAN_MEMORY_VERSION_PATCH));
#endif
    return true;
}
} // namespace context
