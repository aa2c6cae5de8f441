// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// `arena_mr::UnsynchronizedArenaMR`, the interface of the library ArenaMR, over unsynchronized_arena_resource.
///
///     UnsynchronizedArenaMR(n, s, upstream) -> [ arena | arena | ... ]  n arenas of s bytes, and more if those are full
///
///     NumOfArenas = arenas in use + FreeArenaSize
///
/// What differs from the original: everything goes back upstream, large blocks at once and arenas at the end; every alignment is
/// honoured; giving back takes the same time however many arenas there are, and allocates nothing; allocate(0) is a block like
/// any other; the header may be included in several source files. An arena takes up the next power of two from s bytes on, and
/// keeps a line of the cache of them for itself; blocks larger than the rest come from upstream one by one. Include path:
/// drop_in/ and include/, or the CMake target memory_pool::drop_in.
///
/// Thread safety: none. Use one from one thread at a time.
#pragma once

#include <memory_pool/unsynchronized_arena_resource.hpp>

#include <cstddef>
#include <memory_resource>

namespace arena_mr
{
inline namespace MEMORY_POOL_ABI
{
/// A resource that hands out memory of arenas, and uses an arena again when all its blocks are back.
class UnsynchronizedArenaMR : public std::pmr::memory_resource
{
public:
    /// Effects: makes a resource, and takes `number_of_arenas` arenas of `bytes_per_arena` bytes from `upstream` at once.
    /// Preconditions: `upstream` outlives the resource.
    /// Throws: std::invalid_argument if `bytes_per_arena` is 0 or `upstream` is nullptr; memory_pool::size_overflow, which is a
    ///   std::bad_alloc, if that is more than a program can address; what upstream throws.
    /// Complexity: linear in MiB that are taken.
    UnsynchronizedArenaMR(std::size_t number_of_arenas, std::size_t bytes_per_arena,
                          std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : arenas_(options_for(number_of_arenas, bytes_per_arena), upstream), bytes_per_arena_(bytes_per_arena)
    {
    }

    UnsynchronizedArenaMR(const UnsynchronizedArenaMR&) = delete;
    UnsynchronizedArenaMR& operator=(const UnsynchronizedArenaMR&) = delete;

    /// Effects: gives everything back upstream. Blocks still in use are gone.
    ~UnsynchronizedArenaMR() override = default;

    /// Returns: arenas held: those the resource was made with, and those it took later.
    std::size_t NumOfArenas() const noexcept { return arenas_.arena_count(); }

    /// Returns: bytes of an arena, as they were asked for.
    std::size_t SizePerArena() const noexcept { return bytes_per_arena_; }

    /// Returns: arenas in which nothing is in use.
    std::size_t FreeArenaSize() const noexcept { return arenas_.free_arenas(); }

    /// Returns: bytes in use: those of blocks in arenas, each rounded up to a multiple of 8, and those of large blocks.
    /// Complexity: linear in arenas.
    std::size_t UsedMemory() const noexcept { return arenas_.bytes_in_use(); }

    /// Returns: bytes in arenas that are not in use, but can be handed out only when all other blocks of their arena are back.
    /// Complexity: linear in arenas.
    std::size_t WastedMemory() const noexcept { return arenas_.bytes_wasted(); }

private:
    static memory_pool::arena_options options_for(std::size_t number_of_arenas, std::size_t bytes_per_arena) noexcept
    {
        memory_pool::arena_options options;
        options.arena_count = number_of_arenas;
        options.arena_size = bytes_per_arena;
        options.name = "UnsynchronizedArenaMR";
        return options;
    }

    void* do_allocate(std::size_t bytes, std::size_t alignment) override { return arenas_.allocate(bytes, alignment); }

    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override
    {
        arenas_.deallocate(block, bytes, alignment);
    }

    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

    memory_pool::unsynchronized_arena_resource arenas_;
    std::size_t bytes_per_arena_;
};
} // namespace MEMORY_POOL_ABI
} // namespace arena_mr
