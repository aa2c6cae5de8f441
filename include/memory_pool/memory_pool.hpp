// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Includes all pools and resources, except for intrusive_pool.hpp and recycling_pool.hpp, which need Boost.
///
/// Thread safety: see each header.
#pragma once

#include <memory_pool/allocator.hpp>
#include <memory_pool/arena_resource.hpp>
#include <memory_pool/block_pool.hpp>
#include <memory_pool/block_resource.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/concurrent_handle_pool.hpp>
#include <memory_pool/concurrent_object_pool.hpp>
#include <memory_pool/handle_pool.hpp>
#include <memory_pool/object_pool.hpp>
#include <memory_pool/page_resource.hpp>
#include <memory_pool/pool_resource.hpp>
#include <memory_pool/pooled_frame.hpp>
#include <memory_pool/resource_adaptors.hpp>
#include <memory_pool/shared_pool.hpp>
