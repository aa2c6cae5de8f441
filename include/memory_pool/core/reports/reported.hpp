// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The entry of a pool or resource in reports, if it has a name.
///
/// Thread safety: that of the pool.
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
/// The names of pools to which the program gives none.
inline constexpr const char* default_name = "unnamed";
inline constexpr const char* default_name_of_pool_resource = "of a pool resource";

/// The entry of a pool in reports. A pool without a name has none, and all of this is a test of a pointer.
class reported : base::immovable<reported>
{
public:
    /// Effects: enters a pool, if it has a name.
    reported(const char* kind, const char* name, report_source source) noexcept
        : record_(has_name(name) ? enter_in_reports(kind, name, source) : nullptr)
    {
    }

    ~reported() { leave(); }

    /// Effects: removes the entry, before a pool that may be read is destroyed.
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

    /// Effects: names the kind of what is built on the pool.
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
    /// Returns: whether the program has chosen it.
    static bool has_name(const char* name) noexcept
    {
        return name != nullptr && *name != '\0' && std::strcmp(name, default_name) != 0 &&
               std::strcmp(name, default_name_of_pool_resource) != 0;
    }

    report_record* record_;
};

/// Fork handlers are registered at startup, so that those of the program may use pools with a name. In each unit, as
/// static objects of libmemory_pool may be constructed after those of the program.
inline const bool reports_are_prepared = (prepare_reports(), true);
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
