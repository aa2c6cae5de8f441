// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Plays a tape of bytes as operations on a pool and on a simple model, and compares both after each operation. Any
/// tape is valid. Used by a seeded test and a fuzzer; prints the operations on a mismatch.
#pragma once

#include <memory_pool/block_pool.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/profiling_policy.hpp>
#include <memory_pool/report.hpp>

#include <fuzz/pool_player.hpp>
#include <fuzz/tape.hpp>
#include <fuzz/watching_observer.hpp>
#include <support/error_recorder.hpp>
#include <support/upstreams.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace fuzz {
template <class Pool>
class block_pool_player : public pool_player<block_pool_player<Pool>, Pool>
{
    using base = pool_player<block_pool_player<Pool>, Pool>;
    friend base;
    using policy = typename Pool::policy;
    static constexpr bool is_shared = std::is_base_of_v<memory_pool::basic_concurrent_block_pool<policy>, Pool>;
    static constexpr std::size_t operations = 20;

    using base::expect;
    using base::fail;
    using base::log;
    using base::log_;
    using base::pool_;
    using base::reserve;
    using base::tape_;
    using base::trim;
    using base::upstream_;
    using base::upstream_is_to_fail_;

    block_pool_player(tape& instructions, test::accounting_upstream& upstream)
        : base(instructions, upstream, 1 + instructions.byte() * 3, options_from(instructions))
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

    void step(std::size_t operation)
    {
        switch (operation) {
        case 0:
        case 1: return log("allocate"), allocate(1);
        case 2: return log("allocate many"), allocate(tape_.number() % 1500);
        case 3: return log("deallocate first"), deallocate_from(0, 1 + tape_.number() % 700);
        case 4: return log("deallocate last"), deallocate_last(1 + tape_.number() % 700);
        case 5: return log("deallocate in the middle"), deallocate_from(tape_.number(), 1 + tape_.byte());
        case 6: return log("deallocate nullptr"), pool_.deallocate(nullptr);
        case 7: return log("upstream fails"), fail(1 + tape_.byte() % 4);
        case 8: return log("trim"), trim();
        case 9: return log("visit and free"), visit(2 + tape_.byte() % 5);
        case 10: return log("reserve"), reserve(tape_.number() % 4000);
        case 11: return log("free all"), forget(tape_.byte());
        case 12: return log("allocate in bulk, if possible"), try_allocate_bulk(tape_.number() % 1000);
        case 13: return log("allocate in bulk"), allocate_bulk(tape_.number() % 1000);
        case 14: return log("deallocate in bulk"), deallocate_bulk(tape_.number(), tape_.number() % 1000);
        case 15: return log("ask whose a block is"), ask(tape_.number());
        case 16: return log("misuse"), misuse(tape_.number(), tape_.byte());
        case 17: return log("wait"), wait(1 + tape_.byte() % 30);
        default: return log("write the profile"), write_profile(tape_.byte());
        }
    }

    void allocate(std::size_t count)
    {
        for (; count != 0; --count) {
            void* const block = pool_.try_allocate();
            if (block == nullptr)
                return refused();
            add(block);
        }
    }

    void add(void* block)
    {
        expect(known_.insert(block).second, "allocated twice");
        expect(reinterpret_cast<std::uintptr_t>(block) % pool_.alignment() == 0, "misaligned");
        std::memset(block, pattern(block), pool_.block_size());
        model_.push_back(block);
        peak_ = std::max(peak_, model_.size());
    }

    /// A call got no block.
    void refused(std::size_t count = 1)
    {
        ++failures_;
        base::refused(count);
    }

    void try_allocate_bulk(std::size_t count)
    {
        std::vector<void*> blocks(count);
        blocks.resize(pool_.try_allocate_bulk(blocks.data(), count));
        for (void* const block : blocks)
            add(block);
        if (blocks.size() != count)
            refused();
    }

    void allocate_bulk(std::size_t count)
    {
        std::vector<void*> blocks(count);
        const bool succeeds = memory_pool::detail::base::succeeds(
            [&] { expect(pool_.allocate_bulk(blocks.data(), count) == count, "allocated a wrong number"); });
        if (succeeds) {
            std::for_each(blocks.begin(), blocks.end(), [this](void* block) { add(block); });
            return;
        }
        // The blocks allocated before the failure were freed.
        if constexpr (policy::counts)
            expect(pool_.statistics().in_use == model_.size(), "a failed bulk allocation leaked blocks");
        is_peak_known_ = false;
        refused(count);
    }

    void deallocate_bulk(std::size_t first, std::size_t count)
    {
        if (model_.empty())
            return;
        first %= model_.size();
        const auto begin = model_.begin() + static_cast<std::ptrdiff_t>(first);
        const auto end = begin + static_cast<std::ptrdiff_t>(std::min(count, model_.size() - first));
        for (auto block = begin; block != end; ++block)
            expect_intact(*block);
        std::vector<void*> gone(begin, end);
        gone.push_back(nullptr); // ignored
        pool_.deallocate_bulk(gone.data(), gone.size());
        for (void* const block : gone)
            known_.erase(block);
        model_.erase(begin, end);
    }

    void ask(std::size_t number)
    {
        expect(!pool_.owns(nullptr) && !pool_.owns(this), "owns() is true for a foreign pointer");
        if (model_.empty())
            return;
        const void* const block = model_[number % model_.size()];
        expect(pool_.owns(block), "owns() is false for its own block");
        if constexpr (policy::checks)
            expect(pool_.check(block), "check() rejects an outstanding block");
    }

