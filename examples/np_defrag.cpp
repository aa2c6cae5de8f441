// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Defragments a heap. A hash table erases nine of ten nodes at random, so that few slabs become empty. Then the table
/// moves nodes out of sparse slabs with np_defrag_move, as a server would do in idle time.
///
///     np_defrag [statistics]      `statistics`: prints all statistics of np_alloc after each step
#include <memory_pool/np_alloc.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

namespace {
/// A node of a table. It can be moved because it is trivially copyable and only one pointer refers to it.
struct node
{
    node* next;
    std::uint64_t key;
    std::uint64_t value;
    std::uint64_t padding[5];
};

/// A hash table with chains.
class table
{
public:
    explicit table(std::size_t buckets) : buckets_(buckets, nullptr) {}
    table(const table&) = delete;
    table& operator=(const table&) = delete;
    ~table()
    {
        erase_if([](std::uint64_t) { return true; });
    }

    void insert(std::uint64_t key, std::uint64_t value)
    {
        node*& first = bucket_of(key);
        first = new (memory_pool::np_allocate(sizeof(node))) node{first, key, value, {}};
    }

    const node* find(std::uint64_t key) const
    {
        const node* each = buckets_[key % buckets_.size()];
        while (each != nullptr && each->key != key)
            each = each->next;
        return each;
    }

    template <class IsErased>
    void erase_if(IsErased&& is_erased)
    {
        for (node*& first : buckets_)
            for (node** link = &first; *link != nullptr;) {
                if (is_erased((*link)->key))
                    np_free(std::exchange(*link, (*link)->next));
                else
                    link = &(*link)->next;
            }
    }

    /// Effects: moves nodes of sparse slabs into denser ones. A server would do so for a few buckets at a time.
    /// Returns: the number of moved nodes.
    std::size_t defragment()
    {
        std::size_t moved = 0;
        for (node*& first : buckets_)
            for (node** link = &first; *link != nullptr; link = &(*link)->next)
                if (void* const to = np_defrag_move(*link)) {
                    *link = static_cast<node*>(to);
                    ++moved;
                }
        return moved;
    }

private:
    node*& bucket_of(std::uint64_t key) { return buckets_[key % buckets_.size()]; }

    std::vector<node*> buckets_;
};

/// Returns: resident bytes of np_alloc if known, otherwise its committed bytes.
std::size_t memory_now(bool prints_statistics)
{
    (void)np_trim();
    if (prints_statistics)
        np_statistics_print(np_format_text, stdout);
    np_statistics statistics;
    np_get_statistics(&statistics);
    const std::size_t resident = np_resident_bytes();
    const std::size_t bytes = resident != 0 ? resident : statistics.bytes_committed;
    std::printf("  %7.1f MiB, of which %7.1f MiB are in use, in %zu slabs\n", static_cast<double>(bytes) / (1 << 20),
                static_cast<double>(statistics.bytes_in_use) / (1 << 20), statistics.slabs);
    return bytes;
}
} // namespace

int main(int argc, char** argv)
{
    const bool prints_statistics = argc > 1 && std::string_view(argv[1]) == "statistics";
    constexpr std::uint64_t count = 1'000'000;
    table numbers(count);
    for (std::uint64_t key = 0; key != count; ++key)
        numbers.insert(key, key * key);
    std::printf("a million nodes:\n");
    const std::size_t full = memory_now(prints_statistics);

    std::mt19937_64 random(1);
    std::vector<bool> is_erased(count);
    std::generate(is_erased.begin(), is_erased.end(), [&random] { return random() % 10 != 0; });
    numbers.erase_if([&is_erased](std::uint64_t key) { return is_erased[key]; });
    std::printf("after erasing nine of ten at random:\n");
    const std::size_t sparse = memory_now(prints_statistics);

    std::size_t moved = 0;
    while (const std::size_t more = numbers.defragment())
        moved += more;
    std::printf("after moving %zu nodes:\n", moved);
    const std::size_t dense = memory_now(prints_statistics);

    for (std::uint64_t key = 0; key != count; ++key) {
        const node* const found = numbers.find(key);
        if ((found == nullptr) != is_erased[key] || (found != nullptr && found->value != key * key))
            return 1;
    }
    // Erasing nodes returned little memory. Moving the remaining nodes returned most of the memory.
    return sparse > full / 2 && dense < sparse / 4 ? 0 : 1;
}
