// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The base of classes that are neither copied nor moved, as others refer to their objects.
///
/// Thread safety: compile time only.
#pragma once

#include <memory_pool/base/config.hpp>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::base {
/// For `class Self : immovable<Self>`: with a base of its own, no class gets larger by those of its members and bases.
template <class Self>
class immovable
{
public:
    // NOLINTNEXTLINE(bugprone-crtp-constructor-accessibility): deleted
    immovable(const immovable&) = delete;
    immovable& operator=(const immovable&) = delete;

private:
    friend Self;
    immovable() = default;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::base
