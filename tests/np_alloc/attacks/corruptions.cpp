// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Invalid writes and reads. The written bytes are not zero, and are not a valid address or count.
#include "attacks.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace attacks {
namespace {
constexpr int garbage = 0x41;

/// Writes a value that differs from the first byte, because a canary may hold any value. Hides the write from the
/// optimizer.
void write(std::byte* address, std::size_t bytes)
{
    std::byte* const volatile hidden = address;
    std::memset(hidden, *hidden != std::byte{garbage} ? garbage : garbage + 1, bytes);
}

/// Ends the program if the condition is false, which means that the attack has succeeded.
void expect(bool condition, const char* failure)
{
    if (condition)
        return;
    std::fprintf(stderr, "the attack has succeeded: %s\n", failure);
    std::_Exit(1);
}

bool in_a_slab(std::size_t bytes, owner)
{
    return may_be_in_slab(bytes);
}

/// Only remote frees of small blocks are batched. The freeing thread keeps blocks of 64 bytes or more, including a
/// canary. A batch for an ended thread is drained at once.
bool has_batches(std::size_t bytes, owner block_owner)
{
    return bytes < 48 && block_owner != owner::ended;
}

// Behind a block.

template <std::size_t Bytes>
bool is_larger_than(std::size_t bytes, owner)
{
    return bytes > Bytes;
}

/// An overflow of the requested size within the usable size.
template <std::size_t Bytes>
void overflow_into_slack(scene& here)
{
    std::byte* const block = here.block(here.bytes() - Bytes);
    here.begin_attack(block);
    write(block + here.bytes() - Bytes, Bytes);
    np_free(block);
}

/// Overwrites all of the next block, which is free.
void overflow_into_next(scene& here)
{
    std::byte* const block = here.block();
    std::byte* const next = here.block();
    here.by_owner([next] { np_free(next); });
    here.begin_attack(block);
    write(block + here.bytes(), here.stride());
    np_free(block);
}

/// Returns: enough blocks to fill more than one slab, if they are small.
std::vector<std::byte*> more_than_a_slab(scene& here)
{
    constexpr std::size_t largest_slab = std::size_t{512} * 1024;
    return here.blocks_that_stay(std::max<std::size_t>(largest_slab / here.bytes(), 1) + 1);
}

/// An overflow of the block with the highest address.
void overflow_of_the_last(scene& here)
{
    const std::vector<std::byte*> blocks = more_than_a_slab(here);
    std::byte* const last = *std::max_element(blocks.begin(), blocks.end());
    here.begin_attack(last);
    write(last + here.bytes(), 64);
}

/// Allocates memory behind all existing blocks, as a larger program would.
void allocate_behind()
{
    constexpr std::size_t bytes = std::size_t{4} << 20U;
    expect(np_alloc(bytes) != nullptr, "no memory is left");
}

/// An overflow of 1 MiB, as by an endless loop.
void overflow_of_a_mebibyte(scene& here)
{
    std::byte* const block = here.block_that_stays();
    allocate_behind();
    here.begin_attack(block);
    write(block + here.bytes(), 1U << 20U);
}

/// An overflow of 1 MiB, after another thread has created its heap, which may lie behind the block.
void overflow_towards_a_heap(scene& here)
{
    test::lasting_thread another;
    std::byte* const block = here.block_that_stays();
    another.does([&here] { np_free(np_alloc(here.bytes())); });
    allocate_behind();
    here.begin_attack(block);
    write(block + here.bytes(), 1U << 20U);
}

// Before a block.

template <std::size_t Bytes>
void underflow_of_the_first(scene& here)
{
    const std::vector<std::byte*> blocks = more_than_a_slab(here);
    std::byte* const first = *std::min_element(blocks.begin(), blocks.end());
    here.begin_attack(first);
    write(first - Bytes, Bytes);
}

/// An underflow of a block that is not the first of its slab.
void underflow_into_block_in_use(scene& here)
{
    std::byte* const one = here.block();
    std::byte* const other = here.block();
    std::byte* const block = std::max(one, other);
    here.keep(std::min(one, other));
    here.begin_attack(block);
    write(block - 1, 1);
    np_free(block);
}

/// An underflow of a block whose preceding block is free.
void underflow_into_free_block(scene& here)
{
    std::byte* const one = here.block();
    std::byte* const other = here.block();
    std::byte* const block = std::max(one, other);
    here.by_owner([=] { np_free(std::min(one, other)); });
    here.begin_attack(block);
    write(block - 32, 32);
    np_free(block);
}

// Free blocks.

void write_after_free(scene& here, std::size_t bytes)
{
    (void)here.block_that_stays(); // Keeps the slab, so that np_alloc reuses the block.
    std::byte* const block = here.block();
    here.begin_attack(block);
    np_free(block);
    write(block, bytes);
    if (may_be_in_slab(here.bytes())) // Draining would return the memory of a large block to the system.
        here.drain_all();
}

/// Reads the old contents of a freed block.
void read_after_free(scene& here)
{
    std::byte* const block = here.block();
    std::memset(block, garbage, here.bytes());
    here.begin_attack(block);
    np_free(block);
    const volatile std::byte* const old = block;
    expect(old[here.bytes() - 1] != std::byte{garbage}, "it reads freed contents");
}

/// Writes the address of another object into free blocks, where a free list would have its links.
void forged_links(scene& here)
{
    std::array<std::byte*, 4> blocks{}; // Few enough to stay in the quarantine of the checked build.
    for (std::byte*& each : blocks)
        each = here.block();
    here.begin_attack(blocks[0]);
    alignas(16) std::array<std::byte, 64> target{};
    for (std::byte* each : blocks) {
        np_free(each);
        void** const volatile links = reinterpret_cast<void**>(each);
        links[0] = links[1] = &target;
    }
    for (int i = 0; i != 64; ++i) {
        void* const block = np_alloc(here.bytes());
        expect(block != &target, "malloc returns the forged address");
        here.keep(block);
    }
}

// Blocks in transit to another thread, and their batches.

/// Frees the block remotely in the third thread, which does not send its batch yet. Returns: the batch.
std::byte* put_into_batch(scene& here, std::byte* block)
{
    std::array<std::byte*, 8> sheets{};
    here.by_third([&] {
        for (std::byte*& each : sheets)
            each = static_cast<std::byte*>(np_alloc(batch_bytes - 8)); // The library may add a canary of 8 bytes.
        here.is_about(sheets[0]);
        for (std::byte* each : sheets)
            np_free(each);
        np_trim();
        np_free(block);
        for (int others = 0; others != 1100; ++others) // In the checked build, pushes the block out of quarantine.
            np_free(np_alloc(here.bytes()));
    });
    return *std::min_element(sheets.begin(), sheets.end()); // The batch is in the lowest free block.
}

void write_to_batch(scene& here)
{
    std::byte* const batch = put_into_batch(here, here.block());
    here.is_about_bytes(batch_bytes);
    here.begin_attack(batch);
    write(batch, batch_bytes);
}

void write_to_remotely_freed_block(scene& here)
{
    std::byte* const stays = here.block_that_stays();
    std::byte* const block = here.block();
    here.by_third([block] {
        np_free(block);
        np_trim();
    });
    here.is_about(stays); // Both blocks have the same size.
    here.begin_attack(block);
    write(block, here.bytes());
}

// Blocks of 0 bytes.

void no_bytes(scene& here)
{
    std::array<std::byte*, 64> blocks{};
    for (std::byte*& each : blocks)
        each = here.block(0);
    here.begin_attack(blocks[0]);
    for (std::byte* each : blocks)
        *each = std::byte{garbage};
    std::sort(blocks.begin(), blocks.end());
    expect(std::adjacent_find(blocks.begin(), blocks.end()) == blocks.end(), "two blocks are at one address");
    for (std::byte* each : blocks)
        np_free(each);
}
} // namespace

