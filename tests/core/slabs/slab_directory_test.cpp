// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/slabs/slab_directory.hpp>

#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace core = memory_pool::detail::core;

namespace {
/// Returns an address used as a slab. The directory only compares addresses and never dereferences them.
core::slab* slab_at(std::uintptr_t address)
{
    return reinterpret_cast<core::slab*>(address);
}

const void* pointer(std::uintptr_t address)
{
    return reinterpret_cast<const void*>(address);
}

TEST(slab_directory, keeps_slabs_sorted_in_any_order_of_insertion)
{
    test::accounting_upstream upstream;
    {
        core::slab_directory directory(&upstream);
        for (const std::uintptr_t address :
             {0x9000u, 0x1000u, 0x5000u, 0x3000u, 0xF000u, 0x7000u, 0xB000u, 0x2000u, 0x4000u}) {
            directory.make_room();
            directory.insert(slab_at(address));
            EXPECT_TRUE(directory.is_sorted());
        }
        EXPECT_EQ(directory.size(), 9u);
        EXPECT_GT(directory.bytes_reserved(), 0u);
        EXPECT_EQ(upstream.live_bytes(), directory.bytes_reserved());
    }
    EXPECT_EQ(upstream.live_bytes(), 0u);
    EXPECT_EQ(upstream.mismatched(), 0u);
}

TEST(slab_directory, finds_the_slabs_next_to_an_address)
{
    core::slab_directory directory(std::pmr::new_delete_resource());
    EXPECT_EQ(directory.last_at_or_before(pointer(0x2000)), nullptr);
    EXPECT_EQ(directory.first_behind(nullptr), nullptr);
    for (const std::uintptr_t address : {0x2000u, 0x4000u}) {
        directory.make_room();
        directory.insert(slab_at(address));
    }
    EXPECT_EQ(directory.last_at_or_before(pointer(0x1FFF)), nullptr);
    EXPECT_EQ(directory.last_at_or_before(pointer(0x2000)), slab_at(0x2000));
    EXPECT_EQ(directory.last_at_or_before(pointer(0x3FFF)), slab_at(0x2000));
    EXPECT_EQ(directory.last_at_or_before(pointer(0xFFFF)), slab_at(0x4000));
    EXPECT_EQ(directory.first_behind(nullptr), slab_at(0x2000));
    EXPECT_EQ(directory.first_behind(pointer(0x2000)), slab_at(0x4000));
    EXPECT_EQ(directory.first_behind(pointer(0x4000)), nullptr);
}

TEST(slab_directory, finds_the_next_slab_from_any_hint)
{
    core::slab_directory directory(std::pmr::new_delete_resource());
    const auto insert = [&](std::uintptr_t address) {
        directory.make_room();
        directory.insert(slab_at(address));
    };
    for (const std::uintptr_t address : {0x2000u, 0x4000u, 0x6000u})
        insert(address);
    std::uint32_t place = 0;
    EXPECT_EQ(directory.first_behind(nullptr, place), slab_at(0x2000));
    EXPECT_EQ(place, 0u);
    EXPECT_EQ(directory.first_behind(pointer(0x2FFF), place), slab_at(0x4000));
    EXPECT_EQ(place, 1u);
    insert(0x1000);
    insert(0x5000);
    EXPECT_EQ(directory.first_behind(pointer(0x4000), place), slab_at(0x5000));
    EXPECT_EQ(place, 3u);
    for (const std::uint32_t wrong : {0u, 1u, 4u, 100u, ~std::uint32_t{0}}) {
        place = wrong;
        EXPECT_EQ(directory.first_behind(pointer(0x5000), place), slab_at(0x6000));
        EXPECT_EQ(place, 4u);
    }
    EXPECT_EQ(directory.first_behind(pointer(0x6000), place), nullptr);
}

TEST(slab_directory, removes_slabs_by_predicate)
{
    core::slab_directory directory(std::pmr::new_delete_resource());
    for (std::uintptr_t address = 0x1000; address != 0x9000; address += 0x1000) {
        directory.make_room();
        directory.insert(slab_at(address));
    }
    std::vector<core::slab*> disposed;
    directory.remove_if([](const core::slab* slab) { return (reinterpret_cast<std::uintptr_t>(slab) & 0x1000) != 0; },
                        [&](core::slab* slab) { disposed.push_back(slab); });
    EXPECT_EQ(disposed.size(), 4u);
    EXPECT_EQ(directory.size(), 4u);
    EXPECT_EQ(*directory.begin(), slab_at(0x2000));
    EXPECT_TRUE(directory.is_sorted());
}

TEST(slab_directory, is_unchanged_when_upstream_fails)
{
    test::accounting_upstream upstream;
    core::slab_directory directory(&upstream);
    std::uintptr_t address = 0x1000;
    do {
        directory.make_room();
        directory.insert(slab_at(address += 0x1000));
    } while (directory.size() * sizeof(void*) != directory.bytes_reserved());
    const std::size_t before = directory.size();
    upstream.fail_at(1);
    EXPECT_THROW(directory.make_room(), std::bad_alloc);
    EXPECT_EQ(directory.size(), before);
    EXPECT_TRUE(directory.is_sorted());
    directory.make_room();
    directory.insert(slab_at(0x500));
    EXPECT_EQ(*directory.begin(), slab_at(0x500));
}
} // namespace
