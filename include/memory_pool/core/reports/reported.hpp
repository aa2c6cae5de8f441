// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The entry of a named pool or resource in reports.
///
/// Thread safety: as the pool.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#if !MEMORY_POOL_USES_LIBRARY
#include <memory_pool/core/reports/report_listener.hpp>
#include <memory_pool/core/reports/report_registry.hpp>
#endif
#include <memory_pool/core/reports/report_source.hpp>

#include <cstdint>
#include <cstring>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The name of pools that the program does not name.
inline constexpr const char* default_name = "unnamed";
inline constexpr const char* default_name_of_pool_resource = "of a pool resource";

/// The entry of a pool in reports. A pool without a name has no entry, and each function only tests a pointer.
class reported : base::immovable<reported>
{
public:
    /// Effects: adds the entry, if the pool has a name.
    reported(const char* kind, const char* name, report_source source) noexcept
        : record_(has_name(name) ? enter_in_reports(kind, name, source) : nullptr)
    {
    }

    ~reported() { leave(); }

    /// Effects: removes the entry. Required before the destruction of a pool that other threads may read.
    void leave() noexcept
    {
        if (record_ != nullptr)
            leave_reports(std::exchange(record_, nullptr));
    }

    bool is_on() const noexcept { return record_ != nullptr; }

    /// Effects: as core::publish.
    MEMORY_POOL_ALWAYS_INLINE void publish() const noexcept
    {
        if (MEMORY_POOL_UNLIKELY(record_ != nullptr))
            core::publish(*record_);
    }

    /// Effects: as core::set_kind.
    void set_kind(const char* kind) const noexcept
    {
        if (record_ != nullptr)
            core::set_kind(*record_, kind);
    }

    /// Effects: as core::set_more_bytes.
    void set_more_bytes(std::uint64_t bytes) const noexcept
    {
        if (record_ != nullptr)
            core::set_more_bytes(*record_, bytes);
    }

    /// Effects: as core::enter_again.
    void enter_again() const noexcept
    {
        if (record_ != nullptr)
            core::enter_again(*record_);
    }

private:
    /// Returns whether the program chose the name.
    static bool has_name(const char* name) noexcept
    {
        return name != nullptr && *name != '\0' && std::strcmp(name, default_name) != 0 &&
               std::strcmp(name, default_name_of_pool_resource) != 0;
    }

    report_record* record_;
};

/// Registers fork handlers at startup, so that the program's fork handlers may use named pools. Each translation unit
/// registers them because static objects of libmemory_pool may be constructed after those of the program.
inline const bool reports_are_prepared = (prepare_reports(), true);
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
