// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Reports of allocations in a no_allocation_scope: see no_allocation_scope.hpp.
///
///     memory_pool: forbidden allocation: 64 bytes, pool 'np_alloc', in no_allocation_scope 'audio callback'
///       remedy: ...
///       called by:
///         /usr/bin/synthesizer+0x11d4 (mix)
///         ...
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/core/reports/call_lines.hpp>
#include <memory_pool/no_allocation_scope.h>
#include <memory_pool/os/call_stack.hpp>
#include <memory_pool/os/uncancelled.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The set of reported call stacks.
class reported_calls : base::immovable<reported_calls>
{
public:
    /// Effects: adds a call stack if it is new and the set has room.
    /// Returns: whether the call stack was added.
    /// Thread safety: any thread.
    template <class Calls>
    bool add(const Calls& calls) noexcept
    {
        const std::uint64_t hash = hash_of(calls);
        for (std::size_t probe = 0; probe != hashes_.size(); ++probe) {
            std::atomic<std::uint64_t>& entry = hashes_[(hash + probe) % hashes_.size()];
            std::uint64_t found = 0;
            if (entry.compare_exchange_strong(found, hash, std::memory_order_relaxed))
                return true;
            if (found == hash)
                return false;
        }
        return false;
    }

private:
    /// Returns: a nonzero hash.
    template <class Calls>
    static std::uint64_t hash_of(const Calls& calls) noexcept
    {
        std::uint64_t hash = 0xCBF2'9CE4'8422'2325U; // FNV-1a: Fowler, Noll, Vo
        for (const void* const address : calls)
            hash = (hash ^ reinterpret_cast<std::uintptr_t>(address)) * 0x0100'0000'01B3U;
        return hash != 0 ? hash : 1;
    }

    std::array<std::atomic<std::uint64_t>, 256> hashes_{};
};

MEMORY_POOL_ONE_PER_PROCESS extern reported_calls calls_of_allocations;
// NOLINTNEXTLINE(misc-definitions-in-headers): it is weak.
MEMORY_POOL_ONE_PER_PROCESS reported_calls calls_of_allocations;

/// The call stack that leads to an allocation.
class allocation_calls
{
public:
    MEMORY_POOL_NOINLINE allocation_calls() noexcept : all_(os::basic_call_stack<32>::of_this_thread()) {}

    const void* const* begin() const noexcept
    {
        return all_.end() - all_.begin() > own ? all_.begin() + own : all_.begin();
    }
    const void* const* end() const noexcept { return all_.end(); }

private:
    static constexpr std::ptrdiff_t own = 3; ///< of_this_thread, the constructor, report_allocation

    os::basic_call_stack<32> all_;
};

/// Effects: reports an allocation as the scope demands: not at all, once per call stack, or each time with a call of
///   the error handler. For the member `note` of a scope.
MEMORY_POOL_SLOW_PATH inline void report_allocation(np_no_allocation_scope* scope, std::size_t bytes,
                                                    const char* allocator)
{
    const allocation_calls calls;
    const bool is_fatal = scope->allocating == np_allocating_fatal;
    if (!is_fatal && (scope->allocating == np_allocating_counted || !calls_of_allocations.add(calls)))
        return;
    constexpr error_kind kind = error_kind::forbidden_allocation;
    const base::message text("memory_pool: %s: %zu bytes, pool '%.100s', in no_allocation_scope '%.100s'\n  remedy: %s",
                             error_name(kind), bytes, allocator, scope->name != nullptr ? scope->name : "unnamed",
                             base::remedy_for(kind));
    {
        const os::uncancelled until_printed; // malloc is not a cancellation point.
        base::print(text.c_str());
        print_calls("called", calls, [](const base::message& line) { base::print(line.c_str()); });
    }
    if (is_fatal)
        get_error_handler()({kind, nullptr, bytes, allocator, text.c_str()});
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
