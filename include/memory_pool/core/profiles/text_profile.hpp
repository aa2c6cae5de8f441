// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A profile as text: folded stacks, and for people.
///
///     folded_profile:   main;parse;make_node 81920               outermost first, bytes in use
///     text_profile:     bytes in use | blocks | bytes allocated | blocks, and the stack below, innermost first
///
/// Code is named by what its module exports (dladdr), as it is mangled; else by the module and the offset there. So
/// programs show more of themselves if they are linked with -rdynamic.
///
/// Thread safety: as the output.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/core/profiles/profile_sample.hpp>
#include <memory_pool/core/reports/report_format.hpp>
#include <memory_pool/os/call_stack.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Effects: writes the name of code.
inline void write_code_name(report_output& to, const void* address)
{
    const os::code_place where = os::find_code(address);
    if (where.function != nullptr) {
        to << std::string_view(where.function);
        return;
    }
    if (where.module == nullptr) {
        to << base::message("%p", address).c_str();
        return;
    }
    const char* const slash = std::strrchr(where.module, '/');
    to << std::string_view(slash != nullptr ? slash + 1 : where.module)
       << base::message("+0x%zx", static_cast<std::size_t>(where.offset)).c_str();
}

/// What flamegraph.pl and its relatives read.
class folded_profile
{
public:
    explicit folded_profile(report_output to) noexcept : to_(to) {}

    void begin(std::uint64_t /*unix_ms*/, std::uint64_t /*period_bytes*/, std::string_view /*dropped_frames*/) {}

    void sample(const profile_sample& its)
    {
        if (its.values.bytes_in_use == 0)
            return;
        for (const void* const* frame = its.end; frame != its.begin; --frame) {
            write_code_name(to_, frame[-1]);
            to_ << (frame - 1 != its.begin ? ";" : " ");
        }
        to_ << its.values.bytes_in_use << "\n";
    }

    void end() {}

private:
    report_output to_;
};

/// A list for people, in the order of the samples.
class text_profile
{
public:
    explicit text_profile(report_output to) noexcept : to_(to) {}

    void begin(std::uint64_t /*unix_ms*/, std::uint64_t period_bytes, std::string_view /*dropped_frames*/)
    {
        to_ << "np_alloc: allocations by call stack, estimated from samples, one for " << period_bytes
            << " bytes in the mean\n";
    }

    void sample(const profile_sample& its)
    {
        to_ << its.values.bytes_in_use << " bytes in use in " << its.values.blocks_in_use << " blocks; "
            << its.values.allocated_bytes << " bytes allocated in " << its.values.allocated_blocks << " blocks:\n";
        for (const void* const* frame = its.begin; frame != its.end; ++frame) {
            to_ << "    ";
            write_code_name(to_, *frame);
            to_ << "\n";
        }
    }

    void end() {}

private:
    report_output to_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
