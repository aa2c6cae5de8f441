// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/np_alloc.h>
#include <np_alloc/diagnostics/cached_block_set.hpp>
#include <np_alloc/engine/engine.hpp>
#include <np_alloc/support/pointer_encoding.hpp>

#include <support/child.hpp>
#include <support/error_recorder.hpp>
#include <support/np_blocks.hpp>
#include <support/option_for_now.hpp>
#include <support/system_calls.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace np = memory_pool::np;

namespace {
constexpr std::array<std::size_t, 7> sizes_of_all_kinds{0, 16, 500, 5000, 30'000, 100'000, 3'000'000};

/// The usable bytes of blocks, by address.
using blocks = std::map<void*, std::size_t>;

/// The blocks in use of one heap, or of all heaps.
blocks visited(np_heap* heap)
{
    blocks all;
    EXPECT_EQ(np_heap_visit(
                  heap,
                  [](void* block, std::size_t bytes, void* argument) {
                      return static_cast<blocks*>(argument)->try_emplace(block, bytes).second ? 1 : 0;
                  },
                  &all),
              1)
        << "no block is visited twice";
    return all;
}

/// Returns: the blocks of `all` that are not in `before`.
blocks without(blocks all, const blocks& before)
{
    for (const auto& each : before)
        EXPECT_EQ(all.erase(each.first), 1U) << "an earlier block is still in use";
    return all;
}

/// Allocates blocks of all kinds, and frees some. Returns: the blocks in use.
template <class Allocate, class Free>
blocks some_blocks(Allocate&& allocate, Free&& free)
{
    blocks kept;
    for (const std::size_t bytes : sizes_of_all_kinds) {
        for (int i = 0; i != 100; ++i) {
            void* const block = allocate(bytes);
            kept.emplace(block, np_usable_size(block));
        }
        int i = 0;
        for (auto each = kept.begin(); each != kept.end(); ++i) {
            if (i % 3 == 0) {
                free(each->first);
                each = kept.erase(each);
            } else {
                ++each;
            }
        }
    }
    return kept;
}

void free_all(const blocks& all)
{
    for (const auto& each : all)
        np_free(each.first);
}

TEST(np_heap_visit, visits_each_block_in_use_of_a_heap)
{
    np_heap* const heap = np_heap_create();
    EXPECT_EQ(visited(heap), blocks{});
    const blocks kept = some_blocks([heap](std::size_t bytes) { return np_heap_alloc(heap, bytes); }, np_free);
    EXPECT_EQ(visited(heap), kept);
    np_heap_destroy(heap);
}

TEST(np_heap_visit, visits_each_block_in_use_of_all_heaps_and_threads)
{
    const blocks before = visited(nullptr);
    np_heap* const heap = np_heap_create();
    blocks kept = some_blocks(np_alloc, np_free);
    kept.merge(some_blocks([heap](std::size_t bytes) { return np_heap_alloc(heap, bytes); }, np_free));
    kept.merge(some_blocks([](std::size_t bytes) { return np_alloc_at(bytes, "a.c", 1); }, np_free));
    test::lasting_thread idle;
    idle.does([&kept] { kept.merge(some_blocks(np_alloc, np_free)); });
    test::in_a_thread([&kept] { kept.merge(some_blocks(np_alloc, np_free)); });
    EXPECT_EQ(without(visited(nullptr), before), kept);
    free_all(kept);
    np_heap_destroy(heap);
    EXPECT_EQ(visited(nullptr), before);
}

TEST(np_heap_visit, skips_blocks_in_transit)
{
    const blocks before = visited(nullptr);
    test::lasting_thread owner;
    test::lasting_thread other;
    blocks all;
    owner.does([&all] {
        for (int i = 0; i != 200; ++i)
            all.emplace(np_alloc(16), 16U);
    });
    EXPECT_EQ(without(visited(nullptr), before), all);
    other.does([&all] { free_all(all); });
    EXPECT_EQ(visited(nullptr), before);
}

TEST(np_heap_visit, stops_when_the_callback_returns_0)
{
    np_heap* const heap = np_heap_create();
    (void)np_heap_alloc(heap, 10);
    (void)np_heap_alloc(heap, 100'000);
    for (np_heap* const where : {heap, static_cast<np_heap*>(nullptr)}) {
        int visits = 0;
        const auto count_one = [](void*, std::size_t, void* count) { return ++*static_cast<int*>(count), 0; };
        EXPECT_EQ(np_heap_visit(where, count_one, &visits), 0);
        EXPECT_EQ(visits, 1);
    }
    np_heap_destroy(heap);
}

TEST(np_heap_visit, propagates_exceptions_of_the_callback)
{
    np_heap* const heap = np_heap_create();
    (void)np_heap_alloc(heap, 10);
    const auto throw_number = [](void*, std::size_t, void*) -> int { throw 77; };
    EXPECT_THROW((void)np_heap_visit(heap, throw_number, nullptr), int);
    EXPECT_THROW((void)np_heap_visit(nullptr, throw_number, nullptr), int);
    np_heap_destroy(heap);
}

TEST(np_heap_visit, sets_ENOMEM_when_there_is_no_memory)
{
    void* const block = np_alloc(10);
    const auto fail = [](void*, std::size_t, void*) {
        ADD_FAILURE() << "visited a block";
        return 1;
    };
    for (const test::system_call refused : {test::system_call::map, test::system_call::protect}) {
        const test::system_calls calls;
        calls.refuse_from(refused, 1);
        errno = 0;
        EXPECT_EQ(np_heap_visit(nullptr, fail, nullptr), -1);
        EXPECT_EQ(errno, ENOMEM);
    }
    np_free(block);
}

TEST(np_verify, passes_in_an_undamaged_process)
{
    EXPECT_EQ(np_verify(), 1);
    test::lasting_thread idle;
    blocks all = some_blocks(np_alloc, np_free);
    np_heap* const heap = np_heap_create();
    (void)some_blocks([heap](std::size_t bytes) { return np_heap_alloc(heap, bytes); }, np_free);
    all.merge(some_blocks([](std::size_t bytes) { return np_alloc_at(bytes, "a.c", 1); }, np_free));
    EXPECT_EQ(np_verify(), 1);
    idle.does([&all] { free_all(std::exchange(all, some_blocks(np_alloc, np_free))); });
    EXPECT_EQ(np_verify(), 1);
    test::in_a_thread([&all] { free_all(all); });
    EXPECT_EQ(np_verify(), 1);
    np_heap_destroy(heap);
    (void)np_trim();
    EXPECT_EQ(np_verify(), 1);
}

TEST(np_verify, passes_after_remote_frees)
{
    std::array<std::atomic<void*>, 256> shared{};
    for (int life = 0; life != 5; ++life) {
        test::in_threads(4, [&](std::size_t thread) {
            std::mt19937 random(static_cast<unsigned>(thread + 1));
            for (int step = 0; step != 2000; ++step) {
                void* const block = np_alloc(random() % (random() % 50 == 0 ? 200'000 : 2000));
                np_free(np_realloc(shared[random() % shared.size()].exchange(block), 1 + random() % 3000));
            }
        });
        ASSERT_EQ(np_verify(), 1);
    }
    for (std::atomic<void*>& each : shared)
        np_free(each);
    EXPECT_EQ(np_verify(), 1);
}

#if TESTS_MAY_FORK
TEST(np_verify, passes_in_the_child_of_a_fork)
{
    test::lasting_thread idle;
    blocks kept;
    idle.does([&kept] { kept = some_blocks(np_alloc, np_free); });
    test::expect_in_child([&kept] {
        free_all(kept);
        free_all(some_blocks(np_alloc, np_free));
        return np_verify() == 1;
    });
    free_all(kept);
}

TEST(np_verify, passes_in_the_child_of_a_fork_amid_calls_of_other_threads)
{
    std::atomic<bool> ends{false};
    const auto work = [&ends](std::size_t) {
        while (!ends) {
            np_free(np_realloc(np_realloc(np_alloc(100'000), 400'000), 200'000));
            np_heap* const heap = np_heap_create();
            (void)np_heap_alloc(heap, 100);
            (void)np_heap_alloc(heap, 100'000);
            np_heap_destroy(heap);
        }
    };
    const test::option_for_now at_once(np_option_decay_ms, 0); // The calls below purge memory immediately.
    std::thread others([&] { test::in_threads(2, work); });
    for (int i = 0; i != 50; ++i)
        test::expect_in_child([] { return np_verify() == 1; });
    ends = true;
    others.join();
}
#endif

/// Each test damages the state of np_alloc, expects np_verify to report the damage, and repairs it.
struct np_verify_finds : testing::Test
{
    np::heap_registry& all = np::registry();
    const np::page_heap::region_type& memory = all.pages().region();
    static constexpr std::size_t bytes = 96;
    static constexpr std::size_t size_class = np::sizes::of(bytes + (np::is_checked ? 1 : 0)); // with a canary
    const test::immediate_reuse no_quarantine;
    np_heap* const heap = np_heap_create();
    void* const block = np_alloc(bytes);
    void* const of_heap = np_heap_alloc(heap, bytes);
    void* const large = np_alloc(200'000);
    void* const large_of_heap = np_heap_alloc(heap, 200'000);

    np_verify_finds() { EXPECT_EQ(np_verify(), 1); }
    ~np_verify_finds() override
    {
        EXPECT_EQ(np_verify(), 1) << "the damage was repaired";
        np_free(block);
        np_free(large);
        np_heap_destroy(heap);
    }

    np::record_of_slice& slice_of(const void* address) { return memory.record_of(address); }
    np::record_of_slice& slab_of(const void* of) { return memory.record(slice_of(of).slab); }
    /// The only slab of `heap`, nearly all of whose blocks are free.
    np::slice_record& slab() { return slab_of(of_heap); }
    np::heap& heap_of(const void* of) { return *reinterpret_cast<np::heap*>(memory.tag_of(of) & ~np::class_bits); }
    np::thread_heap& mine() { return np::this_thread.cache.heap(); }

    /// A block cached by this thread.
    void* kept()
    {
        np_free(np_alloc(bytes));
        return mine().top(size_class)[-1];
    }

    static void* taken_from(np::thread_cache& cache, std::size_t of_class)
    {
        void* block = nullptr;
        EXPECT_TRUE(cache.pop(of_class, block));
        return block;
    }

    void expect_inconsistency(const std::string& text)
    {
        testing::internal::CaptureStderr();
        EXPECT_EQ(np_verify(), 0);
        const std::string printed = testing::internal::GetCapturedStderr();
        EXPECT_NE(printed.find("np_alloc: np_verify: " + text), std::string::npos) << printed;
    }

    /// Expects np_verify to report `text` while `value` is `damaged`.
    template <class Value>
    void expect_inconsistency_with(Value& value, Value damaged, const std::string& text)
    {
        const Value before = std::exchange(value, damaged);
        expect_inconsistency(text);
        value = before;
    }

    void expect_inconsistency_with_owner(const void* address, np::slice_tag damaged, const std::string& text)
    {
        std::atomic<np::slice_tag>& owner = memory.tag_of(address);
        const np::slice_tag before = owner.exchange(damaged);
        expect_inconsistency(text);
        owner = before;
    }
};

TEST_F(np_verify_finds, inconsistent_runs)
{
    expect_inconsistency_with(slice_of(large).length, slice_of(large).length + 1, "the runs");
    expect_inconsistency_with(slice_of(large).state, np::slice_state::free, "the runs");
}

TEST_F(np_verify_finds, a_wrong_free_count_of_a_slab)
{
    expect_inconsistency_with(slab().free_count, slab().free_count + 1,
                              "the free count of a slab does not match its bitmap");
    expect_inconsistency_with(slab().free_blocks[0], slab().free_blocks[0] ^ 1,
                              "the free count of a slab does not match its bitmap");
    expect_inconsistency_with(slab().lowest, std::uint16_t{9}, "the free count of a slab does not match its bitmap");
}

TEST_F(np_verify_finds, a_wrong_outstanding_count_of_a_heap)
{
    const np::slice_record before = slab();
    const auto refuse = [](memory_pool::error_kind, const void*) { FAIL(); };
    ASSERT_EQ(slab().put(np::class_info[size_class], &of_heap, 1, refuse).taken_back, 1U);
    expect_inconsistency("the outstanding-block count of a heap does not match its slabs");
    slab() = before;
}

TEST_F(np_verify_finds, inconsistent_slab_metadata)
{
    expect_inconsistency_with(slab().capacity, slab().capacity - 1, "slab metadata is inconsistent");
    expect_inconsistency_with(slab().block_bytes, std::uint32_t{16}, "slab metadata is inconsistent");
    expect_inconsistency_with(slab().begin, slab().begin + 16, "slab metadata is inconsistent");
    np::slice_record& record = slab();
    expect_inconsistency_with(record.slab, record.slab + 1, "slab metadata is inconsistent");
    expect_inconsistency_with(record.size_class, std::uint8_t{1}, "slab metadata is inconsistent");
}

TEST_F(np_verify_finds, a_free_block_beyond_the_capacity_of_its_slab)
{
    const np::slice_record before = slab();
    ASSERT_NE(before.capacity % 64, 0U);
    slab().free_blocks[before.capacity / 64] |= std::uint64_t{1} << 63;
    ++slab().free_count;
    expect_inconsistency("the free count of a slab does not match its bitmap");
    slab() = before;
}

TEST_F(np_verify_finds, a_slab_with_a_wrong_slice_tag)
{
    void* const block_in_slices = np_heap_alloc(heap, 5000);
    const std::byte* const second = memory.address(slab_of(block_in_slices).slab + 1);
    expect_inconsistency_with_owner(second, np::no_owner, "a slice is not tagged as part of its slab");
    const np::slice_index other = slice_of(second).slab + 1; // A constant might equal the index of this slab.
    expect_inconsistency_with(slice_of(second).slab, other, "a slice is not tagged as part of its slab");
}

TEST_F(np_verify_finds, a_slab_without_a_heap)
{
    np::heap& owner = heap_of(of_heap);
    const np::slice_index lost = all.pages().take_slab(size_class, owner.own_tag(), false).first;
    expect_inconsistency("a slab is in no list of its heap");
    expect_inconsistency_with(memory.record(lost).slab, lost + 1, "a run is tagged as a slab, but is not one");
    expect_inconsistency_with_owner(memory.address(lost), owner.own_tag() | np::sizes::of(5000),
                                    "a run is tagged as a slab, but is not one");
    expect_inconsistency_with_owner(memory.address(lost), np::no_owner,
                                    "the slab or large-block count does not match the runs");
    all.pages().give_slab(lost);
}

TEST_F(np_verify_finds, damage_in_the_heap_that_holds_heaps)
{
    expect_inconsistency_with(slab_of(heap).free_count, slab_of(heap).free_count + 1,
                              "the free count of a slab does not match its bitmap");
}

TEST_F(np_verify_finds, torn_lists_of_slabs)
{
    expect_inconsistency_with(slab().previous_in_heap, np::slice_index{12345}, "the list of slabs of a heap is broken");
    expect_inconsistency_with(slab().next_in_heap, np::slice_index{0xFFFF'FFF0},
                              "the list of slabs of a heap leads to uncommitted");
    expect_inconsistency_with(slab().next_in_heap, slab().slab, "the list of slabs of a heap is broken");
    expect_inconsistency_with(slab().next_in_heap, memory.slice_of(large),
                              "the list of slabs of a heap leads to a slab that is not its own");
    expect_inconsistency_with(slab().previous_slab, np::no_slice, "the list of slabs with free blocks lacks a slab");
    expect_inconsistency_with(slab().previous_slab, np::slice_index{12345},
                              "the list of slabs with free blocks is broken");
    expect_inconsistency_with(slab().next_slab, slab().slab, "the list of slabs with free blocks is broken");
    expect_inconsistency_with(slab().next_slab, np::slice_index{0xFFFF'FFF0},
                              "the list of slabs of a heap leads to uncommitted");
}

TEST_F(np_verify_finds, a_slab_in_the_list_of_another_size_class)
{
    np::slice_record& another = slab_of(np_heap_alloc(heap, 1000));
    ASSERT_GT(another.size_class, slab().size_class) << "np_verify checks the list of the other class later";
    const np::slice_index before = std::exchange(another.previous_slab, slab().slab);
    expect_inconsistency_with(slab().next_slab, another.slab, "the list of slabs with free blocks is broken");
    another.previous_slab = before;
}

/// Two slabs of one size class; the first is full.
struct np_verify_finds_among_two_slabs : np_verify_finds
{
    static constexpr std::size_t bytes_of_these = 1000;
    std::vector<void*> in_first = blocks_of_one_slab();
    void* const in_second = np_heap_alloc(heap, bytes_of_these);
    np::slice_record& first = slab_of(in_first[0]);
    np::slice_record& second = slab_of(in_second);

    std::vector<void*> blocks_of_one_slab()
    {
        std::vector<void*> all_of_it(np::slab_capacity(np::sizes::of(bytes_of_these)));
        for (void*& each : all_of_it)
            each = np_heap_alloc(heap, bytes_of_these);
        return all_of_it;
    }
};

TEST_F(np_verify_finds_among_two_slabs, a_full_slab_in_the_list_of_slabs_with_free_blocks)
{
    const np::slice_index next = std::exchange(first.next_slab, np::no_slice);
    expect_inconsistency_with(second.next_slab, first.slab, "the list of slabs with free blocks is broken");
    const np::slice_index last = std::exchange(second.previous_slab, first.slab);
    expect_inconsistency_with(first.previous_slab, second.slab,
                              "the list of slabs with free blocks lacks a slab, or contains a full slab");
    second.previous_slab = last;
    first.next_slab = next;
}

TEST_F(np_verify_finds_among_two_slabs, an_unlisted_slab_with_free_blocks)
{
    np_free(in_first[0]);
    ASSERT_EQ(first.next_slab, second.slab);
    expect_inconsistency_with(first.next_slab, np::no_slice, "the list of slabs with free blocks is broken");
    const np::slice_index last = std::exchange(first.previous_slab, first.slab);
    expect_inconsistency_with(first.next_slab, np::no_slice, "a slab with free blocks is missing from its list");
    first.previous_slab = last;
}

TEST_F(np_verify_finds, a_slab_that_is_in_no_list_of_its_heap)
{
    np::slice_record& another = slab_of(np_heap_alloc(heap, 1000));
    const np::slice_index last = std::exchange(another.previous_in_heap, another.slab);
    expect_inconsistency_with(another.next_in_heap, np::no_slice,
                              "the outstanding-block count of a heap does not match its slabs");
    another.previous_in_heap = last;
}

TEST_F(np_verify_finds, wrong_slice_tags)
{
    expect_inconsistency_with_owner(block, np::no_owner,
                                    "the list of slabs of a heap leads to a slab that is not its own");
    expect_inconsistency_with_owner(of_heap, heap_of(of_heap).own_tag() | np::mmap_block,
                                    "the list of slabs of a heap leads to a slab that is not its own");
    expect_inconsistency_with_owner(large, np::no_owner, "the tag of a slice does not match its run");
    expect_inconsistency_with_owner(large, np::inside_large_block, "a run has an impossible tag");
    expect_inconsistency_with_owner(static_cast<std::byte*>(large) + np::slice_bytes, np::no_owner,
                                    "the tag of a slice does not match its run");
    expect_inconsistency_with_owner(large_of_heap, np::no_owner, "the list of large blocks of a heap is broken");
}

TEST_F(np_verify_finds, large_blocks_in_no_list_or_the_wrong_one)
{
    auto* const owner = reinterpret_cast<np::shared_heap*>(heap);
    expect_inconsistency_with(slice_of(large).home, owner, "a large block is in no list of its heap");
    expect_inconsistency_with(slice_of(large_of_heap).home, static_cast<np::shared_heap*>(nullptr),
                              "the list of large blocks of a heap is broken");
    expect_inconsistency_with(slice_of(large_of_heap).previous_in_heap, np::slice_index{5},
                              "the list of large blocks of a heap is broken");
    expect_inconsistency_with(slice_of(large_of_heap).next_in_heap, np::slice_index{0xFFFF'FFF0},
                              "the list of large blocks of a heap is broken");
}

TEST_F(np_verify_finds, a_large_block_without_tags)
{
    const np::slice_index first = memory.slice_of(large);
    const auto mark = [&](np::slice_tag of_first, np::slice_tag of_others) {
        for (np::slice_index slice = first; slice != first + slice_of(large).length; ++slice)
            memory.tag(slice) = slice == first ? of_first : of_others;
    };
    mark(np::no_owner, np::no_owner);
    expect_inconsistency("the slab or large-block count does not match the runs");
    mark(np::large_block, np::inside_large_block);
}

TEST_F(np_verify_finds, a_thread_heap_in_no_list)
{
    test::lasting_thread other;
    other.does([] { np_free(np_alloc(10)); });
    np::thread_heap* first = nullptr;
    struct
    {
        np::thread_heap*& first;
        void operator()(np::thread_heap& each) const { first = first != nullptr ? first : &each; }
        void operator()(np::shared_heap&) const {}
    } const find_first{first};
    all.heaps().for_each_heap(find_first);
    expect_inconsistency_with(first->next, static_cast<np::thread_heap*>(nullptr), "a slab is in no list of its heap");
}

TEST_F(np_verify_finds, a_run_without_an_owner)
{
    const np::run taken = all.pages().source().take_bytes(1, 1);
    expect_inconsistency("a run is in use but has no owner");
    all.pages().source().with_runs([&taken](auto& runs) { runs.put(taken.first, taken.length, true, 0); });
}

TEST_F(np_verify_finds, an_unlisted_parked_heap)
{
    std::atomic<int> missing{2};
    test::in_threads(2, [&missing](std::size_t) {
        np_free(np_alloc(bytes));
        for (--missing; missing != 0;) // Waits until both threads have a heap.
            std::this_thread::yield();
    });
    np::thread_heap* first = nullptr;
    struct
    {
        np::thread_heap*& found;
        void operator()(np::thread_heap& each) const
        {
            if (each.is_parked && each.next_parked != nullptr)
                found = &each;
        }
        void operator()(np::shared_heap&) const {}
    } const find_first{first};
    all.heaps().for_each_heap(find_first);
    ASSERT_NE(first, nullptr);
    expect_inconsistency_with(first->next_parked, static_cast<np::thread_heap*>(nullptr),
                              "a parked heap is missing from the list of parked heaps");
}

TEST_F(np_verify_finds, a_block_cached_twice)
{
    void* const between = np_alloc(bytes);
    void* const twice = kept();
    np::thread_cache& cache = np::this_thread.cache;
    (void)cache.push(size_class, between);
    (void)cache.push(size_class, twice); // The cache rejects an immediate double free.
    expect_inconsistency("a block is cached twice");
    errno = 0;
    EXPECT_EQ(np_heap_visit(nullptr, [](void*, std::size_t, void*) { return 1; }, nullptr), -1);
    EXPECT_EQ(errno, ENOTRECOVERABLE);
    ASSERT_EQ(taken_from(cache, size_class), twice);
    ASSERT_EQ(taken_from(cache, size_class), between);
    np_free(between);
}

TEST_F(np_verify_finds, a_cached_block_that_is_free_in_its_slab)
{
    void* const twice = kept(); // The block may be of any heap: a thread cache keeps large blocks of other heaps, too.
    np::heap& slabs = heap_of(twice);
    ASSERT_FALSE(slabs.put(size_class, twice).has_value());
    expect_inconsistency("a cached block is also free in its slab");
    std::vector<void*> taken;
    do
        taken.push_back(nullptr);
    while (slabs.take(size_class, &taken.back(), 1) == 1 && taken.back() != twice);
    taken.pop_back();
    slabs.put(size_class, taken.data(), taken.size());
}

TEST_F(np_verify_finds, invalid_pointers_in_a_magazine)
{
    np::thread_cache& cache = np::this_thread.cache;
    int local = 0;
    const std::array<std::pair<void*, const char*>, 3> cases{{
        {&local, "a cached block is in no slab"},
        {large, "a cached block is in no slab"},
        {static_cast<std::byte*>(block) + 16, "a cached block does not begin at a block boundary"},
    }};
    for (const auto& [address, text] : cases) {
        (void)cache.push(size_class, address);
        expect_inconsistency(text);
        ASSERT_EQ(taken_from(cache, size_class), address);
    }
    cache.put(size_class + 1, block);
    expect_inconsistency("a block is in the magazine of another size class");
    ASSERT_EQ(taken_from(cache, size_class + 1), block);
}

#if MEMORY_POOL_NP_CHECKED
TEST_F(np_verify_finds, wrong_block_states)
{
    void* const free_one = kept();
    np::checked_slice& slab = slab_of(free_one);
    const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(free_one) - slab.begin);
    np::block_state& mark = slab.blocks[offset / slab.block_bytes];
    (void)mark.hand_out(10);
    mark.begin_use();
    expect_inconsistency("a free block has the state of a block in use");
    mark.forget();
    np::block_state& mark_of_large = slice_of(large).large;
    mark_of_large.forget();
    expect_inconsistency("a large block has the state of a free block");
    (void)mark_of_large.hand_out(0);
    mark_of_large.begin_use();
}
#endif

TEST_F(np_verify_finds, a_magazine_with_an_overwritten_end)
{
    expect_inconsistency_with(*mine().end(size_class), block, "a magazine is out of place");
}

TEST_F(np_verify_finds, a_magazine_with_its_top_out_of_bounds)
{
    test::in_a_thread([] { np_free(np_alloc(bytes)); });
    np::thread_heap* parked = nullptr;
    struct
    {
        np::thread_heap*& found;
        void operator()(np::thread_heap& each) const { found = each.is_parked ? &each : found; }
        void operator()(np::shared_heap&) const {}
    } const find_parked{parked};
    all.heaps().for_each_heap(find_parked);
    ASSERT_NE(parked, nullptr);
    void**& top = parked->tops[size_class];
    expect_inconsistency_with(top, parked->begin(size_class) - 1, "a magazine is out of place");
    expect_inconsistency_with(top, parked->end(size_class) + 1, "a magazine is out of place");
}

TEST_F(np_verify_finds, a_cached_block_of_a_slab_outside_of_the_region)
{
    void* const free_block = kept();
    np::slice_record& record = slice_of(free_block);
    const np::slice_index before = std::exchange(record.slab, np::slice_index{0xFFFF'FFF0});
    EXPECT_STREQ(np::cached_block_set(all).find_all().what, "a cached block is in a slab outside of the region");
    record.slab = before;
}

TEST_F(np_verify_finds, a_block_in_transit_twice)
{
    (void)np_trim(); // A double free makes the list of remote frees a cycle, which loses the entries behind the block.
    test::lasting_thread owner;
    // A new thread, because a thread with many remote frees keeps small blocks.
    test::lasting_thread other;
    other.does([] { np_free(np_alloc(16)); }); // Creates its heap.
    void* small = nullptr;
    owner.does([&small] { small = np_alloc(16); });
    other.does([this, small] {
        np_free(small);
        mine().slabs.add_remote_frees(memory.tag_of(small), &small, 1);
    });
    expect_inconsistency("a block is cached twice");
    other.does([this] { mine().slabs.send_all(); });
    test::error_recorder recorder;
    owner.does([this] { (void)mine().slabs.drain(); });
    EXPECT_EQ(recorder.kinds(), test::kinds{memory_pool::error_kind::double_free});
}

TEST_F(np_verify_finds, a_batch_damaged_by_a_write_after_free)
{
    test::lasting_thread owner;
    // A new thread, because a thread with many remote frees keeps small blocks.
    test::lasting_thread other;
    other.does([] { np_free(np_alloc(16)); }); // Creates its heap.
    const void* batch = nullptr;
    while (batch == nullptr) { // np_alloc sends some batches at once.
        void* small = nullptr;
        owner.does([&small] { small = np_alloc(16); });
        other.does([&] {
            np_free(small);
            (void)mine().slabs.for_each_in_transit([&batch](const void* each) { return batch = each, false; });
            mine().slabs.send_all(); // The next remote free starts a new batch.
        });
    }
    auto* const words = static_cast<std::size_t*>(const_cast<void*>(batch));
    const std::uint64_t one_less = np::the_pointer_encoding.convert_count(words[1]) - 1;
    expect_inconsistency_with(words[1], static_cast<std::size_t>(np::the_pointer_encoding.convert_count(one_less)),
                              "blocks in transit do not match");
    expect_inconsistency_with(words[2], std::size_t{0xABCD'0000}, "a cached block is in no slab");
}

TEST_F(np_verify_finds, call_sites_of_blocks_that_are_not_in_use)
{
    void* const traced = np_alloc_at(bytes, "a.c", 1);
    void* const large_traced = np_alloc_at(200'000, "a.c", 1);
    void* const freed = np_alloc_at(bytes, "a.c", 1);
    np_free(freed);
    int local = 0;
    for (void* wrong : {block, large, of_heap, freed, static_cast<void*>(&local), reinterpret_cast<void*>(16),
                        static_cast<void*>(static_cast<std::byte*>(traced) + 16),
                        static_cast<void*>(static_cast<std::byte*>(large_traced) + 16)}) {
        for (np::call_site_heap& each : all.heaps().call_site_heaps) {
            ASSERT_TRUE(each.sites().remember(wrong, 10, {"a.c", 1}));
            expect_inconsistency("a call site is recorded for a block that is not in use");
            each.sites().forget(wrong);
        }
    }
    np_free(traced);
    np_free(large_traced);
}

#if TESTS_MAY_FORK
TEST_F(np_verify_finds, two_call_sites_of_one_block)
{
    void* const traced = np_alloc_at(bytes, "a.c", 1);
    test::expect_in_child([&] { // Uses a child process, because the test cannot repair the damage.
        np::call_sites& sites = all.heaps().call_site_heaps.front().sites();
        const bool is_damaged = sites.remember(traced, bytes, {"b.c", 1}) && sites.remember(traced, bytes, {"c.c", 1});
        testing::internal::CaptureStderr();
        return is_damaged && np_verify() == 0 &&
               testing::internal::GetCapturedStderr().find("the table of call sites is damaged") != std::string::npos;
    });
    np_free(traced);
}
#endif

TEST_F(np_verify_finds, a_lack_of_memory)
{
    const test::system_calls calls;
    calls.refuse_from(test::system_call::map, 1);
    expect_inconsistency("no memory for the set of cached blocks");
    calls.refuse_nothing();
}
} // namespace
