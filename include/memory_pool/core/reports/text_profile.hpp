// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A profile as text: folded stacks and human-readable lists.
///
///     folded_profile:   main;parse;make_node 81920               outermost first, bytes in use
///     text_profile:     bytes in use | blocks | bytes allocated | blocks, and the stack below, innermost first
///     list_in_use:      call site | blocks | bytes, and its callers below
///
/// The name of a pool is the outermost frame of a folded stack; elsewhere it follows the statistics.
///
/// Code is shown as the mangled name of an exported symbol (dladdr). Without such a symbol, or if the module was
/// unloaded, code is shown as module and offset. Programs linked with -rdynamic show more symbols.
///
/// Thread safety: as the output.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/core/reports/code_modules.hpp>
#include <memory_pool/core/reports/profile_sample.hpp>
#include <memory_pool/core/reports/report_format.hpp>
#include <memory_pool/os/call_stack.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Effects: writes the symbol, or the module and offset, of a frame.
inline void write_code_name(report_output& to, const code_frame& frame)
{
    const os::code_place where = frame.place();
    if (where.function != nullptr) {
        to << std::string_view(where.function);
        return;
    }
    if (where.module == nullptr) {
        to << base::message("%p", reinterpret_cast<const void*>(frame.address())).c_str();
        return;
    }
    const char* const slash = std::strrchr(where.module, '/');
    to << std::string_view(slash != nullptr ? slash + 1 : where.module)
       << base::message("+0x%zx", static_cast<std::size_t>(where.offset)).c_str();
}

/// Effects: writes frames, one per line, innermost first.
inline void write_frames(report_output& to, const code_frame* first, const code_frame* last)
{
    for (; first != last; ++first) {
        to << "    ";
        write_code_name(to, *first);
        to << "\n";
    }
}

/// Folded stacks, the input of flamegraph.pl.
class folded_profile
{
public:
    explicit folded_profile(report_output to) noexcept : to_(to) {}

    void begin(const profile_header& /*header*/) {}

    void sample(const profile_sample& taken)
    {
        if (taken.values.bytes_in_use == 0)
            return;
        std::string_view before;
        if (!taken.pool.empty()) {
            write_name(taken.pool);
            before = ";";
        }
        for (const code_frame* frame = taken.end; frame != taken.begin; --frame) {
            to_ << before;
            write_code_name(to_, frame[-1]);
            before = ";";
        }
        to_ << " " << taken.values.bytes_in_use << "\n";
    }

private:
    /// Replaces separators of frames and stacks by blanks.
    void write_name(std::string_view name)
    {
        for (const char each : name) {
            const char written = each == ';' || each == '\n' || each == '\r' ? ' ' : each;
            to_ << std::string_view(&written, 1);
        }
    }

    report_output to_;
};

/// Effects: writes how the statistics were sampled. `period_bytes`: 1 if each block is a sample; 0 if sampling is off.
inline void write_sampling(report_output& to, std::uint64_t period_bytes)
{
    if (period_bytes == 0)
        to << ", estimated from earlier samples";
    else if (period_bytes != 1)
        to << ", estimated from samples, one per " << period_bytes << " bytes on average";
}

/// A human-readable list, in the order of the samples.
class text_profile
{
public:
    explicit text_profile(report_output to) noexcept : to_(to) {}

    void begin(const profile_header& header)
    {
        to_ << header.library << ": allocations by call stack";
        write_sampling(to_, header.period_bytes);
        to_ << "\n";
    }

    void sample(const profile_sample& taken)
    {
        to_ << taken.values.bytes_in_use << " bytes in use in " << taken.values.blocks_in_use << " blocks; "
            << taken.values.allocated_bytes << " bytes allocated in " << taken.values.allocated_blocks << " blocks";
        if (!taken.pool.empty())
            to_ << "; pool '" << taken.pool << "'";
        to_ << ":\n";
        write_frames(to_, taken.begin, taken.end);
    }

private:
    report_output to_;
};

/// Blocks in use by call site, with the callers, as listed by np_leak_report.
class in_use_list
{
public:
    explicit in_use_list(report_output to) noexcept : to_(to) {}

    /// Effects: writes the title. `period_bytes`: 1 if each block is a sample.
    void begin(std::string_view subject, std::uint64_t period_bytes)
    {
        to_ << subject << ": in use, by call site";
        write_sampling(to_, period_bytes);
        to_ << ":\n";
    }

    void sample(const profile_sample& taken)
    {
        to_ << "  ";
        if (taken.begin != taken.end)
            write_code_name(to_, *taken.begin);
        else
            to_ << "unknown";
        write_statistics(taken.values.blocks_in_use, taken.values.bytes_in_use);
        if (taken.begin != taken.end)
            write_frames(to_, taken.begin + 1, taken.end);
    }

    void end(std::uint64_t blocks, std::uint64_t bytes)
    {
        to_ << "  in all";
        write_statistics(blocks, bytes);
    }

private:
    void write_statistics(std::uint64_t blocks, std::uint64_t bytes)
    {
        to_ << "  " << blocks << (blocks == 1 ? " block  " : " blocks  ") << bytes << " bytes\n";
    }

    report_output to_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
