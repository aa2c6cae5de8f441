// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Tests of the bulk functions of handle_pool and concurrent_handle_pool.
#include <memory_pool/concurrent_handle_pool.hpp>
#include <memory_pool/handle_pool.hpp>

#include <support/counted_object.hpp>
#include <support/error_recorder.hpp>
#include <support/handle_pools.hpp>
#include <support/options.hpp>
#include <support/overflows.hpp>
#include <support/threads.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace mp = memory_pool;

namespace {
using counted = test::counted_object;
template <class Policy>
using local = test::local_handles<Policy>;
template <class Policy>
using shared = test::shared_handles<Policy>;

struct aggregate
{
    int number;
    std::string text;
};

template <class Kind>
class handle_pool_bulk : public testing::Test
{
protected:
    void SetUp() override
    {
        counted::alive = 0;
        counted::until_throw = -1;
    }

    template <class T>
    using pool_of = typename Kind::template pool<T>;
    template <class T>
    using handles_of = std::vector<mp::pool_handle<T>>;

    static bool are_null(const handles_of<counted>& handles)
    {
        return std::all_of(handles.begin(), handles.end(), [](auto each) { return each.is_null(); });
    }

    test::shared_accounting_upstream upstream_;
};

using kinds = testing::Types<local<mp::default_policy>, local<mp::counting_policy>, local<mp::checking_policy>,
                             shared<mp::default_policy>, shared<mp::counting_policy>, shared<mp::checking_policy>>;
TYPED_TEST_SUITE(handle_pool_bulk, kinds, );

TYPED_TEST(handle_pool_bulk, creates_all_or_none_or_with_try_as_many_as_fit)
{
    typename TestFixture::template pool_of<counted> pool(test::bounded_to(200), &this->upstream_);
    typename TestFixture::template handles_of<counted> handles(150);
    EXPECT_EQ(pool.create_bulk(handles.data(), 150, 42), 150u);
    EXPECT_EQ(counted::alive, 150);
    EXPECT_EQ(pool.size(), 150u);
    std::set<counted*> objects;
    for (const auto each : handles) {
        ASSERT_TRUE(pool.contains(each));
        EXPECT_EQ(pool.get(each)->value(), 42);
        EXPECT_EQ(pool.handle_of(pool.get(each)), each);
        objects.insert(pool.get(each));
    }
    EXPECT_EQ(objects.size(), 150u);

    typename TestFixture::template handles_of<counted> too_many(51);
    EXPECT_THROW((void)pool.create_bulk(too_many.data(), 51), mp::pool_exhausted);
    EXPECT_TRUE(TestFixture::are_null(too_many));
    EXPECT_EQ(counted::alive, 150) << "no constructor has run";
    EXPECT_EQ(pool.size(), 150u);
    EXPECT_TRUE(pool.verify());
    EXPECT_EQ(pool.try_create_bulk(too_many.data(), 51, 7), 50u);
    EXPECT_EQ(pool.try_create_bulk(too_many.data() + 50, 1, 7), 0u);
    EXPECT_EQ(pool.create_bulk(too_many.data() + 50, 0), 0u);
    EXPECT_TRUE(too_many.back().is_null());
    EXPECT_EQ(pool.get(too_many.front())->value(), 7);
    EXPECT_EQ(counted::alive, 200);
    EXPECT_TRUE(pool.verify());
}

TYPED_TEST(handle_pool_bulk, destroys_live_objects_and_ignores_stale_handles)
{
    typename TestFixture::template pool_of<counted> pool({}, &this->upstream_);
    typename TestFixture::template handles_of<counted> handles(200);
    (void)pool.create_bulk(handles.data(), handles.size(), 1);
    const auto survivor = pool.create(2);
    EXPECT_TRUE(pool.destroy(handles[3]));
    handles[5] = handles[4];
    handles[6] = {};
    EXPECT_EQ(pool.destroy_bulk(handles.data(), handles.size()), 197u) << "one stale, one duplicate, one null";
    EXPECT_EQ(pool.destroy_bulk(handles.data(), handles.size()), 0u);
    EXPECT_EQ(pool.destroy_bulk(handles.data(), 0), 0u);
    EXPECT_EQ(counted::alive, 3) << "the objects whose handles were overwritten, and the survivor";
    EXPECT_EQ(pool.size(), 3u);
    EXPECT_EQ(pool.get(survivor)->value(), 2);
    for (const auto each : handles)
        EXPECT_FALSE(pool.contains(each));
    EXPECT_TRUE(pool.verify());
}

TYPED_TEST(handle_pool_bulk, changes_nothing_when_a_constructor_throws)
{
    typename TestFixture::template pool_of<counted> pool({}, &this->upstream_);
    typename TestFixture::template handles_of<counted> handles(150);
    for (int fails = 0; fails != 150; ++fails) {
        for (const bool tries : {false, true}) {
            counted::until_throw = fails;
            if (tries)
                EXPECT_THROW((void)pool.try_create_bulk(handles.data(), 150, 1), std::runtime_error);
            else
                EXPECT_THROW((void)pool.create_bulk(handles.data(), 150, 1), std::runtime_error);
            counted::until_throw = -1;
            ASSERT_EQ(counted::alive, 0);
            ASSERT_EQ(pool.size(), 0u);
            ASSERT_TRUE(TestFixture::are_null(handles));
            ASSERT_TRUE(pool.verify());
        }
    }
    EXPECT_EQ(pool.create_bulk(handles.data(), 150), 150u);
}

TYPED_TEST(handle_pool_bulk, changes_nothing_when_any_upstream_call_fails)
{
    typename TestFixture::template handles_of<counted> handles(3000);
    std::size_t failures = 0;
    for (std::size_t call = 1; call != 30; ++call) {
        std::fill(handles.begin(), handles.end(), mp::pool_handle<counted>{});
        typename TestFixture::template pool_of<counted> pool(test::in_steps_of(500), &this->upstream_);
        const auto before = pool.create();
        this->upstream_.fail_from(call);
        bool has_failed = false;
        try {
            (void)pool.create_bulk(handles.data(), handles.size());
        } catch (const std::bad_alloc&) {
            has_failed = true;
        }
        this->upstream_.never_fail();
        ASSERT_EQ(pool.size(), has_failed ? 1u : 3001u);
        ASSERT_EQ(counted::alive, has_failed ? 1 : 3001);
        ASSERT_TRUE(pool.contains(before));
        ASSERT_EQ(TestFixture::are_null(handles), has_failed);
        ASSERT_TRUE(pool.verify());
        if constexpr (TypeParam::policy::counts) {
            ASSERT_EQ(pool.statistics().failures, has_failed ? 1u : 0u);
        }
        failures += has_failed ? 1 : 0;
    }
    EXPECT_GE(failures, 5u) << "at least one for each chunk of the table";
    EXPECT_LT(failures, 28u);
    EXPECT_EQ(counted::alive, 0);
    typename TestFixture::template pool_of<counted> pool({}, &this->upstream_);
    this->upstream_.fail_always();
    EXPECT_THROW((void)pool.create_bulk(handles.data(), handles.size()), std::bad_alloc);
    EXPECT_EQ(pool.try_create_bulk(handles.data(), handles.size()), 0u);
    EXPECT_TRUE(pool.verify());
    EXPECT_EQ(this->upstream_.live_bytes(), 0u);
}

TYPED_TEST(handle_pool_bulk, creates_as_many_objects_as_upstream_has_memory_for)
{
    typename TestFixture::template handles_of<counted> handles(3000);
    for (std::size_t call = 1;; ++call) {
        typename TestFixture::template pool_of<counted> pool(test::in_steps_of(500), &this->upstream_);
        this->upstream_.fail_from(call);
        const std::size_t made = pool.try_create_bulk(handles.data(), handles.size(), 1);
        this->upstream_.never_fail();
        ASSERT_EQ(pool.size(), made);
        ASSERT_EQ(counted::alive, static_cast<int>(made));
        ASSERT_TRUE(pool.verify());
        ASSERT_EQ(pool.destroy_bulk(handles.data(), made), made);
        ASSERT_TRUE(pool.verify());
        if (made == handles.size())
            break;
    }
    EXPECT_EQ(this->upstream_.live_bytes(), 0u);
}

/// Counts the objects that are alive during its construction.
template <class Kind>
struct observer
{
    using pool_type = typename Kind::template pool<observer>;
    explicit observer(pool_type& pool)
    {
        pool.for_each([this](const observer&) { ++seen; });
    }
    std::size_t seen = 0;
};

TYPED_TEST(handle_pool_bulk, publishes_all_objects_after_the_last_constructor)
{
    typename observer<TypeParam>::pool_type pool;
    (void)pool.create(pool);
    std::array<mp::pool_handle<observer<TypeParam>>, 100> handles;
    pool.reserve(200);
    // Wraps a reference, because create_bulk passes arguments as constants.
    struct passed_on
    {
        typename observer<TypeParam>::pool_type* pool;
        operator typename observer<TypeParam>::pool_type &() const { return *pool; }
    };
    (void)pool.create_bulk(handles.data(), handles.size(), passed_on{&pool});
    for (const auto each : handles)
        EXPECT_EQ(pool.get(each)->seen, 1u);
    std::size_t alive = 0;
    pool.for_each([&](const observer<TypeParam>&) { ++alive; });
    EXPECT_EQ(alive, 101u);
}

/// Its destructor destroys and creates other objects in bulk, even during clear.
template <class Kind>
struct chief
{
    using pool_type = typename Kind::template pool<chief>;

