// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/arena_resource.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/pool_resource.hpp>

#include <support/arena_resource_conformance.hpp>
#include <support/error_recorder.hpp>
#include <support/filled_blocks.hpp>
#include <support/resource_conformance.hpp>
#include <support/sanitizers.hpp>
#include <support/upstreams.hpp>
#include <support/what.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace mp = memory_pool;

namespace test {
using plain_arenas = mp::basic_unsynchronized_arena_resource<mp::default_policy>;
using checking_arenas = mp::basic_unsynchronized_arena_resource<mp::checking_policy>;
using unsynchronized_arenas = testing::Types<plain_arenas, checking_arenas>;
INSTANTIATE_TYPED_TEST_SUITE_P(unsynchronized_arenas, resource_conformance, unsynchronized_arenas, );
INSTANTIATE_TYPED_TEST_SUITE_P(unsynchronized_arenas, arena_resource_conformance, unsynchronized_arenas, );
INSTANTIATE_TYPED_TEST_SUITE_P(unsynchronized_arenas, checking_arena_conformance, testing::Types<checking_arenas>, );
} // namespace test

namespace {
using mp::error_kind;
using test::named_arenas;

TEST(unsynchronized_arena_resource, uses_one_cache_line_for_the_header_of_an_arena)
{
    const mp::unsynchronized_arena_resource arenas(test::with_arenas_of(1024));
    EXPECT_EQ(arenas.largest_block(), 1024u - 64u);
}

TEST(unsynchronized_arena_resource, reports_and_ignores_more_frees_than_allocations)
{
    const test::error_recorder recorder;
    mp::unsynchronized_arena_resource arenas(named_arenas("frames"));
    void* const block = arenas.allocate(40);
    arenas.deallocate(block, 40);
    arenas.deallocate(block, 40);
    ASSERT_EQ(recorder.kinds(), test::kinds{error_kind::double_free});
    EXPECT_EQ(recorder.reports()[0].pool_name, "frames");
    EXPECT_TRUE(arenas.verify());
    EXPECT_EQ(arenas.bytes_in_use(), 0u);
    EXPECT_EQ(arenas.allocate(40), block);
}

TEST(unsynchronized_arena_resource, stays_consistent_if_the_last_block_is_freed_twice)
{
    const test::error_recorder recorder;
    mp::unsynchronized_arena_resource arenas;
    void* const small = arenas.allocate(8, 8);
    void* const last = arenas.allocate(1000, 8);
    arenas.deallocate(small, 8, 8);
    arenas.deallocate(small, 8, 8); // Not detected yet: enough bytes of the arena are in use.
    arenas.deallocate(last, 1000, 8);
    EXPECT_EQ(recorder.kinds(), test::kinds{error_kind::double_free});
    EXPECT_TRUE(arenas.verify());
    EXPECT_LE(arenas.bytes_in_use(), 1008u);
    arenas.clear();
    EXPECT_EQ(arenas.free_arenas(), 1u);
}

TEST(unsynchronized_arena_resource, reports_a_free_to_an_empty_arena)
{
    const test::error_recorder recorder;
    mp::unsynchronized_arena_resource arenas(test::with_arenas_of(1024));
    const std::size_t whole = arenas.largest_block();
    void* const in_first = arenas.allocate(whole);
    void* const in_second = arenas.allocate(whole);
    arenas.deallocate(in_first, whole);
    arenas.deallocate(in_first, whole);
    EXPECT_EQ(recorder.kinds(), test::kinds{error_kind::double_free});
    EXPECT_TRUE(arenas.verify());
    EXPECT_EQ(arenas.free_arenas(), 1u);
    arenas.deallocate(in_second, whole);
    EXPECT_EQ(arenas.free_arenas(), 2u);
}

TEST(unsynchronized_arena_resource, reports_a_large_block_freed_with_another_alignment)
{
    const test::error_recorder recorder;
    mp::unsynchronized_arena_resource arenas(test::with_arenas_of(1024));
    void* const large = arenas.allocate(100'000, 64);
    arenas.deallocate(large, 100'000, 128);
    EXPECT_EQ(recorder.kinds(), test::kinds{error_kind::foreign_pointer});
    arenas.deallocate(large, 100'000, 64);
    EXPECT_EQ(recorder.reports().size(), 1U);
    EXPECT_EQ(arenas.bytes_in_use(), 0U);
}

template <class Resource>
class arena_scopes : public testing::Test
{
protected:
    ~arena_scopes() override
    {
        EXPECT_TRUE(arenas_.verify());
        EXPECT_EQ(errors_.kinds(), expected_errors_);
    }

    test::filled_block take(std::size_t bytes) { return test::allocate_filled(arenas_, bytes); }

    /// Allocates `count` blocks of a quarter of an arena.
    std::vector<test::filled_block> take_quarters(std::size_t count)
    {
        std::vector<test::filled_block> blocks;
        while (count-- != 0)
            blocks.push_back(take(180));
        return blocks;
    }

    const test::error_recorder errors_;
    test::kinds expected_errors_;
    test::accounting_upstream upstream_;
    Resource arenas_{test::with_arenas_of(1024), &upstream_};
};

using arenas_with_scopes = testing::Types<test::plain_arenas, test::checking_arenas>;
TYPED_TEST_SUITE(arena_scopes, arenas_with_scopes, );

TYPED_TEST(arena_scopes, free_the_blocks_allocated_since_they_began)
{
    for (int round = 0; round != 3; ++round) {
        const auto before = this->take_quarters(2);
        const std::size_t in_use = this->arenas_.bytes_in_use();
        const std::size_t reserved = this->upstream_.live_bytes();
        const std::size_t held = this->arenas_.arena_count();
        {
            const mp::arena_scope scope(this->arenas_);
            (void)this->take_quarters(round == 0 ? 1 : 30);
            (void)this->take(100'000);
            EXPECT_GT(this->arenas_.bytes_in_use(), in_use + 100'000);
        }
        EXPECT_EQ(this->arenas_.bytes_in_use(), in_use);
        EXPECT_EQ(this->upstream_.live_bytes() - reserved, (this->arenas_.arena_count() - held) * 1024);
        EXPECT_EQ(this->arenas_.free_arenas(), this->arenas_.arena_count() - 1);
        EXPECT_TRUE(give_back_all(this->arenas_, before));
        EXPECT_EQ(this->arenas_.bytes_in_use(), 0u);
        EXPECT_EQ(this->arenas_.free_arenas(), this->arenas_.arena_count());
    }
}

TYPED_TEST(arena_scopes, report_a_double_free_of_an_earlier_block)
{
    if (!TypeParam::policy::checks && MEMORY_POOL_ASAN == 0)
        GTEST_SKIP() << "a policy that does not check counts bytes only";
    void* const first = this->arenas_.allocate(24, 8);
    void* const second = this->arenas_.allocate(24, 8);
    {
        const mp::arena_scope scope(this->arenas_);
        this->arenas_.deallocate(first, 24, 8);
        this->arenas_.deallocate(first, 24, 8);
        void* const third = this->arenas_.allocate(24, 8);
        this->arenas_.deallocate(third, 24, 8);
        this->arenas_.deallocate(third, 24, 8);
    }
    this->expected_errors_ = test::kinds(2, mp::error_kind::double_free);
    EXPECT_NE(this->arenas_.allocate(24, 8), second);
    this->arenas_.deallocate(second, 24, 8);
}

TYPED_TEST(arena_scopes, reuse_the_same_addresses)
{
    (void)this->take(40);
    void* first = nullptr;
    for (int round = 0; round != 3; ++round) {
        const mp::arena_scope scope(this->arenas_);
        void* const block = this->arenas_.allocate(40);
        EXPECT_TRUE(first == nullptr || block == first);
        first = block;
    }
    EXPECT_EQ(this->arenas_.allocate(40), first);
}

TYPED_TEST(arena_scopes, allow_frees_of_earlier_blocks_in_any_order)
{
    for (const bool last_first : {false, true}) {
        auto before = this->take_quarters(11);
        if (last_first)
            std::reverse(before.begin(), before.end());
        {
            const mp::arena_scope scope(this->arenas_);
            std::vector<test::filled_block> within;
            for (const test::filled_block& each : before) {
                within.push_back(this->take(180));
                EXPECT_TRUE(give_back(this->arenas_, each));
                within.push_back(this->take(100));
            }
            for (const test::filled_block& each : within)
                EXPECT_TRUE(each.is_intact());
        }
        EXPECT_EQ(this->arenas_.bytes_in_use(), 0u);
        EXPECT_EQ(this->arenas_.free_arenas(), this->arenas_.arena_count());
        EXPECT_TRUE(this->arenas_.verify());
    }
}

TYPED_TEST(arena_scopes, keep_earlier_blocks_intact)
{
    const auto before = this->take_quarters(6);
    {
        const mp::arena_scope scope(this->arenas_);
        const auto within = this->take_quarters(9);
        EXPECT_TRUE(give_back_all(this->arenas_, within)) << "each block can still be freed";
        (void)this->take_quarters(9);
    }
    const auto after = this->take_quarters(9);
    for (const test::filled_block& each : before)
        EXPECT_TRUE(each.is_intact());
    EXPECT_TRUE(give_back_all(this->arenas_, before));
    EXPECT_TRUE(give_back_all(this->arenas_, after));
    EXPECT_EQ(this->arenas_.bytes_in_use(), 0u);
}

TYPED_TEST(arena_scopes, nest)
{
    const mp::arena_scope outer(this->arenas_);
    const auto kept = this->take_quarters(3);
    const std::size_t in_use = this->arenas_.bytes_in_use();
    for (int round = 0; round != 4; ++round) {
        const mp::arena_scope middle(this->arenas_);
        const mp::arena_scope inner(this->arenas_);
        (void)this->take_quarters(static_cast<std::size_t>(round) * 3);
        (void)this->take(5000);
    }
    EXPECT_EQ(this->arenas_.bytes_in_use(), in_use);
    EXPECT_TRUE(give_back_all(this->arenas_, kept));
    EXPECT_EQ(this->arenas_.bytes_in_use(), 0u);
}

TYPED_TEST(arena_scopes, reuse_arenas_that_become_empty_in_them)
{
    const mp::arena_scope outer(this->arenas_);
    auto of_outer = this->take_quarters(8);
    const mp::arena_scope inner(this->arenas_);
    auto oldest_first = this->take_quarters(12);
    const auto trade = [&] {
        EXPECT_TRUE(give_back(this->arenas_, oldest_first.front()));
        oldest_first.erase(oldest_first.begin());
        oldest_first.push_back(this->take(180));
    };
    for (int round = 0; round != 100; ++round)
        trade();
    EXPECT_LE(this->arenas_.arena_count(), 8u) << "the count is constant";
    EXPECT_TRUE(give_back_all(this->arenas_, of_outer));
    EXPECT_GE(this->arenas_.free_arenas(), 1u);
    (void)this->take_quarters(8);
    EXPECT_LE(this->arenas_.arena_count(), 8u) << "the arenas of the outer scope are used, too";
}

TYPED_TEST(arena_scopes, trim_arenas_that_became_empty_in_them)
{
    const mp::arena_scope scope(this->arenas_);
    auto blocks = this->take_quarters(40);
    const auto kept = blocks.front();
    blocks.erase(blocks.begin());
    EXPECT_TRUE(give_back_all(this->arenas_, blocks));
    EXPECT_GT(this->arenas_.trim(), 0u);
    EXPECT_EQ(this->arenas_.bytes_reserved(), this->upstream_.live_bytes());
    EXPECT_TRUE(kept.is_intact());
    (void)this->take_quarters(10);
    EXPECT_TRUE(this->arenas_.verify());
}

TYPED_TEST(arena_scopes, work_after_clear_and_release)
{
    for (const bool keeps : {true, false}) {
        (void)this->take_quarters(2);
        {
            const mp::arena_scope outer(this->arenas_);
            (void)this->take_quarters(7);
            const mp::arena_scope inner(this->arenas_);
            (void)this->take_quarters(7);
            keeps ? this->arenas_.clear() : this->arenas_.release();
            EXPECT_EQ(this->arenas_.bytes_in_use(), 0u);
            const auto later = this->take_quarters(7);
            EXPECT_TRUE(give_back(this->arenas_, later.front()));
        }
        EXPECT_EQ(this->arenas_.bytes_in_use(), 0u);
        EXPECT_EQ(this->arenas_.free_arenas(), this->arenas_.arena_count());
    }
}

TYPED_TEST(arena_scopes, free_nothing_if_the_resource_was_destroyed)
{
    auto gone = std::make_unique<TypeParam>(test::with_arenas_of(1024), &this->upstream_);
    {
        const mp::arena_scope outer(*gone);
        const mp::arena_scope inner(*gone);
        (void)gone->allocate(40);
        gone.reset();
    }
    EXPECT_EQ(this->upstream_.live_bytes(), this->arenas_.bytes_reserved());
}

TYPED_TEST(arena_scopes, end_inner_scopes_and_report_the_wrong_order_under_a_checking_policy)
{
    TypeParam arenas(test::named_arenas("frames"), &this->upstream_);
    void* const kept = arenas.allocate(40);
    {
        std::optional<mp::arena_scope> outer(std::in_place, arenas);
        (void)arenas.allocate(40);
        const mp::arena_scope inner(arenas);
        (void)arenas.allocate(100'000);
        outer.reset();
        if (TypeParam::policy::checks) {
            this->expected_errors_ = {error_kind::double_free};
            ASSERT_EQ(this->errors_.kinds(), this->expected_errors_);
            EXPECT_EQ(this->errors_.reports()[0].pool_name, "frames");
            EXPECT_TRUE(test::contains(this->errors_.reports()[0].text, "scope out of order"));
        }
        EXPECT_EQ(arenas.bytes_in_use(), arenas.good_size(40) + (TypeParam::policy::checks ? 16u : 0u));
    }
    arenas.deallocate(kept, 40);
    EXPECT_EQ(arenas.bytes_in_use(), 0u);
}

TYPED_TEST(arena_scopes, nest_beyond_the_range_of_their_counter)
{
    {
        std::list<mp::arena_scope> scopes;
        for (int i = 0; i != 70'000; ++i)
            scopes.emplace_back(this->arenas_);
        (void)this->take(40);
        while (!scopes.empty())
            scopes.pop_back();
    }
    EXPECT_EQ(this->arenas_.bytes_in_use(), 0u);
}

TEST(arena_scope, reports_late_frees_of_its_blocks_under_a_checking_policy)
{
    const test::error_recorder recorder;
    test::checking_arenas arenas;
    (void)arenas.allocate(40);
    void* small = nullptr;
    void* large = nullptr;
    {
        const mp::arena_scope scope(arenas);
        small = arenas.allocate(40);
        large = arenas.allocate(100'000);
    }
    arenas.deallocate(small, 40);
    arenas.deallocate(large, 100'000);
    EXPECT_EQ(recorder.kinds(), (test::kinds{error_kind::double_free, error_kind::foreign_pointer}));
    EXPECT_TRUE(arenas.verify());
}

TEST(arena_scope, still_detects_double_frees_in_the_arena_that_it_began_in)
{
    const test::error_recorder recorder;
    mp::unsynchronized_arena_resource arenas;
    void* const before = arenas.allocate(40);
    const mp::arena_scope scope(arenas);
    void* const within = arenas.allocate(48);
    arenas.deallocate(before, 40);
    arenas.deallocate(before, 40);
    arenas.deallocate(within, 48);
    arenas.deallocate(within, 48);
    EXPECT_EQ(recorder.kinds(), (test::kinds{error_kind::double_free, error_kind::double_free}));
    EXPECT_EQ(arenas.allocate(48), within);
}

TEST(arena_scope, is_not_available_in_synchronized_resources)
{
    EXPECT_TRUE((std::is_constructible_v<mp::arena_scope, mp::unsynchronized_arena_resource&>));
    EXPECT_FALSE((std::is_constructible_v<mp::arena_scope, mp::synchronized_arena_resource&>));
    EXPECT_FALSE((std::is_constructible_v<mp::arena_scope, mp::unsynchronized_pool_resource&>));
    EXPECT_FALSE(std::is_copy_constructible_v<mp::arena_scope>);
}

TEST(unsynchronized_arena_resource_death, ends_the_program_at_a_detected_misuse)
{
    mp::unsynchronized_arena_resource arenas(named_arenas("frames"));
    mp::unsynchronized_arena_resource others;
    void* const block = arenas.allocate(40);
    EXPECT_DEATH(others.deallocate(block, 40), "foreign pointer: address 0x[0-9a-f]+, block size 40 bytes");
    arenas.deallocate(block, 40);
    EXPECT_DEATH(arenas.deallocate(block, 40), "double free: .*pool 'frames'\n  remedy: ");
}

#if MEMORY_POOL_ASAN
TEST(address_sanitizer_death, detects_a_use_of_free_memory_in_an_arena)
{
    test::expect_reports_without_names();
    const auto use_after_free = [] {
        mp::unsynchronized_arena_resource arenas;
        (void)arenas.allocate(40);
        auto* const block = static_cast<volatile char*>(arenas.allocate(40));
        arenas.deallocate(const_cast<char*>(block), 40);
        block[3] = 'x';
    };
    const auto overflow = [] {
        mp::unsynchronized_arena_resource arenas;
        static_cast<volatile char*>(arenas.allocate(40))[40] = 'x';
    };
    const auto use_after_clear = [] {
        mp::unsynchronized_arena_resource arenas;
        auto* const block = static_cast<volatile char*>(arenas.allocate(40));
        arenas.clear();
        block[3] = 'x';
    };
    EXPECT_DEATH(use_after_free(), "use-after-poison");
    EXPECT_DEATH(overflow(), "use-after-poison");
    EXPECT_DEATH(use_after_clear(), "use-after-poison");
}
#endif
} // namespace
