// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The resident memory of blocks of one size. The benchmark report runs it:
//
//     block_memory SIDE [bytes=N] [mebibytes=N] [wait=MILLISECONDS] [seed=N]
//
// SIDE is one of sized_sides.hpp; new_delete is the malloc of the process. The program allocates blocks of `mebibytes`
// in total, writes every word of them, frees them in random order, and then waits without calling the side. The pool
// exists until the end. The program prints the growth of resident memory since before the first block, in kilobytes:
// with all blocks in use (live), at the peak, with all blocks freed, and after the wait (idle).
#include "np_alloc/resident.hpp"
#include "np_alloc/workload.hpp"
#include "sized_sides.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {
struct settings
{
    std::size_t bytes;
    std::size_t count;
    std::size_t milliseconds;
    std::size_t seed;
};

/// In kilobytes.
struct resident_memory
{
    std::size_t live = 0;
    std::size_t peak = 0;
    std::size_t freed = 0;
    std::size_t idle = 0;
};

std::size_t above(std::size_t base, std::size_t kilobytes)
{
    return kilobytes - std::min(base, kilobytes);
}

void fill(std::uint64_t* block, std::size_t bytes, std::uint64_t content)
{
    std::fill_n(block, bytes / sizeof content, content);
}

bool is_filled(const std::uint64_t* block, std::size_t bytes, std::uint64_t content)
{
    return std::all_of(block, block + bytes / sizeof content,
                       [content](std::uint64_t word) { return word == content; });
}

using blocks = std::vector<std::pair<std::uint64_t*, std::uint64_t>>;

template <class Side>
void allocate_all(Side& side, const settings& run_settings, blocks& held, workload::random& random)
{
    for (auto& [block, content] : held) {
        block = static_cast<std::uint64_t*>(side.allocate());
        if (block == nullptr)
            workload::fail("out of memory");
        content = random();
        fill(block, run_settings.bytes, content);
    }
}

template <class Side>
void free_all(Side& side, const settings& run_settings, blocks& held, workload::random& random, workload::tally& done)
{
    for (std::size_t i = held.size(); i > 1; --i)
        std::swap(held[random.below(i)], held[i - 1]);
    for (const auto& [block, content] : held) {
        if (!is_filled(block, run_settings.bytes, content))
            workload::fail("a block was overwritten");
        side.deallocate(block);
        done.count(content);
    }
}

template <class Side>
workload::tally run(const settings& run_settings, resident_memory& measured)
{
    workload::random random(run_settings.seed);
    workload::tally done;
    blocks held(run_settings.count);
    const std::size_t base = workload::resident_kilobytes();
    Side side(run_settings.bytes);
    allocate_all(side, run_settings, held, random);
    measured.live = above(base, workload::resident_kilobytes());
    free_all(side, run_settings, held, random, done);
    measured.freed = above(base, workload::resident_kilobytes());
    std::this_thread::sleep_for(std::chrono::milliseconds(run_settings.milliseconds));
    measured.idle = above(base, workload::resident_kilobytes());
    // VmHWM may lag behind VmRSS, so the peak is at least the largest value read above.
    measured.peak = std::max({above(base, workload::peak_kilobytes()), measured.live, measured.freed, measured.idle});
    return done;
}
} // namespace

int main(int argc, char** argv)
{
    workload::arguments arguments(argc, argv,
                                  "block_memory SIDE: resident memory of blocks of one size, in kilobytes.");
    const std::string wanted = arguments.first("SIDE", "one of " + sized_sides::names());
    const std::size_t bytes = arguments.number("bytes", 64, "of a block; a multiple of 8");
    const std::size_t all = arguments.number("mebibytes", 64, "of all blocks together") << 20U;
    const settings run_settings{bytes, std::max<std::size_t>(all / bytes, 1),
                                arguments.number("wait", 1, "milliseconds without a call at the end"),
                                arguments.number("seed", 1, "of the random order")};
    arguments.end();
    if (bytes % sizeof(std::uint64_t) != 0)
        workload::fail("block_memory: bytes: not a multiple of 8");
    resident_memory measured;
    workload::tally done;
    const auto run_side = [&](auto type) { done = run<typename decltype(type)::side>(run_settings, measured); };
    if (!sized_sides::with_side(wanted, run_side))
        workload::fail(sized_sides::no_such_side(wanted).c_str());
    done.print("block_memory", "live=" + std::to_string(measured.live) + " peak=" + std::to_string(measured.peak) +
                                   " freed=" + std::to_string(measured.freed) +
                                   " idle=" + std::to_string(measured.idle));
}
