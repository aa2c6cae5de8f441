// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Runs under Valgrind with MEMORY_POOL_VALGRIND=1: correct use is silent, and each misuse is reported in every policy.
/// Usage: pools KIND CASE POLICY
#include <memory_pool/arena_resource.hpp>
#include <memory_pool/block_pool.hpp>
#include <memory_pool/pool_resource.hpp>
#include <memory_pool/shared_pool.hpp>

#include <support/check.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace mp = memory_pool;

namespace {
template <class Pool>
void right_use()
{
    Pool pool(40);
    std::vector<void*> blocks(2000);
    for (int round = 0; round != 3; ++round) {
        (void)pool.allocate_bulk(blocks.data(), blocks.size());
        for (void* const block : blocks)
            std::memset(block, round, pool.block_size());
        pool.deallocate_bulk(blocks.data(), blocks.size() / 2);
        pool.for_each([&](void* block) { pool.deallocate(block); });
        CHECK(pool.verify());
    }
    pool.trim();
    (void)pool.allocate();
    pool.clear();
    (void)pool.allocate();
    pool.release();
    (void)pool.allocate();
}

template <class Pool>
void write_after_free()
{
    Pool pool(40);
    auto* const block = static_cast<volatile char*>(pool.allocate());
    pool.deallocate(const_cast<char*>(block));
    block[3] = block[0];
}

template <class Pool>
void overflow()
{
    Pool pool(40);
    auto* const block = static_cast<volatile char*>(pool.allocate());
    block[40] = 'x';
    block[40] = static_cast<char>(0xCA); // The original value, so that a checking policy reports nothing.
}

template <class Pool>
void use_of_undefined_content()
{
    Pool pool(40);
    auto* const block = static_cast<volatile char*>(pool.allocate());
    if (block[0] == 'x')
        block[1] = 'y';
}

/// Recycled objects keep their contents, which stay defined.
void right_use_of_kept_objects()
{
    mp::pool_options options;
    options.growth_step = 10;
    mp::unsynchronized_recycling_shared_pool<std::string> pool(mp::recycle::nothing, options);
    for (int round = 0; round != 50; ++round) {
        std::vector<std::shared_ptr<std::string>> strings;
        for (int i = 0; i != 100; ++i) {
            strings.push_back(pool.allocate());
            CHECK(strings.back()->size() == static_cast<std::size_t>(round) * 20);
            strings.back()->append(20, 'x');
        }
    }
    pool.trim();
    const auto survivor = pool.allocate();
    pool.release();
    CHECK(survivor->empty());
}

/// A resource for std::pmr as a pool of blocks of one size.
template <class Resource>
class pool_over
{
public:
    explicit pool_over(std::size_t block_size) : block_size_(block_size) {}

    void* allocate() { return resource_.allocate(block_size_, 8); }
    void deallocate(void* block) { resource_.deallocate(block, block_size_, 8); }

private:
    std::size_t block_size_;
    Resource resource_;
};

template <class Resource>
void right_use_of_a_resource()
{
    Resource resource;
    for (int round = 0; round != 3; ++round) {
        std::vector<void*> blocks;
        for (std::size_t i = 0; i != 500; ++i) {
            blocks.push_back(resource.allocate(i * 200 % 70'000, std::size_t{1} << i % 8));
            std::memset(blocks.back(), round, i * 200 % 70'000);
        }
        for (std::size_t i = 0; i != 500; ++i)
            resource.deallocate(blocks[i], i * 200 % 70'000, std::size_t{1} << i % 8);
        CHECK(resource.bytes_in_use() == 0 && resource.verify());
        resource.trim();
        (void)resource.allocate(100);
        resource.release();
    }
    (void)resource.allocate(100);
}

template <class Policy>
void right_use_of_resources()
{
    right_use_of_a_resource<mp::basic_unsynchronized_arena_resource<Policy>>();
    right_use_of_a_resource<mp::basic_synchronized_arena_resource<Policy>>();
    right_use_of_a_resource<mp::basic_unsynchronized_pool_resource<Policy>>();
    right_use_of_a_resource<mp::basic_synchronized_pool_resource<Policy>>();
    mp::basic_unsynchronized_arena_resource<Policy> arenas;
    (void)arenas.allocate(100);
    arenas.clear();
    std::memset(arenas.allocate(100), 1, 100);
}

template <class Pool>
int misuse(const std::string& name)
{
    if (name == "write_after_free")
        write_after_free<Pool>();
    else if (name == "overflow")
        overflow<Pool>();
    else if (name == "use_of_undefined_content")
        use_of_undefined_content<Pool>();
    else
        return 2;
    return 0;
}

template <class Policy>
int run(const std::string& kind, const std::string& name)
{
    using resource_policy = std::conditional_t<Policy::checks, Policy, mp::default_policy>; // No counting.
    if (name == "right_use") {
        right_use<mp::basic_block_pool<Policy>>();
        right_use_of_kept_objects();
        right_use_of_resources<resource_policy>();
        return 0;
    }
    if (kind == "arenas")
        return misuse<pool_over<mp::basic_unsynchronized_arena_resource<resource_policy>>>(name);
    if (kind == "shared_arenas")
        return misuse<pool_over<mp::basic_synchronized_arena_resource<resource_policy>>>(name);
    return misuse<mp::basic_block_pool<Policy>>(name);
}
} // namespace

int main(int argc, char** argv)
{
    CHECK(argc == 4);
    mp::set_error_handler([](const mp::error_report&) {}); // Only Valgrind must report.
    const std::string policy = argv[3];
    if (policy == "default")
        return run<mp::default_policy>(argv[1], argv[2]);
    if (policy == "counting")
        return run<mp::counting_policy>(argv[1], argv[2]);
    return run<mp::checking_policy>(argv[1], argv[2]);
}
