// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The time of single calls, from the median to the slowest. The benchmark report runs it:
//
//     call_latency SIDE [bytes=N] [live=N] [calls=N] [seed=N]
//
// SIDE is one of sized_sides.hpp; new_delete is the malloc of the process. The program allocates the first `live`
// blocks in a new pool (cold), then repeatedly frees a random block and allocates another one (warm). The time of an
// allocation includes a write of one word to the block, because some sides touch the block themselves and others do
// not.
//
// Where available, a cycle counter times each call. Results are in nanoseconds, minus the median time between two
// consecutive readings. `clock` is the time between two readings, without the subtraction: it shows interruptions that
// the allocators have not caused.
#include "np_alloc/workload.hpp"
#include "sized_sides.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace {
using clock = std::chrono::steady_clock;

/// Returns: a counter that grows at a constant rate, read after all earlier instructions have executed.
MEMORY_POOL_ALWAYS_INLINE std::uint64_t ticks()
{
#if defined(__x86_64__)
    unsigned core = 0;
    const std::uint64_t now = __rdtscp(&core);
    _mm_lfence();
    return now;
#else
    return static_cast<std::uint64_t>(clock::now().time_since_epoch().count());
#endif
}

double measure_nanoseconds_per_tick()
{
    constexpr std::chrono::milliseconds long_enough{50};
    const auto begin = clock::now();
    const std::uint64_t first = ticks();
    while (clock::now() - begin < long_enough) {
    }
    const std::uint64_t last = ticks();
    const std::chrono::duration<double, std::nano> elapsed = clock::now() - begin;
    return elapsed.count() / static_cast<double>(last - first);
}

/// The times of calls of one kind, in ticks.
class samples
{
public:
    explicit samples(std::size_t count) : ticks_(count) {}

    void add(std::uint64_t ticks)
    {
        ticks_[count_++] = static_cast<std::uint32_t>(std::min<std::uint64_t>(ticks, UINT32_MAX));
    }

    void sort()
    {
        ticks_.resize(count_);
        std::sort(ticks_.begin(), ticks_.end());
    }

    /// Returns: the smallest difference between two different times; with many samples, the resolution of the clock.
    ///   0 if all times are equal. Preconditions: sorted.
    std::uint32_t resolution() const
    {
        std::uint32_t least = UINT32_MAX;
        for (std::size_t i = 1; i < count_; ++i)
            if (ticks_[i] != ticks_[i - 1])
                least = std::min(least, ticks_[i] - ticks_[i - 1]);
        return least == UINT32_MAX ? 0 : least;
    }

    /// Returns: the smallest time such that at least this share of all times are at or below it (nearest rank).
    ///   Preconditions: sorted, and not empty.
    std::uint32_t quantile(double share) const
    {
        const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(count_)));
        return ticks_[std::min(std::max(rank, std::size_t{1}), count_) - 1];
    }

private:
    std::vector<std::uint32_t> ticks_;
    std::size_t count_ = 0;
};

