// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Plays a tape of bytes as operations on a std::pmr resource and on a simple model, and compares both after each
/// operation. Used by a seeded test and a fuzzer; prints the operations on a mismatch.
#pragma once

#include <memory_pool/arena_resource.hpp>
#include <memory_pool/pool_resource.hpp>

#include <fuzz/tape.hpp>
#include <support/filled_blocks.hpp>
#include <support/upstreams.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <limits>
#include <memory_resource>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

namespace fuzz {
/// The observable behaviour of arenas.
template <class Resource>
struct arena_model
{
    static memory_pool::arena_options options_from(tape& instructions)
    {
        memory_pool::arena_options options;
        options.arena_size = std::size_t{1024} << instructions.byte() % 7;
        options.arena_count = instructions.byte() % 5;
        if (instructions.byte() % 2 == 0)
            options.max_arenas = 1 + options.arena_count + instructions.byte() % 30;
        options.prefault = instructions.byte() % 4 == 0;
        return options;
    }

    /// Returns: the bytes that the resource must count for a block.
    static std::size_t bytes_in_use(const Resource& resource, const test::filled_block& block)
    {
        constexpr std::size_t behind =
            Resource::policy::checks ? memory_pool::detail::core::fill_pattern::canary_bytes : 0;
        const std::size_t extent = memory_pool::detail::core::arena_extent(block.bytes) + behind;
        const std::size_t header = resource.arena_size() - resource.largest_block() - behind;
        const std::size_t start = memory_pool::detail::base::round_up(header, block.alignment);
        return start < resource.arena_size() && extent <= resource.arena_size() - start ? extent : block.bytes;
    }

    static bool may_refuse(const Resource& resource) { return resource.arena_count() == resource.max_arenas(); }

    static bool agrees(const Resource& resource, bool is_empty)
    {
        const std::size_t free = resource.free_arenas();
        return resource.arena_count() <= resource.max_arenas() &&
               (is_empty ? free == resource.arena_count() : free <= resource.arena_count()) &&
               resource.bytes_wasted() <= (resource.arena_count() - free) * resource.arena_size();
    }

    static void forget(Resource& resource, bool keeps_memory) { keeps_memory ? resource.clear() : resource.release(); }
};

/// The observable behaviour of pools.
template <class Resource>
struct pools_model
{
    static std::pmr::pool_options options_from(tape& instructions)
    {
        std::pmr::pool_options options;
        options.largest_required_pool_block = std::size_t{1} << instructions.byte() % 18;
        options.max_blocks_per_chunk = instructions.byte() * 10;
        return options;
    }

    static std::size_t bytes_in_use(const Resource& resource, const test::filled_block& block)
    {
        const std::size_t needed = memory_pool::detail::core::bytes_in_class(block.bytes, block.alignment);
        if (needed > resource.options().largest_required_pool_block)
            return block.bytes;
        return memory_pool::detail::core::block_sizes::size(memory_pool::detail::core::block_sizes::of(needed));
    }

    static bool may_refuse(const Resource&) { return false; }
    static bool agrees(const Resource&, bool) { return true; }
    static void forget(Resource& resource, bool) { resource.release(); }
};

template <class Resource, class Model>
class resource_player
{
public:
    static void play(const std::uint8_t* bytes, std::size_t size)
    {
        tape instructions(bytes, size);
        test::accounting_upstream upstream;
        {
            resource_player player(instructions, upstream);
            while (!instructions.at_end())
                player.step();
        }
        if (upstream.live_chunks() != 0 || upstream.mismatched() != 0)
            disagree({}, "the resource leaked upstream memory");
    }

private:
    resource_player(tape& instructions, test::accounting_upstream& upstream)
        : tape_(instructions), upstream_(upstream), resource_(Model::options_from(tape_), &upstream)
    {
    }

