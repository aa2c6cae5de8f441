// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The two kinds of handle pools, for tests common to both.
#pragma once

#include <memory_pool/concurrent_handle_pool.hpp>
#include <memory_pool/handle_pool.hpp>

namespace test {
/// Pools for one thread.
template <class Policy>
struct local_handles
{
    using policy = Policy;
    template <class T>
    using pool = memory_pool::handle_pool<T, Policy>;
};

/// Pools that threads share.
template <class Policy>
struct shared_handles
{
    using policy = Policy;
    template <class T>
    using pool = memory_pool::concurrent_handle_pool<T, Policy>;
};
} // namespace test
