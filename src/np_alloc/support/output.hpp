// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The destination of a text for the user, which receives it in pieces.
///
/// Thread safety: as for the function that writes.
#pragma once

#include <memory_pool/base/errors.hpp>
#include <memory_pool/core/reports/report_format.hpp>

#include "../os/standard_error.hpp"
#include "internals.hpp"

#include <cstddef>
#include <cstring>

namespace memory_pool::np {
/// A function of the program, or stderr.
class output
{
public:
    using function = void (*)(const char* text, std::size_t length, void* argument);

    /// Effects: makes an output to `write`; nullptr: to stderr.
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
