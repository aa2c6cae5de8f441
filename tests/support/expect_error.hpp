// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Expects errors that end in the error handler, in programs without exceptions.
#pragma once

#include <memory_pool/errors.hpp>

#include <support/check.hpp>

#include <csetjmp>
#include <string>

namespace test {
inline std::jmp_buf way_out;
inline memory_pool::error_kind last_error;
inline std::string last_text;

/// The error handler. Set it before the first expect_error().
inline void leave(const memory_pool::error_report& report)
{
    last_error = report.kind;
    last_text = report.text;
    std::longjmp(way_out, 1);
}

/// Runs `action`, which must end in the error handler with a text that contains `part`.
template <class Action>
void expect_error(memory_pool::error_kind kind, const char* part, Action&& action)
{
    if (setjmp(way_out) == 0) {
        action();
        constexpr bool the_error_handler_was_called = false;
        CHECK(the_error_handler_was_called);
    }
    CHECK(last_error == kind);
    CHECK(last_text.find(part) != std::string::npos);
}
} // namespace test
