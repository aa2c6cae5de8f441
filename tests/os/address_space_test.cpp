// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/os/address_space.hpp>

#include <memory_pool/os/pages.hpp>

#include <support/mappings.hpp>
#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace os = memory_pool::detail::os;

namespace {
struct address_space : testing::Test
{
    const std::size_t page = os::page_size();
    const std::size_t bytes = 64 * page;
    std::byte* const memory = static_cast<std::byte*>(os::reserve_addresses(bytes));

    ~address_space() override { EXPECT_TRUE(os::release_addresses(memory, bytes)); }
};

TEST_F(address_space, is_zero_and_writable_where_committed)
{
    ASSERT_NE(memory, nullptr);
    ASSERT_TRUE(os::commit_memory(memory + page, 2 * page));
    for (std::size_t i = 0; i != 2 * page; ++i)
        ASSERT_EQ(memory[page + i], std::byte{0});
    memory[page] = memory[3 * page - 1] = std::byte{7};
}

TEST_F(address_space, can_be_reserved_only_at_free_addresses)
{
    const test::system_calls calls;
    EXPECT_FALSE(os::reserve_addresses_at(memory + page, page));
    ASSERT_TRUE(os::commit_memory(memory + page, page)) << "the memory is still reserved";
    ASSERT_TRUE(os::release_addresses(memory + page, page));
    EXPECT_TRUE(os::reserve_addresses_at(memory + page, page));
    ASSERT_TRUE(os::commit_memory(memory, 3 * page));
    memory[page] = std::byte{7};
    calls.refuse_from(test::system_call::map, 1);
    EXPECT_FALSE(os::reserve_addresses_at(memory + 100 * bytes, page));
}

TEST_F(address_space, reads_as_zeros_after_a_purge)
{
    ASSERT_TRUE(os::commit_memory(memory, 3 * page));
    for (std::size_t i = 0; i != 3; ++i)
        memory[i * page] = std::byte{7};
    ASSERT_TRUE(os::purge_memory(memory + page, page));
    EXPECT_EQ(memory[0], std::byte{7});
    EXPECT_EQ(memory[page], std::byte{0});
    EXPECT_EQ(memory[2 * page], std::byte{7});
    memory[page] = std::byte{8};
}

#if defined(__linux__)
/// Returns whether the mapping that contains the address has that flag.
bool has_flag(const void* address, const std::string& flag)
{
    return test::flags_of_mapping(address).find(' ' + flag + ' ') != std::string::npos;
}

TEST_F(address_space, is_uncommitted_and_zero_after_a_discard)
{
    ASSERT_TRUE(os::commit_memory(memory, 3 * page));
    for (std::size_t i = 0; i != 3; ++i)
        memory[i * page] = std::byte{7};
    ASSERT_TRUE(os::discard_memory(memory + page, page));
    EXPECT_TRUE(has_flag(memory, "wr"));
    EXPECT_FALSE(has_flag(memory + page, "wr"));
    EXPECT_FALSE(has_flag(memory + page, "ac"));
    EXPECT_TRUE(os::commit_memory(memory, 3 * page));
    EXPECT_EQ(memory[0], std::byte{7});
    EXPECT_EQ(memory[page], std::byte{0});
    EXPECT_EQ(memory[2 * page], std::byte{7});
    const test::system_calls calls;
    calls.refuse(test::system_call::map, 1);
    EXPECT_FALSE(os::discard_memory(memory, 3 * page));
    EXPECT_EQ(memory[2 * page], std::byte{7});
}

TEST_F(address_space, stays_one_mapping_unless_parts_were_used_separately)
{
    ASSERT_TRUE(os::commit_memory(memory, 4 * page));
    EXPECT_TRUE(os::are_one_mapping(memory, 4 * page));
    EXPECT_TRUE(os::are_one_mapping(memory + page, 2 * page));
    EXPECT_FALSE(os::are_one_mapping(memory, 5 * page)) << "the last page is only reserved";

    memory[0] = std::byte{7};
    ASSERT_TRUE(os::commit_memory(memory + 5 * page, page));
    memory[5 * page] = std::byte{7};
    ASSERT_TRUE(os::commit_memory(memory + 4 * page, page));
    memory[4 * page] = std::byte{7};
    EXPECT_FALSE(os::are_one_mapping(memory, 6 * page)) << "Linux keeps two mappings";
    EXPECT_EQ(memory[5 * page], std::byte{7});
}

TEST_F(address_space, query_of_one_mapping_does_not_extend_it)
{
    ASSERT_TRUE(os::commit_memory(memory, page));
    ASSERT_TRUE(os::release_addresses(memory + page, page));
    EXPECT_TRUE(os::are_one_mapping(memory, page));
    EXPECT_TRUE(os::reserve_addresses_at(memory + page, page)) << "the addresses are still free";
}
#endif

/// Committed pages, a number that is no multiple of a clear_memory step; one page in `step` is resident.
class sparse_memory
{
public:
    explicit sparse_memory(std::size_t step)
    {
        EXPECT_TRUE(os::commit_memory(memory_, pages * page_));
        for (std::size_t number = 0; number < pages; number += step)
            std::memset(memory_ + number * page_, 0xFF, page_);
    }
    sparse_memory(const sparse_memory&) = delete;
    sparse_memory& operator=(const sparse_memory&) = delete;
    ~sparse_memory() { EXPECT_TRUE(os::release_addresses(memory_, pages * page_)); }

