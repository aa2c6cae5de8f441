// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Misuse that the error handler leaves by a long jump.
#pragma once

#include <memory_pool/errors.hpp>

#include <csetjmp>

namespace test {
inline std::jmp_buf place_to_jump_to;

/// Returns: whether `action` came back by a jump.
template <class Action>
bool comes_back_by_jump(Action action)
{
    if (setjmp(place_to_jump_to) != 0)
        return true;
    action();
    return false;
}

/// Returns: whether `action`, which refers to nothing but what lasts, came back by a jump of the error handler.
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
