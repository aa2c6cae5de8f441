// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Plays a tape of bytes as operations on np_alloc and on a map of the outstanding blocks. Several threads perform the
/// operations, one at a time.
///
///     addresses:   | block of heap 1 |    | block |  | block of line 3 |      no two overlap
///     a block:     | byte | ... | byte | ... | last byte | unused |           some bytes follow from its number
///
/// Periodically and at the end, np_alloc must agree with the map about every outstanding block, heap, call site and
/// byte, and np_verify must succeed. Used by a seeded test and a fuzzer; prints the operations on a
/// mismatch.
#pragma once

#include <memory_pool/no_allocation_scope.h>
#include <memory_pool/np_alloc.h>
#include <memory_pool/np_alloc.hpp>

#include <fuzz/tape.hpp>
#include <support/error_recorder.hpp>
#include <support/system_calls.hpp>
#include <support/threads.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fuzz {
/// The functions under test. Tests override one to check that the player detects its fault.
struct np_calls
{
    np_calls() = default;
    np_calls(const np_calls&) = delete;
    np_calls& operator=(const np_calls&) = delete;
    virtual ~np_calls() = default;

    virtual void* alloc(std::size_t bytes) { return np_alloc(bytes); }
    virtual void* calloc(std::size_t count, std::size_t size) { return np_calloc(count, size); }
    virtual void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return np_aligned_alloc(alignment, bytes); }
    virtual void* realloc(void* block, std::size_t bytes) { return np_realloc(block, bytes); }
    virtual void free(void* block) { np_free(block); }
    virtual void destroy(np_heap* heap) { np_heap_destroy(heap); }
};

/// An outstanding block.
struct np_block
{
    unsigned char* address = nullptr;
    std::size_t bytes = 0; ///< as requested
    std::size_t usable = 0;
    std::size_t number = 0;
    np_heap* heap = nullptr;
    int line = 0;            ///< of its call site; 0 if unknown
    std::size_t counted = 0; ///< its share of bytes_in_use, which may be whole slices

    void fill() const
    {
        for_each_mark([this](std::size_t offset) { address[offset] = mark(offset); });
    }

    /// Returns: whether all marks in the first `count` bytes are intact.
    bool is_intact(std::size_t count) const
    {
        bool all_are = true;
        for_each_mark(
            [&](std::size_t offset) { all_are = all_are && (offset >= count || address[offset] == mark(offset)); });
        return all_are;
    }

private:
    /// Visits the first byte, the last byte and some bytes in between.
    template <class Visit>
    void for_each_mark(Visit&& visit) const
    {
        constexpr std::size_t parts = 16;
        const std::size_t step = std::max<std::size_t>(bytes / parts, 1);
        for (std::size_t offset = 0; offset < bytes; offset += step)
            visit(offset);
        if (bytes != 0)
            visit(bytes - 1);
    }

    /// Never 0, the content of lost memory.
    unsigned char mark(std::size_t offset) const { return static_cast<unsigned char>((number * 7 + offset) | 1U); }
};

class np_player
{
public:
    static void play(const std::uint8_t* bytes, std::size_t size, np_calls& calls)
    {
        np_player player(bytes, size, calls);
        while (!player.tape_.at_end())
            player.step();
        player.end();
    }

private:
    static constexpr std::size_t thread_count = 4; ///< including the playing thread
    static constexpr std::size_t heap_count = 3;
    static constexpr int line_count = 5;
    static constexpr std::size_t operations = 31;
    static constexpr std::size_t steps_between_proofs = 16;
    static constexpr std::size_t max_in_use = std::size_t{128} << 20;
    static constexpr const char* file = "tape.c";

    np_player(const std::uint8_t* bytes, std::size_t size, np_calls& calls)
        : tape_(bytes, size), calls_(calls), decay_(np_option_get(np_option_decay_ms)),
          thread_cache_bytes_(np_option_get(np_option_thread_cache_bytes)), reports_before_(statistics().misuse_reports)
    {
    }

    void step()
    {
        if (++steps_ % steps_between_proofs == 0)
            prove();
        const std::size_t operation = tape_.byte() % operations;
        const std::size_t thread = tape_.byte() % thread_count;
        if (operation == operations - 1) {
            begin_or_end(thread);
            return;
        }
        log_.push_back("thread " + std::to_string(thread) + ':');
        if (thread != 0 && threads_[thread])
            threads_[thread]->does([&] { step(operation); });
        else
            step(operation);
    }

