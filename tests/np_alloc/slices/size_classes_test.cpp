// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Every size and alignment, through the public interface.
#include <memory_pool/np_alloc.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#include <sys/sysinfo.h>
#endif

namespace {
constexpr std::size_t kibibyte = 1024;
constexpr std::size_t mebibyte = kibibyte * 1024;
constexpr std::size_t gibibyte = mebibyte * 1024;
constexpr std::size_t largest = std::numeric_limits<std::size_t>::max();

/// Outstanding blocks with a mark in their first and last bytes.
class blocks_in_use
{
public:
    blocks_in_use() = default;
    blocks_in_use(const blocks_in_use&) = delete;
    blocks_in_use& operator=(const blocks_in_use&) = delete;
    ~blocks_in_use()
    {
        for (const extent& each : all_)
            np_free(each.begin);
    }

    void add(void* block)
    {
        const extent added{static_cast<unsigned char*>(block), np_usable_size(block)};
        std::memset(added.begin, mark(added), std::min(added.bytes, marked_bytes));
        std::memset(added.end() - std::min(added.bytes, marked_bytes), mark(added),
                    std::min(added.bytes, marked_bytes));
        all_.push_back(added);
    }

    /// Returns: whether all marks are intact and no blocks overlap.
    bool are_apart()
    {
        std::sort(all_.begin(), all_.end(), [](const extent& a, const extent& b) { return a.begin < b.begin; });
        for (std::size_t i = 0; i != all_.size(); ++i) {
            const extent& each = all_[i];
            if (each.bytes != 0 && (each.begin[0] != mark(each) || each.end()[-1] != mark(each)))
                return false;
            if (i != 0 && all_[i - 1].end() > each.begin)
                return false;
        }
        return true;
    }

private:
    static constexpr std::size_t marked_bytes = 16;

    struct extent
    {
        unsigned char* begin;
        std::size_t bytes;

        unsigned char* end() const { return begin + bytes; }
    };

    static unsigned char mark(const extent& of)
    {
        return static_cast<unsigned char>((reinterpret_cast<std::uintptr_t>(of.begin) / 16 + of.bytes) & 0xFF);
    }