    void step()
    {
        switch (tape_.byte() % 16) {
        case 0:
        case 1: return log("allocate"), allocate(1, tape_.byte(), tape_.byte() % 5);
        case 2: return log("allocate many"), allocate(tape_.byte(), tape_.byte() * 2, tape_.byte() % 7);
        case 3: return log("allocate a large one"), allocate(1, tape_.number() * 4, tape_.byte() % 7);
        case 4:
            return log("allocate aligned"), allocate(1 + tape_.byte() % 8, tape_.number() % 5000, tape_.byte() % 18);
        case 5: return log("allocate too much"), allocate_too_much(tape_.number(), tape_.byte() % 18);
        case 6: return log("free the last"), give_back_last(1 + tape_.byte());
        case 7: return log("free the first"), give_back_from(0, 1 + tape_.byte());
        case 8: return log("free in the middle"), give_back_from(tape_.number(), 1 + tape_.byte() % 32);
        case 9: return log("undo"), undo(tape_.byte(), tape_.byte() % 7);
        case 10: return log("free nullptr"), resource_.deallocate(nullptr, tape_.number());
        case 11: return log("upstream fails"), fail(1 + tape_.byte() % 4);
        case 12: return log("trim"), trim();
        case 13: return log("begin a scope"), begin_scope();
        case 14: return log("end a scope"), end_scope();
        default: return log("free all"), forget(tape_.byte());
        }
    }

    void log(const char* operation)
    {
        verify();
        log_.emplace_back(operation);
    }

    void allocate(std::size_t count, std::size_t bytes, std::size_t alignment_exponent)
    {
        for (; count != 0; --count)
            if (!allocate_one(bytes, std::size_t{1} << alignment_exponent))
                return;
    }

    /// Returns: whether the allocation succeeded.
    bool allocate_one(std::size_t bytes, std::size_t alignment)
    {
        try {
            blocks_.push_back(test::allocate_filled(resource_, bytes, alignment));
        } catch (const std::bad_alloc&) {
            expect(upstream_is_to_fail_ || Model::may_refuse(resource_), "refused without a reason");
            upstream_is_to_fail_ = false;
            upstream_.never_fail();
            return false;
        }
        expect(blocks_.back().is_aligned(), "misaligned");
        in_use_ += Model::bytes_in_use(resource_, blocks_.back());
        return true;
    }

    void begin_scope()
    {
        if constexpr (has_scopes)
            if (begins_.size() < 20) {
                scopes_.emplace_front(resource_);
                begins_.push_back(blocks_.size());
            }
    }

    void end_scope()
    {
        if (scopes_.empty())
            return;
        scopes_.pop_front();
        const auto first = blocks_.begin() + static_cast<std::ptrdiff_t>(begins_.back());
        begins_.pop_back();
        std::for_each(first, blocks_.end(),
                      [this](const test::filled_block& freed) { in_use_ -= Model::bytes_in_use(resource_, freed); });
        blocks_.erase(first, blocks_.end());
        for (const test::filled_block& each : blocks_)
            expect(each.is_intact(), "content changed by the end of a scope");
    }

    void allocate_too_much(std::size_t below_most, std::size_t alignment_exponent)
    {
        const std::size_t bytes = std::numeric_limits<std::size_t>::max() - below_most;
        try {
            (void)resource_.allocate(bytes, std::size_t{1} << alignment_exponent);
            disagree(log_, "allocated more than the address space");
        } catch (const std::bad_alloc&) {
            verify();
        }
    }

    void undo(std::size_t bytes, std::size_t alignment_exponent)
    {
        if (allocate_one(bytes, std::size_t{1} << alignment_exponent))
            give_back_last(1);
    }

    void give_back_last(std::size_t count)
    {
        count = std::min(count, blocks_.size());
        for (; count != 0; --count) {
            give_back(blocks_.back());
            blocks_.pop_back();
        }
        for (std::size_t& begin : begins_)
            begin = std::min(begin, blocks_.size());
    }

