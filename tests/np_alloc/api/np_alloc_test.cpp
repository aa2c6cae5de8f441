// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>
#include <support/error_recorder.hpp>
#include <support/jumps_back.hpp>
#include <support/np_blocks.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace {
// Functions that do not throw are noexcept.
static_assert(noexcept(np_alloc(1)) && noexcept(np_calloc(1, 1)) && noexcept(np_realloc(nullptr, 1)));
static_assert(noexcept(np_free(nullptr)) && noexcept(np_usable_size(nullptr)) && noexcept(np_trim()));
static_assert(noexcept(np_heap_alloc(np_heap_create(), 1)) && noexcept(np_heap_destroy(nullptr)));
static_assert(noexcept(np_alloc_at(1, __FILE__, __LINE__)) && noexcept(np_leak_checkpoint()));
// A callback of the caller may throw.
static_assert(!noexcept(np_heap_visit(nullptr, nullptr, nullptr)) &&
              !noexcept(np_leak_report(np_format_text, nullptr, nullptr)));

constexpr std::size_t largest = std::numeric_limits<std::size_t>::max();

bool is_aligned(const void* block, std::size_t alignment)
{
    return reinterpret_cast<std::uintptr_t>(block) % alignment == 0;
}

/// Sizes around every boundary up to 4 MiB.
std::vector<std::size_t> interesting_sizes()
{
    std::vector<std::size_t> sizes;
    for (std::size_t bytes = 0; bytes <= 2100; ++bytes)
        sizes.push_back(bytes);
    for (std::size_t power = 4096; power <= std::size_t{4} << 20; power *= 2)
        for (std::size_t offset : {power / 8, power / 2, std::size_t{0}})
            for (std::size_t delta : {std::size_t{0}, std::size_t{1}, std::size_t{2}})
                sizes.push_back(power + offset + delta - 1);
    return sizes;
}

TEST(np_alloc, returns_aligned_blocks_that_do_not_overlap)
{
    std::map<std::uintptr_t, std::size_t> blocks;
    for (std::size_t bytes : interesting_sizes()) {
        auto* const block = static_cast<unsigned char*>(np_alloc(bytes));
        ASSERT_NE(block, nullptr) << bytes;
        ASSERT_TRUE(is_aligned(block, 16));
        const std::size_t usable = np_usable_size(block);
        ASSERT_GE(usable, bytes);
        ASSERT_EQ(usable, np_good_size(bytes));
        ASSERT_TRUE(np_owns(block));
        std::memset(block, 0x5A, usable);
        blocks.emplace(reinterpret_cast<std::uintptr_t>(block), usable);
    }
    for (auto each = std::next(blocks.begin()); each != blocks.end(); ++each)
        ASSERT_GE(each->first, std::prev(each)->first + std::prev(each)->second);
    for (const auto& [address, usable] : blocks)
        np_free(reinterpret_cast<void*>(address));
}

TEST(np_usable_size, exceeds_the_request_by_at_most_an_eighth)
{
    for (std::size_t bytes = 1025; bytes < std::size_t{1} << 20; bytes += bytes / 15) {
        void* const block = np_alloc(bytes);
        EXPECT_LE(np_usable_size(block), bytes + bytes / 8) << bytes;
        np_free(block);
    }
}

