// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// std::mutex with the attributes of clang's thread safety analysis, which libstdc++ does not provide.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>

#include <mutex>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::base {
/// A std::mutex. Use with base::lock_guard.
class MEMORY_POOL_CAPABILITY mutex : immovable<mutex>
{
public:
    mutex() = default;

    void lock() MEMORY_POOL_ACQUIRE() { native_.lock(); }
    bool try_lock() MEMORY_POOL_TRY_ACQUIRE(true) { return native_.try_lock(); }
    void unlock() MEMORY_POOL_RELEASE() { native_.unlock(); }

    /// Asserts to the analysis that the lock is held, in a lambda that is called with the lock held. A no-op at run
    /// time.
    void assume_held() const noexcept MEMORY_POOL_ASSUMES_HELD(this) {}

    /// For std::condition_variable.
    std::mutex& native() noexcept { return native_; }

private:
    std::mutex native_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::base
