// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Lists the pools of the program in the reports of np_alloc (NP_REPORT), if the program is linked with np_alloc or
/// runs with libnp_malloc.so preloaded.
///
/// References np_alloc by weak symbols (ELF). A no-op without np_alloc or ELF.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/core/reports/report_registry.hpp>

#include <cstddef>

#if MEMORY_POOL_HAS_WEAK_FUNCTIONS
extern "C" {
/// Effects: registers `visit`. For a report, np_alloc calls `visit`, which calls `each(view, bytes, argument)` for each
///   record. The view is a report_view of `bytes` bytes.
MEMORY_POOL_WEAK void memory_pool_np_add_reports(
    void (*visit)(void (*each)(const void* view, std::size_t bytes, void* argument), void* argument)) noexcept;
/// Effects: unregisters `visit`, after waiting for a call in progress.
MEMORY_POOL_WEAK void memory_pool_np_remove_reports(
    void (*visit)(void (*each)(const void* view, std::size_t bytes, void* argument), void* argument)) noexcept;
}

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
inline void visit_report_records(void (*each)(const void* view, std::size_t bytes, void* argument), void* argument)
{
    report_registry::get().for_each([each, argument](const report_view& view) { each(&view, sizeof view, argument); });
}

/// Registers the registry during its lifetime. A shared library may have its own registry, and may be unloaded.
class report_listener : base::immovable<report_listener>
{
public:
    report_listener() noexcept
    {
        if (memory_pool_np_add_reports != nullptr)
            memory_pool_np_add_reports(&visit_report_records);
    }
    ~report_listener()
    {
        if (memory_pool_np_remove_reports != nullptr)
            memory_pool_np_remove_reports(&visit_report_records);
    }
};

inline const report_listener listener_of_reports;
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
#endif
