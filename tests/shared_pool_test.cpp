// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/shared_pool.hpp>

#include <support/error_recorder.hpp>
#include <support/options.hpp>
#include <support/overflows.hpp>
#include <support/threads.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace mp = memory_pool;
using test::accounting_upstream;
using test::bounded_to;
using test::error_recorder;
using test::in_threads;
using test::shared_accounting_upstream;

namespace {
/// Counts its live objects, and refers to other objects.
struct node
{
    static inline std::atomic<int> alive{0};
    static inline int until_throw = -1;

    explicit node(int number = 0) : value(number)
    {
        if (until_throw == 0)
            throw std::runtime_error("constructor");
        ++alive;
    }
    node(const node&) = delete;
    node& operator=(const node&) = delete;
    ~node() { --alive; }
    void init(int number)
    {
        if (number < 0)
            throw std::invalid_argument("init");
        value = number;
    }
    void destroy() { next.reset(); }

    int value;
    std::shared_ptr<node> next;
};

template <class Pool>
class shared_pool_test : public testing::Test
{
protected:
    using pool_type = Pool;

    ~shared_pool_test() override
    {
        node::until_throw = -1;
        EXPECT_EQ(node::alive, 0);
        EXPECT_EQ(upstream_.live_bytes(), 0u);
        EXPECT_EQ(upstream_.mismatched(), 0u);
    }

    /// Returns: an object from a pool of either kind.
    static std::shared_ptr<node> take(Pool& pool, int value)
    {
        if constexpr (keeps)
            return pool.allocate_through_init(value);
        else
            return pool.make(value);
    }
    static std::shared_ptr<node> try_take(Pool& pool)
    {
        if constexpr (keeps)
            return pool.try_allocate();
        else
            return pool.try_make();
    }
    static std::unique_ptr<Pool> make_pool(const mp::pool_options& options, std::pmr::memory_resource* upstream)
    {
        if constexpr (keeps)
            return std::make_unique<Pool>(mp::recycle::call_destroy, options, upstream);
        else
            return std::make_unique<Pool>(options, upstream);
    }

    static constexpr bool keeps = std::is_same_v<Pool, mp::unsynchronized_recycling_shared_pool<node>> ||
                                  std::is_same_v<Pool, mp::recycling_shared_pool<node>>;

    accounting_upstream upstream_;
};

using pools = testing::Types<mp::unsynchronized_shared_pool<node>, mp::shared_pool<node>,
                             mp::unsynchronized_recycling_shared_pool<node>, mp::recycling_shared_pool<node>>;
TYPED_TEST_SUITE(shared_pool_test, pools, );

TYPED_TEST(shared_pool_test, destroys_an_object_when_its_last_pointer_is_reset)
{
    const auto pool = this->make_pool({}, &this->upstream_);
    std::shared_ptr<node> first = this->take(*pool, 3);
    std::shared_ptr<node> second = first;
    EXPECT_EQ(second->value, 3);
    EXPECT_EQ(pool->in_use(), 1u);
    first.reset();
    EXPECT_EQ(pool->in_use(), 1u);
    second.reset();
    EXPECT_EQ(pool->in_use(), 0u);
    EXPECT_TRUE(pool->verify());
}

TYPED_TEST(shared_pool_test, keeps_the_block_until_the_last_weak_pointer_is_reset)
{
    const auto pool = this->make_pool({}, &this->upstream_);
    std::shared_ptr<node> object = this->take(*pool, 3);
    std::weak_ptr<node> weak = object;
    object.reset();
    EXPECT_TRUE(weak.expired());
    EXPECT_EQ(pool->in_use(), 1u);
    weak.reset();
    EXPECT_EQ(pool->in_use(), 0u);
}

template <class Pool>
void expect_weak_pointers_keep_the_block_of_a_number()
{
    Pool pool;
    std::shared_ptr<int> number = pool.make(3);
    std::shared_ptr<int> same = number;
    std::weak_ptr<int> weak = number;
    number.reset();
    EXPECT_EQ(*same, 3);
    same.reset();
    EXPECT_TRUE(weak.expired());
    EXPECT_EQ(pool.in_use(), 1u);
    weak.reset();
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.verify());
}

static_assert(
    std::is_same_v<mp::shared_pool<int>, mp::basic_shared_pool<int, mp::concurrent_block_pool>> &&
        std::is_same_v<mp::recycling_shared_pool<int>, mp::basic_recycling_shared_pool<int, mp::concurrent_block_pool>>,
    "the last pointer to an object may go in any thread");

