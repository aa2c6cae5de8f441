// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A sampling profiler for pools: it shows the call stacks that allocated the blocks in use, and all blocks so far.
///
///     memory_pool::object_pool<order, memory_pool::profiling_policy<>> orders(pool_options{}.with_name("orders"));
///     ...
///     memory_pool::dump_profile("/tmp/pools.pb");        or write_profile(stream, profile_format::pprof)
///
///     pprof     for github.com/google/pprof; each sample has the label `pool`
///     folded    a line for each call stack, for flame graphs; the name of the pool is the outermost frame
///     text      for humans
///
/// A block of n bytes is sampled with probability p = 1 - exp(-n / mean), and the sample counts as 1 / p blocks.
///
/// With NP_LEAKS=1 or NP_LEAKS_EXIT=status in the environment, the destructor of such a pool lists the blocks in use on
/// stderr by call site, before it destroys their objects. Reference-counted objects may outlive their pool. They are
/// listed only with a policy that reports leaks, such as profiling_policy<leak_reporting_policy<>>.
///
/// Thread safety: any thread. Writing a profile holds a lock only while it copies the profile.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/blocks/pool_leaks.hpp>
#include <memory_pool/core/blocks/pool_profile.hpp>
#include <memory_pool/core/reports/profile_format.hpp>
#include <memory_pool/core/reports/profile_sample.hpp>
#include <memory_pool/core/reports/report_format.hpp>
#include <memory_pool/os/clock.hpp>
#include <memory_pool/policies.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <ios>
#include <ostream>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// Samples the blocks of pools.
struct profiling_observer
{
    /// Effects: as observing_policy requires.
    MEMORY_POOL_ALWAYS_INLINE static void allocated(const char* pool_name, const void* block,
                                                    std::size_t bytes) noexcept
    {
        detail::core::pool_profile::allocated(pool_name, block, bytes);
    }

    /// Effects: as observing_policy requires.
    MEMORY_POOL_ALWAYS_INLINE static void freed(const char* /*pool_name*/, const void* block) noexcept
    {
        detail::core::pool_profile::freed(block);
    }

    /// Effects: lists the blocks in use of a pool being destroyed, if `is_leak` is true or the environment requests the
    ///   list.
    template <class ForEachInUse>
    static void ended(const char* pool_name, std::size_t block_size, std::size_t count, bool is_leak,
                      ForEachInUse&& for_each_in_use) noexcept
    {
        if (is_leak || detail::core::lists_leaks())
            detail::core::list_leaks(pool_name, block_size, count, std::forward<ForEachInUse>(for_each_in_use));
    }
};

/// `Policy` with a profiler.
template <class Policy = default_policy>
using profiling_policy = observing_policy<profiling_observer, Policy>;

/// Effects: samples, on average, one block per `mean` bytes that pools with a profiling_policy allocate. The default is
///   NP_PROFILE_BYTES in the environment, or 524,288. 1 samples each block, so the statistics are exact. 0 stops
///   sampling; earlier samples are still tracked. Other threads notice the change within 64 KiB of allocations.
inline void set_profile_bytes(std::size_t mean) noexcept
{
    detail::core::pool_profile::set_mean(mean);
}

/// Returns: the mean number of bytes between samples.
inline std::size_t profile_bytes() noexcept
{
    (void)detail::core::pool_profile::get(); // Reads the environment.
    return detail::core::mean_of_pool_profile.load(std::memory_order_relaxed);
}

namespace detail::core {
/// Returns: 0, or an error number.
inline int write_pool_profile(profile_format format, report_output to)
{
    pool_profile::taken taken;
    if (!pool_profile::get().take(taken))
        return ENOMEM;
    const profile_header header{os::unix_milliseconds(), profile_bytes(), "memory_pool::.*(detail|block_pool).*",
                                "memory_pool", pool_profile::get().modules()};
    core::write_profile(format, header, taken, &without_own_functions, to);
    return 0;
}
} // namespace detail::core

/// Effects: writes the current profile: for each call stack and pool, the blocks and bytes allocated so far, and the
///   blocks and bytes in use. On OOM, writes nothing and sets the badbit of the stream.
/// Throws: what the stream throws.
inline void write_profile(std::ostream& to, profile_format format)
{
    const auto write = [](const char* text, std::size_t length, void* stream) {
        static_cast<std::ostream*>(stream)->write(text, static_cast<std::streamsize>(length));
    };
    if (detail::core::write_pool_profile(format, detail::core::report_output(write, &to)) != 0)
        to.setstate(std::ios_base::badbit);
}

/// Effects: writes the profile to the file at `path`, in which `%p` stands for the process ID, and `%%` for a percent
///   sign. The format is text if the path ends in `.txt`, folded if it ends in `.folded`, otherwise pprof. The profile
///   is written to a temporary file, with `.tmp` appended to the name, which then replaces the file at `path`.
/// Returns: whether the profile was written. On failure, errno has the reason. Always false on Windows.
inline bool dump_profile(const char* path) noexcept
{
    const int error_before = errno;
    const int error = detail::core::write_profile_file(path, &detail::core::write_pool_profile);
    errno = error != 0 ? error : error_before;
    return error == 0;
}
}} // namespace memory_pool::MEMORY_POOL_ABI