struct quantile
{
    const char* name;
    double share;
};
constexpr std::array<quantile, 6> quantiles{
    {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99_9", 0.999}, {"p99_99", 0.9999}, {"max", 1}}};

/// Returns: the quantiles in the output format of workloads, in nanoseconds.
std::string format_quantiles(const std::string& name, samples& of, std::uint32_t of_clock, double nanoseconds_per_tick)
{
    of.sort();
    std::string text;
    for (const quantile& each : quantiles) {
        const double ticks = static_cast<double>(of.quantile(each.share)) - of_clock;
        std::array<char, 64> number{};
        std::snprintf(number.data(), number.size(), "%.2f", std::max(ticks, 0.0) * nanoseconds_per_tick);
        text.append(" ").append(name).append("_").append(each.name).append("=").append(number.data());
    }
    return text;
}

struct settings
{
    std::size_t bytes;
    std::size_t live;
    std::size_t calls;
    std::size_t seed;
};

struct times
{
    explicit times(const settings& run_settings)
        : clock(run_settings.calls), cold(run_settings.live), allocate(run_settings.calls), free(run_settings.calls)
    {
    }

    samples clock;
    samples cold;
    samples allocate;
    samples free;
};

/// Blocks, each with the number that was written to it.
template <class Side>
class blocks
{
public:
    blocks(Side& side, std::size_t count) : side_(side), blocks_(count) {}

    void allocate(std::size_t place, std::uint64_t content, samples& time)
    {
        const std::uint64_t begin = ticks();
        void* const block = side_.allocate();
        if (block != nullptr)
            *static_cast<volatile std::uint64_t*>(block) = content;
        time.add(ticks() - begin);
        if (block == nullptr)
            workload::fail("out of memory");
        blocks_[place] = {static_cast<std::uint64_t*>(block), content};
    }

    void free(std::size_t place, samples& time, workload::tally& done)
    {
        const held& freed = blocks_[place];
        if (*freed.block != freed.content)
            workload::fail("a block was overwritten");
        done.count(freed.content);
        const std::uint64_t begin = ticks();
        side_.deallocate(freed.block);
        time.add(ticks() - begin);
    }

private:
    struct held
    {
        std::uint64_t* block = nullptr;
        std::uint64_t content = 0;
    };

    Side& side_;
    std::vector<held> blocks_;
};

template <class Side>
workload::tally run(const settings& run_settings, times& measured)
{
    Side side(run_settings.bytes);
    blocks<Side> held(side, run_settings.live);
    workload::random random(run_settings.seed);
    workload::tally done;
    for (std::size_t i = 0; i != run_settings.calls; ++i) {
        const std::uint64_t begin = ticks();
        measured.clock.add(ticks() - begin);
    }
    for (std::size_t i = 0; i != run_settings.live; ++i)
        held.allocate(i, random(), measured.cold);
    for (std::size_t i = 0; i != run_settings.calls; ++i) {
        const std::size_t place = random.below(run_settings.live);
        held.free(place, measured.free, done);
        held.allocate(place, random(), measured.allocate);
    }
    samples not_shown(run_settings.live);
    for (std::size_t i = 0; i != run_settings.live; ++i)
        held.free(i, not_shown, done);
    return done;
}

/// Returns: the involuntary context switches of the process.
std::size_t interruptions()
{
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::size_t>(usage.ru_nivcsw);
}

void print(const workload::tally& done, times& measured)
{
    const double rate = measure_nanoseconds_per_tick();
    std::string text = format_quantiles("clock", measured.clock, 0, rate);
    const std::uint32_t of_clock = measured.clock.quantile(0.5);
    text += format_quantiles("cold_allocate", measured.cold, of_clock, rate);
    text += format_quantiles("warm_allocate", measured.allocate, of_clock, rate);
    text += format_quantiles("warm_free", measured.free, of_clock, rate);
    std::array<char, 64> resolution{};
    const std::uint32_t ticks = std::min(measured.clock.resolution(), measured.allocate.resolution());
    std::snprintf(resolution.data(), resolution.size(), " resolution=%.2f", ticks * rate);
    done.print("call_latency",
               text.substr(1) + resolution.data() + " interruptions=" + std::to_string(interruptions()));
}
} // namespace

int main(int argc, char** argv)
{
    workload::arguments arguments(argc, argv, "call_latency SIDE: the time of single calls, in nanoseconds.");
    const std::string wanted = arguments.first("SIDE", "one of " + sized_sides::names());
    const settings run_settings{arguments.number("bytes", 64, "of a block"),
                                arguments.number("live", 100000, "blocks in use, which the cold calls allocate"),
                                arguments.number("calls", 1000000, "warm calls of each kind"),
                                arguments.number("seed", 1, "of the random order")};
    arguments.end();
    times measured(run_settings);
    workload::tally done;
    const auto run_side = [&](auto type) { done = run<typename decltype(type)::side>(run_settings, measured); };
    if (!sized_sides::with_side(wanted, run_side))
        workload::fail(sized_sides::no_such_side(wanted).c_str());
    print(done, measured);
}