    /// Each operation reads three numbers, even if it uses fewer.
    void step(std::size_t operation)
    {
        const std::size_t a = tape_.byte();
        const std::size_t b = tape_.number();
        const std::size_t bytes = some_bytes();
        switch (operation) {
        case 0:
        case 1: return allocate(1 + a % 64, b % 1024);
        case 2: return allocate(1 + a % 16, b % 34'000);
        case 3: return allocate(1 + a % 4, b * 64);
        case 4: return allocate_aligned(1 + a % 8, b % 21, bytes);
        case 5: return allocate_zeroed(2 * a, b % 600);
        case 6: return allocate_for_line(1 + a % 8, bytes);
        case 7: return allocate_in_heap(a % heap_count, 1 + b % 16, bytes);
        case 8:
        case 9: return free(b, 1 + a % 64);
        case 10: return free_every(2 + a % 4);
        case 11:
        case 12: (void)reallocate(b, bytes); return;
        case 13: (void)reallocate(b, bytes * 32); return;
        case 14: return destroy(a % heap_count);
        case 15: return trim();
        case 16: return choose(a);
        case 17: return misuse(b, a);
        case 18: return get_no_memory(1 + a % 4, bytes);
        case 19: return expand(b, bytes);
        case 20: return reallocate_aligned(b, a % 13, bytes);
        case 21: return reallocate_array(b, a, bytes % 300);
        case 22: return allocate_aligned_zeroed(a % 13, 1 + b % 40, bytes % 600);
        case 23: return allocate_in_heap_aligned(a % heap_count, b % 13, bytes);
        case 24: return clear(a % heap_count);
        case 25: return move_to_denser_slabs(b, 1 + a % 64);
        case 26: return allocate_by_others(1 + a % 8, b % 13, bytes);
        case 27: return ask_for_nothing(b, a);
        case 28: return note_a_checkpoint();
        default: return allocate_in_scope(1 + a % 8, bytes);
        }
    }

    std::size_t some_bytes()
    {
        const std::size_t kind = tape_.byte();
        return kind % 4 != 0 ? tape_.byte() * 8 : tape_.number() * (kind % 16 != 0 ? 1 : 20);
    }

    void log(const char* operation, std::size_t first, std::size_t second = 0)
    {
        log_.back() += std::string(" ") + operation + ' ' + std::to_string(first) + ' ' + std::to_string(second);
    }

    // Threads.

    void begin_or_end(std::size_t thread)
    {
        if (thread == 0) // the playing thread
            return;
        log_.push_back("thread " + std::to_string(thread) + (threads_[thread] ? ": ends" : ": begins"));
        if (threads_[thread])
            threads_[thread].reset();
        else
            threads_[thread].emplace();
    }

    // Allocation.

    void allocate(std::size_t count, std::size_t bytes)
    {
        log("alloc", count, bytes);
        for (; count != 0 && has_room(bytes); --count)
            add(calls_.alloc(bytes), {nullptr, bytes});
    }

    void allocate_aligned(std::size_t count, std::size_t exponent, std::size_t bytes)
    {
        const std::size_t alignment = std::size_t{1} << exponent;
        log("aligned_alloc", alignment, bytes);
        for (; count != 0 && has_room(bytes); --count) {
            void* const block = calls_.aligned_alloc(alignment, bytes);
            expect(reinterpret_cast<std::uintptr_t>(block) % alignment == 0, "a block is misaligned");
            add(block, {nullptr, bytes});
        }
    }

    void allocate_zeroed(std::size_t count, std::size_t size)
    {
        log("calloc", count, size);
        if (has_room(count * size))
            add_zeroed(calls_.calloc(count, size), {nullptr, count * size});
    }

    void allocate_for_line(std::size_t count, std::size_t bytes)
    {
        const int line = 1 + static_cast<int>(count) % line_count;
        log("alloc_at", static_cast<std::size_t>(line), bytes);
        for (; count != 0 && has_room(bytes); --count)
            add(np_alloc_at(bytes, file, line), {nullptr, bytes, 0, 0, nullptr, line});
    }

    void allocate_in_heap(std::size_t which, std::size_t count, std::size_t bytes)
    {
        log("heap_alloc", which, bytes);
        np_heap*& heap = heaps_[which];
        if (heap == nullptr)
            heap = np_heap_create();
        for (; count != 0 && heap != nullptr && has_room(bytes); --count) {
            const bool is_zeroed = count % 4 == 0;
            void* const block = is_zeroed ? np_heap_calloc(heap, 1, bytes) : np_heap_alloc(heap, bytes);
            if (block == nullptr && region_may_be_full_)
                return;
            const np_block asked_for{nullptr, bytes, 0, 0, heap};
            is_zeroed ? add_zeroed(block, asked_for) : add(block, asked_for);
        }
    }

    void allocate_aligned_zeroed(std::size_t exponent, std::size_t count, std::size_t size)
    {
        const std::size_t alignment = std::size_t{1} << exponent;
        log("aligned_calloc", alignment, count * size);
        if (!has_room(count * size))
            return;
        void* const block = np_aligned_calloc(alignment, count, size);
        expect(reinterpret_cast<std::uintptr_t>(block) % alignment == 0, "a block is misaligned");
        add_zeroed(block, {nullptr, count * size});
    }

    void allocate_in_heap_aligned(std::size_t which, std::size_t exponent, std::size_t bytes)
    {
        const std::size_t alignment = std::size_t{1} << exponent;
        log("heap_aligned_alloc", which, alignment);
        np_heap* const heap = heaps_[which];
        if (heap == nullptr || !has_room(bytes))
            return;
        void* const block = np_heap_aligned_alloc(heap, alignment, bytes);
        if (block == nullptr && region_may_be_full_)
            return;
        expect(reinterpret_cast<std::uintptr_t>(block) % alignment == 0, "a block is misaligned");
        add(block, {nullptr, bytes, 0, 0, heap});
    }

    /// Allocates through the C++ interfaces and posix_memalign.
    void allocate_by_others(std::size_t count, std::size_t exponent, std::size_t bytes)
    {
        const std::size_t alignment = std::size_t{1} << exponent;
        log("np_resource", alignment, bytes);
        for (; count != 0 && has_room(bytes); --count) {
            void* block = nullptr;
            if (count % 3 == 0)
                block = memory_pool::np_resource()->allocate(bytes, alignment);
            else if (count % 3 == 1)
                block = memory_pool::np_allocator<char>().allocate(bytes);
            else if (np_posix_memalign(&block, alignment, bytes) != 0) {
                expect(alignment < sizeof(void*), "a valid alignment was refused");
                continue;
            }
            add(block, {nullptr, bytes});
        }
    }

    /// The scope must count every allocation and nothing else.
    void allocate_in_scope(std::size_t count, std::size_t bytes)
    {
        log("no_allocation_scope", count, bytes);
        np_no_allocation_scope scope{"tape", np_allocating_counted, 0, 0, nullptr};
        std::size_t allocated = 0;
        for (; allocated != count && has_room(bytes); ++allocated) {
            np_no_allocation_scope* const outer = np_set_no_allocation_scope(&scope);
            void* const block = np_alloc(bytes);
            np_free(nullptr);
            (void)np_set_no_allocation_scope(outer);
            add(block, {nullptr, bytes});
        }
        expect(scope.allocations == allocated && scope.bytes == bytes * allocated, "a scope counted wrong allocations");
    }

    bool has_room(std::size_t bytes) const { return in_use_ + bytes <= max_in_use; }

    void add_zeroed(void* block, np_block added)
    {
        const auto* const memory = static_cast<const unsigned char*>(block);
        expect(std::all_of(memory, memory + added.bytes, [](unsigned char byte) { return byte == 0; }),
               "calloc returned memory that is not zero");
        add(block, added);
    }

    void add(void* block, np_block added)
    {
        expect(block != nullptr, "out of memory although the system has some");
        added.address = static_cast<unsigned char*>(block);
        added.usable = np_usable_size(block);
        added.number = ++numbers_;
        expect(reinterpret_cast<std::uintptr_t>(block) % 16 == 0, "a block is not aligned to 16");
        expect(added.usable >= added.bytes, "a block is smaller than requested");
        expect(np_owns(block) == 1 && np_owns(added.address + added.usable - 1) == 1, "np_owns is false for a block");
        const auto next = blocks_.upper_bound(added.address);
        expect(next == blocks_.end() || added.address + added.usable <= next->first, "two blocks overlap");
        expect(next == blocks_.begin() || std::prev(next)->first + std::prev(next)->second.usable <= added.address,
               "two blocks overlap");
        added.fill();
        added.counted = counted_bytes(added.usable);
        in_use_ += added.counted;
        blocks_.emplace_hint(next, added.address, added);
    }

    /// Returns: the bytes that a new block adds to bytes_in_use. A large block may take whole slices: up to an eighth
    ///   more than its size, to grow, or with up to a quarter unused, after shrinking.
    std::size_t counted_bytes(std::size_t usable)
    {
        constexpr std::size_t slice_bytes = std::size_t{64} << 10;
        const auto slices_for = [](std::size_t bytes) { return (bytes + slice_bytes - 1) / slice_bytes; };
        const std::size_t bytes = statistics().bytes_in_use - in_use_;
        const std::size_t slices = bytes / slice_bytes;
        const bool is_short_enough = slices - slices / 4 <= slices_for(usable + usable / 8) || system_refuses_;
        expect(bytes == usable || (bytes % slice_bytes == 0 && slices >= slices_for(usable) && is_short_enough),
               "wrong bytes_in_use after an allocation");
        return bytes;
    }

    // Deallocation.

    using place = std::map<unsigned char*, np_block>::iterator;

    /// Preconditions: there is a block. Returns: the block at position `number` modulo the number of blocks.
    place at(std::size_t number)
    {
        return std::next(blocks_.begin(), static_cast<std::ptrdiff_t>(number % blocks_.size()));
    }

    void free(std::size_t first, std::size_t count)
    {
        log("free", first, count);
        for (; count != 0 && !blocks_.empty(); --count)
            (void)free(at(first));
    }

    /// Frees every nth block, which leaves slabs full of gaps.
    void free_every(std::size_t nth)
    {
        log("free every nth", nth);
        std::size_t count = 0;
        for (place each = blocks_.begin(); each != blocks_.end();)
            each = ++count % nth == 0 ? free(each) : std::next(each);
    }

    /// Returns: the next block.
    place free(place gone)
    {
        const np_block& block = gone->second;
        expect_intact(block);
        expect(np_usable_size(block.address) == block.usable, "the usable size of a block changed");
        if (block.heap != nullptr && block.number % 2 == 0)
            np_heap_free(block.heap, block.address);
        else if (block.number % 8 == 1)
            np_free_sized(block.address, block.bytes);
        else if (block.number % 8 == 3)
            memory_pool::np_deallocate(block.address, block.bytes);
        else
            calls_.free(block.address);
        return forget(gone);
    }

    void expect_intact(const np_block& block) { expect(block.is_intact(block.bytes), "contents of a block changed"); }

    place forget(place gone)
    {
        in_use_ -= gone->second.counted;
        return blocks_.erase(gone);
    }

    void destroy(std::size_t which)
    {
        log("heap_destroy", which);
        if (heaps_[which] == nullptr)
            return;
        forget_blocks_of(heaps_[which]);
        calls_.destroy(std::exchange(heaps_[which], nullptr));
    }

    void clear(std::size_t which)
    {
        log("heap_clear", which);
        if (heaps_[which] == nullptr)
            return;
        forget_blocks_of(heaps_[which]);
        np_heap_clear(heaps_[which]);
    }

    void forget_blocks_of(const np_heap* heap)
    {
        for (place each = blocks_.begin(); each != blocks_.end();) {
            expect_intact(each->second);
            each = each->second.heap == heap ? forget(each) : std::next(each);
        }
    }

    // Reallocation.

    /// Returns: the new address; nullptr if there is no block or no memory.
    unsigned char* reallocate(std::size_t which, std::size_t bytes)
    {
        log("realloc", which, bytes);
        if (blocks_.empty() || !has_room(bytes))
            return nullptr;
        const place changed = at(which);
        np_block block = changed->second;
        void* const moved = block.heap != nullptr && which % 2 == 0 ? np_heap_realloc(block.heap, block.address, bytes)
                                                                    : calls_.realloc(block.address, bytes);
        if (moved == nullptr) {
            expect(errno == ENOMEM && may_lack_memory(block), "out of memory although the system has some");
            expect(block.is_intact(block.bytes), "a failed realloc changed the block");
            return nullptr;
        }
        (void)forget(changed);
        const std::size_t kept = std::min(block.bytes, bytes);
        block.address = static_cast<unsigned char*>(moved);
        expect(block.is_intact(kept), "realloc lost the contents");
        block.bytes = bytes;
        add(moved, block);
        return block.address;
    }

    void reallocate_aligned(std::size_t which, std::size_t exponent, std::size_t bytes)
    {
        const std::size_t alignment = std::size_t{1} << exponent;
        log("aligned_realloc", alignment, bytes);
        change(which, bytes, [&](const np_block& block) {
            void* const changed = block.heap != nullptr
                                      ? np_heap_aligned_realloc(block.heap, block.address, alignment, bytes)
                                      : np_aligned_realloc(block.address, alignment, bytes);
            expect(reinterpret_cast<std::uintptr_t>(changed) % alignment == 0, "a block is misaligned");
            return changed;
        });
    }

    void reallocate_array(std::size_t which, std::size_t count, std::size_t size)
    {
        log("reallocarray", count, size);
        change(which, count * size, [&](const np_block& block) {
            return block.heap != nullptr ? np_heap_reallocarray(block.heap, block.address, count, size)
                                         : np_reallocarray(block.address, count, size);
        });
    }

    /// `change_to(block)` returns the changed block, which has `bytes` bytes.
    template <class Change>
    void change(std::size_t which, std::size_t bytes, Change&& change_to)
    {
        if (blocks_.empty() || !has_room(bytes))
            return;
        const place changed = at(which);
        np_block block = changed->second;
        void* const moved = change_to(block);
        if (moved == nullptr) {
            expect(errno == ENOMEM && may_lack_memory(block), "out of memory although the system has some");
            return;
        }
        (void)forget(changed);
        block.address = static_cast<unsigned char*>(moved);
        expect(block.is_intact(std::min(block.bytes, bytes)), "realloc lost the contents");
        block.bytes = bytes;
        add(moved, block);
    }

    void expand(std::size_t which, std::size_t bytes)
    {
        log("expand", which, bytes);
        if (blocks_.empty() || !has_room(bytes))
            return;
        const place expanded = at(which);
        np_block block = expanded->second;
        if (np_expand(block.address, bytes) == nullptr) {
            expect(errno == ENOMEM && block.usable < bytes, "expand failed although there is room");
            return expect_intact(block);
        }
        expect_intact(block);
        if (bytes <= block.usable) // The recorded request is unchanged.
            return;
        (void)forget(expanded);
        block.bytes = bytes;
        add(block.address, block);
    }

    /// Moves the blocks that np_defrag_move selects; other blocks stay.
    void move_to_denser_slabs(std::size_t first, std::size_t count)
    {
        log("defrag_move", first, count);
        for (; count != 0 && !blocks_.empty(); --count, ++first) {
            const place sparse = at(first);
            np_block block = sparse->second;
            (void)np_defrag_hint(block.address); // The move may differ, as it first flushes this thread's cache.
            void* const moved = np_defrag_move(block.address);
            if (moved == nullptr)
                continue;
            (void)forget(sparse);
            const std::size_t usable = block.usable;
            block.address = static_cast<unsigned char*>(moved);
            expect(block.is_intact(block.bytes), "defrag_move lost the contents");
            add(moved, block);
            expect(np_usable_size(moved) == usable, "the usable size of a block changed");
        }
    }

    /// Returns: whether a reallocation of the block may fail.
    bool may_lack_memory(const np_block& block) const
    {
        return system_refuses_ || (region_may_be_full_ && (block.heap != nullptr || block.line != 0));
    }

    // Other operations.

    void trim()
    {
        log("trim", 0);
        (void)np_trim();
    }

    void choose(std::size_t how)
    {
        constexpr std::array<std::size_t, 4> milliseconds{0, 1, 10, 1000};
        constexpr std::array<std::size_t, 4> bytes{0, 4096, std::size_t{64} << 10, std::size_t{1} << 20};
        log("set_option", how);
        const bool were_set = np_option_set(np_option_decay_ms, milliseconds[how % 4]) == 0 &&
                              np_option_set(np_option_thread_cache_bytes, bytes[how / 4 % 4]) == 0;
        expect(were_set, "a valid value of an option was rejected");
    }

    /// Queries and invalid requests.
    void ask_for_nothing(std::size_t which, std::size_t exponent)
    {
        log("ask", which, exponent);
        const std::size_t alignment = std::size_t{1} << exponent % 13;
        const std::size_t good = np_good_size(which);
        expect(good >= which && np_good_size(good) == good, "np_good_size is not idempotent");
        expect(np_aligned_good_size(alignment, which) >= which, "a good size is too small");
        errno = 0;
        expect(np_aligned_good_size(alignment * 3, which) == 0 && errno == EINVAL,
               "accepted an alignment that is no power of two");
        void* none = nullptr;
        expect(np_posix_memalign(&none, 48, which) == EINVAL && none == nullptr,
               "accepted an alignment that is no power of two");
        expect(np_calloc(std::numeric_limits<std::size_t>::max() / 2, which + 3) == nullptr && errno == ENOMEM,
               "allocated more than the address space");
        expect(np_usable_size(nullptr) == 0 && np_heap_of(nullptr) == nullptr && np_owns(nullptr) == 0 &&
                   np_defrag_hint(this) == 0,
               "a null or foreign pointer is taken for a block");
        if (blocks_.empty())
            return;
        const np_block& block = at(which)->second;
        expect(np_heap_of(block.address) == block.heap, "np_heap_of returns the wrong heap");
    }

    void note_a_checkpoint()
    {
        log("leak_diff", 0);
        const auto ignore = [](const char*, std::size_t, void*) {};
        std::size_t with_line = 0;
        for (const auto& each : blocks_)
            with_line += each.second.line != 0 ? 1 : 0;
        const std::size_t leaks = np_leak_report(np_format_json, ignore, nullptr);
        expect(leaks == with_line || region_may_be_full_, "wrong number of leaks");
        expect(np_leak_diff(np_leak_checkpoint(), np_format_json, ignore, nullptr) == 0,
               "older blocks count as newer than the checkpoint");
    }

    /// Misuse must be reported and otherwise ignored.
    void misuse(std::size_t which, std::size_t how)
    {
        log("misuse", which, how);
        const test::error_recorder recorder;
        unsigned char local[32];
        unsigned char* const block = blocks_.empty() ? local : at(which)->first;
        switch (how % 4) {
        case 0: calls_.free(block + 1 + how % 15); break;
        case 1: calls_.free(local + 16); break;
        case 2: expect(np_realloc(block + 8, 100) == nullptr, "realloc accepted an invalid pointer"); break;
        default: expect(np_usable_size(block + 3) == 0, "an invalid pointer has a usable size"); break;
        }
        expect(recorder.reports().size() == 1, "misuse was not reported exactly once");
        ++reports_;
    }

    /// While the system refuses memory, allocations may fail, but nothing is lost.
    void get_no_memory(std::size_t count, std::size_t bytes)
    {
        log("alloc without memory", count, bytes);
        const test::system_calls refusing;
        for (const auto kind : {test::system_call::map, test::system_call::protect})
            test::system_calls::refuse_from(kind, count);
        for (const auto kind : {test::system_call::advise, test::system_call::move})
            test::system_calls::refuse_from(kind, 1);
        system_refuses_ = true;
        for (std::size_t i = 0; i != 2 * count && has_room(bytes << i); ++i) {
            errno = 0;
            if (void* const block = calls_.alloc(bytes << i))
                add(block, {nullptr, bytes << i});
            else
                expect(errno == ENOMEM, "out of memory without ENOMEM");
        }
        unsigned char* const moved = reallocate(bytes, 2 * bytes);
        system_refuses_ = false;
        test::system_calls::refuse_nothing();
        if (moved != nullptr)
            forget_line_if_lost(moved);
        expect(calls_.alloc(std::numeric_limits<std::size_t>::max() - bytes) == nullptr,
               "allocated more than the address space");
    }

    // Checks.

    static np_statistics statistics()
    {
        np_statistics now;
        np_get_statistics(&now);
        return now;
    }

    void prove()
    {
        for (const auto& each : blocks_)
            expect_intact(each.second);
        expect(np_verify() == 1, "np_verify failed");
        const np_statistics now = statistics();
        expect(now.bytes_in_use == in_use_, "wrong bytes_in_use");
        expect(now.misuse_reports == reports_before_ + reports_, "wrong number of misuse reports");
        expect(now.heaps == heap_count - static_cast<std::size_t>(std::count(heaps_.begin(), heaps_.end(), nullptr)),
               "wrong number of heaps");
        expect_blocks_of(nullptr);
        for (np_heap* const heap : heaps_)
            if (heap != nullptr)
                expect_blocks_of(heap);
        expect_lines();
    }

    using sizes_by_address = std::map<void*, std::size_t>;

    void expect_blocks_of(np_heap* heap)
    {
        sizes_by_address visited;
        const auto note = [](void* block, std::size_t bytes, void* all) {
            return static_cast<sizes_by_address*>(all)->emplace(block, bytes).second ? 1 : 0;
        };
        expect(np_heap_visit(heap, note, &visited) == 1, "np_heap_visit visited a block twice");
        sizes_by_address wanted;
        for (const auto& [address, block] : blocks_)
            if (heap == nullptr || block.heap == heap)
                wanted.emplace(address, block.usable);
        expect(visited == wanted, "np_heap_visit visited the wrong blocks");
    }

    struct in_use_of_line
    {
        std::size_t blocks = 0;
        std::size_t bytes = 0;
        bool operator==(const in_use_of_line& other) const { return blocks == other.blocks && bytes == other.bytes; }
    };
    using lines = std::map<int, in_use_of_line>;

    static lines visited_lines()
    {
        lines visited;
        (void)np_call_site_visit(
            [](const np_call_site* site, void* all) {
                (*static_cast<lines*>(all))[site->line] = {site->blocks, site->bytes};
                return 1;
            },
            &visited);
        return visited;
    }

    lines wanted_lines() const
    {
        lines wanted;
        for (const auto& each : blocks_) {
            if (each.second.line == 0)
                continue;
            ++wanted[each.second.line].blocks;
            wanted[each.second.line].bytes += each.second.bytes;
        }
        return wanted;
    }

    void expect_lines()
    {
        expect(visited_lines() == wanted_lines() || region_may_be_full_, "wrong outstanding blocks of a call site");
    }

    /// A block that moves without memory for its call site loses the call site.
    void forget_line_if_lost(unsigned char* address)
    {
        np_block& moved = blocks_.at(address);
        if (moved.line != 0 && visited_lines()[moved.line].blocks + 1 == wanted_lines()[moved.line].blocks)
            moved.line = 0;
    }

    void end()
    {
        prove();
        log_.emplace_back("the end:");
        for (std::size_t heap = 0; heap != heap_count; ++heap)
            destroy(heap);
        while (!blocks_.empty())
            (void)free(blocks_.begin());
        for (std::optional<test::lasting_thread>& each : threads_)
            each.reset();
        (void)np_option_set(np_option_decay_ms, decay_);
        (void)np_option_set(np_option_thread_cache_bytes, thread_cache_bytes_);
        prove();
        (void)np_trim();
        expect(np_trim() == 0, "a second trim returned memory");
        prove();
    }

    void expect(bool condition, const char* otherwise)
    {
        if (!condition)
            disagree(log_, otherwise);
    }

    tape tape_;
    np_calls& calls_;
    const std::size_t decay_;
    const std::size_t thread_cache_bytes_;
    const std::size_t reports_before_;
    std::array<std::optional<test::lasting_thread>, thread_count> threads_;
    std::array<np_heap*, heap_count> heaps_{};
    std::map<unsigned char*, np_block> blocks_; ///< outstanding
    std::size_t in_use_ = 0;                    ///< their share of bytes_in_use
    std::size_t numbers_ = 0;
    std::size_t reports_ = 0;
    std::size_t steps_ = 0;
    /// If true, heaps may lack memory, and call sites may be lost.
    const bool region_may_be_full_ = np_option_get(np_option_region_bytes) < 2 * max_in_use;
    bool system_refuses_ = false;
    std::vector<std::string> log_;
};

/// Plays the tape on np_alloc.
inline void play_np_alloc(const std::uint8_t* bytes, std::size_t size)
{
    np_calls calls;
    np_player::play(bytes, size, calls);
}
} // namespace fuzz
