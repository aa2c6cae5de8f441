// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Invalid pointers, passed to each function that takes a block.
#include "attacks.hpp"

#include <memory_pool/block_pool.hpp>
#include <memory_pool/page_resource.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <alloca.h>
#include <sys/mman.h>

namespace attacks {
namespace {
/// An invalid pointer. `make` creates the pointer in a scene, and starts the attack there.
struct bad_pointer
{
    const char* name;
    bool (*is_for)(std::size_t bytes, owner block_owner);
    void* (*make)(scene& here);
};

// Free blocks.

void* freed(scene& here)
{
    std::byte* const block = here.block();
    here.begin_attack(block);
    np_free(block);
    return block;
}

void* freed_before_another(scene& here)
{
    std::byte* const block = here.block();
    std::byte* const other = here.block();
    here.begin_attack(block);
    np_free(block);
    np_free(other);
    return block;
}

/// A freed block whose memory later blocks have reused and freed again.
void* freed_long_ago(scene& here)
{
    std::byte* const block = here.block();
    here.begin_attack(block);
    np_free(block);
    std::array<void*, 4> others{};
    for (int times = 0; times != 256; ++times) {
        for (void*& each : others)
            each = np_alloc(here.bytes());
        for (void* each : others)
            np_free(each);
    }
    return block;
}

void* freed_by_its_owner(scene& here)
{
    std::byte* const block = here.block();
    here.by_owner([block] { np_free(block); });
    here.begin_attack(block);
    return block;
}

void* freed_by_a_third(scene& here)
{
    std::byte* const block = here.block();
    here.begin_attack(block);
    here.by_third([block] { np_free(block); });
    return block;
}

/// A remotely freed block that its owner has drained.
void* freed_and_drained(scene& here)
{
    (void)here.block_that_stays(); // Keeps the slab.
    std::byte* const block = here.block();
    here.begin_attack(block);
    const auto free_it = [block] {
        np_free(block);
        np_trim();
    };
    here.by_third(free_it);
    here.by_owner([] { np_trim(); });
    return block;
}

/// A freed block whose slab, if any, was freed as well.
void* freed_with_its_slab(scene& here)
{
    std::byte* const block = here.block();
    here.by_owner([block] {
        np_free(block);
        np_trim();
    });
    here.begin_attack(block);
    return block;
}

void* moved_by_realloc(scene& here)
{
    std::byte* const block = here.block();
    (void)here.block_that_stays(); // Prevents growth in place.
    here.begin_attack(block);
    here.keep(np_realloc(block, 2 * here.bytes()));
    return block;
}

void* freed_after_realloc(scene& here)
{
    std::byte* const block = here.block();
    (void)here.block_that_stays();
    void* moved = nullptr;
    here.by_owner([&] { moved = np_realloc(block, 2 * here.bytes()); });
    here.is_about(moved);
    here.begin_attack(moved);
    np_free(moved);
    return moved;
}

// Addresses of other objects. For these addresses, the owner makes no difference.

bool for_one_owner(std::size_t, owner block_owner)
{
    return block_owner == owner::attacker;
}

template <std::uintptr_t Number>
void* number(scene& here)
{
    np_free(np_alloc(here.bytes()));
    auto* const address = reinterpret_cast<void*>(Number);
    here.begin_attack(address);
    return address;
}

/// Returns: `address`, hidden from the optimizer.
void* hidden(void* address)
{
    void* const volatile same = address;
    return same;
}

void* on_the_stack(scene& here)
{
    alignas(16) std::byte local[16];
    void* const address = hidden(local);
    here.begin_attack(address);
    return address;
}

void* of_alloca(scene& here)
{
    void* const address = hidden(alloca(here.bytes()));
    here.begin_attack(address);
    return address;
}

alignas(16) std::byte global[16];

void* of_a_global(scene& here)
{
    here.begin_attack(global);
    return global;
}

void* of_a_function(scene& here)
{
    constexpr std::uintptr_t aligned = ~std::uintptr_t{15};
    auto* const address = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(&of_a_function) & aligned);
    here.begin_attack(address);
    return address;
}

/// Returns: the end of the mappings from `address` on.
std::uintptr_t end_of_mappings(const void* address)
{
    std::FILE* const maps = std::fopen("/proc/self/maps", "re");
    auto end = reinterpret_cast<std::uintptr_t>(address);
    std::array<char, 512> line{};
    while (std::fgets(line.data(), line.size(), maps) != nullptr) {
        char* behind_begin = nullptr;
        const std::uintptr_t first = std::strtoull(line.data(), &behind_begin, 16);
        const std::uintptr_t last = std::strtoull(behind_begin + 1, nullptr, 16);
        if (first <= end && end < last)
            end = last;
    }
    (void)std::fclose(maps);
    return end;
}

/// Pages of the program, as close to the region of the library as possible.
void* next_to_the_region(scene& here)
{
    void* const block = np_alloc(here.bytes());
    auto* const wanted = reinterpret_cast<void*>(end_of_mappings(block));
    void* const pages = mmap(wanted, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    here.keep(block);
    here.begin_attack(pages);
    return pages;
}

void* of_a_pool(scene& here)
{
    static memory_pool::page_resource pages;
    static memory_pool::block_pool pool(here.bytes(), {}, &pages);
    void* const block = pool.allocate();
    here.begin_attack(block);
    return block;
}

// Addresses in or beside a block.

bool in_a_slab(std::size_t bytes, owner)
{
    return may_be_in_slab(bytes);
}

template <std::size_t Offset>
bool has_offset(std::size_t bytes, owner)
{
    return Offset < bytes;
}

template <std::size_t Offset>
void* inside(scene& here)
{
    std::byte* const block = here.block_that_stays();
    here.begin_attack(block + Offset);
    return block + Offset;
}

/// The adjacent block, which is free or belongs to another owner.
void* next_block(scene& here)
{
    std::byte* const block = here.block_that_stays();
    std::byte* const next = block + here.stride();
    here.begin_attack(next);
    return next;
}

/// The position of a block that was never allocated.
void* never_allocated(scene& here)
{
    std::byte* const block = here.block_that_stays();
    std::byte* const far = block + 40 * here.stride();
    here.begin_attack(far);
    return far;
}

constexpr std::array<bad_pointer, 26> bad_pointers{{
    {"freed", always, freed},
    {"freed, and another since", always, freed_before_another},
    {"freed long ago", always, freed_long_ago},
    {"freed by its owner", always, freed_by_its_owner},
    {"freed by a third", always, freed_by_a_third},
    {"freed, and drained", always, freed_and_drained},
    {"freed, slab freed", always, freed_with_its_slab},
    {"moved by realloc", always, moved_by_realloc},
    {"freed after realloc", always, freed_after_realloc},
    {"1", for_one_owner, number<1>},
    {"8", for_one_owner, number<8>},
    {"-16", for_one_owner, number<~std::uintptr_t{15}>},
    {"no address", for_one_owner, number<(std::uintptr_t{0xdead} << 48U)>},
    {"the stack", for_one_owner, on_the_stack},
    {"alloca", for_one_owner, of_alloca},
    {"a global", for_one_owner, of_a_global},
    {"a function", for_one_owner, of_a_function},
    {"beside the region", for_one_owner, next_to_the_region},
    {"of a pool", for_one_owner, of_a_pool},
    {"block + 1", always, inside<1>},
    {"block + 8", always, inside<8>},
    {"block + 16", has_offset<16>, inside<16>},
    {"block + 4096", has_offset<4096>, inside<4096>},
    {"block + 1 GiB", always, inside<std::size_t{1} << 30U>},
    {"next block", in_a_slab, next_block},
    {"never allocated", in_a_slab, never_allocated},
}};

// Functions that take a block.

void free_it(scene&, void* pointer)
{
    np_free(pointer);
}

void free_it_with_its_size(scene& here, void* pointer)
{
    np_free_sized(pointer, here.bytes());
}

void make_it_larger(scene& here, void* pointer)
{
    here.keep(np_realloc(pointer, 2 * here.bytes()));
}

void query_its_size(scene&, void* pointer)
{
    (void)np_usable_size(pointer);
}

struct function
{
    const char* name;
    void (*call)(scene& here, void* pointer);
};

constexpr std::array<function, 4> functions{{
    {"free", free_it},
    {"free_sized", free_it_with_its_size},
    {"realloc", make_it_larger},
    {"usable_size", query_its_size},
}};

// Sequences of double frees.

/// Frees in reverse order: A B B A.
void freed_and_back(scene& here)
{
    std::byte* const block = here.block();
    std::byte* const other = here.block();
    here.begin_attack(other);
    np_free(block);
    np_free(other);
    np_free(other);
    np_free(block);
}

/// Two threads free A and B, then B and A.
void freed_in_turns(scene& here)
{
    std::byte* const block = here.block();
    std::byte* const other = here.block();
    here.begin_attack(other);
    here.by_third([block] { np_free(block); });
    np_free(other);
    here.by_third([other] { np_free(other); });
    np_free(block);
}

/// Two threads free one block at the same time.
void freed_by_both(scene& here)
{
    std::byte* const block = here.block();
    here.begin_attack(block);
    std::atomic<int> missing{2};
    const auto free_it = [&missing, block] {
        for (--missing; missing != 0;)
            std::this_thread::yield();
        np_free(block);
    };
    std::thread another(free_it);
    free_it();
    another.join();
}

void misaligned_twice(scene& here)
{
    std::byte* const block = here.block_that_stays();
    here.begin_attack(block + 8);
    np_free(block + 8);
    np_free(block + 8);
}
} // namespace

std::vector<attack> misuses()
{
    std::vector<attack> all{
        {"free: A B B A", always, freed_and_back},
        {"free: A and B, B and A by others", always, freed_in_turns},
        {"free: by two threads at once", always, freed_by_both},
        {"free: block + 8, twice", always, misaligned_twice},
    };
    for (const function& taking : functions)
        for (const bad_pointer& pointer : bad_pointers)
            all.push_back({std::string(taking.name) + ": " + pointer.name, pointer.is_for,
                           [&](scene& here) { taking.call(here, pointer.make(here)); }});
    return all;
}
} // namespace attacks
