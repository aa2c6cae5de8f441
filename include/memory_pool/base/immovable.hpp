// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The base of classes that cannot be copied or moved, because other objects refer to them by address.
///
/// Thread safety: compile time only.
#pragma once

#include <memory_pool/base/config.hpp>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::base {
/// For `class Self : immovable<Self>`. Each class has a distinct base, so that the empty base takes no space: two bases
/// of one type would need distinct addresses.
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