TEST(np_usable_size, counts_the_bytes_that_realloc_keeps)
{
    auto* block = static_cast<unsigned char*>(np_alloc(33'000));
    for (const std::size_t bytes : {40'000U, 70'000U, 2'000'000U, 9'000'000U}) {
        const std::size_t usable = np_usable_size(block);
        std::memset(block, 0x5A, usable);
        void* const in_the_way = np_alloc(33'000);
        block = static_cast<unsigned char*>(np_realloc(block, bytes));
        EXPECT_EQ(std::count(block, block + usable, 0x5A), static_cast<std::ptrdiff_t>(usable)) << bytes;
        EXPECT_GE(np_usable_size(block), bytes);
        np_free(in_the_way);
    }
    np_free(block);
}

void ask_for_more_than_the_region_has()
{
    constexpr std::size_t region = std::size_t{16} << 20;
    bool is_right = np_option_set(np_option_region_bytes, region) == 0;
    for (std::size_t bytes = 0; bytes < region; bytes += 100'000)
        (void)np_alloc(100'000);
    for (const std::size_t bytes : interesting_sizes()) {
        auto* const block = static_cast<unsigned char*>(np_alloc(bytes));
        is_right = is_right && np_usable_size(block) >= np_good_size(bytes);
        std::memset(block, 0x5A, np_usable_size(block));
        np_free(block);
    }
    std::exit(is_right && np_verify() == 1 ? 0 : 1); // NOLINT(concurrency-mt-unsafe): single-threaded
}

TEST(np_alloc_death_test, returns_blocks_of_np_good_size_beyond_a_full_region)
{
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(ask_for_more_than_the_region_has(), testing::ExitedWithCode(0), "");
}

TEST(np_alloc, returns_distinct_blocks_for_0_bytes)
{
    void* const a = np_alloc(0);
    void* const b = np_alloc(0);
    EXPECT_NE(a, nullptr);
    EXPECT_NE(a, b);
    np_free(a);
    np_free(b);
    np_free(nullptr);
}

TEST(np_alloc, sets_ENOMEM_for_impossible_sizes)
{
    for (std::size_t bytes : {largest, largest - 1, largest / 2 + 1, largest / 2, std::size_t{1} << 50}) {
        errno = 0;
        EXPECT_EQ(np_alloc(bytes), nullptr) << bytes;
        EXPECT_EQ(errno, ENOMEM);
        errno = 0;
        EXPECT_EQ(np_calloc(1, bytes), nullptr) << bytes;
        EXPECT_EQ(errno, ENOMEM);
        EXPECT_EQ(np_aligned_alloc(64, bytes), nullptr) << bytes;
        EXPECT_EQ(np_realloc(nullptr, bytes), nullptr) << bytes;
    }
}

TEST(np_alloc, detects_the_overflow_of_count_times_size)
{
    const std::size_t half = largest / 2;
    for (const auto& [count, size] : {std::pair{half, std::size_t{4}}, std::pair{std::size_t{4}, half},
                                      std::pair{half + 2, std::size_t{2}}, std::pair{largest, largest}}) {
        errno = 0;
        EXPECT_EQ(np_calloc(count, size), nullptr);
        EXPECT_EQ(errno, ENOMEM);
        EXPECT_EQ(np_reallocarray(nullptr, count, size), nullptr);
    }
}

TEST(np_free, keeps_errno)
{
    void* const small = np_alloc(10);
    void* const large = np_alloc(1 << 20);
    errno = 77;
    np_free(small);
    np_free(large);
    np_free(nullptr);
    EXPECT_EQ(errno, 77);
}

TEST(np_calloc, zeroes_reused_memory)
{
    for (std::size_t bytes : interesting_sizes()) {
        void* const dirty = np_alloc(bytes);
        std::memset(dirty, 0xFF, np_usable_size(dirty));
        np_free(dirty);
        auto* const block = static_cast<unsigned char*>(np_calloc(1, bytes));
        ASSERT_NE(block, nullptr);
        ASSERT_TRUE(std::all_of(block, block + bytes, [](unsigned char each) { return each == 0; })) << bytes;
        np_free(block);
    }
}

TEST(np_aligned_alloc, aligns_to_every_power_of_two)
{
    for (std::size_t alignment = 1; alignment <= std::size_t{16} << 20; alignment *= 2) {
        for (std::size_t bytes : {std::size_t{0}, std::size_t{1}, alignment - 1, alignment, alignment + 1,
                                  3 * alignment, std::size_t{1000}, std::size_t{40'000}}) {
            void* const block = np_aligned_alloc(alignment, bytes);
            ASSERT_NE(block, nullptr) << alignment << ' ' << bytes;
            ASSERT_TRUE(is_aligned(block, alignment)) << alignment << ' ' << bytes;
            ASSERT_GE(np_usable_size(block), bytes);
            std::memset(block, 1, bytes);
            np_free_aligned_sized(block, alignment, bytes);
        }
    }
}

TEST(np_good_size, is_at_least_the_requested_size)
{
    for (const std::size_t bytes : {std::size_t{1}, largest / 2, largest - 65536, largest - 1, largest}) {
        EXPECT_GE(np_good_size(bytes), bytes);
        EXPECT_GE(np_aligned_good_size(4096, bytes), bytes);
    }
}

TEST(np_aligned_alloc, rejects_invalid_alignments)
{
    for (std::size_t alignment : {std::size_t{0}, std::size_t{3}, std::size_t{24}, largest}) {
        errno = 0;
        EXPECT_EQ(np_aligned_alloc(alignment, 8), nullptr);
        EXPECT_EQ(errno, EINVAL);
    }
    const volatile std::size_t too_strict = largest / 2 + 1; // Clang warns of a constant.
    EXPECT_EQ(np_aligned_alloc(too_strict, 8), nullptr);
}

TEST(np_posix_memalign, returns_the_error_and_keeps_errno)
{
    int anything = 0;
    void* block = &anything;
    errno = 77;
    EXPECT_EQ(np_posix_memalign(&block, 0, 8), EINVAL);
    EXPECT_EQ(np_posix_memalign(&block, 4, 8), EINVAL);
    EXPECT_EQ(np_posix_memalign(&block, 24, 8), EINVAL);
    EXPECT_EQ(np_posix_memalign(&block, 64, largest), ENOMEM);
    EXPECT_EQ(block, &anything);
    EXPECT_EQ(errno, 77);
    EXPECT_EQ(np_posix_memalign(&block, 256, 100), 0);
    EXPECT_TRUE(is_aligned(block, 256));
    np_free(block);
}

TEST(np_realloc, keeps_the_contents_of_the_block)
{
    std::mt19937 random(9); // NOLINT: deterministic
    const std::vector<std::size_t> sizes = interesting_sizes();
    std::size_t bytes = 1;
    auto* block = static_cast<unsigned char*>(np_alloc(bytes));
    block[0] = 0;
    for (int step = 0; step != 300; ++step) {
        const std::size_t wanted = std::max<std::size_t>(sizes[random() % sizes.size()], 1);
        block = static_cast<unsigned char*>(np_realloc(block, wanted));
        ASSERT_NE(block, nullptr);
        ASSERT_GE(np_usable_size(block), wanted);
        for (std::size_t i = 0; i < std::min(bytes, wanted); i += 97)
            ASSERT_EQ(block[i], static_cast<unsigned char>(i % 251)) << bytes << " to " << wanted;
        bytes = wanted;
        for (std::size_t i = 0; i != bytes; ++i)
            block[i] = static_cast<unsigned char>(i % 251);
    }
    np_free_sized(block, bytes);
}

TEST(np_realloc, resizes_in_place_when_there_is_room)
{
    void* const block = np_alloc(200'000);
    EXPECT_EQ(np_realloc(block, 100'000), block);
    EXPECT_EQ(np_realloc(block, 190'000), block);
    void* const small = np_alloc(100);
    EXPECT_EQ(np_realloc(small, test::blocks_are_checked() ? 104 : 112), small);
    EXPECT_EQ(np_realloc(small, 60), small);
    np_free(block);
    np_free(small);
}

TEST(np_realloc, keeps_the_block_when_there_is_no_memory)
{
    for (const std::size_t bytes : {100U, 100'000U}) {
        auto* const block = static_cast<unsigned char*>(std::memset(np_alloc(bytes), 7, bytes));
        for (const std::size_t too_many : {largest / 2, largest - 1, largest}) {
            errno = 0;
            EXPECT_EQ(np_realloc(block, too_many), nullptr);
            EXPECT_EQ(errno, ENOMEM);
            EXPECT_TRUE(std::all_of(block, block + bytes, [](unsigned char each) { return each == 7; })) << too_many;
        }
        np_free(block);
    }
}

TEST(np_usable_size, is_0_for_nullptr)
{
    EXPECT_EQ(np_usable_size(nullptr), 0U);
}

TEST(np_owns, recognizes_addresses_of_live_blocks_only)
{
    int local = 0;
    auto* const large = static_cast<std::byte*>(np_alloc(300'000));
    EXPECT_TRUE(np_owns(large));
    EXPECT_TRUE(np_owns(large + 200'000));
    EXPECT_FALSE(np_owns(&local));
    EXPECT_FALSE(np_owns(nullptr));
    EXPECT_FALSE(np_owns(reinterpret_cast<void*>(largest - 15)));
    np_free(large);
    EXPECT_FALSE(np_owns(large + 200'000));
}

TEST(np_trim, returns_free_memory_and_the_number_of_bytes)
{
    std::vector<void*> blocks(400); // Half of them stay in use. If most were free, np_alloc would purge memory at once.
    for (void*& block : blocks) {
        block = np_alloc(100'000);
        std::memset(block, 1, 100'000);
    }
    for (std::size_t i = 0; i != 200; ++i)
        np_free(blocks[i]);
    EXPECT_GE(np_trim(), 20'000'000U);
    EXPECT_EQ(np_trim(), 0U);
    std::for_each(blocks.begin() + 200, blocks.end(), np_free);
}

TEST(np_trim, returns_remote_frees_of_ended_threads_at_once)
{
    std::array<std::vector<void*>, 4> blocks;
    test::in_threads(blocks.size(), [&](std::size_t thread) {
        for (std::size_t bytes = 16; bytes <= 1024; bytes += 16)
            for (int i = 0; i != 50; ++i)
                blocks[thread].push_back(np_alloc(bytes));
    });
    test::in_threads(blocks.size(), [&](std::size_t thread) {
        for (std::size_t i = 0; i != blocks[0].size(); ++i)
            np_free(blocks[(thread + i) % blocks.size()][i]);
    });
    (void)np_trim();
    EXPECT_EQ(np_trim(), 0U);
}

TEST(np_free, reports_and_ignores_invalid_pointers)
{
    using memory_pool::error_kind;
    int local = 0;
    auto* const large = static_cast<std::byte*>(np_alloc(300'000));
    auto* const small = static_cast<std::byte*>(np_alloc(64));
    const test::error_recorder recorder;
    np_free(&local);
    np_free(reinterpret_cast<void*>(std::uintptr_t{1}));
    np_free(reinterpret_cast<void*>(largest - 15));
    EXPECT_EQ(np_realloc(&local, 10), nullptr);
    EXPECT_EQ(np_usable_size(&local), 0U);
    EXPECT_EQ(recorder.kinds(), test::kinds(5, error_kind::foreign_pointer));
    np_free(small + 1);
    np_free(small + 8);
    np_free(large + 16);
    np_free(large + 65536);
    EXPECT_EQ(recorder.reports().size(), 9U);
    EXPECT_EQ(recorder.kinds().back(), error_kind::misaligned_pointer);
    np_free(large);
    np_free(small);
    EXPECT_EQ(recorder.reports().size(), 9U);
}

TEST(np_free, reports_a_double_free_after_a_heap_reused_the_memory)
{
    constexpr std::size_t bytes = 20'000;
    const test::error_recorder recorder;
    test::lasting_thread other;
    void* const block = np_alloc(bytes);
    other.does([block] {
        np_free(np_alloc(16));
        np_free(block); // Stays in this thread's cache.
    });
    np_free(block);
    (void)np_trim(); // Frees its slab.
    np_heap* const heap = np_heap_create();
    (void)np_heap_alloc(heap, bytes);
    other.does([] { (void)np_trim(); });
    EXPECT_EQ(recorder.kinds(), test::kinds(1, memory_pool::error_kind::double_free));
    EXPECT_EQ(np_verify(), 1);
    np_heap_destroy(heap);
}

TEST(np_free, reports_an_immediate_double_free_during_maintenance)
{
    const test::error_recorder recorder;
    std::atomic<bool> ends{false};
    std::thread other([&ends] {
        while (!ends)
            (void)np_trim();
    });
    constexpr std::size_t times = 300;
    for (std::size_t i = 0; i != times; ++i) {
        void* const block = np_alloc(64);
        np_free(block);
        np_free(block);
    }
    ends = true;
    other.join();
    EXPECT_EQ(recorder.kinds(), test::kinds(times, memory_pool::error_kind::double_free));
}

TEST(np_free, may_be_left_by_longjmp_in_the_error_handler)
{
    static int local = 0;
    static void* const small = np_alloc(64);
    static void* const large = np_alloc(300'000);
    EXPECT_TRUE(test::jumps_back([] { np_free(&local); }));
    EXPECT_TRUE(test::jumps_back([] { np_free(static_cast<std::byte*>(small) + 1); }));
    EXPECT_TRUE(test::jumps_back([] { np_free(static_cast<std::byte*>(large) + 16); }));
    EXPECT_TRUE(test::jumps_back([] { (void)np_realloc(&local, 10); }));
    EXPECT_TRUE(test::jumps_back([] { (void)np_usable_size(&local); }));
    // No lock is held, and no call is unfinished.
    std::thread([] {
        np_free(small);
        np_free(large);
        np_free(np_alloc(300'000));
        (void)np_trim();
    }).join();
}

TEST(np_alloc_threads, may_free_blocks_of_threads_that_have_ended)
{
    std::vector<unsigned char*> blocks;
    for (int round = 0; round != 20; ++round) {
        std::thread([&] {
            for (std::size_t bytes = 1; bytes < 3000; bytes += 7) {
                blocks.push_back(static_cast<unsigned char*>(np_alloc(bytes)));
                blocks.back()[0] = static_cast<unsigned char>(bytes);
            }
        }).join();
        std::thread([&] {
            std::size_t bytes = 1;
            for (unsigned char* block : blocks) {
                EXPECT_EQ(block[0], static_cast<unsigned char>(bytes));
                bytes += 7;
                np_free(block);
            }
            blocks.clear();
        }).join();
    }
}

/// Marked blocks that threads hand over to each other.
class exchange
{
public:
    void* swap(std::size_t place, void* block) { return places_[place % places_.size()].exchange(block); }

private:
    std::array<std::atomic<void*>, 512> places_{};
};

void mark(void* block, std::size_t bytes)
{
    const std::array<std::uint64_t, 2> words{bytes, reinterpret_cast<std::uintptr_t>(block) ^ bytes};
    std::memcpy(block, words.data(), sizeof words);
}

bool is_marked(const void* block)
{
    std::array<std::uint64_t, 2> words{};
    std::memcpy(words.data(), block, sizeof words);
    return words[1] == (reinterpret_cast<std::uintptr_t>(block) ^ words[0]) && np_usable_size(block) >= words[0];
}

TEST(np_alloc_threads, never_share_a_block)
{
    exchange all;
    std::atomic<std::size_t> faults{0};
    std::vector<std::thread> places;
    for (unsigned place = 0; place != 4; ++place) {
        places.emplace_back([&, place] {
            for (unsigned life = 0; life != 8; ++life) {
                std::thread([&, seed = place * 100 + life] {
                    std::mt19937 random(seed);
                    for (int step = 0; step != 4000; ++step) {
                        const std::size_t bytes = 16 + random() % (random() % 50 == 0 ? 200'000 : 2000);
                        void* const block = np_alloc(bytes);
                        mark(block, bytes);
                        if (void* const old = all.swap(random(), block)) {
                            faults += is_marked(old) ? 0 : 1;
                            np_free(old);
                        }
                    }
                }).join();
            }
        });
    }
    for (std::thread& each : places)
        each.join();
    for (std::size_t place = 0; place != 512; ++place) {
        if (void* const rest = all.swap(place, nullptr)) {
            faults += is_marked(rest) ? 0 : 1;
            np_free(rest);
        }
    }
    EXPECT_EQ(faults.load(), 0U);
}

/// Uses np_alloc in a destructor. The order of destruction decides whether np_alloc has already ended its thread.
struct late_user
{
    late_user() noexcept : block(np_alloc(100)) {}
    late_user(const late_user&) = delete;
    late_user& operator=(const late_user&) = delete;
    ~late_user()
    {
        np_free(block);
        void* const small = np_alloc(50);
        void* const large = np_alloc(100'000);
        std::memset(small, 1, 50);
        std::memset(large, 1, 100'000);
        np_free(small);
        np_free(large);
    }
    void* block;
};

TEST(np_alloc_threads, may_allocate_and_free_in_thread_local_destructors)
{
    for (int i = 0; i != 50; ++i)
        std::thread([] {
            static thread_local const late_user user;
            EXPECT_NE(user.block, nullptr);
        }).join();
}

TEST(np_alloc_threads, do_not_damage_a_block_by_freeing_a_pointer_into_it)
{
    constexpr std::size_t bytes = 256;
    const test::error_recorder recorder;
    auto* const block = static_cast<unsigned char*>(std::memset(np_alloc(bytes), 7, bytes));
    test::in_a_thread([block] {
        np_free(np_alloc(bytes)); // Creates its magazine.
        np_free(block + 16);
    });
    (void)np_trim();
    EXPECT_EQ(std::count(block, block + bytes, 7), std::ptrdiff_t{bytes});
    EXPECT_EQ(recorder.kinds(), std::vector<memory_pool::error_kind>{memory_pool::error_kind::misaligned_pointer});
    np_free(block);
}
} // namespace
