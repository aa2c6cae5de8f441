// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Lists what is in use of a pool when that ends, by call site; and the exit status of a process with leaks.
///
///     pool ends, blocks in use  ->  samples among them  ->  stderr  ->  at exit: the status of NP_LEAKS_EXIT
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/core/blocks/pool_profile.hpp>
#include <memory_pool/core/profiles/profile_sample.hpp>
#include <memory_pool/core/profiles/text_profile.hpp>
#include <memory_pool/core/reports/report_format.hpp>
#include <memory_pool/os/call_stack.hpp>
#include <memory_pool/os/environment.hpp>
#include <memory_pool/os/process_end.hpp>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Returns: the number, up to 255, that the variable has in the environment; 0 if it has none.
inline int number_in_environment(std::string_view variable) noexcept
{
    const char* const* each = os::trusted_environment();
    for (; each != nullptr && *each != nullptr; ++each) {
        const std::string_view text = *each;
        if (text.size() <= variable.size() || text.substr(0, variable.size()) != variable ||
            text[variable.size()] != '=')
            continue;
        int number = 0;
        for (const char digit : text.substr(variable.size() + 1)) {
            if (digit < '0' || digit > '9' || number > 25)
                return 0;
            number = 10 * number + (digit - '0');
        }
        if (number > 255)
            return 0;
        return number;
    }
    return 0;
}

/// Whether functions of the library: they allocate for their callers.
inline bool is_own_function(const char* name) noexcept
{
    const auto begins = [name](const char* with) { return std::strncmp(name, with, std::strlen(with)) == 0; };
    return name != nullptr && (begins("_ZN11memory_pool") || begins("_ZNK11memory_pool"));
}

/// Returns: the stack without its innermost frames that are known to be of the library; all of it if it has no others.
inline profile_sample without_own_functions(profile_sample sample) noexcept
{
    const void* const* first = sample.begin;
    while (first != sample.end && is_own_function(os::find_code(*first).function))
        ++first;
    sample.begin = first != sample.end ? first : sample.begin;
    return sample;
}

/// Returns: the status of NP_LEAKS_EXIT; 0 if that is not set.
inline int status_of_leaks() noexcept
{
    return number_in_environment("NP_LEAKS_EXIT");
}

/// Effects: has the process end with the status of NP_LEAKS_EXIT, if that is set.
inline void end_with_status_of_leaks() noexcept
{
    static std::atomic<bool> is_registered{false};
    if (status_of_leaks() != 0 && !is_registered.exchange(true))
        os::set_status_at_end<&status_of_leaks>();
}

/// Effects: lists `count` blocks that are in use of a pool which ends: of those that `for_each(visit)` visits, the
///   samples.
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

/// Returns: whether the environment asks for such lists, by the variables of np_alloc.
inline bool lists_leaks() noexcept
{
    return number_in_environment("NP_LEAKS") != 0 || number_in_environment("NP_LEAKS_EXIT") != 0;
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
