// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Adaptors in front of any std::pmr::memory_resource, in any order. Each does one thing.
///
///     container  ->  tracking_resource  ->  limit_resource  ->  synchronized_resource  ->  any resource
///
/// Thread safety: synchronized_resource makes what is behind it one for any thread; the others are for as many threads
/// as what is behind them.
#pragma once

#include <memory_pool/failing_resource.hpp>
#include <memory_pool/limit_resource.hpp>
#include <memory_pool/synchronized_resource.hpp>
#include <memory_pool/tracking_resource.hpp>
