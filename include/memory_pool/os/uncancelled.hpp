// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A scope in which thread cancellation is disabled, for operations that must complete.
///
/// (POSIX: pthread_setcancelstate. A no-op where threads cannot be cancelled.)
///
/// Thread safety: a local object.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// Disables cancellation of this thread during its lifetime. A pending request takes effect at the next cancellation
/// point after that.
class uncancelled : base::immovable<uncancelled>
{
public:
#if defined(PTHREAD_CANCEL_DISABLE)
    uncancelled() noexcept { (void)::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    ~uncancelled() { (void)::pthread_setcancelstate(before_, nullptr); }

private:
    int before_ = PTHREAD_CANCEL_ENABLE;
#else
    uncancelled() noexcept {} // NOLINT(modernize-use-equals-default): objects of a trivial class give unused warnings
    ~uncancelled() {}         // NOLINT(modernize-use-equals-default)
#endif
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
