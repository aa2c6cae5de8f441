// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Types for small values with atomic read-modify-write operations.
///
/// Some compilers implement these operations on bytes only in a library (GCC 12 for RISC-V: libatomic). For these
/// compilers, the types are words, so that programs need not link the library.
#pragma once

#include <memory_pool/base/config.hpp>

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::base {
/// A count of up to 255.
using small_count = std::conditional_t<std::atomic<std::uint8_t>::is_always_lock_free, std::uint8_t, std::uint32_t>;

using exchanged_bool = std::atomic<std::conditional_t<std::atomic<bool>::is_always_lock_free, bool, std::uint32_t>>;

static_assert(std::atomic<small_count>::is_always_lock_free && exchanged_bool::is_always_lock_free);
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::base
