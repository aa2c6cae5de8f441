// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A typical C++14 program for the original np_alloc: includes only np_alloc.h and uses its names without namespaces.
/// Exits with 0.
#include <np_alloc.h>

static_assert(__cplusplus == 201402L, "this program shows that nothing asks for a later language");

using namespace std;
using namespace np;

namespace {
atomic<uint32> failures{0};
mutex output;

void expect(bool condition, const char* what)
{
    if (condition)
        return;
    ++failures;
    const lock_guard<mutex> one_at_a_time(output);
    cerr << "failed: " << what << '\n';
}

static_assert(is_same<decltype(1_MB), size_t>::value && 3_MB == 3145728 && 4_GB == 4096_MB, "");
static_assert(clz(uint32{1}) == 31 && ctz(uint64{1} << 40) == 40 && popcnt(uint32{0xFF}) == 8, "");
static_assert(log2(1024) == 10, "");

/// Repeatedly fills a table with blocks of random sizes and frees every other one; frees all of them at the end.
void allocate_and_free(uint32 seed)
{
    mt19937 random(seed);
    uniform_int_distribution<int32> sizes(50, 7100);
    vector<byte*> blocks;
    for (int32 i = 0; i != 20000; ++i) {
        const auto bytes = static_cast<size_t>(sizes(random));
        blocks.push_back(static_cast<byte*>(np_alloc(bytes, __FILE__, __LINE__)));
        expect(blocks.back() != nullptr, "np_alloc gives a block");
        blocks.back()[0] = static_cast<byte>(i);
        blocks.back()[bytes - 1] = static_cast<byte>(i);
        if (i % 2 == 0)
            continue;
        expect(blocks.back()[0] == static_cast<byte>(i), "a block holds what was written to it");
        np_free(blocks.back());
        blocks.pop_back();
    }
    for (byte* block : blocks)
        np_free(block);
}

chrono::nanoseconds time_of_threads()
{
    const auto start = chrono::steady_clock::now();
    vector<thread> threads;
    for (uint32 i = 0; i != 4; ++i)
        threads.emplace_back(allocate_and_free, i);
    for (thread& each : threads)
        each.join();
    return chrono::steady_clock::now() - start;
}
} // namespace

int main()
{
    cout << "four threads: " << time_of_threads().count() << " ns\n";

    void* const aligned = np::aligned_alloc(1_MB, 4096);
    expect(reinterpret_cast<uintptr_t>(aligned) % 4096 == 0, "a block is aligned as was asked for");
    memset(aligned, 0, 1_MB);
    aligned_free(aligned);

    const array<string, 2> words{{"one", "two"}};
    expect(words[1].size() == 3, "std's strings and arrays");
    np_debug_print();
    expect(np_leak_report(np_format_text, nullptr, nullptr) == 0, "no block is in use that a line has asked for");
    return failures == 0 ? 0 : 1;
}