std::vector<attack> corruptions()
{
    return {
        {"overflow of 1 byte into slack", always, overflow_into_slack<1>},
        {"overflow of 8 bytes into slack", always, overflow_into_slack<8>},
        {"overflow of 32 bytes into slack", is_larger_than<32>, overflow_into_slack<32>},
        {"overflow into the next block", in_a_slab, overflow_into_next},
        {"overflow of the last block", always, overflow_of_the_last},
        {"overflow of 1 MiB", always, overflow_of_a_mebibyte},
        {"overflow towards another heap", always, overflow_towards_a_heap},
        {"underflow of 1 byte", always, underflow_of_the_first<1>},
        {"underflow of 32 bytes", always, underflow_of_the_first<32>},
        {"underflow into a block in use", in_a_slab, underflow_into_block_in_use},
        {"underflow into a free block", in_a_slab, underflow_into_free_block},
        {"write of 8 bytes after free", always, [](scene& here) { write_after_free(here, 8); }},
        {"write of all bytes after free", always, [](scene& here) { write_after_free(here, here.bytes()); }},
        {"read after free", always, read_after_free},
        {"forged links", in_a_slab, forged_links},
        {"write to a batch", has_batches, write_to_batch},
        {"write to a remotely freed block", in_a_slab, write_to_remotely_freed_block},
        {"blocks of 0 bytes", [](std::size_t bytes, owner) { return bytes == 16; }, no_bytes},
    };
}
} // namespace attacks
