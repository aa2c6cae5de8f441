// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include "../support/internals.hpp"
#include "requested_report.hpp"

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>
#include <memory_pool/core/reports/report_format.hpp>
#include <memory_pool/core/reports/report_registry.hpp>
#include <memory_pool/os/clock.hpp>
#include <memory_pool/os/fork.hpp>

#include "../engine/engine.hpp"
#include "../os/standard_error.hpp"
#include "../support/callbacks.hpp"
#include "../support/output.hpp"
#include "heap_reports.hpp"
#include "profile.hpp"
#include "slabs.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace memory_pool::np {
namespace {
/// A report being written.
struct growing_report
{
    core::json_report text;
    report_totals totals;

    void add(const core::report_view& view)
    {
        text.entry(view);
        totals.add(view.statistics);
    }
};

/// Ignores a view of another type, from a program compiled with another version of the library.
void add_view(const void* view, std::size_t bytes, void* report)
{
    if (bytes == sizeof(core::report_view))
        static_cast<growing_report*>(report)->add(*static_cast<const core::report_view*>(view));
}

void write_np_alloc(core::report_output& to)
{
    np_statistics_print(np_format_json, to.write(), to.argument());
    print_slabs_of_report(to.write(), to.argument());
}
} // namespace

void requested_report::keep(path& kept, const char* wanted, const char* variable) noexcept
{
    if (wanted == nullptr)
        return;
    if (std::strlen(wanted) >= kept.size()) {
        output(nullptr, nullptr)
            .print(base::message("np_alloc: %s is ignored: the path has more than %zu characters\n", variable,
                                 kept.size() - 1));
        return;
    }
    std::memcpy(kept.data(), wanted, std::strlen(wanted) + 1);
}

void requested_report::start(const char* report_path, const char* profile_path, int signal) noexcept
{
    keep(report_path_, report_path, "NP_REPORT");
    keep(profile_path_, profile_path, "NP_PROFILE");
    if (signal == 0 || (report_path_[0] == '\0' && profile_path_[0] == '\0'))
        return;
    const auto write_this = [](void* self) { static_cast<requested_report*>(self)->write(); };
    if (!thread_.start(signal, write_this, this))
        output(nullptr, nullptr)
            .print(base::message("np_alloc: %s is only written at the end: signal %d cannot be handled (error %d)\n",
                                 report_path_[0] != '\0' ? "NP_REPORT" : "NP_PROFILE", signal, errno));
}

void requested_report::finish() noexcept
{
    thread_.stop();
    write();
}

void requested_report::write() noexcept
{
    if (report_path_[0] != '\0')
        write_report();
    if (const int error = profile_path_[0] != '\0' ? dump_profile(profile_path_.data()) : 0)
        output(nullptr, nullptr)
            .print(base::message("np_alloc: the profile of NP_PROFILE=%.300s cannot be written (error %d)\n",
                                 profile_path_.data(), error));
}

void requested_report::write_report() noexcept
{
    os::replaced_file file(report_path_.data());
    const core::report_output to(&os::replaced_file::write_to, &file);
    growing_report report{core::json_report(to), {}};
    report.text.begin(os::unix_milliseconds(), os::process_number());
    registry().maintenance().reports().for_each([&report](visit_function* visit) { visit(&add_view, &report); });
    visit_named_heaps(&add_view, &report);
    report.text.end(0, report.totals, write_np_alloc);
    if (!file.finish())
        output(nullptr, nullptr)
            .print(base::message("np_alloc: the report of NP_REPORT=%.300s cannot be written (error %d)\n",
                                 report_path_.data(), errno));
}
} // namespace memory_pool::np