    /// Clears all bytes but the last one; the first `before` bytes, by memset.
    void clear(std::size_t before = 0)
    {
        std::memset(memory_, 0, before);
        os::clear_memory(memory_ + before, pages * page_ - before - 1);
    }

    std::size_t pages_with_memory() const
    {
#if defined(__linux__)
        std::vector<unsigned char> each(pages);
        EXPECT_EQ(mincore(memory_, pages * page_, each.data()), 0);
        return static_cast<std::size_t>(
            std::count_if(each.begin(), each.end(), [](unsigned char page) { return page % 2 != 0; }));
#else
        return 0;
#endif
    }

    /// Returns whether all bytes but the last one are zero.
    bool is_clear() const
    {
        return std::all_of(memory_, memory_ + pages * page_ - 1, [](std::byte each) { return each == std::byte{0}; });
    }

    std::byte last_byte() const { return memory_[pages * page_ - 1]; }

    static constexpr std::size_t pages = 1025;

private:
    const std::size_t page_ = os::page_size();
    std::byte* const memory_ = static_cast<std::byte*>(os::reserve_addresses(pages * page_));
};

TEST(clear_memory, clears_any_mix_of_resident_pages)
{
    for (const std::size_t step : {1U, 2U, 3U, 64U, 1024U}) {
        sparse_memory memory(step);
        const std::byte last = memory.last_byte();
        memory.clear();
        EXPECT_TRUE(memory.is_clear()) << step;
        EXPECT_EQ(memory.last_byte(), last) << step;
    }
}

TEST(clear_memory, clears_when_the_system_refuses_to_purge)
{
    const test::system_calls calls;
    calls.refuse_from(test::system_call::advise, 1);
    sparse_memory memory(64);
    memory.clear();
    EXPECT_TRUE(memory.is_clear());
}

#if defined(__linux__)
TEST(clear_memory, does_not_populate_sparse_memory)
{
    sparse_memory sparse(64);
    const std::size_t before = sparse.pages_with_memory();
    sparse.clear();
    EXPECT_LE(sparse.pages_with_memory(), before);
    sparse_memory unaligned(64);
    unaligned.clear(100);
    EXPECT_LE(unaligned.pages_with_memory(), before + 256) << "the last part, below 256 pages, is written";
    EXPECT_TRUE(unaligned.is_clear());
    sparse_memory dense(1);
    dense.clear();
    EXPECT_EQ(dense.pages_with_memory(), sparse_memory::pages) << "the program will need the memory";
}
#endif

TEST_F(address_space, keeps_its_content_when_committed_again)
{
    ASSERT_TRUE(os::commit_memory(memory, page));
    memory[0] = std::byte{7};
    ASSERT_TRUE(os::commit_memory(memory, 2 * page));
    EXPECT_EQ(memory[0], std::byte{7});
}

TEST_F(address_space, faults_when_guarded_pages_are_accessed)
{
    ASSERT_TRUE(os::commit_memory(memory, 3 * page));
    memory[0] = memory[2 * page] = std::byte{7};
    const os::guarding how = os::guard_memory(memory + page, page);
    ASSERT_NE(how, os::guarding::none);
    EXPECT_DEATH(memory[page] = std::byte{1}, "");
    EXPECT_DEATH(memory[2 * page - 1] = std::byte{1}, "");
    EXPECT_EQ(memory[0], std::byte{7});
    EXPECT_EQ(memory[2 * page], std::byte{7});
    ASSERT_TRUE(os::unguard_memory(memory, 3 * page, how));
    memory[page] = memory[2 * page - 1] = std::byte{1};
    EXPECT_EQ(memory[0], std::byte{7}) << "unguarded pages keep their content";
}

TEST_F(address_space, faults_when_decommitted_pages_are_accessed)
{
    ASSERT_TRUE(os::commit_memory(memory, 3 * page));
    memory[0] = memory[2 * page] = std::byte{7};
    ASSERT_TRUE(os::decommit_memory(memory + page, page));
    EXPECT_DEATH(memory[page] = std::byte{1}, "");
    EXPECT_EQ(memory[0], std::byte{7});
    ASSERT_TRUE(os::commit_memory(memory, 3 * page));
    memory[page] = std::byte{1};
    EXPECT_EQ(memory[2 * page], std::byte{7});
}

#if defined(__linux__)
TEST_F(address_space, asks_the_system_about_more_memory_than_installed)
{
    constexpr std::size_t more_than_any_machine_has = std::size_t{1} << 46;
    const test::system_calls calls;
    EXPECT_TRUE(os::may_commit_ever(page));
    EXPECT_EQ(calls.made(test::system_call::map), 0U);
    calls.refuse(test::system_call::map, 1);
    EXPECT_FALSE(os::may_commit_ever(more_than_any_machine_has));
    EXPECT_EQ(calls.mapped(), 0U);
    (void)os::may_commit_ever(more_than_any_machine_has);
    EXPECT_EQ(calls.made(test::system_call::map), 2U);
    EXPECT_EQ(calls.mapped(), 0U);
}

TEST_F(address_space, limits_guards_that_need_mappings)
{
    constexpr std::size_t pages = 2 * std::size_t{os::platform::max_mapped_guards} + 2;
    auto* const many = static_cast<std::byte*>(os::reserve_addresses(pages * page));
    ASSERT_TRUE(os::commit_memory(many, pages * page));
    const test::system_calls calls;
    const auto guards = [&](std::size_t number) {
        calls.refuse(test::system_call::guard, 1); // the guard without a mapping
        return os::guard_memory(many + number * page, page);
    };
    std::ptrdiff_t count = 0;
    for (std::size_t number = 0; number != pages; number += 2)
        if (guards(number) == os::guarding::by_mapping)
            ++count;
    EXPECT_EQ(count, os::platform::max_mapped_guards);
    EXPECT_TRUE(os::unguard_memory(many, page, os::guarding::by_mapping));
    EXPECT_EQ(guards(0), os::guarding::by_mapping) << "it replaces the removed guard";
    EXPECT_EQ(guards(pages - 2), os::guarding::none);
    EXPECT_TRUE(os::unguard_memory(many, page, os::guarding::by_mapping));
    many[0] = std::byte{1};
    EXPECT_TRUE(os::release_addresses(many, pages * page));
    os::platform::guards_with_a_mapping = 0;
}

TEST_F(address_space, survives_a_guard_removed_twice_as_after_a_fork)
{
    ASSERT_TRUE(os::commit_memory(memory, page));
    const test::system_calls calls;
    for (int i = 0; i != 2; ++i) {
        calls.refuse(test::system_call::guard, 1); // the guard without a mapping
        EXPECT_EQ(os::guard_memory(memory, page), os::guarding::by_mapping);
        EXPECT_TRUE(os::unguard_memory(memory, page, os::guarding::by_mapping));
        EXPECT_TRUE(os::unguard_memory(memory, page, os::guarding::by_mapping));
    }
    os::platform::guards_with_a_mapping = 0;
}

TEST_F(address_space, counts_guards_in_locked_memory_until_removed)
{
    ASSERT_TRUE(os::commit_memory(memory, 3 * page));
    if (mlock(memory, 3 * page) != 0)
        GTEST_SKIP() << "this process may not lock memory";
    const os::guarding how = os::guard_memory(memory + page, page); // Locked memory may need a mapping for the guard.
    ASSERT_NE(how, os::guarding::none);
    ASSERT_TRUE(os::unguard_memory(memory, 3 * page, how));
    memory[page] = std::byte{1};
    EXPECT_EQ(os::platform::guards_with_a_mapping, 0);
}
#endif

TEST_F(address_space, is_discarded_if_the_system_does_not_unmap_it)
{
    ASSERT_TRUE(os::commit_memory(memory, page));
    memory[0] = std::byte{7};
    const test::system_calls calls;
    calls.refuse(test::system_call::unmap, 1);
    EXPECT_FALSE(os::release_addresses(memory, bytes));
    EXPECT_EQ(memory[0], std::byte{0});
}

struct moving : address_space
{
    std::byte* const to = memory + 32 * page;

