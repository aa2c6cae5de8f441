// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A malloc for preloading that never reuses memory. If FAULTY_MALLOC is in the environment, it returns one block in a
/// hundred twice, which a check of block contents must detect. If COUNTING_MALLOC names a file, each process appends
/// the numbers of allocated and freed blocks to it.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {
constexpr std::size_t header = 16; ///< Precedes each block, and holds its size.
constexpr std::size_t all_bytes = std::size_t{1} << 30U;
alignas(4096) std::byte memory[all_bytes];
std::atomic<std::size_t> used{0};
std::atomic<std::size_t> asked{0};
std::atomic<void*> last{nullptr};
std::atomic<std::size_t> allocated{0};
std::atomic<std::size_t> freed{0};

std::size_t& size_of(void* block)
{
    return *reinterpret_cast<std::size_t*>(static_cast<std::byte*>(block) - header);
}

/// Returns: fresh memory that is zero; nullptr on OOM.
/// Preconditions: `alignment` is a power of two, 16 at least.
void* carve(std::size_t bytes, std::size_t alignment)
{
    const std::size_t room = (header + bytes + alignment + 15) / 16 * 16;
    if (bytes > all_bytes)
        return nullptr;
    const std::size_t start = used.fetch_add(room);
    if (start + room > all_bytes)
        return nullptr;
    const auto first = reinterpret_cast<std::uintptr_t>(memory + start + header);
    void* const block = memory + start + header + (alignment - first % alignment) % alignment;
    size_of(block) = bytes;
    return block;
}

/// Returns: the block allocated last, if a fault is due and the block is large enough.
void* second_hand(std::size_t bytes, std::size_t alignment)
{
    static const bool is_faulty = std::getenv("FAULTY_MALLOC") != nullptr;
    if (!is_faulty || ++asked % 100 != 0)
        return nullptr;
    void* const block = last;
    const bool fits =
        block != nullptr && size_of(block) >= bytes && reinterpret_cast<std::uintptr_t>(block) % alignment == 0;
    return fits ? block : nullptr;
}

void* allocate(std::size_t bytes, std::size_t alignment)
{
    void* block = second_hand(bytes, alignment);
    if (block == nullptr)
        block = carve(bytes, alignment);
    last = block;
    ++allocated;
    return block;
}

[[gnu::destructor]] void report()
{
    const char* const path = std::getenv("COUNTING_MALLOC");
    const int file = path == nullptr ? -1 : ::open(path, O_WRONLY | O_APPEND | O_CREAT, 0644);
    if (file == -1)
        return;
    ::dprintf(file, "%zu %zu\n", allocated.load(), freed.load());
    ::close(file);
}
} // namespace

extern "C" {
void* malloc(std::size_t bytes)
{
    return allocate(bytes, 16);
}

void free(void* block)
{
    if (block != nullptr)
        ++freed;
}

void* calloc(std::size_t count, std::size_t bytes)
{
    void* const block = allocate(count * bytes, 16);
    return block == nullptr ? nullptr : std::memset(block, 0, count * bytes);
}

void* realloc(void* block, std::size_t bytes)
{
    void* const moved = allocate(bytes, 16);
    if (block != nullptr && moved != nullptr)
        std::memmove(moved, block, size_of(block) < bytes ? size_of(block) : bytes);
    return moved;
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes)
{
    return allocate(bytes, alignment < 16 ? 16 : alignment);
}

int posix_memalign(void** block, std::size_t alignment, std::size_t bytes)
{
    *block = aligned_alloc(alignment, bytes);
    return *block == nullptr ? 12 : 0; // ENOMEM
}
}