TEST(shared_pool, keeps_the_block_of_a_trivially_destructible_object)
{
    expect_weak_pointers_keep_the_block_of_a_number<memory_pool::unsynchronized_shared_pool<int>>();
    expect_weak_pointers_keep_the_block_of_a_number<memory_pool::shared_pool<int>>();
    expect_weak_pointers_keep_the_block_of_a_number<
        memory_pool::unsynchronized_shared_pool<int, memory_pool::checking_policy>>();
}

TYPED_TEST(shared_pool_test, makes_no_upstream_calls_after_warm_up)
{
    const auto pool = this->make_pool({}, &this->upstream_);
    (void)this->take(*pool, 1);
    const std::size_t calls = this->upstream_.calls();
    for (int i = 0; i != 1000; ++i)
        (void)this->take(*pool, i);
    EXPECT_EQ(this->upstream_.calls(), calls);
}

TYPED_TEST(shared_pool_test, respects_max_capacity)
{
    const auto pool = this->make_pool(bounded_to(5), &this->upstream_);
    std::vector<std::shared_ptr<node>> all;
    while (auto next = this->try_take(*pool))
        all.push_back(std::move(next));
    EXPECT_EQ(all.size(), 5u);
    EXPECT_THROW((void)this->take(*pool, 1), mp::pool_exhausted);
    all.pop_back();
    EXPECT_EQ(this->take(*pool, 4)->value, 4);
}

TYPED_TEST(shared_pool_test, loses_no_block_if_a_constructor_or_init_throws)
{
    const auto pool = this->make_pool(bounded_to(1), &this->upstream_);
    node::until_throw = 0;
    EXPECT_THROW((void)this->take(*pool, -1), std::exception);
    node::until_throw = -1;
    EXPECT_EQ(pool->in_use(), 0u);
    EXPECT_EQ(this->take(*pool, 1)->value, 1);
}

TYPED_TEST(shared_pool_test, stays_consistent_if_any_upstream_call_fails)
{
    for (std::size_t k = 1; k != 12; ++k) {
        accounting_upstream upstream;
        upstream.fail_from(k);
        (void)mp::detail::base::succeeds([&] {
            const auto pool = this->make_pool({}, &upstream);
            std::vector<std::shared_ptr<node>> all;
            for (int i = 0; i != 2000; ++i)
                if (auto next = this->try_take(*pool))
                    all.push_back(std::move(next));
            EXPECT_EQ(pool->in_use(), all.size());
        });
        EXPECT_EQ(upstream.live_bytes(), 0u) << k;
    }
}

TYPED_TEST(shared_pool_test, lets_objects_and_weak_pointers_outlive_it)
{
    std::shared_ptr<node> survivor;
    std::weak_ptr<node> weak;
    {
        const auto pool = this->make_pool({}, &this->upstream_);
        survivor = this->take(*pool, 5);
        weak = this->take(*pool, 6);
    }
    EXPECT_EQ(node::alive, this->keeps ? 2 : 1); // A recycled object lives as long as its block.
    EXPECT_EQ(survivor->value, 5);
    survivor.reset();
    EXPECT_NE(this->upstream_.live_bytes(), 0u);
    weak.reset();
    EXPECT_EQ(this->upstream_.live_bytes(), 0u);
}

TYPED_TEST(shared_pool_test, works_after_clear)
{
    const auto pool = this->make_pool(bounded_to(1), &this->upstream_);
    const auto old = this->take(*pool, 1);
    pool->release();
    EXPECT_EQ(pool->in_use(), 0u);
    EXPECT_EQ(this->take(*pool, 2)->value, 2);
    EXPECT_EQ(old->value, 1);
}

TYPED_TEST(shared_pool_test, releases_a_chain_of_a_million_objects_without_recursion)
{
    const auto pool = this->make_pool({}, &this->upstream_);
    std::shared_ptr<node> first;
    for (int i = 0; i != 1'000'000; ++i) {
        auto next = this->take(*pool, i);
        next->next = std::move(first);
        first = std::move(next);
    }
    first.reset();
    EXPECT_EQ(pool->in_use(), 0u);
    EXPECT_TRUE(pool->verify());
}

TYPED_TEST(shared_pool_test, releases_a_chain_with_weak_pointers)
{
    const auto pool = this->make_pool({}, &this->upstream_);
    std::vector<std::weak_ptr<node>> watchers;
    std::shared_ptr<node> first;
    for (int i = 0; i != 1000; ++i) {
        auto next = this->take(*pool, i);
        watchers.push_back(next);
        next->next = std::move(first);
        first = std::move(next);
    }
    first.reset();
    EXPECT_EQ(pool->in_use(), 1000u);
    for (std::weak_ptr<node>& watcher : watchers) {
        EXPECT_TRUE(watcher.expired());
        watcher.reset();
    }
    EXPECT_EQ(pool->in_use(), 0u);
}