    moving()
    {
        EXPECT_TRUE(os::commit_memory(memory, bytes));
        memory[0] = std::byte{7};
    }
};

#if defined(__linux__)
TEST_F(moving, leaves_zeros_behind)
{
    ASSERT_EQ(os::move_memory(memory, to, 2 * page), os::moving::done);
    EXPECT_EQ(to[0], std::byte{7});
    EXPECT_EQ(memory[0], std::byte{0});
    memory[page] = to[page] = std::byte{8};
}
#endif

TEST_F(moving, changes_nothing_if_the_system_refuses)
{
    const test::system_calls calls;
    calls.refuse(test::system_call::move, 1);
    ASSERT_EQ(os::move_memory(memory, to, 2 * page), os::moving::refused);
    EXPECT_EQ(memory[0], std::byte{7});
    EXPECT_EQ(to[0], std::byte{0});
    to[2 * page - 1] = std::byte{8};
}

#if defined(__linux__)
TEST_F(moving, is_refused_for_pages_that_overlap)
{
    ASSERT_EQ(os::move_memory(memory, memory + page, 2 * page), os::moving::refused);
    EXPECT_EQ(memory[0], std::byte{7});
    memory[2 * page] = std::byte{8};
}

TEST_F(moving, preserves_a_mapping_of_another_thread_at_the_destination)
{
    const test::system_calls calls;
    calls.map_refused_destinations(9);
    calls.refuse(test::system_call::move, 1);
    ASSERT_EQ(os::move_memory(memory, to, 2 * page), os::moving::lost);
    EXPECT_EQ(memory[0], std::byte{7});
    EXPECT_EQ(to[0], std::byte{9});
}

TEST_F(moving, reports_lost_addresses)
{
    const test::system_calls calls;
    calls.refuse(test::system_call::move, 1);
    calls.refuse(test::system_call::map, 1);
    ASSERT_EQ(os::move_memory(memory, to, 2 * page), os::moving::lost);
    EXPECT_EQ(memory[0], std::byte{7});
    to[2 * page] = std::byte{8}; // The page behind the destination is still mapped.
}
#endif

TEST(address_space_limits, are_reported_as_nullptr)
{
    EXPECT_EQ(os::reserve_addresses(std::numeric_limits<std::size_t>::max() / 2 & ~(os::page_size() - 1)), nullptr);
}

#if defined(__linux__)
TEST(resident_pages, are_the_touched_pages)
{
    const std::size_t page = os::page_size();
    const std::size_t pages = 1100; // More than one system call can query.
    void* const memory = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    (void)madvise(memory, pages * page, MADV_NOHUGEPAGE);
    auto* const first = static_cast<char*>(memory);
    EXPECT_EQ(os::resident_pages(first, pages * page), 0u);
    for (const std::size_t each : {std::size_t{3}, std::size_t{511}, std::size_t{512}, pages - 1})
        first[each * page] = 1;
    EXPECT_EQ(os::resident_pages(first, pages * page), 4u);
    EXPECT_EQ(os::resident_pages(first, 512 * page), 2u);
    EXPECT_EQ(os::resident_pages(first + 3 * page, page), 1u);
    EXPECT_EQ(os::resident_pages(first, 0), 0u);
    munmap(memory, pages * page);
    EXPECT_EQ(os::resident_pages(first, pages * page), 0u) << "the system does not know";
}
#endif

TEST(filled_pages, are_counted_in_a_sample_of_pages)
{
    const std::size_t page = os::page_size();
    constexpr std::size_t pages = 64;
    constexpr std::size_t looks = 4;
    auto* const memory = static_cast<std::byte*>(os::reserve_addresses(pages * page));
    ASSERT_TRUE(os::commit_memory(memory, pages * page));
    EXPECT_EQ(os::filled_pages(memory, pages * page, looks), 0U);
    std::memset(memory, 1, pages * page / 2);
    EXPECT_EQ(os::filled_pages(memory, pages * page, looks), looks / 2);
    std::memset(memory, 1, pages * page);
    EXPECT_EQ(os::filled_pages(memory, pages * page, looks), looks);
    EXPECT_EQ(os::filled_pages(memory, page, looks), looks) << "each look examines the only page";
    EXPECT_TRUE(os::release_addresses(memory, pages * page));
}
} // namespace
