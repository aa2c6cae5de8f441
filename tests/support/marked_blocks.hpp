// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Tracks the owner of each block, by an upstream of fixed extent and a table with a mark for each place in it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <memory_resource>
#include <new>
#include <vector>

namespace test {
/// Allocates chunks from one array, and throws std::bad_alloc when the array is exhausted. Deliberately without a lock:
/// a pool promises to serialize its calls.
class arena_upstream : public std::pmr::memory_resource
{
public:
    explicit arena_upstream(std::size_t bytes) : bytes_(bytes), memory_(new(alignment_of_all) std::byte[bytes])
    {
        free_.emplace(0, bytes);
    }
    arena_upstream(const arena_upstream&) = delete;
    arena_upstream& operator=(const arena_upstream&) = delete;
    ~arena_upstream() override { ::operator delete[](memory_, alignment_of_all); }

    std::size_t bytes() const noexcept { return bytes_; }
    std::size_t live_bytes() const noexcept { return live_bytes_; }
    const std::byte* begin() const noexcept { return memory_; }

private:
    static constexpr std::size_t unit = 64;
    static constexpr std::align_val_t alignment_of_all{unit};

    static std::size_t round_up(std::size_t value, std::size_t to) noexcept { return (value + to - 1) / to * to; }

    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        const std::size_t wanted = round_up(bytes, unit);
        for (auto chunk = free_.begin(); chunk != free_.end(); ++chunk) {
            const auto [start, size] = *chunk;
            const auto address = reinterpret_cast<std::uintptr_t>(memory_);
            const std::size_t aligned = round_up(address + start, alignment) - address;
            if (aligned + wanted > start + size)
                continue;
            free_.erase(chunk);
            if (aligned != start)
                free_.emplace(start, aligned - start);
            if (aligned + wanted != start + size)
                free_.emplace(aligned + wanted, start + size - aligned - wanted);
            live_bytes_ += bytes;
            return memory_ + aligned;
        }
        throw std::bad_alloc();
    }

    void do_deallocate(void* address, std::size_t bytes, std::size_t) override
    {
        live_bytes_ -= bytes;
        const auto start = static_cast<std::size_t>(static_cast<std::byte*>(address) - memory_);
        auto chunk = free_.emplace(start, round_up(bytes, unit)).first;
        if (const auto next = std::next(chunk); next != free_.end() && chunk->first + chunk->second == next->first) {
            chunk->second += next->second;
            free_.erase(next);
        }
        if (chunk == free_.begin())
            return;
        if (const auto before = std::prev(chunk); before->first + before->second == chunk->first) {
            before->second += chunk->second;
            free_.erase(chunk);
        }
    }

    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

    std::size_t bytes_;
    std::size_t live_bytes_ = 0;
    std::byte* memory_;
    std::map<std::size_t, std::size_t> free_; ///< Size by offset.
};

/// Marks each block with its owner, and fills it with a unique pattern. It does not synchronize threads, so its
/// accesses to a block are a data race unless the pool orders them.
class marked_blocks
{
public:
    /// Preconditions: all blocks are from `arena` and have `block_size` bytes, at least 8.
    marked_blocks(const arena_upstream& arena, std::size_t block_size)
        : begin_(arena.begin()), words_(block_size / sizeof(std::uint64_t)), owners_(arena.bytes() / bytes_for_a_mark)
    {
    }

    /// Effects: records that `who`, not 0, has allocated a block without an owner, and fills the block.
    void take(void* block, std::uint32_t who) noexcept
    {
        change(block, 0, who);
        const std::uint64_t stamp = (std::uint64_t{who} << 32) + address_of(block) % 0xFFFF'FFFF;
        for (std::size_t word = 0; word != words_; ++word)
            write(block, word, stamp * (2 * word + 1));
    }

    /// Effects: records that the block changes its owner.
    void pass(void* block, std::uint32_t from, std::uint32_t to) noexcept { change(block, from, to); }

    /// Effects: records that `who` frees the block, and checks it for foreign writes.
    void give(void* block, std::uint32_t who) noexcept
    {
        check(block);
        change(block, who, 0);
    }

    void check(const void* block) noexcept
    {
        const std::uint64_t stamp = read(block, 0);
        bool is_whole = stamp % (std::uint64_t{1} << 32) == address_of(block) % 0xFFFF'FFFF;
        for (std::size_t word = 0; word != words_; ++word)
            is_whole = is_whole && read(block, word) == stamp * (2 * word + 1);
        count_fault(!is_whole);
    }

    /// Returns the number of faults found.
    std::size_t faults() const noexcept { return faults_.load(std::memory_order_relaxed); }

    /// Returns the number of blocks that have an owner.
    std::size_t count() const noexcept
    {
        std::size_t count = 0;
        for (const auto& owner : owners_)
            count += owner.load(std::memory_order_relaxed) != 0;
        return count;
    }

private:
    static constexpr std::size_t bytes_for_a_mark = 8;

    std::uintptr_t address_of(const void* block) const noexcept { return reinterpret_cast<std::uintptr_t>(block); }

    static std::uint64_t read(const void* block, std::size_t word) noexcept
    {
        std::uint64_t value = 0;
        std::memcpy(&value, static_cast<const std::byte*>(block) + word * sizeof value, sizeof value);
        return value;
    }

    static void write(void* block, std::size_t word, std::uint64_t value) noexcept
    {
        std::memcpy(static_cast<std::byte*>(block) + word * sizeof value, &value, sizeof value);
    }

    void change(const void* block, std::uint32_t from, std::uint32_t to) noexcept
    {
        const std::size_t place = (address_of(block) - reinterpret_cast<std::uintptr_t>(begin_)) / bytes_for_a_mark;
        count_fault(place >= owners_.size() || owners_[place].exchange(to, std::memory_order_relaxed) != from);
    }

    void count_fault(bool is_fault) noexcept
    {
        if (is_fault)
            faults_.fetch_add(1, std::memory_order_relaxed);
    }

    const std::byte* begin_;
    std::size_t words_;
    std::vector<std::atomic<std::uint32_t>> owners_; ///< 0: no owner.
    std::atomic<std::size_t> faults_{0};
};
} // namespace test
