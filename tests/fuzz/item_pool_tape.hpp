// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Plays a tape of bytes as operations on a pool of objects that return by themselves and on a simple model of one, and
/// compares the two after each. Any tape is valid. Used by a seeded test and a fuzzer; prints the operations on a
/// mismatch.
#pragma once

#include <memory_pool/intrusive_pool.hpp>
#include <memory_pool/recycling_pool.hpp>
#include <memory_pool/shared_pool.hpp>

#include <fuzz/marked_item.hpp>
#include <fuzz/tape.hpp>
#include <support/upstreams.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace fuzz {
struct pooled_item : memory_pool::pooled<pooled_item, memory_pool::plain_references>, marked_item
{
    using marked_item::marked_item;
};

template <class Pool>
class item_pool_player
{
public:
    static void play(const std::uint8_t* bytes, std::size_t size)
    {
        tape instructions(bytes, size);
        test::accounting_upstream upstream;
        {
            item_pool_player player(instructions, upstream);
            while (!instructions.at_end())
                player.step();
            marked_item::throw_at(0);
        }
        if (marked_item::alive() != 0)
            disagree({}, "an item is alive without a pool");
        if (upstream.live_chunks() != 0 || upstream.mismatched() != 0)
            disagree({}, "the pool kept something from upstream");
    }

private:
    using pointer = typename Pool::pointer;

    item_pool_player(tape& instructions, test::accounting_upstream& upstream)
        : tape_(instructions), upstream_(upstream), pool_(options_from(tape_), &upstream)
    {
    }

    static memory_pool::pool_options options_from(tape& instructions)
    {
        memory_pool::pool_options options;
        if (instructions.byte() % 2 == 0)
            options.growth_step = 1 + instructions.byte() % 40;
        if (instructions.byte() % 3 == 0)
            options.max_cached_blocks = 1 + instructions.number() % 300;
        if (instructions.byte() % 2 == 0)
            options.max_capacity = 1 + instructions.number() % 900;
        options.initial_capacity = std::min<std::size_t>(instructions.byte() % 50, options.max_capacity);
        return options;
    }

    void step()
    {
        switch (tape_.byte() % 12) {
        case 0:
        case 1: return log("make"), make(1 + tape_.byte() % 20);
        case 2: return log("make many"), make(tape_.byte());
        case 3: return log("release the first"), release_from(0, 1 + tape_.number() % 300);
        case 4: return log("release the last"), release_last(1 + tape_.byte());
        case 5: return log("release in the middle"), release_from(tape_.number(), 1 + tape_.byte() % 30);
        case 6: return log("upstream fails"), upstream_.fail_at(1 + tape_.byte() % 4);
        case 7: return log("the constructor throws"), marked_item::throw_at(1 + tape_.byte() % 20);
        case 8:
        case 9: return log("trim"), trim();
        case 10: return log("reserve"), reserve(tape_.number() % 500);
        default: return log("forget all"), forget(tape_.byte());
        }
    }

    void log(const char* operation)
    {
        verify();
        log_.emplace_back(operation);
    }

    pointer made()
    {
        if constexpr (has_allocate)
            return pool_.allocate();
        else
            return pool_.make(tape_);
    }

    void make(std::size_t count)
    {
        for (; count != 0; --count) {
            pointer item;
            if (!memory_pool::detail::base::succeeds([&] { item = made(); })) {
                upstream_.never_fail();
                marked_item::throw_at(0);
                return;
            }
            expect(item->is_intact(), "an item is not as it was made");
            items_.push_back(std::move(item));
        }
    }

    void release_from(std::size_t first, std::size_t count)
    {
        if (items_.empty())
            return;
        const auto begin = items_.begin() + static_cast<std::ptrdiff_t>(first % items_.size());
        items_.erase(begin, begin + std::min(static_cast<std::ptrdiff_t>(count), items_.end() - begin));
    }

    void release_last(std::size_t count) { items_.resize(items_.size() - std::min(count, items_.size())); }

    void trim()
    {
        const std::size_t before = pool_.bytes_reserved();
        const std::size_t trimmed = pool_.trim();
        expect(trimmed <= before && before - trimmed == pool_.bytes_reserved(), "trim miscounted");
    }

    void reserve(std::size_t count)
    {
        const bool is_reserved = memory_pool::detail::base::succeeds([&] { pool_.reserve(count); });
        expect(!is_reserved || pool_.capacity() >= count, "reserved too little");
        marked_item::throw_at(0);
    }

    void forget(std::size_t how)
    {
        if (how % 8 == 0)
            survivors_.clear();
        // Seldom, or nothing would ever get large.
        if (how % 8 != 1 || !memory_pool::detail::base::succeeds([this] { pool_.release(); }))
            return;
        std::move(items_.begin(), items_.end(), std::back_inserter(survivors_));
        items_.clear();
    }

    void verify()
    {
        for (const pointer& each : items_)
            expect(each->is_intact(), "an item was written to");
        for (const pointer& each : survivors_)
            expect(each->is_intact(), "an item that has survived was written to");
        expect(pool_.in_use() == items_.size(), "in_use is wrong");
        expect(pool_.capacity() >= items_.size(), "capacity is wrong");
        expect(has_allocate || marked_item::alive() == items_.size() + survivors_.size(), "other items are alive");
        if (log_.size() % 8 == 0)
            expect(pool_.verify(), "not valid");
    }

    void expect(bool condition, const char* otherwise)
    {
        if (!condition)
            disagree(log_, otherwise);
    }

    template <class P>
    static auto can_allocate(int) -> decltype(std::declval<P&>().allocate(), std::true_type());
    template <class P>
    static std::false_type can_allocate(...);
    static constexpr bool has_allocate = decltype(can_allocate<Pool>(0))::value; ///< It keeps its objects.

    tape& tape_;
    test::accounting_upstream& upstream_;
    Pool pool_;
    std::vector<pointer> items_;
    std::vector<pointer> survivors_; ///< Of what the pool has forgotten.
    std::vector<std::string> log_;
};

/// Plays the tape on a pool of the kind that its first byte picks.
inline void play_item_pool(const std::uint8_t* bytes, std::size_t size)
{
    using memory_pool::intrusive_pool;
    if (size == 0)
        return;
    const std::uint8_t kind = *bytes++ % 5;
    --size;
    switch (kind) {
    case 0: return item_pool_player<intrusive_pool<pooled_item>>::play(bytes, size);
    case 1: return item_pool_player<intrusive_pool<pooled_item, memory_pool::checking_policy>>::play(bytes, size);
    case 2: return item_pool_player<memory_pool::recycling_pool<pooled_item>>::play(bytes, size);
    case 3: return item_pool_player<memory_pool::unsynchronized_shared_pool<marked_item>>::play(bytes, size);
    default: return item_pool_player<memory_pool::unsynchronized_recycling_shared_pool<marked_item>>::play(bytes, size);
    }
}
} // namespace fuzz
