// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Runs an action at the end of a scope, unless the scope has succeeded.
///
/// Thread safety: a local variable.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>

#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::base {
/// Calls an `Action` in its destructor, unless `succeeded` was called before.
template <class Action>
class failure_guard : immovable<failure_guard<Action>>
{
public:
    explicit failure_guard(Action action) noexcept : action_(std::move(action)) {}
    ~failure_guard()
    {
        if (!has_succeeded_)
            action_();
    }

    void succeeded() noexcept { has_succeeded_ = true; }

private:
    Action action_;
    bool has_succeeded_ = false;
};
template <class Action>
failure_guard(Action) -> failure_guard<Action>;
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::base
