// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Plays a tape of bytes as operations on a pool and on a simple model of one, and compares the two after each. Any
/// tape is valid. Serves a seeded test and a fuzzer alike, and prints the operations when they disagree.
#pragma once

#include <memory_pool/block_pool.hpp>

#include <fuzz/tape.hpp>
#include <support/upstreams.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fuzz {
template <class Pool>
class block_pool_player
{
public:
    static void play(const std::uint8_t* bytes, std::size_t size)
    {
        tape instructions(bytes, size);
        test::accounting_upstream upstream;
        {
            block_pool_player player(instructions, upstream);
            while (!instructions.at_end())
                player.step();
        }
        if (upstream.live_chunks() != 0 || upstream.mismatched() != 0)
            disagree({}, "the pool kept something from upstream");
    }

private:
    block_pool_player(tape& instructions, test::accounting_upstream& upstream)
        : tape_(instructions), upstream_(upstream), pool_(1 + tape_.byte() * 3, options_from(tape_), &upstream)
    {
    }

    static memory_pool::pool_options options_from(tape& instructions)
    {
        memory_pool::pool_options options;
        options.alignment = std::size_t{1} << instructions.byte() % 9;
        if (instructions.byte() % 2 == 0)
            options.max_capacity = 1 + instructions.number() % 5000;
        options.initial_capacity = instructions.number() % (options.max_capacity % 3000 + 1);
        options.prefault = instructions.byte() % 4 == 0;
        return options;
    }

    void step()
    {
        switch (tape_.byte() % 12) {
        case 0:
        case 1: return log("allocate"), allocate(1);
        case 2: return log("allocate many"), allocate(tape_.number() % 1500);
        case 3: return log("deallocate first"), deallocate_from(0, 1 + tape_.number() % 700);
        case 4: return log("deallocate last"), deallocate_last(1 + tape_.number() % 700);
        case 5: return log("deallocate in the middle"), deallocate_from(tape_.number(), 1 + tape_.byte());
        case 6: return log("deallocate nullptr"), pool_.deallocate(nullptr);
        case 7: return log("upstream fails"), upstream_.fail_at(1 + tape_.byte() % 4);
        case 8: return log("trim"), trim();
        case 9: return log("visit and give back"), visit(2 + tape_.byte() % 5);
        case 10: return log("reserve"), reserve(tape_.number() % 4000);
        default: return log("forget all"), forget(tape_.byte());
        }
    }

    void log(const char* operation)
    {
        verify();
        log_.emplace_back(operation);
    }

    void allocate(std::size_t count)
    {
        for (; count != 0; --count) {
            void* const block = pool_.try_allocate();
            if (block == nullptr)
                return expect(model_.size() == pool_.max_capacity() || upstream_has_failed(), "refused for no reason");
            expect(known_.insert(block).second, "handed out twice");
            expect(reinterpret_cast<std::uintptr_t>(block) % pool_.alignment() == 0, "misaligned");
            std::memset(block, pattern(block), pool_.block_size());
            model_.push_back(block);
        }
    }

    bool upstream_has_failed()
    {
        upstream_.never_fail();
        return true;
    }

    void deallocate_from(std::size_t first, std::size_t count)
    {
        if (model_.empty())
            return;
        first %= model_.size();
        count = std::min(count, model_.size() - first);
        const auto begin = model_.begin() + static_cast<std::ptrdiff_t>(first);
        const auto end = begin + static_cast<std::ptrdiff_t>(count);
        for (auto block = begin; block != end; ++block)
            deallocate(*block);
        model_.erase(begin, end);
    }

    void deallocate_last(std::size_t count)
    {
        for (; count != 0 && !model_.empty(); --count) {
            deallocate(model_.back());
            model_.pop_back();
        }
    }

    void deallocate(void* block)
    {
        const auto* const bytes = static_cast<const unsigned char*>(block);
        for (std::size_t i = 0; i != pool_.block_size(); ++i)
            expect(bytes[i] == pattern(block), "content changed");
        known_.erase(block);
        pool_.deallocate(block);
    }

    void trim()
    {
        const std::size_t before = pool_.bytes_reserved();
        const std::size_t trimmed = pool_.trim();
        expect(trimmed <= before && before - trimmed == pool_.bytes_reserved(), "trim miscounted");
    }

    void visit(std::size_t every)
    {
        std::set<void*> visited;
        std::size_t count = 0;
        pool_.for_each([&](void* block) {
            expect(visited.insert(block).second && known_.count(block) != 0, "visited what is not in use");
            if (++count % every == 0)
                deallocate(block);
        });
        expect(visited.size() == model_.size(), "not all were visited");
        std::vector<void*> left;
        for (void* const block : model_)
            if (known_.count(block) != 0)
                left.push_back(block);
        model_ = std::move(left);
    }

    void reserve(std::size_t count)
    {
        const bool reserved = memory_pool::detail::base::succeeds([&] { pool_.reserve(count); });
        expect(!reserved || pool_.capacity() >= count, "reserved too little");
    }

    void forget(std::size_t how)
    {
        if (how % 8 > 1)
            return; // seldom, or nothing would ever get large
        how % 8 == 0 ? pool_.release() : pool_.clear();
        model_.clear();
        known_.clear();
    }

    void verify()
    {
        expect(pool_.in_use() == model_.size(), "in_use is wrong");
        expect(pool_.capacity() >= model_.size(), "capacity is wrong");
        expect(pool_.bytes_reserved() == upstream_.live_bytes(), "bytes_reserved is wrong");
        if (log_.size() % 8 == 0)
            expect(pool_.verify(), "not valid");
    }

    static unsigned char pattern(const void* block)
    {
        return static_cast<unsigned char>(reinterpret_cast<std::uintptr_t>(block) >> 4);
    }

    void expect(bool condition, const char* otherwise)
    {
        if (!condition)
            disagree(log_, otherwise);
    }

    tape& tape_;
    test::accounting_upstream& upstream_;
    Pool pool_;
    std::vector<void*> model_; ///< Blocks in use, oldest first.
    std::set<void*> known_;    ///< The same blocks.
    std::vector<std::string> log_;
};

/// Plays the tape on a pool of the policy that its first byte picks.
inline void play_block_pool(const std::uint8_t* bytes, std::size_t size)
{
    if (size == 0)
        return;
    switch (bytes[0] % 3) {
    case 0: return block_pool_player<memory_pool::block_pool>::play(bytes + 1, size - 1);
    case 1:
        return block_pool_player<memory_pool::basic_block_pool<memory_pool::counting_policy>>::play(bytes + 1,
                                                                                                    size - 1);
    default:
        return block_pool_player<memory_pool::basic_block_pool<memory_pool::checking_policy>>::play(bytes + 1,
                                                                                                    size - 1);
    }
}
} // namespace fuzz
