// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Threads that create, visit and destroy shared objects at random. Each object has a checksum, which its destructor
/// invalidates. A visitor that finds a wrong checksum has visited a destroyed object.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>

namespace test {
/// An object with a checksum. Its members are not atomic, so ThreadSanitizer detects a visit of a destroyed object.
class checksummed
{
public:
    static inline std::atomic<std::size_t> alive{0};

    explicit checksummed(std::uint64_t number) : number_(number), checksum_(sum_of(number))
    {
        alive.fetch_add(1, std::memory_order_relaxed);
    }
    checksummed(const checksummed&) = delete;
    checksummed& operator=(const checksummed&) = delete;
    ~checksummed()
    {
        number_ = 0;
        checksum_ = 0;
        alive.fetch_sub(1, std::memory_order_relaxed);
    }

    bool is_intact() const { return checksum_ == sum_of(number_); }

private:
    static std::uint64_t sum_of(std::uint64_t number) { return (number + 1) * 0x9e37'79b9'7f4a'7c15; }

    // volatile: otherwise, the compiler drops the stores in the destructor, which no valid program reads.
    volatile std::uint64_t number_;
    volatile std::uint64_t checksum_;
};

/// Handles shared by all threads, and counters of created, visited and destroyed objects.
template <class Pool>
class handle_stress
{
public:
    explicit handle_stress(Pool& pool) : pool_(pool) {}

    /// Effects: uses the objects as long as `goes_on()` returns true. For any thread.
    template <class GoesOn>
    void work(std::uint64_t seed, GoesOn&& goes_on)
    {
        std::mt19937_64 random(seed);
        while (goes_on()) {
            const std::uint64_t dice = random();
            cell& chosen = cells_[dice % cells_.size()];
            switch (dice >> 60) {
            case 0:
            case 1: replace(chosen, dice); break;
            case 2: count_destroyed(pool_.destroy(chosen.load())); break;
            case 3: destroy_in_visit(chosen.load()); break;
            case 4: visit_two(chosen.load(), cells_[dice / cells_.size() % cells_.size()].load()); break;
            case 5:
                if ((dice >> 50) % 256 == 0)
                    visit_all();
                else if ((dice >> 50) % 256 == 1)
                    (void)pool_.trim();
                else if ((dice >> 50) % 16 == 2)
                    replace_in_bulk(dice);
                break;
            default: visit(chosen.load());
            }
        }
    }

    /// Returns whether all visited objects were intact, and all objects are alive except the destroyed ones. Call this
    /// function from one thread after all other threads have ended.
    bool is_right() const
    {
        return wrong_ == 0 && pool_.size() == created_ - destroyed_ && checksummed::alive == pool_.size() &&
               pool_.verify();
    }

    std::size_t created() const { return created_; }
    std::size_t visited() const { return visited_; }
    std::size_t missed() const { return missed_; }

private:
    using handle = typename Pool::handle;

    /// A handle in one atomic word.
    class cell
    {
    public:
        handle load() const { return handle_of(bits_.load(std::memory_order_relaxed)); }
        handle exchange(handle other) { return handle_of(bits_.exchange(other.bits(), std::memory_order_relaxed)); }

    private:
        static handle handle_of(std::uint64_t bits)
        {
            return {static_cast<std::uint32_t>(bits >> 32), static_cast<std::uint32_t>(bits)};
        }
        std::atomic<std::uint64_t> bits_{0};
    };

    void look_at(const checksummed& object)
    {
        if (!object.is_intact())
            ++wrong_;
        visited_.fetch_add(1, std::memory_order_relaxed);
    }

    void count_destroyed(bool was_alive) { (was_alive ? destroyed_ : missed_).fetch_add(1, std::memory_order_relaxed); }

    void replace(cell& replaced, std::uint64_t dice)
    {
        const handle made = pool_.create(dice);
        created_.fetch_add(1, std::memory_order_relaxed);
        count_destroyed(pool_.destroy(replaced.exchange(made)));
    }

    void replace_in_bulk(std::uint64_t dice)
    {
        std::array<handle, 80> bulk;
        const std::size_t made = pool_.create_bulk(bulk.data(), dice % bulk.size(), dice);
        created_.fetch_add(made, std::memory_order_relaxed);
        for (std::size_t i = 0; i != made; ++i)
            bulk[i] = cells_[(dice + i) % cells_.size()].exchange(bulk[i]);
        const std::size_t destroyed = pool_.destroy_bulk(bulk.data(), made);
        destroyed_.fetch_add(destroyed, std::memory_order_relaxed);
        missed_.fetch_add(made - destroyed, std::memory_order_relaxed);
    }

    void visit(handle of)
    {
        if (!pool_.visit(of, [this](checksummed& object) { look_at(object); }))
            missed_.fetch_add(1, std::memory_order_relaxed);
    }

    void destroy_in_visit(handle of)
    {
        (void)pool_.visit(of, [&](checksummed& object) {
            count_destroyed(pool_.destroy(of));
            look_at(object); // not destroyed yet
            if (pool_.destroy(of))
                ++wrong_;
        });
    }

    void visit_two(handle outer, handle inner)
    {
        (void)pool_.visit(outer, [&](checksummed& object) {
            visit(inner);
            look_at(object);
        });
    }

    void visit_all()
    {
        pool_.for_each([this](checksummed& object) { look_at(object); });
    }

    Pool& pool_;
    std::array<cell, 64> cells_{};
    std::atomic<std::size_t> created_{0};
    std::atomic<std::size_t> destroyed_{0};
    std::atomic<std::size_t> visited_{0};
    std::atomic<std::size_t> missed_{0};
    std::atomic<std::size_t> wrong_{0};
};
} // namespace test
