// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// A long-running program: fills its memory with blocks of one range of sizes, frees most of them, and continues with
// another range. It prints, in kilobytes, the peaks of bytes in use and of resident memory, and both values at the end,
// when most blocks are freed.
#include "resident.hpp"
#include "workload.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace {
/// Blocks, and their total size in bytes.
class heap
{
public:
    heap(const workload::marks& marks, workload::tally& done) : marks_(&marks), done_(&done) {}

    std::size_t bytes() const noexcept { return bytes_; }

    void fill(std::size_t bytes, std::size_t least, std::size_t most, workload::random& random)
    {
        while (bytes_ < bytes) {
            blocks_.push_back(marks_->allocate(random.size_between(least, most), random()));
            bytes_ += blocks_.back().bytes;
        }
    }

    /// Effects: frees blocks chosen at random, until `bytes` bytes are left.
    void reduce(std::size_t bytes, workload::random& random)
    {
        while (bytes_ > bytes && !blocks_.empty()) {
            std::swap(blocks_[random.below(blocks_.size())], blocks_.back());
            marks_->free(blocks_.back());
            done_->count(blocks_.back());
            bytes_ -= blocks_.back().bytes;
            blocks_.pop_back();
        }
    }

private:
    const workload::marks* marks_;
    workload::tally* done_;
    std::vector<workload::block> blocks_;
    std::size_t bytes_ = 0;
};
} // namespace

int main(int argc, char** argv)
{
    workload::arguments arguments(argc, argv, "fragmentation: memory repeatedly filled with other sizes.");
    const std::size_t rounds = arguments.number("rounds", 2, "through all ranges of sizes");
    const std::size_t full = arguments.number("full", 65536, "kilobytes in use when the memory is filled") * 1024;
    const std::size_t percent = arguments.number("left", 10, "per cent that stay in use when most blocks are freed");
    const std::size_t seed = arguments.number("seed", 1, "of the random numbers");
    const workload::marks marks(arguments, 256);
    arguments.end();

    constexpr std::pair<std::size_t, std::size_t> ranges[] = {
        {16, 64}, {64, 512}, {512, 4096}, {4096, 32768}, {16, 32768}};
    workload::random random(seed);
    workload::tally done;
    heap blocks(marks, done);
    std::size_t max_in_use = 0;
    for (std::size_t round = 0; round != rounds; ++round) {
        for (const auto& [least, most] : ranges) {
            blocks.fill(full, least, most, random);
            max_in_use = std::max(max_in_use, blocks.bytes());
            blocks.reduce(full / 100 * percent, random);
        }
    }
    const std::size_t taken_at_end = workload::resident_kilobytes();
    if (taken_at_end == 0)
        workload::fail("the resident memory of the process is unknown");
    const std::string statistics =
        "max_in_use=" + std::to_string(max_in_use / 1024) + " max_taken=" + std::to_string(workload::peak_kilobytes()) +
        " in_use_at_end=" + std::to_string(blocks.bytes() / 1024) + " taken_at_end=" + std::to_string(taken_at_end);
    blocks.reduce(0, random);
    done.print("fragmentation", statistics);
}