    explicit chief(pool_type* owner = nullptr) : pool(owner) { ++alive; }
    chief(const chief&) = delete;
    chief& operator=(const chief&) = delete;
    ~chief()
    {
        --alive;
        if (pool == nullptr)
            return;
        EXPECT_EQ(pool->destroy_bulk(others.data(), others.size()), others.size());
        EXPECT_EQ(pool->destroy_bulk(others.data(), others.size()), 0u);
        EXPECT_EQ(pool->create_bulk(others.data(), others.size()), others.size());
        EXPECT_EQ(pool->destroy_bulk(others.data(), 2), 2u);
    }

    static inline int alive = 0;
    pool_type* pool;
    std::array<mp::pool_handle<chief>, 5> others{};
};

TYPED_TEST(handle_pool_bulk, can_be_called_by_destructors)
{
    typename chief<TypeParam>::pool_type pool;
    for (const bool clears : {false, true}) {
        const auto first = pool.create(&pool);
        (void)pool.create_bulk(pool.get(first)->others.data(), 5);
        EXPECT_EQ(chief<TypeParam>::alive, 6);
        if (clears)
            pool.clear();
        else
            EXPECT_EQ(pool.destroy_bulk(&first, 1), 1u);
        EXPECT_EQ(chief<TypeParam>::alive, clears ? 0 : 3);
        EXPECT_EQ(pool.size(), clears ? 0u : 3u);
        EXPECT_TRUE(pool.verify());
        pool.clear();
    }
}

TYPED_TEST(handle_pool_bulk, creates_objects_of_any_size_and_alignment)
{
    typename TestFixture::template pool_of<const aggregate> pool;
    std::array<mp::pool_handle<const aggregate>, 3> handles;
    const std::string text = "a text that is too long to fit into the string itself";
    EXPECT_EQ(pool.create_bulk(handles.data(), handles.size(), 3, text), 3u);
    EXPECT_EQ(pool.get(handles[2])->number, 3);
    EXPECT_EQ(pool.get(handles[2])->text, text);
    EXPECT_EQ(pool.destroy_bulk(handles.data(), handles.size()), 3u);
    EXPECT_TRUE(pool.empty());
}

TYPED_TEST(handle_pool_bulk, reports_an_overflow_of_an_object)
{
    if constexpr (TypeParam::policy::checks) {
        const test::error_recorder errors;
        typename TestFixture::template pool_of<std::uint32_t> pool;
        std::array<mp::pool_handle<std::uint32_t>, 3> handles;
        (void)pool.create_bulk(handles.data(), handles.size(), 1u);
        test::write_behind(pool.get(handles[1]), sizeof(std::uint32_t));
        EXPECT_EQ(pool.destroy_bulk(handles.data(), handles.size()), 3u);
        EXPECT_TRUE(pool.empty());
        EXPECT_EQ(errors.kinds(), std::vector<mp::error_kind>{mp::error_kind::buffer_overflow});
    }
}

TEST(concurrent_handle_pool_bulk, defers_the_destruction_of_a_visited_object_to_its_last_visitor)
{
    counted::alive = 0;
    mp::concurrent_handle_pool<counted> pool;
    std::array<mp::pool_handle<counted>, 100> handles;
    (void)pool.create_bulk(handles.data(), handles.size(), 7);
    EXPECT_TRUE(pool.visit(handles[50], [&](const counted& object) {
        EXPECT_EQ(pool.destroy_bulk(handles.data(), handles.size()), 100u);
        EXPECT_EQ(counted::alive, 1);
        EXPECT_EQ(object.value(), 7);
        EXPECT_FALSE(pool.contains(handles[50]));
    }));
    EXPECT_EQ(counted::alive, 0);
    EXPECT_TRUE(pool.verify());
}

TEST(concurrent_handle_pool_bulk, destroys_each_object_in_one_thread_only)
{
    mp::concurrent_handle_pool<std::string> pool;
    std::vector<mp::pool_handle<std::string>> handles(1000);
    for (int round = 0; round != 20; ++round) {
        (void)pool.create_bulk(handles.data(), handles.size(), "text");
        std::array<std::size_t, 2> destroyed{};
        test::in_threads(
            2, [&](std::size_t thread) { destroyed[thread] = pool.destroy_bulk(handles.data(), handles.size()); });
        ASSERT_EQ(destroyed[0] + destroyed[1], handles.size());
    }
    EXPECT_TRUE(pool.verify());
}
} // namespace
