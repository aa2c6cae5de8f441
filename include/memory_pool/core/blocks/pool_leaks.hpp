// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Lists the blocks in use of a destroyed pool by call site, and sets the exit status of a process with leaks.
///
///     pool is destroyed, blocks in use  ->  samples among them  ->  stderr  ->  at exit: status of NP_LEAKS_EXIT
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/atomic_bytes.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/core/blocks/pool_profile.hpp>
#include <memory_pool/core/reports/code_modules.hpp>
#include <memory_pool/core/reports/profile_sample.hpp>
#include <memory_pool/core/reports/report_format.hpp>
#include <memory_pool/core/reports/text_profile.hpp>
#include <memory_pool/os/environment.hpp>
#include <memory_pool/os/process_end.hpp>

#include <cstddef>
#include <cstdio>
#include <cstring>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Returns: the exit status of a process with leaks; 0: leaks do not change the status.
inline int status_of_leaks() noexcept
{
    const std::size_t status = os::number_in_environment("NP_LEAKS_EXIT");
    return status <= 255 ? static_cast<int>(status) : 0;
}

/// Returns: whether `name` is the mangled name of a function of this library.
inline bool is_own_function(const char* name) noexcept
{
    const auto begins = [name](const char* with) { return std::strncmp(name, with, std::strlen(with)) == 0; };
    return name != nullptr && (begins("_ZN11memory_pool") || begins("_ZNK11memory_pool"));
}

/// Returns: the call stack without its innermost frames in this library; unchanged if all frames are in the library.
inline profile_sample without_own_functions(profile_sample sample) noexcept
{
    const code_frame* first = sample.begin;
    while (first != sample.end && is_own_function(first->place().function))
        ++first;
    sample.begin = first != sample.end ? first : sample.begin;
    return sample;
}

/// Effects: makes the process exit with the status of NP_LEAKS_EXIT, if that is set.
inline void end_with_status_of_leaks() noexcept
{
    static base::exchanged_bool is_registered{false};
    if (status_of_leaks() != 0 && !is_registered.exchange(true))
        os::set_status_at_end<&status_of_leaks>();
}

/// Effects: lists, by call site, the samples among the `count` blocks in use of a pool that is being destroyed.
///   `for_each(visit)` visits these blocks.
template <class ForEach>
void list_leaks(const char* pool_name, std::size_t block_size, std::size_t count, ForEach&& for_each) noexcept
{
    pool_profile::taken taken;
    (void)pool_profile::get().take_in_use(taken, for_each);
    in_use_list list(report_output(
        [](const char* text, std::size_t length, void*) { (void)std::fwrite(text, 1, length, stderr); }, nullptr));
    list.begin(base::message("memory_pool: pool '%.100s'", pool_name).c_str(),
               mean_of_pool_profile.load(std::memory_order_relaxed));
    for (const profile_sample& each : taken)
        list.sample(without_own_functions(each));
    list.end(count, count * block_size);
    (void)std::fflush(stderr);
    end_with_status_of_leaks();
}

/// Returns: whether the environment variables of np_alloc request lists of leaks.
inline bool lists_leaks() noexcept
{
    return os::number_in_environment("NP_LEAKS") != 0 || status_of_leaks() != 0;
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
