// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// std::lock_guard with the attributes of clang's thread safety analysis, which libstdc++ does not provide.
///
/// Thread safety: one per thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::base {
/// Selects the constructor that adopts a held lock.
struct adopt_lock_t
{
    explicit adopt_lock_t() = default;
};
inline constexpr adopt_lock_t adopt_lock{};

/// Holds a lock during its lifetime.
template <class Mutex>
class MEMORY_POOL_SCOPED_CAPABILITY lock_guard : immovable<lock_guard<Mutex>>
{
public:
    explicit lock_guard(Mutex& guarded) MEMORY_POOL_ACQUIRE(guarded) : mutex_(guarded) { mutex_.lock(); }
    lock_guard(Mutex& guarded, adopt_lock_t) noexcept MEMORY_POOL_REQUIRES(guarded) : mutex_(guarded) {}
    ~lock_guard() MEMORY_POOL_RELEASE() { mutex_.unlock(); }

private:
    Mutex& mutex_;
};

template <class Mutex>
lock_guard(Mutex&) -> lock_guard<Mutex>;
template <class Mutex>
lock_guard(Mutex&, adopt_lock_t) -> lock_guard<Mutex>;
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::base