    void give_back_from(std::size_t first, std::size_t count)
    {
        if (blocks_.empty())
            return;
        first %= blocks_.size();
        count = std::min(count, blocks_.size() - first);
        const auto begin = blocks_.begin() + static_cast<std::ptrdiff_t>(first);
        const auto end = begin + static_cast<std::ptrdiff_t>(count);
        std::for_each(begin, end, [this](const test::filled_block& block) { give_back(block); });
        blocks_.erase(begin, end);
        for (std::size_t& each : begins_)
            each -= std::min(std::max(each, first) - first, count);
    }

    void give_back(const test::filled_block& block)
    {
        in_use_ -= Model::bytes_in_use(resource_, block);
        expect(test::give_back(resource_, block), "content changed");
    }

    void fail(std::size_t call)
    {
        upstream_.fail_at(call);
        upstream_is_to_fail_ = true;
    }

    void trim()
    {
        const std::size_t before = upstream_.live_bytes();
        const std::size_t trimmed = resource_.trim();
        expect(before - trimmed == upstream_.live_bytes(), "trim miscounted");
    }

    void forget(std::size_t how)
    {
        if (how % 8 > 1)
            return; // rarely, so resources can grow large
        Model::forget(resource_, how % 8 == 0);
        blocks_.clear();
        in_use_ = 0;
        std::fill(begins_.begin(), begins_.end(), 0);
    }

    void verify()
    {
        expect(resource_.bytes_in_use() == in_use_, "bytes_in_use is wrong");
        expect(resource_.bytes_reserved() == upstream_.live_bytes(), "bytes_reserved is wrong");
        expect(Model::agrees(resource_, blocks_.empty()), "the statistics are inconsistent");
        expect(resource_.verify(), "verify() failed");
    }

    void expect(bool condition, const char* otherwise)
    {
        if (!condition)
            disagree(log_, otherwise);
    }

    static constexpr bool has_scopes = std::is_constructible_v<memory_pool::arena_scope, Resource&>;
    using scope = std::conditional_t<has_scopes, memory_pool::arena_scope, char>;

    tape& tape_;
    test::accounting_upstream& upstream_;
    Resource resource_;
    std::vector<test::filled_block> blocks_; ///< outstanding, oldest first
    std::forward_list<scope> scopes_;        ///< the innermost first, so it ends first
    std::vector<std::size_t> begins_;        ///< the first block of each scope
    std::size_t in_use_ = 0;                 ///< bytes that the resource must count
    bool upstream_is_to_fail_ = false;
    std::vector<std::string> log_;
};

template <class Resource>
using arena_player = resource_player<Resource, arena_model<Resource>>;
template <class Resource>
using pools_player = resource_player<Resource, pools_model<Resource>>;

/// Plays the tape on a resource; the first byte selects kind and policy.
inline void play_resource(const std::uint8_t* bytes, std::size_t size)
{
    using namespace memory_pool;
    if (size == 0)
        return;
    const std::uint8_t* const rest = bytes + 1;
    switch (bytes[0] % 8) {
    case 0: return arena_player<basic_unsynchronized_arena_resource<>>::play(rest, size - 1);
    case 1: return arena_player<basic_unsynchronized_arena_resource<checking_policy>>::play(rest, size - 1);
    case 2: return arena_player<basic_synchronized_arena_resource<>>::play(rest, size - 1);
    case 3: return arena_player<basic_synchronized_arena_resource<checking_policy>>::play(rest, size - 1);
    case 4: return pools_player<basic_unsynchronized_pool_resource<>>::play(rest, size - 1);
    case 5: return pools_player<basic_unsynchronized_pool_resource<checking_policy>>::play(rest, size - 1);
    case 6: return pools_player<basic_synchronized_pool_resource<>>::play(rest, size - 1);
    default: return pools_player<basic_synchronized_pool_resource<checking_policy>>::play(rest, size - 1);
    }
}
} // namespace fuzz
