// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Random use of a block pool by many threads, accounting for every block.
#pragma once

#include "support/marked_blocks.hpp"

#include <memory_pool/pool_options.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <random>
#include <utility>
#include <vector>

namespace test {
struct stress_shape
{
    std::size_t block_size = 64;
    std::size_t limit = memory_pool::pool_options::unbounded;
    std::size_t arena_bytes = std::size_t{1} << 20;
    std::size_t max_held = 16; ///< Blocks that one thread may hold.
    unsigned waits = 0;        ///< Per thousand operations: waits with a deadline, or without one in a bounded pool.
    unsigned whole_pool = 2;   ///< Per thousand operations: trim, reserve, for_each, statistics.
    std::size_t initial_capacity = 0;
};

/// A pool and the shared state of its threads.
template <class Pool>
class pool_stress
{
public:
    explicit pool_stress(const stress_shape& shape)
        : shape_(shape), arena_(shape.arena_bytes), marks_(arena_, shape.block_size),
          pool_(shape.block_size, options(shape), &arena_)
    {
    }

    Pool& pool() noexcept { return pool_; }

    /// Effects: uses the pool in one thread until `goes_on` returns false, and then frees all blocks of the thread.
    /// Thread safety: any thread.
    void work(std::uint64_t seed, const std::function<bool()>& goes_on)
    {
        worker self{*this, std::mt19937_64(seed), 1 + next_worker_.fetch_add(1, std::memory_order_relaxed), {}};
        while (goes_on())
            self.do_something();
        while (!self.held.empty())
            self.give_one();
        operations_.fetch_add(self.operations, std::memory_order_relaxed);
    }

    /// Effects: frees the blocks in flight between threads.
    /// Returns whether every block is accounted for.
    /// Preconditions: no thread is at work.
    bool settles()
    {
        for (auto& mailbox : mailboxes_) {
            if (void* const block = mailbox.exchange(nullptr)) {
                marks_.give(block, in_flight);
                pool_.deallocate(block);
            }
        }
        std::size_t visited = 0;
        pool_.for_each([&visited](void*) { ++visited; });
        const bool is_settled = faults() == 0 && marks_.count() == 0 && pool_.in_use() == 0 && visited == 0 &&
                                pool_.waiting() == 0 && pool_.verify();
        (void)pool_.trim();
        return is_settled && pool_.verify() && pool_.capacity() == 0;
    }

    /// Returns the number of faults: damaged blocks, wrong owners, impossible statistics.
    std::size_t faults() const noexcept { return marks_.faults() + faults_.load(std::memory_order_relaxed); }

    std::uint64_t operations() const noexcept { return operations_.load(std::memory_order_relaxed); }
    std::uint64_t refusals() const noexcept { return refusals_.load(std::memory_order_relaxed); }

private:
    static constexpr std::uint32_t in_flight = ~std::uint32_t{0};
    static constexpr std::size_t mailbox_count = 8; ///< Below any limit, so that each waiter gets a block eventually.

    static memory_pool::pool_options options(const stress_shape& shape)
    {
        memory_pool::pool_options options;
        options.max_capacity = shape.limit;
        options.initial_capacity = shape.initial_capacity;
        return options;
    }

    struct worker
    {
        pool_stress& stress;
        std::mt19937_64 random;
        std::uint32_t number;
        std::vector<void*> held;
        std::uint64_t operations = 0;

        std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random() % bound); }

        void do_something()
        {
            ++operations;
            const std::size_t drawn = below(1000);
            if (drawn < stress.shape_.whole_pool)
                look_at_all();
            else if (drawn < stress.shape_.whole_pool + stress.shape_.waits)
                wait_for_one();
            else if (drawn < 700 && held.size() < stress.shape_.max_held)
                drawn % 8 == 0 ? take_many() : take_one();
            else if (drawn < 800)
                hand_over();
            else if (!held.empty())
                drawn % 8 == 0 ? give_many() : give_one();
        }

