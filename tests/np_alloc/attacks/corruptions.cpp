// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Writes to where the program has no business. What they write is no address, no number of anything, and not zero.
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

/// Writes what is not there already: one byte of a canary may be anything. The compiler is not to know what is written
/// where.
void write(std::byte* address, std::size_t bytes)
{
    std::byte* const volatile hidden = address;
    std::memset(hidden, *hidden != std::byte{garbage} ? garbage : garbage + 1, bytes);
}

void expect(bool is_so, const char* what)
{
    if (is_so)
        return;
    std::fprintf(stderr, "the program was harmed: %s\n", what);
    std::_Exit(1);
}

bool in_a_slab(std::size_t bytes, owner)
{
    return may_be_in_slab(bytes);
}

/// Blocks of 64 bytes, with what is behind them where they are checked, stay with the thread that frees them. What is
/// sent to a thread that has ended is read at once.
bool if_there_are_batches(std::size_t bytes, owner whose)
{
    return bytes < 48 && whose != owner::ended;
}

// Behind a block.

template <std::size_t Bytes>
bool is_larger_than(std::size_t bytes, owner)
{
    return bytes > Bytes;
}

/// Behind what was asked for, in what the block has room for.
template <std::size_t Bytes>
void overflow_into_slack(scene& here)
{
    std::byte* const block = here.block(here.bytes() - Bytes);
    here.begins(block);
    write(block + here.bytes() - Bytes, Bytes);
    np_free(block);
}

/// All of the next block, too, which is free.
void overflow_into_next(scene& here)
{
    std::byte* const block = here.block();
    std::byte* const next = here.block();
    here.by_owner([next] { np_free(next); });
    here.begins(block);
    write(block + here.bytes(), here.stride());
    np_free(block);
}

/// Returns: blocks that fill more than one slab, if they are in one.
std::vector<std::byte*> more_than_a_slab(scene& here)
{
    constexpr std::size_t largest_slab = std::size_t{512} * 1024;
    return here.blocks_that_stay(std::max<std::size_t>(largest_slab / here.bytes(), 1) + 1);
}

/// Behind the one of the highest address.
void overflow_of_the_last(scene& here)
{
    const std::vector<std::byte*> blocks = more_than_a_slab(here);
    std::byte* const last = *std::max_element(blocks.begin(), blocks.end());
    here.begins(last);
    write(last + here.bytes(), 64);
}

/// Has memory lie behind all blocks so far, as in a larger program.
void have_memory_behind()
{
    constexpr std::size_t bytes = std::size_t{4} << 20U;
    expect(np_alloc(bytes) != nullptr, "there is no memory behind");
}

/// As a loop does that does not end.
void overflow_of_a_mebibyte(scene& here)
{
    std::byte* const block = here.block_that_stays();
    have_memory_behind();
    here.begins(block);
    write(block + here.bytes(), 1U << 20U);
}

/// The same, where a thread has got its heap since, which may lie behind the block.
void overflow_towards_a_heap(scene& here)
{
    test::lasting_thread another;
    std::byte* const block = here.block_that_stays();
    another.does([&here] { np_free(np_alloc(here.bytes())); });
    have_memory_behind();
    here.begins(block);
    write(block + here.bytes(), 1U << 20U);
}

// Before a block.

template <std::size_t Bytes>
void underflow_of_the_first(scene& here)
{
    const std::vector<std::byte*> blocks = more_than_a_slab(here);
    std::byte* const first = *std::min_element(blocks.begin(), blocks.end());
    here.begins(first);
    write(first - Bytes, Bytes);
}

/// An underflow of a block that is not the first of its slab.
void underflow_into_block_in_use(scene& here)
{
    std::byte* const one = here.block();
    std::byte* const other = here.block();
    std::byte* const block = std::max(one, other);
    here.keep(std::min(one, other));
    here.begins(block);
    write(block - 1, 1);
    np_free(block);
}

/// The same where the preceding block is free.
void underflow_into_free_block(scene& here)
{
    std::byte* const one = here.block();
    std::byte* const other = here.block();
    std::byte* const block = std::max(one, other);
    here.by_owner([=] { np_free(std::min(one, other)); });
    here.begins(block);
    write(block - 32, 32);
    np_free(block);
}

// Blocks that are free.

void write_after_free(scene& here, std::size_t bytes)
{
    (void)here.block_that_stays(); // So the slab does, and the block is allocated again.
    std::byte* const block = here.block();
    here.begins(block);
    np_free(block);
    write(block, bytes);
    if (may_be_in_slab(here.bytes())) // The memory of a large one would go back to the system.
        here.send_all_home();
}

/// What was written is not there for the next who gets the block.
void read_after_free(scene& here)
{
    std::byte* const block = here.block();
    std::memset(block, garbage, here.bytes());
    here.begins(block);
    np_free(block);
    const volatile std::byte* const old = block;
    expect(old[here.bytes() - 1] != std::byte{garbage}, "it reads what it has freed");
}

/// The address of something else stands in every free block where a list of them would have its links.
void forged_links(scene& here)
{
    std::array<std::byte*, 4> blocks{}; // No more than wait where blocks are checked.
    for (std::byte*& each : blocks)
        each = here.block();
    here.begins(blocks[0]);
    alignas(16) std::array<std::byte, 64> target{};
    for (std::byte* each : blocks) {
        np_free(each);
        void** const volatile links = reinterpret_cast<void**>(each);
        links[0] = links[1] = &target;
    }
    for (int i = 0; i != 64; ++i) {
        void* const block = np_alloc(here.bytes());
        expect(block != &target, "malloc gives it what is no block");
        here.keep(block);
    }
}

// Blocks that are in transit to another thread, and what brings them.

/// Has the third thread free a block of the owner, which it does not keep. The batch that it is in was not sent yet.
/// Returns: the batch.
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
        for (int others = 0; others != 1100;
             ++others) // In the checked build, it is in quarantine until that many are freed.
            np_free(np_alloc(here.bytes()));
    });
    return *std::min_element(sheets.begin(), sheets.end()); // The lowest free block is taken for it.
}

void write_to_batch(scene& here)
{
    std::byte* const batch = put_into_batch(here, here.block());
    here.is_about_bytes(batch_bytes);
    here.begins(batch);
    write(batch, batch_bytes);
}

void write_to_block_sent_home(scene& here)
{
    std::byte* const stays = here.block_that_stays();
    std::byte* const block = here.block();
    here.by_third([block] {
        np_free(block);
        np_trim();
    });
    here.is_about(stays); // It is as large as the other.
    here.begins(block);
    write(block, here.bytes());
}

// Blocks of no bytes.

void no_bytes(scene& here)
{
    std::array<std::byte*, 64> blocks{};
    for (std::byte*& each : blocks)
        each = here.block(0);
    here.begins(blocks[0]);
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
        {"write to a batch", if_there_are_batches, write_to_batch},
        {"write to a block that was sent home", in_a_slab, write_to_block_sent_home},
        {"blocks of no bytes", [](std::size_t bytes, owner) { return bytes == 16; }, no_bytes},
    };
}
} // namespace attacks
