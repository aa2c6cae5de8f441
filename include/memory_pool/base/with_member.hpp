// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Chained setters for options that are aggregates:  pool_options{}.with_name("orders").with_max_capacity(10'000)
///
/// Thread safety: values.
#pragma once

#include <memory_pool/base/config.hpp>

#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::base {
/// Returns: a copy of `options` with `value` as its `member`.
template <class Options, class Value>
constexpr Options with_member(Options options, Value Options::* member, Value value)
{
    options.*member = std::move(value);
    return options;
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::base
