// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A defect that np_verify finds.
///
/// Thread safety: a value.
#pragma once

namespace memory_pool::np {
/// The defect and its address, or none.
struct inconsistency
{
    const char* what = nullptr; ///< A static text; nullptr if nothing is wrong.
    const void* where = nullptr;

    explicit operator bool() const noexcept { return what != nullptr; }
};
} // namespace memory_pool::np