        void keep(void* block)
        {
            if (block == nullptr) {
                stress.refusals_.fetch_add(1, std::memory_order_relaxed);
                // Keeps an exhausted pool from staying exhausted.
                for (std::size_t i = below(held.size() + 1); i != 0; --i)
                    give_one();
                return;
            }
            stress.marks_.take(block, number);
            held.push_back(block);
        }

        void take_one()
        {
            if (below(2) == 0)
                return keep(stress.pool_.try_allocate());
            void* block = nullptr;
            try {
                block = stress.pool_.allocate();
            } catch (const std::bad_alloc&) {
                block = nullptr;
            }
            keep(block);
        }

        void take_many()
        {
            std::array<void*, 8> blocks{};
            const std::size_t count = stress.pool_.try_allocate_bulk(blocks.data(), 1 + below(blocks.size()));
            for (std::size_t i = 0; i != count; ++i)
                keep(blocks[i]);
        }

        void wait_for_one()
        {
            // A thread that holds blocks does not wait without a deadline: otherwise, all threads could wait forever.
            if (held.empty() && stress.pool_.is_bounded() && below(2) == 0)
                return keep(stress.pool_.allocate_wait());
            keep(stress.pool_.try_allocate_for(std::chrono::microseconds(below(300))));
        }

        void* let_go()
        {
            std::swap(held[below(held.size())], held.back());
            void* const block = held.back();
            held.pop_back();
            return block;
        }

        void give_one()
        {
            void* const block = let_go();
            stress.marks_.give(block, number);
            stress.pool_.deallocate(block);
        }

        void give_many()
        {
            std::array<void*, 8> blocks{};
            std::size_t count = 0;
            for (; count != blocks.size() && !held.empty(); ++count) {
                blocks[count] = let_go();
                stress.marks_.give(blocks[count], number);
            }
            stress.pool_.deallocate_bulk(blocks.data(), count);
        }

        void hand_over()
        {
            void* block = nullptr;
            if (!held.empty()) {
                block = let_go();
                stress.marks_.pass(block, number, in_flight);
            }
            block = stress.mailboxes_[below(mailbox_count)].exchange(block, std::memory_order_acq_rel);
            if (block == nullptr)
                return;
            stress.marks_.check(block);
            stress.marks_.pass(block, in_flight, number);
            held.push_back(block);
        }

        void look_at_all()
        {
            Pool& pool = stress.pool_;
            switch (below(4)) {
            case 0: (void)pool.trim(); break;
            case 1: try { pool.reserve(below(std::min<std::size_t>(stress.shape_.limit, 1000)));
                } catch (const std::bad_alloc&) {
                    (void)pool.trim();
                }
                break;
            case 2: {
                // Other threads may free blocks during the walk. The blocks of this thread stay in use, so for_each
                // must visit each of them.
                const void* last = nullptr;
                std::size_t mine = 0;
                pool.for_each([&](void* block) {
                    expect(std::less<const void*>()(last, block));
                    last = block;
                    mine += static_cast<std::size_t>(std::count(held.begin(), held.end(), block));
                });
                expect(mine == held.size());
                break;
            }
            default:
                expect(pool.capacity() <= pool.max_capacity());
                expect(pool.in_use() <= pool.max_capacity());
                for (const void* block : held)
                    expect(pool.owns(block));
                (void)pool.bytes_reserved();
                (void)pool.available();
                (void)pool.waiting();
            }
        }

        void expect(bool holds)
        {
            if (!holds)
                stress.faults_.fetch_add(1, std::memory_order_relaxed);
        }
    };

    stress_shape shape_;
    arena_upstream arena_;
    marked_blocks marks_;
    Pool pool_;
    std::array<std::atomic<void*>, mailbox_count> mailboxes_{};
    std::atomic<std::uint32_t> next_worker_{0};
    std::atomic<std::uint64_t> operations_{0};
    std::atomic<std::uint64_t> refusals_{0};
    std::atomic<std::size_t> faults_{0};
};
} // namespace test