TYPED_TEST(shared_pool_test, releases_a_chain_of_a_million_objects_that_outlive_it)
{
    std::shared_ptr<node> first;
    {
        std::unique_ptr<TypeParam> pool;
        if constexpr (TestFixture::keeps)
            pool = std::make_unique<TypeParam>(mp::recycle::nothing, mp::pool_options{}, &this->upstream_);
        else
            pool = this->make_pool({}, &this->upstream_);
        for (int i = 0; i != 1'000'000; ++i) {
            auto next = this->take(*pool, i);
            next->next = std::move(first);
            first = std::move(next);
        }
    }
    first.reset();
    EXPECT_EQ(node::alive, 0);
}

struct knows_itself : std::enable_shared_from_this<knows_itself>
{
    std::array<char, 100> bytes{};
};

TEST(shared_pool, supports_shared_from_this_casts_and_aliases)
{
    mp::unsynchronized_shared_pool<knows_itself> pool;
    auto object = pool.make();
    EXPECT_EQ(object->shared_from_this(), object);
    const std::shared_ptr<char> alias(object, object->bytes.data());
    object.reset();
    EXPECT_EQ(pool.in_use(), 1u);
    EXPECT_EQ(*alias, 0);
}

struct alignas(128) over_aligned
{
    char byte = 0;
};

TEST(shared_pool, honours_the_alignment_of_its_objects)
{
    mp::unsynchronized_shared_pool<over_aligned> pool;
    std::vector<std::shared_ptr<over_aligned>> all;
    for (int i = 0; i != 100; ++i) {
        all.push_back(pool.make());
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(all.back().get()) % 128, 0u);
    }
}

/// Objects with the size and alignment of `Shape`. A destructor releases another object, whose destruction is deferred.
template <class Shape>
struct holding final : Shape
{
    ~holding() { held.reset(); }

    static inline std::shared_ptr<holding> held;
};

struct empty
{
};

struct alignas(64) empty_and_aligned
{
};

struct odd
{
    std::array<char, 13> bytes{};
};

template <class Shape>
struct shared_pool_of : testing::Test
{
    template <class Object>
    static void expect_deferred_destruction()
    {
        mp::shared_pool<Object> pool;
        auto first = pool.make();
        const std::weak_ptr<Object> weak = first;
        Object::held = pool.make();
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first.get()) % alignof(Object), 0U);
        first.reset();
        EXPECT_EQ(Object::held, nullptr);
        EXPECT_EQ(pool.in_use(), 1U) << "the weak pointer keeps its block";
        EXPECT_TRUE(pool.verify());
    }
};

/// As `holding`, but not final, so that an empty object may occupy no space.
template <class Shape>
struct holding_possibly_empty : Shape
{
    ~holding_possibly_empty() { held.reset(); }

    static inline std::shared_ptr<holding_possibly_empty> held;
};

using shapes = testing::Types<empty, empty_and_aligned, odd, over_aligned, std::string, std::max_align_t>;
TYPED_TEST_SUITE(shared_pool_of, shapes, );

TYPED_TEST(shared_pool_of, any_size_and_alignment_frees_objects_after_deferred_destruction)
{
    this->template expect_deferred_destruction<holding<TypeParam>>();
    this->template expect_deferred_destruction<holding_possibly_empty<TypeParam>>();
}

/// Filled objects of the given size and alignment, in pools that detect writes past the end of a block.
template <std::size_t Bytes, std::size_t Alignment>
void fill_objects()
{
    struct alignas(Alignment) object
    {
        std::array<unsigned char, Bytes> bytes;
    };
    mp::unsynchronized_shared_pool<object, mp::checking_policy> pool;
    std::vector<std::shared_ptr<object>> all;
    for (int i = 0; i != 3; ++i) {
        all.push_back(pool.make());
        std::memset(all.back().get(), 0xA5 + i, sizeof(object));
    }
    EXPECT_TRUE(pool.verify()) << sizeof(object);
    for (std::size_t i = 0; i != all.size(); ++i)
        EXPECT_EQ(all[i]->bytes.back(), 0xA5 + i) << sizeof(object);
}

TEST(shared_pool, reports_an_overflow_once_and_frees_the_block)
{
    test::expect_one_report_when_the_last_pointer_goes<mp::unsynchronized_shared_pool<int, mp::checking_policy>>();
    test::expect_one_report_when_the_last_pointer_goes<
        mp::unsynchronized_shared_pool<std::string, mp::checking_policy>>();
    test::expect_one_report_when_the_last_pointer_goes<mp::shared_pool<std::string, mp::checking_policy>>();
}

