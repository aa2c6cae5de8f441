// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Pairs of one allocation and one deallocation: instructions.py counts the instructions they execute.
///
///     pair_instructions                  lists the sides
///     pair_instructions SIDE PAIRS       runs PAIRS pairs
#include <memory_pool/block_pool.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/object_pool.hpp>
#include <memory_pool/profiling_policy.hpp>

#include "competitors.hpp"

#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace {
constexpr std::size_t block_size = 32;

template <class Blocks>
void pairs(unsigned long count)
{
    Blocks blocks(1);
    for (unsigned long i = 0; i != count; ++i) {
        void* block = blocks.allocate();
        benchmark::DoNotOptimize(static_cast<void* const&>(block));
        blocks.deallocate(block);
    }
}

/// The empty loop; instructions.py subtracts its instructions.
class nothing
{
public:
    explicit nothing(std::size_t) {}
    void* allocate() { return this; }
    void deallocate(void*) {}
};

/// Objects whose constructor and destructor do nothing, so that only the instructions of the pool are counted.
class objects
{
public:
    explicit objects(std::size_t) {}
    void* allocate() { return pool_.create(); }
    void deallocate(void* object) { pool_.destroy(static_cast<record*>(object)); }

private:
    struct record
    {
        record() noexcept {} // NOLINT(modernize-use-equals-default): {} would write zeros.
        std::array<unsigned char, block_size> bytes;
    };

    memory_pool::object_pool<record> pool_;
};

/// A pool that is listed in reports.
class named_block_pool
{
public:
    explicit named_block_pool(std::size_t capacity)
        : pool_(block_size, memory_pool::pool_options{}.with_initial_capacity(capacity).with_name("pairs"))
    {
    }
    void* allocate() { return pool_.allocate(); }
    void deallocate(void* block) { pool_.deallocate(block); }

private:
    memory_pool::block_pool pool_;
};

/// A shared pool created after the 64 pools whose thread caches are at fixed places.
class late_concurrent_block_pool
{
public:
    explicit late_concurrent_block_pool(std::size_t capacity)
    {
        for (std::unique_ptr<memory_pool::concurrent_block_pool>& each : pools_)
            each = std::make_unique<memory_pool::concurrent_block_pool>(
                block_size, memory_pool::pool_options{}.with_initial_capacity(capacity));
    }
    void* allocate() { return pools_.back()->allocate(); }
    void deallocate(void* block) { pools_.back()->deallocate(block); }

private:
    std::array<std::unique_ptr<memory_pool::concurrent_block_pool>, 66> pools_;
};

/// A profiled pool. It samples almost none of its blocks, because the default is one sample per 512 KiB.
template <template <class> class Pool>
class unsampled : public competitors::library_pool<Pool<memory_pool::profiling_policy<>>, block_size>
{
public:
    explicit unsampled(std::size_t capacity)
        : competitors::library_pool<Pool<memory_pool::profiling_policy<>>, block_size>(capacity)
    {
        memory_pool::set_profile_bytes(std::size_t{1} << 40);
    }
};

struct side
{
    const char* name;
    void (*run)(unsigned long);
};

constexpr side sides[] = {
    {"loop", pairs<nothing>},
    {"new_delete", pairs<competitors::new_delete<block_size>>},
    {"block_pool", pairs<competitors::block_pool<block_size>>},
    {"named_block_pool", pairs<named_block_pool>},
    {"counting_policy", pairs<competitors::counting_block_pool<block_size>>},
    {"checking_policy",
     pairs<competitors::library_pool<memory_pool::basic_block_pool<memory_pool::checking_policy>, block_size>>},
    {"profiling_policy", pairs<unsampled<memory_pool::basic_block_pool>>},
    {"concurrent_block_pool", pairs<competitors::library_pool<memory_pool::concurrent_block_pool, block_size>>},
    {"late_concurrent", pairs<late_concurrent_block_pool>},
    {"concurrent_checking",
     pairs<competitors::library_pool<memory_pool::basic_concurrent_block_pool<memory_pool::checking_policy>,
                                     block_size>>},
    {"concurrent_profiling", pairs<unsampled<memory_pool::basic_concurrent_block_pool>>},
    {"object_pool", pairs<objects>},
#if defined(MEMORY_POOL_BENCHMARK_BOOST)
    {"boost_pool", pairs<competitors::boost_pool<block_size>>},
    {"boost_object_pool", pairs<competitors::boost_object_pool<block_size>>},
#endif
#if defined(MEMORY_POOL_BENCHMARK_FOONATHAN)
    {"foonathan_memory_pool", pairs<competitors::foonathan_memory_pool<block_size>>},
#endif
    {"pmr_unsynchronized_pool", pairs<competitors::pmr_unsynchronized_pool<block_size>>},
};
} // namespace

int main(int argc, char** argv)
{
    if (argc != 3) {
        for (const side& each : sides)
            std::puts(each.name);
        return 0;
    }
    for (const side& each : sides) {
        if (std::string_view(each.name) == argv[1]) {
            each.run(std::strtoul(argv[2], nullptr, 10));
            return 0;
        }
    }
    std::fprintf(stderr, "pair_instructions: no such side: %s\n", argv[1]);
    return 2;
}
