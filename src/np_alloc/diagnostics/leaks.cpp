// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Lists blocks in use by call site, for a function of the program or as text. If np_alloc_at was never called but the
/// profile is on, lists profile samples in use by call stack.
///
/// Thread safety: any thread.
#include "../engine/engine.hpp"
#include "../support/internals.hpp"

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/core/reports/code_modules.hpp>
#include <memory_pool/core/reports/profile_sample.hpp>
#include <memory_pool/core/reports/report_format.hpp>
#include <memory_pool/core/reports/text_profile.hpp>

#include "../heaps/call_site_heap.hpp"
#include "../support/allocation_profile.hpp"
#include "../support/call_sites.hpp"
#include "../support/output.hpp"
#include "../support/site_list.hpp"
#include "profile.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace np = memory_pool::np;
namespace base = memory_pool::detail::base;
namespace core = memory_pool::detail::core;

namespace {
/// Effects: lists the blocks in use that were allocated after the first `checkpoints` checkpoints.
// No thread safety analysis: this acquires the locks of all elements of an array.
void list(np::site_list& sites, np::checkpoint_count checkpoints) noexcept MEMORY_POOL_NO_THREAD_SAFETY_ANALYSIS
{
    std::array<np::call_site_heap, np::call_site_heap_count>& all = np::registry().heaps().call_site_heaps;
    for (np::call_site_heap& each : all)
        each.sites().lock();
    for (np::call_site_heap& each : all)
        each.sites().add_to(sites, checkpoints);
    sites.finish();
    for (np::call_site_heap& each : all)
        each.sites().unlock();
}

/// Returns: whether the C library allocated the block for the lifetime of the process: stream buffers, locale tables,
///   and stacks and thread-local storage kept for later threads.
bool is_for_whole_process(const core::profile_sample& sample) noexcept
{
    constexpr std::array<std::string_view, 6> functions{
        "_IO_file_doallocate", "_IO_wfile_doallocate", "_dl_allocate_tls", "setlocale", "bindtextdomain", "textdomain"};
    return std::any_of(sample.begin, sample.end, [&](const core::code_frame& frame) {
        const char* const name = frame.place().function;
        return name != nullptr && std::find(functions.begin(), functions.end(), name) != functions.end();
    });
}

/// Profile samples in use by call stack, if np_alloc_at was never called and the profile is on; otherwise none.
class sampled_stacks : base::immovable<sampled_stacks>
{
public:
    explicit sampled_stacks(np::checkpoint_count checkpoints) noexcept : mean_(np::the_profile.mean_bytes())
    {
        if (checkpoints != 0 || mean_ == 0 || np::registry().has_call_sites() || !np::the_profile.take(taken_))
            return;
        for (const core::profile_sample& each : taken_) {
            if (is_for_whole_process(each))
                continue;
            blocks_ += each.values.blocks_in_use;
            bytes_ += each.values.bytes_in_use;
        }
    }

    std::uint64_t blocks() const noexcept { return blocks_; }
    std::uint64_t bytes() const noexcept { return bytes_; }

    void print_text(const core::report_output& to) const
    {
        core::in_use_list list(to);
        list.begin("np_alloc", mean_);
        for_each([&list](const core::profile_sample& each) { list.sample(each); });
        list.end(blocks_, bytes_);
    }

    /// Effects: prints members of a JSON object, with a comma before them.
    void print_json(core::report_output to) const
    {
        to << ",\n  \"bytes_between_samples\": " << mean_ << ",\n  \"stacks\": [";
        std::string_view before = "\n    ";
        for_each([&](const core::profile_sample& each) {
            to << before << R"({"frames": [)";
            for (const core::code_frame* frame = each.begin; frame != each.end; ++frame) {
                to << (frame != each.begin ? ", \"" : "\"");
                core::report_output quoted(&write_escaped, &to);
                core::write_code_name(quoted, *frame);
                to << "\"";
            }
            to << R"(], "blocks": )" << each.values.blocks_in_use << R"(, "bytes": )" << each.values.bytes_in_use
               << "}";
            before = ",\n    ";
        });
        to << "\n  ]";
    }

private:
    template <class Visit>
    void for_each(Visit&& visit) const
    {
        for (const core::profile_sample& each : taken_)
            if (each.values.blocks_in_use != 0 && !is_for_whole_process(each))
                visit(np::without_own_frames(each));
    }

