// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Threads exchange blocks through shared slots, without a lock. The threads end after each round; the blocks in the
// slots remain for the threads of the next round.
#include "workload.hpp"

#include <atomic>
#include <cstddef>
#include <vector>

namespace {
struct settings
{
    std::size_t steps; ///< Steps of a thread in each round.
    std::size_t live;  ///< Private blocks of a thread.
    std::size_t min_bytes;
    std::size_t max_bytes;
};

/// Slots hold pointers to blocks, never nullptr, so that an exchange is one atomic operation.
using slots = std::vector<std::atomic<workload::block*>>;

/// The threads that occupy one place, one after the other.
class trader
{
public:
    trader(const settings& run_settings, const workload::marks& marks, slots& shared, workload::block& in_hand)
        : settings_(&run_settings), marks_(&marks), shared_(&shared), in_hand_(&in_hand)
    {
    }

    /// Effects: runs one thread from start to end.
    void trade(workload::random& random, workload::tally& done)
    {
        std::vector<workload::block> own(settings_->live);
        for (std::size_t step = 0; step != settings_->steps; ++step) {
            workload::block& chosen = own[random.below(own.size())];
            end(step % 2 == 0 ? exchange((*shared_)[random.below(shared_->size())], chosen) : chosen, done);
            chosen = marks_->allocate(random.size_between(settings_->min_bytes, settings_->max_bytes), random());
        }
        for (const workload::block& each : own)
            end(each, done);
    }

    /// Effects: frees the blocks in the slots.
    void clear(workload::tally& done)
    {
        for (std::atomic<workload::block*>& slot : *shared_)
            end(exchange(slot, {}), done);
    }

private:
    /// Effects: swaps a block into the slot. Returns: the block that was there.
    workload::block exchange(std::atomic<workload::block*>& slot, const workload::block& left)
    {
        *in_hand_ = left;
        in_hand_ = slot.exchange(in_hand_, std::memory_order_acq_rel);
        return *in_hand_;
    }

    void end(const workload::block& block, workload::tally& done) const
    {
        if (block.memory == nullptr)
            return;
        marks_->free(block);
        done.count(block);
    }

    const settings* settings_;
    const workload::marks* marks_;
    slots* shared_;
    workload::block* in_hand_;
};
} // namespace

int main(int argc, char** argv)
{
    workload::arguments arguments(argc, argv, "exchange: threads exchange blocks, and new threads replace them.");
    const std::size_t threads = arguments.number("threads", 4, "at once");
    const std::size_t rounds = arguments.number("rounds", 60, "after each of which all threads end");
    const std::size_t slot_count = arguments.number("slots", 1000, "that all threads share");
    const settings run_settings{arguments.number("steps", 20000, "of a thread in each round"),
                                arguments.number("live", 200, "blocks of its own"),
                                arguments.number("least", 8, "bytes of a block"),
                                arguments.number("most", 16384, "bytes of a block")};
    const std::size_t seed = arguments.number("seed", 1, "of the random numbers");
    const workload::marks marks(arguments, 256);
    arguments.end();

    std::vector<workload::block> exchanged(slot_count + threads);
    slots shared(slot_count);
    for (std::size_t i = 0; i != slot_count; ++i)
        shared[i] = &exchanged[i];
    std::vector<trader> traders;
    for (std::size_t i = 0; i != threads; ++i)
        traders.emplace_back(run_settings, marks, shared, exchanged[slot_count + i]);
    workload::tally done;
    for (std::size_t round = 0; round != rounds; ++round)
        done += workload::in_threads(threads, seed + round * threads,
                                     [&](std::size_t me, workload::random& random, workload::tally& thread_tally) {
                                         traders[me].trade(random, thread_tally);
                                     });
    traders.front().clear(done);
    done.print("exchange");
}
