// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Walks over all slabs and large blocks while other threads run. Copies each slab under the lock of its heap, and
/// prints it without a lock.
///
///     slices:    | slab of heap A | large block           | free | slab of heap B | ...
///                  lock A, copy     length from its tags           lock B, copy
///
/// The walk does not allocate, so it does not change the blocks that it prints.
///
/// Thread safety: any thread.
#include "../engine/engine.hpp"
#include "../support/internals.hpp"
#include "slabs.hpp"

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/errors.hpp>

#include "../heaps/heap_registry.hpp"
#include "../heaps/shared_heap.hpp"
#include "../heaps/thread_heap.hpp"
#include "../page_heap/page_heap.hpp"
#include "../slices/size_classes.hpp"
#include "../slices/slice_record.hpp"
#include "../slices/slice_tag.hpp"
#include "../support/build_variant.hpp"
#include "../support/options.hpp"
#include "../support/output.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np {
namespace {
/// The printed state of a block.
enum block_state : std::uint8_t
{
    never_carved,
    is_free,
    is_cached,
    is_in_use, ///< Or in transit to its heap.
};

/// Two bits for each block, four blocks in a byte, the first in the lowest bits.
class block_states
{
public:
    static constexpr std::size_t blocks_in_byte = 4;

    void clear(std::size_t blocks) noexcept
    {
        std::fill_n(bytes_.begin(), base::divide_round_up(blocks, blocks_in_byte), std::uint8_t{0});
    }

    /// Preconditions: the block had no state since clear().
    void set(std::size_t number, block_state state) noexcept
    {
        bytes_[number / blocks_in_byte] =
            static_cast<std::uint8_t>(bytes_[number / blocks_in_byte] | (state << shift_of(number)));
    }

    block_state get(std::size_t number) const noexcept
    {
        return static_cast<block_state>(unsigned{bytes_[number / blocks_in_byte]} >> shift_of(number) & 3U);
    }

    /// Effects: marks a block in use as cached.
    void set_cached(std::size_t number) noexcept
    {
        if (get(number) == is_in_use)
            bytes_[number / blocks_in_byte] = static_cast<std::uint8_t>(bytes_[number / blocks_in_byte] ^
                                                                        ((is_in_use ^ is_cached) << shift_of(number)));
    }

    /// Effects: prints the states of the first blocks as base64.
    void print(std::size_t blocks, const output& to) const
    {
        constexpr const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        const std::size_t bytes = base::divide_round_up(blocks, blocks_in_byte);
        std::array<char, 4 * base::divide_round_up(max_bytes, 3)> text;
        char* end = text.data();
        for (std::size_t first = 0; first < bytes; first += 3) {
            const auto byte = [&](std::size_t i) { return first + i < bytes ? std::uint32_t{bytes_[first + i]} : 0U; };
            const std::uint32_t bits = byte(0) << 16U | byte(1) << 8U | byte(2);
            *end++ = digits[bits >> 18U];
            *end++ = digits[bits >> 12U & 63U];
            *end++ = first + 1 < bytes ? digits[bits >> 6U & 63U] : '=';
            *end++ = first + 2 < bytes ? digits[bits & 63U] : '=';
        }
        to.print(text.data(), static_cast<std::size_t>(end - text.data()));
    }

private:
    static constexpr std::size_t max_bytes = base::divide_round_up(std::size_t{largest_capacity}, blocks_in_byte);

    static unsigned shift_of(std::size_t number) noexcept { return 2 * static_cast<unsigned>(number % blocks_in_byte); }

    std::array<std::uint8_t, max_bytes> bytes_;
};

/// The printed data of a slab. A large block is printed as a slab of one block.
struct slab_copy
{
    const void* heap = nullptr;
    const char* owner = nullptr; ///< nullptr for a large block.
    const std::byte* begin = nullptr;
    std::size_t bytes = 0;
    std::size_t block_bytes = 0;
    std::uint32_t capacity = 0;
    slice_index first = no_slice; ///< no_slice if there is no slab.
    block_states states;

    /// Effects: copies a slab. Cached blocks count as in use.
    /// Preconditions: the caller holds the lock of the slab's heap.
    void take(const slice_record& slab) noexcept
    {
        first = slab.slab;
        begin = slab.begin;
        bytes = std::size_t{slab_slices(slab.size_class)} * slice_bytes;
        block_bytes = slab.block_bytes;
        capacity = slab.capacity;
        states.clear(capacity);
        const std::size_t carved = slab.carved_bytes() / block_bytes;
        for (std::uint32_t number = 0; number != capacity; ++number)
            states.set(number, slab.is_outstanding(number) ? is_in_use : number < carved ? is_free : never_carved);
    }

