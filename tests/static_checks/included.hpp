// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The headers that types.cpp includes, in a file of its own for precompilation: see static_checks.cmake.
#pragma once

#include <memory_pool/allocator.hpp>
#include <memory_pool/arena_resource.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/concurrent_handle_pool.hpp>
#include <memory_pool/concurrent_object_pool.hpp>
#include <memory_pool/handle_pool.hpp>
#include <memory_pool/object_pool.hpp>
#include <memory_pool/pool_resource.hpp>
#include <memory_pool/resource_adaptors.hpp>
#include <memory_pool/shared_pool.hpp>

#if __has_include(<boost/smart_ptr/intrusive_ptr.hpp>)
#include <memory_pool/recycling_pool.hpp>
#endif

#include <chrono>
#include <memory_resource>
#include <string>
#include <utility>
#include <vector>
