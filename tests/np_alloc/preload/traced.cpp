// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// A program for system_calls_test.py: threads with blocks of all sizes, growing blocks, a forked child, and a pause
// longer than the decay time.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {
void work(std::size_t seed)
{
    std::array<void*, 200> blocks{};
    for (std::size_t i = 0; i != 3000; ++i) {
        seed = (seed * 48271 + 11) % 2147483647;
        void*& block = blocks[seed % blocks.size()];
        std::free(block);
        const std::size_t bytes = std::size_t{16} << seed / blocks.size() % 18;
        block = seed % 3 != 0 ? std::malloc(bytes) : std::calloc(bytes, 1);
        if (block != nullptr)
            std::memset(block, 1, bytes);
    }
    void* grown = nullptr;
    for (std::size_t bytes = 1000; bytes < std::size_t{40} << 20; bytes *= 2) {
        grown = std::realloc(grown, bytes);
        if (grown != nullptr)
            std::memset(grown, 1, bytes);
    }
    std::free(grown);
    for (void* const each : blocks)
        std::free(each);
}
} // namespace

int main()
{
    std::array<std::thread, 3> threads;
    for (std::size_t i = 0; i != threads.size(); ++i)
        threads[i] = std::thread(work, i + 1);
    for (std::thread& each : threads)
        each.join();
    work(7);
    std::free(std::malloc(std::size_t{2} << 30));
    const pid_t child = fork();
    if (child == 0) {
        work(8);
        _exit(0);
    }
    int status = 0;
    (void)waitpid(child, &status, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    work(9);
    return status;
}