    std::vector<extent> all_;
};

bool is_aligned(const void* block, std::size_t alignment)
{
    return reinterpret_cast<std::uintptr_t>(block) % alignment == 0;
}

TEST(np_sizes, up_to_70000_bytes_fit_and_usable_size_is_stable)
{
    constexpr std::size_t at_a_time = 1000;
    for (std::size_t first = 0; first <= 70'000; first += at_a_time) {
        blocks_in_use all;
        for (std::size_t bytes = first; bytes != first + at_a_time; ++bytes) {
            void* const block = np_alloc(bytes);
            ASSERT_NE(block, nullptr) << bytes;
            const std::size_t usable = np_usable_size(block);
            ASSERT_GE(usable, bytes);
            ASSERT_TRUE(is_aligned(block, 16)) << bytes;
            all.add(block);
            ASSERT_EQ(np_usable_size(block), usable);
        }
        ASSERT_TRUE(all.are_apart()) << "from " << first;
    }
}

TEST(np_sizes, around_powers_of_two_up_to_1_TiB_fit_or_set_ENOMEM)
{
    // Huge blocks may take a long time, so their sizes grow in larger steps.
    for (std::size_t power = 64; power <= kibibyte * gibibyte; power *= power < gibibyte ? 2 : 32) {
        const std::size_t around = power <= mebibyte ? 32 : 1;
        for (std::size_t bytes = power - around; bytes <= power + around; ++bytes) {
            errno = 0;
            auto* const block = static_cast<unsigned char*>(np_alloc(bytes));
            if (block == nullptr) {
                ASSERT_EQ(errno, ENOMEM) << bytes;
                ASSERT_GT(power, gibibyte) << "up to 1 GiB must succeed";
                continue;
            }
            ASSERT_GE(np_usable_size(block), bytes);
            ASSERT_TRUE(is_aligned(block, 16)) << bytes;
            block[0] = block[bytes - 1] = 1;
            np_free(block);
        }
    }
}

#if defined(__linux__)
/// Returns: whether the system maps that many bytes, as overcommit allows.
bool is_promised(std::size_t bytes)
{
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED && munmap(memory, bytes) == 0;
}

TEST(np_sizes, beyond_physical_memory_follow_overcommit)
{
    struct sysinfo all{};
    ASSERT_EQ(sysinfo(&all), 0);
    const std::size_t bytes = 2 * (all.totalram + all.totalswap) * all.mem_unit + gibibyte;
    for (const std::size_t alignment : {std::size_t{16}, 2 * mebibyte}) {
        void* const block = np_aligned_alloc(alignment, bytes);
        EXPECT_EQ(block != nullptr, is_promised(bytes)) << alignment;
        np_free(block);
    }
    void* const some = np_alloc(gibibyte);
    ASSERT_NE(some, nullptr);
    errno = 0;
    void* const more = np_realloc(some, bytes);
    EXPECT_EQ(more != nullptr, is_promised(bytes));
    EXPECT_EQ(errno, more != nullptr ? 0 : ENOMEM);
    np_free(more != nullptr ? more : some);
}
#endif

TEST(np_sizes, allow_alignments_up_to_1_GiB)
{
    blocks_in_use all;
    for (std::size_t alignment = 4 * kibibyte; alignment <= gibibyte; alignment *= 2) {
        for (std::size_t bytes : {std::size_t{0}, std::size_t{1}, 4 * kibibyte, 64 * kibibyte - 1, 64 * kibibyte + 1,
                                  mebibyte, 2 * mebibyte}) {
            void* const block = np_aligned_alloc(alignment, bytes);
            ASSERT_NE(block, nullptr) << alignment << ' ' << bytes;
            ASSERT_TRUE(is_aligned(block, alignment)) << alignment << ' ' << bytes;
            ASSERT_GE(np_usable_size(block), bytes);
            all.add(block);
        }
    }
    EXPECT_TRUE(all.are_apart());
}

TEST(np_sizes, that_overflow_when_aligned_set_ENOMEM)
{
    for (std::size_t alignment = 32; alignment != 0; alignment *= 2) {
        for (std::size_t bytes :
             {largest, largest - 1, largest - alignment, largest - alignment + 2, largest / 2 + 1}) {
            errno = 0;
            ASSERT_EQ(np_aligned_alloc(alignment, bytes), nullptr) << alignment << ' ' << bytes;
            ASSERT_EQ(errno, ENOMEM);
        }
    }
}

TEST(np_sizes, with_an_impossible_alignment_return_ENOMEM)
{
    void* block = nullptr;
    for (std::size_t bytes : {std::size_t{0}, std::size_t{1}, mebibyte, largest}) {
        EXPECT_EQ(np_posix_memalign(&block, largest / 2 + 1, bytes), ENOMEM);
        EXPECT_EQ(block, nullptr);
    }
}

TEST(np_sizes, with_an_overflowing_product_set_ENOMEM)
{
    constexpr std::size_t root = std::size_t{1} << std::numeric_limits<std::size_t>::digits / 2;
    auto* const block = static_cast<unsigned char*>(np_alloc(100));
    std::memset(block, 7, 100);
    for (const auto& [count, size] :
         {std::pair{root + 1, root}, std::pair{root, root}, std::pair{largest, std::size_t{2}},
          std::pair{largest / 2 + 1, std::size_t{2}}, std::pair{std::size_t{3}, largest / 2}}) {
        errno = 0;
        EXPECT_EQ(np_calloc(count, size), nullptr) << count << ' ' << size;
        EXPECT_EQ(errno, ENOMEM);
        errno = 0;
        EXPECT_EQ(np_reallocarray(block, count, size), nullptr) << count << ' ' << size;
        EXPECT_EQ(errno, ENOMEM);
    }
    EXPECT_TRUE(std::all_of(block, block + 100, [](unsigned char each) { return each == 7; }));
    np_free(block);
}

TEST(np_sizes, may_be_a_product_with_zero)
{
    for (const auto& [count, size] : {std::pair{std::size_t{0}, largest}, std::pair{largest, std::size_t{0}}}) {
        void* const block = np_calloc(count, size);
        EXPECT_NE(block, nullptr);
        void* const again = np_reallocarray(nullptr, count, size);
        EXPECT_NE(again, nullptr);
        EXPECT_NE(again, block);
        np_free(block);
        np_free(again);
    }
}
} // namespace
