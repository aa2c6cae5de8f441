// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Misuse whose report leaves the call by longjmp.
#pragma once

#include <memory_pool/errors.hpp>

#include <csetjmp>

namespace test {
inline std::jmp_buf place_to_jump_to;

/// Returns whether `action` ended with a longjmp.
template <class Action>
bool comes_back_by_jump(Action action)
{
    if (setjmp(place_to_jump_to) != 0)
        return true;
    action();
    return false;
}

/// Returns whether the error handler ended `action` with a longjmp. `action` may only refer to objects that outlive it.
template <class Action>
bool jumps_back(Action action)
{
    const memory_pool::error_handler before =
        memory_pool::set_error_handler([](const memory_pool::error_report&) { std::longjmp(place_to_jump_to, 1); });
    const bool has_jumped = comes_back_by_jump(action);
    memory_pool::set_error_handler(before);
    return has_jumped;
}
} // namespace test
