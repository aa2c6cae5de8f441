// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The action applied to a recycled object when it returns to its pool: nothing, the object's `destroy()`, or a
/// function.
///
/// Thread safety: as the function, if there is one.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/pool_options.hpp>

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// Calls `object.destroy()`; a no-op if there is no such function.
template <class T, class = void>
struct destroy_function
{
    static constexpr bool exists = false;
    static void call(T&) {}
};
template <class T>
struct destroy_function<T, std::void_t<decltype(std::declval<T&>().destroy())>>
{
    static constexpr bool exists = true;
    static void call(T& object) { object.destroy(); }
};

/// An action.
template <class T>
class recycle_action
{
public:
    /// Throws: std::invalid_argument if `T` has no `destroy()` to call.
    recycle_action(recycle action) : calls_destroy_(action == recycle::call_destroy)
    {
        if (calls_destroy_ && !destroy_function<T>::exists)
            base::throw_invalid_argument(
                base::message("memory_pool: recycle::call_destroy: the objects have no "
                              "destroy() to call without arguments; add one, or pass a function"));
    }

    /// Throws: std::invalid_argument if `function` is empty.
    template <class Function, class = std::enable_if_t<std::is_invocable_v<Function&, T&>>>
    recycle_action(Function function) : function_(std::move(function))
    {
        if (!function_)
            base::throw_invalid_argument(
                base::message("memory_pool: the function that resets objects is empty; pass recycle::nothing instead"));
    }

    /// Returns: whether the action runs user code.
    bool runs_code() const noexcept { return calls_destroy_ || function_; }

    void operator()(T& object) const
    {
        if (calls_destroy_)
            destroy_function<T>::call(object);
        else if (function_)
            function_(object);
    }

private:
    bool calls_destroy_ = false;
    std::function<void(T&)> function_;
};

/// Effects: calls `action(object)`, and reports an exception from it.
template <class T>
void reset_object(const recycle_action<T>& action, T& object, const char* pool_name) noexcept
{
    if (!base::succeeds([&] { action(object); }))
        base::report_misuse(error_kind::hook_failed, std::addressof(object), sizeof(T), pool_name);
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
