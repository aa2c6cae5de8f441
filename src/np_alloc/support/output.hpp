// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Where a text for the user goes, piece by piece.
///
/// Thread safety: as the function behind it.
#pragma once

#include <memory_pool/base/errors.hpp>
#include <memory_pool/core/reports/report_format.hpp>

#include "../os/standard_error.hpp"
#include "internals.hpp"

#include <cstddef>
#include <cstring>

namespace memory_pool::np {
/// A function of the program, or the standard error.
class output
{
public:
    using function = void (*)(const char* text, std::size_t length, void* argument);

    /// Effects: if `write` is nullptr, chooses the standard error.
    output(function write, void* argument) noexcept
        : write_(write != nullptr ? write : &to_standard_error), argument_(argument)
    {
    }

    void print(const char* text) const { print(text, std::strlen(text)); }
    void print(const char* text, std::size_t length) const { write_(text, length, argument_); }
    void print(const base::message& text) const { print(text.c_str()); }

    core::report_output as_report_output() const noexcept { return {write_, argument_}; }

private:
    static void to_standard_error(const char* text, std::size_t length, void*)
    {
        os::write_to_standard_error(text, length);
    }

    function write_;
    void* argument_;
};
} // namespace memory_pool::np
