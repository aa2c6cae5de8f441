// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Packets of 1,500 bytes, which four threads receive in bursts. The buffers are from one pool with a limit. Each
/// buffer begins at a cache line, to avoid false sharing.
/// See docs/tasks/packets.md.
#include <memory_pool/concurrent_block_pool.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>

namespace {
constexpr std::size_t packet_bytes = 1'500;
constexpr std::size_t burst = 32;
constexpr std::size_t bursts = 20'000;

/// `counting_policy` provides the statistics. With the default policy, the type is `concurrent_block_pool`.
using packet_pool = memory_pool::basic_concurrent_block_pool<memory_pool::counting_policy>;

struct router
{
    packet_pool packets{packet_bytes, memory_pool::pool_options{}
                                          .with_name("packets")
                                          .with_alignment(64)
                                          .with_initial_capacity(100)
                                          .with_max_capacity(100)};
    std::atomic<std::size_t> sent{0};
    std::atomic<std::size_t> dropped{0};
    std::atomic<std::size_t> damaged{0};
    std::atomic<void*> newest{nullptr}; ///< A packet that is kept until a thread replaces it.

    bool is_intact(const void* packet, int content) const
    {
        const auto* const bytes = static_cast<const unsigned char*>(packet);
        return reinterpret_cast<std::uintptr_t>(bytes) % 64 == 0 && bytes[0] == content &&
               std::memcmp(bytes, bytes + 1, packet_bytes - 1) == 0;
    }

    void receive(int content)
    {
        std::array<void*, burst> received{};
        for (std::size_t i = 0; i != bursts; ++i) {
            // As many as available: at the limit, the rest of the burst is dropped, without an exception.
            const std::size_t count = packets.try_allocate_bulk(received.data(), burst);
            for (std::size_t each = 0; each != count; ++each)
                std::memset(received[each], content, packet_bytes);
            for (std::size_t each = 0; each != count; ++each)
                damaged += is_intact(received[each], content) ? 0U : 1U;
            packets.deallocate_bulk(received.data(), count);
            sent += count;
            dropped += burst - count;
            // A single packet, which another thread may free. At the limit it is nullptr, which deallocate ignores.
            packets.deallocate(newest.exchange(packets.try_allocate()));
        }
    }
};
} // namespace

int main()
{
    router all;
    std::array<std::thread, 4> threads;
    for (std::size_t i = 0; i != threads.size(); ++i)
        threads[i] = std::thread(&router::receive, &all, static_cast<int>(i + 1));
    for (std::thread& each : threads)
        each.join();
    all.packets.deallocate(all.newest);

    const memory_pool::pool_statistics counted = all.packets.statistics();
    std::printf("packets sent: %zu, dropped at the limit: %zu, damaged: %zu\n", all.sent.load(), all.dropped.load(),
                all.damaged.load());
    std::printf("peak in use: %zu, in use: %zu, reserved: %zu KiB\n", counted.peak_in_use, counted.in_use,
                counted.bytes_reserved / 1024);
    if (all.sent + all.dropped == threads.size() * bursts * burst && all.damaged == 0 && counted.in_use == 0 &&
        counted.peak_in_use <= 100 && counted.allocations >= all.sent)
        return 0;
    std::fprintf(stderr, "packet_buffers: packets were lost, damaged or misaligned\n");
    return 1;
}
