// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Memory overhead of a pool: the bytes that it holds beyond its 10,000 blocks of 32 bytes. Measures a pool with an
/// initial capacity of 10,000 blocks, and a pool that grew. Fails if the overhead of the first pool is more than an
/// eighth.
#include <memory_pool/block_pool.hpp>

#include <cstddef>
#include <cstdio>
#include <memory_resource>

namespace {
constexpr std::size_t block_size = 32;
constexpr std::size_t block_count = 10000;
constexpr double max_overhead = 12.5;

/// Counts the bytes that a pool holds, to check the pool's statistics.
class counting_resource final : public std::pmr::memory_resource
{
public:
    std::size_t held() const { return held_; }

private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        void* const memory = std::pmr::new_delete_resource()->allocate(bytes, alignment);
        held_ += bytes;
        return memory;
    }
    void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override
    {
        held_ -= bytes;
        std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
    }
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

    std::size_t held_ = 0;
};

/// Returns: the overhead in percent of the bytes of `block_count` blocks; 100 if the pool reports a wrong value.
double overhead(const char* what, std::size_t initial_capacity)
{
    counting_resource upstream;
    memory_pool::pool_options options;
    options.initial_capacity = initial_capacity;
    memory_pool::block_pool pool(block_size, options, &upstream);
    for (std::size_t i = 0; i != block_count; ++i)
        static_cast<void>(pool.allocate());
    const std::size_t own = block_count * block_size;
    const double percent = (static_cast<double>(pool.bytes_reserved()) / static_cast<double>(own) - 1) * 100;
    std::printf("%-20s capacity %6zu, %zu slabs, %8zu bytes for %zu bytes of blocks: %5.2f %% more\n", what,
                pool.capacity(), pool.slab_count(), pool.bytes_reserved(), own, percent);
    if (pool.bytes_reserved() != upstream.held()) {
        std::printf("... but it holds %zu bytes\n", upstream.held());
        return 100;
    }
    return percent;
}
} // namespace

int main()
{
    const double told = overhead("initial_capacity", block_count);
    const double grown = overhead("grown from nothing", 0);
    return told <= max_overhead && grown < 100 ? 0 : 1;
}
