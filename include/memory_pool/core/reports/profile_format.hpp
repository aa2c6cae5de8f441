// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Writes a profile in one of its formats, to a function or to a file.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/reports/pprof_profile.hpp>
#include <memory_pool/core/reports/profile_sample.hpp>
#include <memory_pool/core/reports/report_format.hpp>
#include <memory_pool/core/reports/text_profile.hpp>
#include <memory_pool/os/replaced_file.hpp>

#include <cerrno>
#include <string_view>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// The formats of a profile.
enum class profile_format
{
    pprof,  ///< profile.proto of github.com/google/pprof, uncompressed.
    folded, ///< One line per call stack with its bytes in use, for flame graphs.
    text,   ///< A human-readable list.
};

namespace detail::core {
/// Returns: text if the path ends in .txt, folded if it ends in .folded, otherwise pprof.
inline profile_format profile_format_of(std::string_view path) noexcept
{
    const auto has_ending = [path](std::string_view ending) {
        return path.size() > ending.size() && path.substr(path.size() - ending.size()) == ending;
    };
    if (has_ending(".folded"))
        return profile_format::folded;
    return has_ending(".txt") ? profile_format::text : profile_format::pprof;
}

/// Effects: writes `prepare(sample)` for each sample of `taken`, in order.
template <class Format, class Taken, class Prepare>
void write_profile_as(const profile_header& header, const Taken& taken, Prepare&& prepare, report_output to)
{
    Format format(to);
    format.begin(header);
    for (const profile_sample& each : taken)
        format.sample(prepare(each));
}

template <class Taken, class Prepare>
void write_profile(profile_format format, const profile_header& header, const Taken& taken, Prepare&& prepare,
                   report_output to)
{
    switch (format) {
    case profile_format::pprof: write_profile_as<pprof_profile>(header, taken, prepare, to); break;
    case profile_format::folded: write_profile_as<folded_profile>(header, taken, prepare, to); break;
    case profile_format::text: write_profile_as<text_profile>(header, taken, prepare, to); break;
    }
}

/// Effects: writes a file with `write(format, output)`, which returns an error number or 0. The complete file replaces
///   any file at `path`.
/// Returns: the error number, or 0.
template <class Write>
int write_profile_file(const char* path, Write&& write)
{
    errno = 0;
    os::replaced_file file(path);
    if (const int error = errno)
        return error;
    if (const int error = write(profile_format_of(path), report_output(&os::replaced_file::write_to, &file)))
        return error;
    if (file.finish())
        return 0;
    return errno != 0 ? errno : ENOTSUP; // If the OS does not support replaced_file, errno is unchanged.
}
} // namespace detail::core
}} // namespace memory_pool::MEMORY_POOL_ABI