    /// Only checking pools detect all of this misuse.
    void misuse([[maybe_unused]] std::size_t which, [[maybe_unused]] std::size_t how)
    {
        if constexpr (policy::checks) {
            const test::error_recorder recorder;
            std::array<unsigned char, 32> local{};
            void* const block = model_.empty() ? local.data() : model_[which % model_.size()];
            const bool has_freed = last_freed_ != nullptr && known_.count(last_freed_) == 0;
            if (how % 3 == 0 && has_freed)
                pool_.deallocate(last_freed_);
            else if (how % 3 == 1 && pool_.block_size() > 1)
                pool_.deallocate(memory_pool::detail::base::address_past(block, 1));
            else
                pool_.deallocate(local.data() + how % local.size());
            expect(recorder.reports().size() == 1, "misuse was not reported exactly once");
        }
    }

    /// Waits for zero time, because no other thread frees anything.
    void wait([[maybe_unused]] std::size_t count)
    {
        if constexpr (is_shared) {
            for (; count != 0; --count) {
                expect(pool_.waiting() == 0, "wrong number of waiting threads");
                void* const block = count % 3 == 0     ? pool_.try_allocate_for(std::chrono::nanoseconds(0))
                                    : count % 3 == 1   ? pool_.try_allocate_until(std::chrono::steady_clock::now())
                                    : may_be_refused() ? pool_.try_allocate()
                                                       : pool_.allocate_wait();
                if (block == nullptr)
                    return refused();
                add(block);
            }
        }
    }

    bool may_be_refused() const { return model_.size() == pool_.max_capacity() || upstream_is_to_fail_; }

    void write_profile([[maybe_unused]] std::size_t how)
    {
        if constexpr (std::is_base_of_v<memory_pool::profiling_policy<>, policy>) {
            std::ostringstream to;
            const auto format = how % 4 == 0   ? memory_pool::profile_format::pprof
                                : how % 4 == 1 ? memory_pool::profile_format::text
                                               : memory_pool::profile_format::folded;
            memory_pool::write_profile(to, format);
            expect(to.good(), "no profile was written");
            memory_pool::set_profile_bytes(how * how);
        }
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
        expect_intact(block);
        known_.erase(block);
        pool_.deallocate(block);
        last_freed_ = block;
    }

    void expect_intact(void* block)
    {
        const auto* const bytes = static_cast<const unsigned char*>(block);
        expect(std::all_of(bytes, bytes + pool_.block_size(),
                           [mark = pattern(block)](unsigned char each) { return each == mark; }),
               "content changed");
    }

    void visit(std::size_t every)
    {
        std::set<void*> visited;
        std::size_t count = 0;
        pool_.for_each([&](void* block) {
            expect(visited.insert(block).second && known_.count(block) != 0, "visited a free block");
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

    void forget(std::size_t how)
    {
        if (how % 8 > 1)
            return; // rarely, so pools can grow large
        how % 8 == 0 ? pool_.release() : pool_.clear();
        model_.clear();
        known_.clear();
    }

    void verify()
    {
        expect(pool_.in_use() == model_.size(), "in_use is wrong");
        expect(pool_.capacity() >= model_.size(), "capacity is wrong");
        expect(pool_.bytes_reserved() == upstream_.live_bytes(), "bytes_reserved is wrong");
        if constexpr (policy::counts)
            verify_statistics(pool_.statistics());
        if constexpr (is_watched<policy>)
            expect(watching_observer::blocks().size() == model_.size(), "the observer's blocks differ");
        if (log_.size() % 8 == 0)
            expect(pool_.verify(), "verify() failed");
    }

    void verify_statistics(const memory_pool::pool_statistics& counted)
    {
        expect(counted.allocations - counted.deallocations == model_.size(), "wrong count of blocks");
        expect(counted.in_use == model_.size(), "wrong count of outstanding blocks");
        expect(counted.failures == failures_, "wrong count of failures");
        expect(is_peak_known_ ? counted.peak_in_use == peak_ : counted.peak_in_use >= peak_, "the peak is wrong");
        expect(counted.bytes_reserved == upstream_.live_bytes(), "wrong count of bytes");
        expect(counted.slabs == pool_.slab_count(), "wrong count of slabs");
    }

    static unsigned char pattern(const void* block)
    {
        return static_cast<unsigned char>(reinterpret_cast<std::uintptr_t>(block) >> 4);
    }

    std::vector<void*> model_; ///< outstanding blocks, oldest first
    std::set<void*> known_;    ///< the same blocks
    void* last_freed_ = nullptr;
    std::size_t peak_ = 0;
    bool is_peak_known_ = true;
    std::size_t failures_ = 0;
};

/// Plays the tape on a pool; the first byte selects kind and policy.
inline void play_block_pool(const std::uint8_t* bytes, std::size_t size)
{
    using namespace memory_pool;
    if (size == 0)
        return;
    const std::uint8_t* const rest = bytes + 1;
    switch (bytes[0] % 9) {
    case 0: return block_pool_player<block_pool>::play(rest, size - 1);
    case 1: return block_pool_player<basic_block_pool<counting_policy>>::play(rest, size - 1);
    case 2: return block_pool_player<basic_block_pool<checking_policy>>::play(rest, size - 1);
    case 3: return block_pool_player<basic_block_pool<watched_checking_policy>>::play(rest, size - 1);
    case 4: return block_pool_player<basic_block_pool<profiling_policy<>>>::play(rest, size - 1);
    case 5: return block_pool_player<concurrent_block_pool>::play(rest, size - 1);
    case 6: return block_pool_player<basic_concurrent_block_pool<counting_policy>>::play(rest, size - 1);
    case 7: return block_pool_player<basic_concurrent_block_pool<checking_policy>>::play(rest, size - 1);
    default: return block_pool_player<basic_concurrent_block_pool<watched_policy>>::play(rest, size - 1);
    }
}
} // namespace fuzz