TEST(shared_pool, supports_objects_of_any_size)
{
    fill_objects<1, 1>();
    fill_objects<15, 1>();
    fill_objects<17, 1>();
    fill_objects<31, 1>();
    fill_objects<33, 1>();
    fill_objects<1001, 1>();
    fill_objects<1002, 2>();
    fill_objects<1004, 4>();
    fill_objects<200, 64>();
    fill_objects<std::size_t{3} << 20, 32>();
}

TEST(shared_pool, rejects_an_alignment_that_is_not_a_power_of_two)
{
    for (const std::size_t alignment : {3u, 12u, 24u}) {
        mp::pool_options options;
        options.alignment = alignment;
        EXPECT_THROW(mp::unsynchronized_shared_pool<int>{options}, std::invalid_argument) << alignment;
    }
}

TEST(shared_pool, creates_aggregates_and_strings)
{
    struct pair
    {
        int first;
        std::string second;
    };
    mp::unsynchronized_shared_pool<pair> pairs;
    EXPECT_EQ(pairs.make(1, "two")->second, "two");
    mp::unsynchronized_shared_pool<std::string> strings;
    EXPECT_EQ(*strings.make(std::size_t{3}, 'x'), "xxx");
}

TEST(recycling_shared_pool, constructs_its_objects_once)
{
    int resets = 0;
    mp::unsynchronized_recycling_shared_pool<node> pool([&](node&) { ++resets; }, test::in_steps_of(3));
    for (int i = 0; i != 10; ++i)
        (void)pool.allocate();
    EXPECT_EQ(node::alive, 3);
    EXPECT_EQ(resets, 10);
    EXPECT_EQ(pool.growth_count(), 1u);
    EXPECT_EQ(pool.allocate_through_function([](node& object) { object.value = 7; })->value, 7);
}

TEST(shared_pool, lets_threads_pass_on_objects_and_weak_pointers)
{
    shared_accounting_upstream upstream;
    {
        mp::shared_pool<node> pool(bounded_to(200), &upstream);
        for (int round = 0; round != 50; ++round) {
            std::vector<std::shared_ptr<node>> objects;
            std::vector<std::weak_ptr<node>> weak;
            for (int i = 0; i != 50; ++i) {
                objects.push_back(pool.make(i));
                weak.push_back(objects.back());
            }
            in_threads(3, [&](std::size_t thread) {
                if (thread == 0)
                    objects.clear();
                else if (thread == 1)
                    weak.clear();
                else
                    for (int i = 0; i != 50; ++i)
                        ASSERT_EQ(pool.make(i)->value, i);
            });
            ASSERT_EQ(pool.in_use(), 0u);
        }
    }
    EXPECT_EQ(node::alive, 0);
    EXPECT_EQ(upstream.live_bytes(), 0u);
}

TEST(shared_pool, releases_chains_across_threads_with_weak_pointers)
{
    shared_accounting_upstream upstream;
    {
        mp::shared_pool<node> pool({}, &upstream);
        for (int round = 0; round != 50; ++round) {
            std::array<std::shared_ptr<node>, 2> chains;
            std::vector<std::weak_ptr<node>> weak;
            for (auto& chain : chains)
                for (int i = 0; i != 200; ++i) {
                    auto next = pool.make(i);
                    weak.push_back(next);
                    next->next = std::move(chain);
                    chain = std::move(next);
                }
            in_threads(3, [&](std::size_t thread) {
                if (thread == 2)
                    weak.clear();
                else
                    chains.at(thread).reset();
            });
            ASSERT_EQ(pool.in_use(), 0u);
        }
    }
    EXPECT_EQ(upstream.live_bytes(), 0u);
}

TEST(shared_pool, reports_leaks_if_its_policy_requires_it)
{
    const error_recorder errors;
    std::shared_ptr<int> survivor;
    {
        mp::unsynchronized_shared_pool<int, mp::leak_fatal_policy<>> pool;
        survivor = pool.make(3);
    }
    EXPECT_EQ(errors.kinds(), std::vector<mp::error_kind>{mp::error_kind::leak});
    EXPECT_EQ(*survivor, 3);
}

TYPED_TEST(shared_pool_test, is_constructible_from_an_upstream_alone)
{
    typename TestFixture::pool_type pool(&this->upstream_);
    EXPECT_EQ(pool.upstream_resource(), &this->upstream_);
    EXPECT_EQ(this->take(pool, 3)->value, 3);
    std::pmr::memory_resource* const none = nullptr;
    EXPECT_THROW(typename TestFixture::pool_type{none}, std::invalid_argument);
}
} // namespace
