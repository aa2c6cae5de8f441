// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The counterpart of competitors.hpp for pools and allocators that threads share: raw blocks of `Size` bytes.
///
///     side(capacity)      room for `capacity` blocks in all threads together, where its interface allows that
///     allocate()          -> a block, or nullptr
///     deallocate(block)   <- a block, from any thread
///
/// Boost, oneTBB and mimalloc are included if CMake found them.
#pragma once

#include <memory_pool/block_pool.hpp>
#include <memory_pool/concurrent_block_pool.hpp>

#include "competitors.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <string>

#if defined(MEMORY_POOL_BENCHMARK_BOOST)
#include <boost/lockfree/stack.hpp>
#endif
#if defined(MEMORY_POOL_BENCHMARK_TBB)
#define TBB_PREVIEW_MEMORY_POOL 1
#include <oneapi/tbb/memory_pool.h>
#include <oneapi/tbb/scalable_allocator.h>
#include <oneapi/tbb/version.h>
#endif
#if defined(MEMORY_POOL_BENCHMARK_MIMALLOC)
#include <dlfcn.h>
#endif

namespace competitors {
template <std::size_t Size>
using concurrent_block_pool = library_pool<memory_pool::concurrent_block_pool, Size>;

template <std::size_t Size>
using counting_concurrent_block_pool =
    library_pool<memory_pool::basic_concurrent_block_pool<memory_pool::counting_policy>, Size>;

/// A single-threaded pool behind a mutex.
template <std::size_t Size>
class locked_block_pool
{
public:
    explicit locked_block_pool(std::size_t capacity) : pool_(capacity) {}

    MEMORY_POOL_ALWAYS_INLINE void* allocate()
    {
        const std::lock_guard lock(mutex_);
        return pool_.allocate();
    }

    MEMORY_POOL_ALWAYS_INLINE void deallocate(void* block)
    {
        const std::lock_guard lock(mutex_);
        pool_.deallocate(block);
    }

private:
    std::mutex mutex_;
    block_pool<Size> pool_;
};

template <std::size_t Size>
class pmr_synchronized_pool
{
public:
    explicit pmr_synchronized_pool(std::size_t capacity) : pool_(std::pmr::pool_options{capacity, Size}) {}
    MEMORY_POOL_ALWAYS_INLINE void* allocate() { return pool_.allocate(Size); }
    MEMORY_POOL_ALWAYS_INLINE void deallocate(void* block) { pool_.deallocate(block, Size); }

private:
    std::pmr::synchronized_pool_resource pool_;
};

#if defined(MEMORY_POOL_BENCHMARK_BOOST)
/// A lock-free list of free blocks. It never grows: the constructor adds all blocks.
template <std::size_t Size>
class boost_lockfree_stack
{
public:
    explicit boost_lockfree_stack(std::size_t capacity) : blocks_(new storage[capacity]), free_(capacity)
    {
        for (std::size_t i = capacity; i-- != 0;)
            free_.bounded_push(&blocks_[i]);
    }

    MEMORY_POOL_ALWAYS_INLINE void* allocate()
    {
        void* block = nullptr;
        return free_.pop(block) ? block : nullptr;
    }

    MEMORY_POOL_ALWAYS_INLINE void deallocate(void* block) { free_.bounded_push(block); }

private:
    struct storage
    {
        alignas(std::max_align_t) std::array<unsigned char, Size> bytes;
    };

    std::unique_ptr<storage[]> blocks_;
    boost::lockfree::stack<void*> free_;
};
#endif

#if defined(MEMORY_POOL_BENCHMARK_TBB)
template <std::size_t Size>
class tbb_scalable_malloc
{
public:
    explicit tbb_scalable_malloc(std::size_t) {}
    MEMORY_POOL_ALWAYS_INLINE void* allocate() { return scalable_malloc(Size); }
    MEMORY_POOL_ALWAYS_INLINE void deallocate(void* block) { scalable_free(block); }
};

template <std::size_t Size>
class tbb_memory_pool
{
public:
    explicit tbb_memory_pool(std::size_t) {}
    MEMORY_POOL_ALWAYS_INLINE void* allocate() { return pool_.malloc(Size); }
    MEMORY_POOL_ALWAYS_INLINE void deallocate(void* block) { pool_.free(block); }

private:
    tbb::memory_pool<std::allocator<char>> pool_;
};
#endif

#if defined(MEMORY_POOL_BENCHMARK_MIMALLOC)
/// Returns: the function of that name in mimalloc; nullptr if mimalloc cannot be loaded.
///
/// mimalloc is loaded at run time because linking it would replace `new` and malloc as well, and new_delete would
/// measure mimalloc. RTLD_LOCAL keeps the symbols separate. A call goes through a pointer, as for any shared library.
template <class Function>
Function* mimalloc_function(const char* name)
{
    static void* const library = dlopen(MEMORY_POOL_BENCHMARK_MIMALLOC, RTLD_NOW | RTLD_LOCAL);
    return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

template <std::size_t Size>
class mimalloc
{
public:
    explicit mimalloc(std::size_t) {}
    MEMORY_POOL_ALWAYS_INLINE void* allocate() { return malloc_(Size); }
    MEMORY_POOL_ALWAYS_INLINE void deallocate(void* block) { free_(block); }

private:
    void* (*malloc_)(std::size_t) = mimalloc_function<void*(std::size_t)>("mi_malloc");
    void (*free_)(void*) = mimalloc_function<void(void*)>("mi_free");
};
#endif
} // namespace competitors