    /// Effects: marks a block as cached if it belongs to this slab.
    void note_cached(const void* block) noexcept
    {
        const auto offset = number_of(block) - number_of(begin);
        if (offset < capacity * block_bytes && offset % block_bytes == 0)
            states.set_cached(offset / block_bytes);
    }

    /// For printing: %p differs between systems.
    static std::size_t number_of(const void* address) noexcept { return reinterpret_cast<std::uintptr_t>(address); }

    void print(const output& to) const
    {
        if (owner != nullptr)
            to.print(base::message(R"({"heap": "0x%zx", "owner": "%s")", number_of(heap), owner));
        else
            to.print(R"({"heap": null, "owner": null)");
        to.print(base::message(R"(, "address": "0x%zx", "bytes": %zu, "block_bytes": %zu, "blocks": %zu, "states": ")",
                               number_of(begin), bytes, block_bytes, std::size_t{capacity}));
        states.print(capacity, to);
        to.print("\"}");
    }
};

/// Prints all slabs and large blocks in the order of their addresses. May miss slabs that come or go during the walk.
class slab_walk
{
public:
    slab_walk(heap_registry& all, const output& to) noexcept : all_(all), memory_(all.pages().region()), to_(to) {}

    void print_all()
    {
        for (slice_index slice = first_slice; memory_.is_committed(slice);) {
            const slice_index begin = slice;
            slice = is_of_slab(tag(begin)) ? copy_slab(begin) : copy_large(begin);
            if (copy_.first != begin) // There is no slab, or a new slab that begins before `begin`.
                continue;
            to_.print(is_first_ ? "\n  " : ",\n  ");
            is_first_ = false;
            copy_.print(to_);
        }
    }

private:
    slice_tag tag(slice_index slice) const noexcept { return memory_.tag(slice).load(std::memory_order_relaxed); }

    /// Returns: the slice behind the slab, or behind `slice` if the slab is gone.
    slice_index copy_slab(slice_index slice) noexcept
    {
        copy_.first = no_slice;
        all_.heaps().visit_heap_of(slice, [this, slice](auto& heap) { this->copy_from(heap, slice); });
        if (copy_.first == no_slice)
            return slice + 1;
        note_quarantined();
        return copy_.first + static_cast<std::uint32_t>(copy_.bytes / slice_bytes);
    }

    void copy_from(shared_heap& heap, slice_index slice) noexcept
    {
        heap.with_slab(slice, [this](const slice_record& slab) { copy_.take(slab); });
        copy_.heap = &heap;
        copy_.owner = all_.heaps().is_made(heap) ? "program" : "process";
    }

    void copy_from(thread_heap& heap, slice_index slice) noexcept
    {
        heap.slabs.with_slab(slice, [this, &heap](const slice_record& slab) {
            copy_.take(slab);
            heap.for_each_held(slab.size_class, [this](const void* block) { copy_.note_cached(block); });
        });
        copy_.heap = &heap;
        copy_.owner = heap.is_parked ? "parked" : heap.used_by != nullptr ? "thread" : "unknown";
    }

    /// Blocks of any heap may be in the quarantine of any thread.
    void note_quarantined() noexcept
    {
        struct visitor
        {
            slab_copy& copy;

            void operator()(const thread_heap& each) const noexcept
            {
                each.checks.quarantined.for_each_from_outside([this](const void* block) { copy.note_cached(block); });
            }
            void operator()(const shared_heap&) const noexcept {}
        };
        if constexpr (is_checked)
            all_.heaps().for_each_heap(visitor{copy_});
    }

    /// Returns: the slice behind the large block, or behind `slice` if no large block begins there.
    slice_index copy_large(slice_index slice) noexcept
    {
        copy_.first = no_slice;
        slice_index end = slice + 1;
        if (tag(slice) != large_block)
            return end;
        while (memory_.is_committed(end) && tag(end) == inside_large_block)
            ++end;
        copy_.first = slice;
        copy_.owner = nullptr;
        copy_.begin = all_.pages().large().begin_of_large(slice);
        copy_.bytes = copy_.block_bytes = all_.pages().large().bytes_of_run(end - slice);
        copy_.capacity = 1;
        copy_.states.clear(1);
        copy_.states.set(0, is_in_use);
        return end;
    }

    heap_registry& all_;
    const page_heap::region_type& memory_;
    const output& to_;
    bool is_first_ = true;
    slab_copy copy_;
};
} // namespace

void print_slabs_of_report(output::function write, void* argument)
{
    if (the_options.get(np_option_report_slabs) == 0)
        return;
    output(write, argument).print(R"(, "slabs": )");
    np_slabs_print(write, argument);
}
} // namespace memory_pool::np

namespace np = memory_pool::np;

extern "C" {
void np_slabs_print(void (*write)(const char* text, size_t length, void* argument), void* argument)
{
    const np::output to(write, argument);
    to.print("[");
    np::slab_walk(np::registry(), to).print_all();
    to.print("]\n");
}
}
