// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// What np_verify finds wrong.
///
/// Thread safety: a value.
#pragma once

namespace memory_pool::np {
/// What is wrong, and with what; or nothing.
struct inconsistency
{
    const char* what = nullptr; ///< A text that stays, or nullptr if nothing is wrong.
    const void* where = nullptr;

    explicit operator bool() const noexcept { return what != nullptr; }
};
} // namespace memory_pool::np
