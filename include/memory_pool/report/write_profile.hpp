// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Writes the profile of pools with a profiling_policy.
///
///     pprof     for github.com/google/pprof; each sample has the label `pool`
///     folded    a line for each call stack, for flame graphs; the name of the pool is the outermost frame
///     text      for humans
///
/// Thread safety: any thread. A lock is held while the profile is copied, not while it is written.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/blocks/pool_leaks.hpp>
#include <memory_pool/core/blocks/pool_profile.hpp>
#include <memory_pool/core/profiles/profile_format.hpp>
#include <memory_pool/core/profiles/profile_sample.hpp>
#include <memory_pool/core/reports/report_format.hpp>
#include <memory_pool/os/clock.hpp>
#include <memory_pool/profiling_policy.hpp>

#include <cerrno>
#include <cstddef>
#include <ios>
#include <ostream>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
namespace detail::report {
/// Returns: an error, or 0.
inline int write_pool_profile(profile_format format, core::report_output to)
{
    core::pool_profile::taken taken;
    if (!core::pool_profile::get().take(taken))
        return ENOMEM;
    const core::profile_header header{os::unix_milliseconds(), profile_bytes(), "memory_pool::.*(detail|block_pool).*",
                                      "memory_pool", core::pool_profile::get().modules()};
    core::write_profile(format, header, taken, &core::without_own_functions, to);
    return 0;
}
} // namespace detail::report

/// Effects: writes the current profile: for each call stack and pool, the blocks and bytes allocated so far, and those
///   in use. On OOM nothing is written, and the stream is bad.
/// Throws: what the stream throws.
inline void write_profile(std::ostream& to, profile_format format)
{
    const auto write = [](const char* text, std::size_t length, void* stream) {
        static_cast<std::ostream*>(stream)->write(text, static_cast<std::streamsize>(length));
    };
    if (detail::report::write_pool_profile(format, detail::core::report_output(write, &to)) != 0)
        to.setstate(std::ios_base::badbit);
}

/// Effects: writes the profile to the file at `path`, in which `%p` stands for the process ID, and `%%` for a percent
///   sign: as text if the path ends in `.txt`, folded if it ends in `.folded`, otherwise for pprof. The profile is
///   written to a file with `.tmp` appended to the name, which then replaces the one at `path`.
/// Returns: whether it was written; if not, errno says why. False on Windows.
inline bool dump_profile(const char* path) noexcept
{
    const int error_before = errno;
    const int error = detail::core::write_profile_file(path, &detail::report::write_pool_profile);
    errno = error != 0 ? error : error_before;
    return error == 0;
}
}} // namespace memory_pool::MEMORY_POOL_ABI
