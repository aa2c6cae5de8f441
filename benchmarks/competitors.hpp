// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The pools under comparison, behind one interface: raw blocks of `Size` bytes.
///
///     side(capacity)      a pool with room for `capacity` blocks, where its interface allows that
///     allocate()          -> a block
///     deallocate(block)   <- a block
///
/// Boost and foonathan/memory are included if CMake found them. The size is a template argument, so that each side can
/// specialize for it, as in user code. The wrappers are always inlined, so the measured cost is the cost of
/// calling the pool directly.
#pragma once

#include <memory_pool/block_pool.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>

#if defined(MEMORY_POOL_BENCHMARK_BOOST)
#include <boost/pool/object_pool.hpp>
#include <boost/pool/pool.hpp>
#endif
#if defined(MEMORY_POOL_BENCHMARK_FOONATHAN)
#include <foonathan/memory/memory_pool.hpp>
#endif

namespace competitors {
/// Returns: the contents of a block for checks: copies of `number`.
template <std::size_t Size>
std::array<std::uint64_t, Size / sizeof(std::uint64_t)> content(std::size_t number)
{
    std::array<std::uint64_t, Size / sizeof(std::uint64_t)> words{};
    words.fill(number);
    return words;
}

/// The malloc of the process, through `new`.
template <std::size_t Size>
class new_delete
{
public:
    explicit new_delete(std::size_t) {}
    MEMORY_POOL_ALWAYS_INLINE void* allocate() { return ::operator new(Size); }
    MEMORY_POOL_ALWAYS_INLINE void deallocate(void* block) { ::operator delete(block, Size); }
};

/// A pool of this library.
template <class Pool, std::size_t Size>
class library_pool
{
public:
    explicit library_pool(std::size_t capacity) : pool_(Size, options(capacity)) {}
    MEMORY_POOL_ALWAYS_INLINE void* allocate() { return pool_.allocate(); }
    MEMORY_POOL_ALWAYS_INLINE void deallocate(void* block) { pool_.deallocate(block); }

private:
    static memory_pool::pool_options options(std::size_t capacity)
    {
        memory_pool::pool_options options;
        options.initial_capacity = capacity;
        return options;
    }

    Pool pool_;
};

template <std::size_t Size>
using block_pool = library_pool<memory_pool::block_pool, Size>;

template <std::size_t Size>
using counting_block_pool = library_pool<memory_pool::basic_block_pool<memory_pool::counting_policy>, Size>;

template <std::size_t Size>
class pmr_unsynchronized_pool
{
public:
    explicit pmr_unsynchronized_pool(std::size_t capacity) : pool_(std::pmr::pool_options{capacity, Size}) {}
    MEMORY_POOL_ALWAYS_INLINE void* allocate() { return pool_.allocate(Size); }
    MEMORY_POOL_ALWAYS_INLINE void deallocate(void* block) { pool_.deallocate(block, Size); }

private:
    std::pmr::unsynchronized_pool_resource pool_;
};

#if defined(MEMORY_POOL_BENCHMARK_BOOST)
template <std::size_t Size>
class boost_pool
{
public:
    explicit boost_pool(std::size_t capacity) : pool_(Size, capacity) {}
    MEMORY_POOL_ALWAYS_INLINE void* allocate() { return pool_.malloc(); }
    MEMORY_POOL_ALWAYS_INLINE void deallocate(void* block) { pool_.free(block); }

private:
    boost::pool<> pool_;
};

/// Keeps its free list in address order. Deallocation searches the list, which is linear in the number of free blocks.
template <std::size_t Size>
class boost_object_pool
{
public:
    explicit boost_object_pool(std::size_t capacity) : pool_(capacity) {}
    MEMORY_POOL_ALWAYS_INLINE void* allocate() { return pool_.malloc(); }
    MEMORY_POOL_ALWAYS_INLINE void deallocate(void* block) { pool_.free(static_cast<storage*>(block)); }

private:
    struct storage
    {
        alignas(std::max_align_t) std::array<unsigned char, Size> bytes;
    };

    boost::object_pool<storage> pool_;
};
#endif

#if defined(MEMORY_POOL_BENCHMARK_FOONATHAN)
template <std::size_t Size>
class foonathan_memory_pool
{
    using pool = foonathan::memory::memory_pool<>;

public:
    explicit foonathan_memory_pool(std::size_t capacity) : pool_(Size, pool::min_block_size(Size, capacity)) {}
    MEMORY_POOL_ALWAYS_INLINE void* allocate() { return pool_.allocate_node(); }
    MEMORY_POOL_ALWAYS_INLINE void deallocate(void* block) { pool_.deallocate_node(block); }

private:
    pool pool_;
};
#endif
} // namespace competitors
