// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The profile of np_alloc: see core/reports/allocation_profile.hpp.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/reports/allocation_profile.hpp>

#include "fork_mutex.hpp"
#include "internals.hpp"
#include "metadata_pages.hpp"

namespace memory_pool::np {
class MEMORY_POOL_CAPABILITY profile_mutex : public fork_mutex
{
public:
    constexpr profile_mutex() noexcept : fork_mutex(lock_rank::profile) {}
};

using allocation_profile = core::allocation_profile<profile_mutex, metadata_pages>;
using taken_profile = core::taken_profile<metadata_pages>;

/// The profile of the process.
MEMORY_POOL_HIDDEN extern allocation_profile the_profile;
} // namespace memory_pool::np