    static void write_escaped(const char* text, std::size_t length, void* to)
    {
        core::write_json_characters(*static_cast<core::report_output*>(to), {text, length});
    }

    std::size_t mean_;
    np::taken_profile taken_;
    std::uint64_t blocks_ = 0;
    std::uint64_t bytes_ = 0;
};

/// Returns: the line passed to np_alloc_at.
int line_of(const np::site_statistics& counted) noexcept
{
    return static_cast<int>(counted.site.line);
}

void print_text(const np::site_list& sites, const sampled_stacks& stacks, const np::output& to)
{
    constexpr std::size_t max_file_length = 250; // Leaves room for the numbers behind it.
    const auto print_line = [&to](const base::message& subject, const np::site_statistics& counted) {
        to.print(base::message("  %s  %zu block%s  %zu bytes\n", subject.c_str(), counted.blocks,
                               counted.blocks == 1 ? "" : "s", counted.bytes));
    };
    if (stacks.blocks() != 0)
        stacks.print_text(to.as_report_output());
    if (sites.all().blocks == 0)
        return;
    to.print("np_alloc: in use, by call site:\n");
    for (const np::site_statistics& each : sites)
        print_line(np::name_of(each.site, max_file_length), each);
    print_line(base::message("in all"), sites.all());
}

void print_json(const np::site_list& sites, const sampled_stacks& stacks, const np::output& to)
{
    to.print(base::message("{\n  \"tracked\": %s,\n  \"blocks\": %zu,\n  \"bytes\": %zu,\n  \"sites\": [",
                           np::registry().has_call_sites() ? "true" : "false",
                           sites.all().blocks + static_cast<std::size_t>(stacks.blocks()),
                           sites.all().bytes + static_cast<std::size_t>(stacks.bytes())));
    core::report_output names = to.as_report_output();
    const char* before = "\n    {\"file\": ";
    for (const np::site_statistics& each : sites) {
        to.print(before);
        core::write_json_string(names, each.site.file);
        to.print(
            base::message(R"(, "line": %d, "blocks": %zu, "bytes": %zu})", line_of(each), each.blocks, each.bytes));
        before = ",\n    {\"file\": ";
    }
    to.print("\n  ]");
    if (stacks.blocks() != 0)
        stacks.print_json(to.as_report_output());
    to.print("\n}\n");
}
} // namespace

extern "C" {
int np_call_site_visit(int (*visit)(const np_call_site* site, void* argument), void* argument)
{
    np::site_list sites;
    list(sites, 0);
    for (const np::site_statistics& each : sites) {
        const np_call_site site{each.site.file, line_of(each), each.blocks, each.bytes};
        if (visit(&site, argument) == 0)
            return 0;
    }
    return 1;
}

size_t np_leak_report(np_format format, void (*write)(const char* text, size_t length, void* argument), void* argument)
{
    return np_leak_diff(0, format, write, argument);
}

uint64_t np_leak_checkpoint(void) noexcept
{
    return np::registry().add_checkpoint();
}

size_t np_leak_diff(uint64_t checkpoint, np_format format,
                    void (*write)(const char* text, size_t length, void* argument), void* argument)
{
    np::site_list sites;
    list(sites, checkpoint);
    const sampled_stacks stacks(checkpoint);
    (format == np_format_json ? print_json : print_text)(sites, stacks, np::output(write, argument));
    return sites.all().blocks + static_cast<std::size_t>(stacks.blocks());
}
}
