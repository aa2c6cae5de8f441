// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/object_pool.hpp>

#include <memory_pool/concurrent_object_pool.hpp>

#include <support/block_pool_conformance.hpp>
#include <support/counted_object.hpp>
#include <support/error_recorder.hpp>
#include <support/options.hpp>
#include <support/overflows.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace mp = memory_pool;

namespace {
using counted = test::counted_object;

struct aggregate
{
    int number;
    std::string text;
};

struct only_moved
{
    explicit only_moved(std::unique_ptr<int> number) : content(std::move(number)) {}
    std::unique_ptr<int> content;
};

struct alignas(256) wide
{
    char bytes[300];
};

struct overloaded_address
{
    int value = 0;
    overloaded_address* operator&() { return nullptr; } // Pools must not use it.
};

/// Destroys its children in the same pool.
struct tree
{
    using pool_type = mp::object_pool<tree>;

    tree(pool_type& home, int depth) : pool(home)
    {
        if (depth != 0) {
            left = pool.create(pool, depth - 1);
            right = pool.create(pool, depth - 1);
        }
        ++alive;
    }
    tree(const tree&) = delete;
    tree& operator=(const tree&) = delete;
    ~tree()
    {
        pool.destroy(left);
        pool.destroy(right);
        --alive;
    }

    static inline int alive = 0;
    pool_type& pool;
    tree* left = nullptr;
    tree* right = nullptr;
};

template <class Policy>
class object_pool_test : public testing::Test
{
protected:
    void SetUp() override
    {
        counted::alive = 0;
        counted::until_throw = -1;
    }

    using pool_type = mp::object_pool<counted, Policy>;
    test::accounting_upstream upstream_;
};

using every_policy = testing::Types<mp::default_policy, mp::counting_policy, mp::checking_policy>;
TYPED_TEST_SUITE(object_pool_test, every_policy, );

TYPED_TEST(object_pool_test, constructs_and_destroys)
{
    typename TestFixture::pool_type pool({}, &this->upstream_);
    counted* const a = pool.create(42);
    EXPECT_EQ(a->value(), 42);
    EXPECT_EQ(counted::alive, 1);
    EXPECT_EQ(pool.in_use(), 1u);
    EXPECT_TRUE(pool.owns(a));
    pool.destroy(a);
    EXPECT_EQ(counted::alive, 0);
    EXPECT_EQ(pool.in_use(), 0u);
    pool.destroy(nullptr);
    EXPECT_TRUE(pool.verify());
}

TYPED_TEST(object_pool_test, loses_no_block_when_any_constructor_throws)
{
    typename TestFixture::pool_type pool({}, &this->upstream_);
    std::vector<counted*> objects;
    for (int i = 0; i != 500; ++i) {
        counted::until_throw = 0;
        EXPECT_THROW((void)pool.create(1), std::runtime_error);
        EXPECT_THROW((void)pool.try_create(1), std::runtime_error);
        EXPECT_THROW((void)pool.make_unique(1), std::runtime_error);
        counted::until_throw = -1;
        objects.push_back(pool.create(i));
        ASSERT_EQ(pool.in_use(), objects.size());
    }
    EXPECT_TRUE(pool.verify());
    for (counted* const object : objects)
        pool.destroy(object);
    EXPECT_EQ(counted::alive, 0);
    EXPECT_TRUE(pool.verify());
}

TYPED_TEST(object_pool_test, destroys_live_objects_in_its_destructor)
{
    {
        typename TestFixture::pool_type pool({}, &this->upstream_);
        std::vector<counted*> objects;
        for (int i = 0; i != 3000; ++i)
            objects.push_back(pool.create(i));
        for (std::size_t i = 0; i < objects.size(); i += 3)
            pool.destroy(objects[i]);
        EXPECT_EQ(counted::alive, 2000);
    }
    EXPECT_EQ(counted::alive, 0);
    EXPECT_EQ(this->upstream_.live_chunks(), 0u);
    EXPECT_EQ(this->upstream_.mismatched(), 0u);
}

TYPED_TEST(object_pool_test, works_after_clear)
{
    typename TestFixture::pool_type pool({}, &this->upstream_);
    for (int round = 0; round != 3; ++round) {
        for (int i = 0; i != 1000; ++i)
            (void)pool.create(i);
        pool.clear();
        EXPECT_EQ(counted::alive, 0);
        EXPECT_EQ(pool.in_use(), 0u);
        EXPECT_TRUE(pool.verify());
    }
    EXPECT_GE(pool.capacity(), 1000u) << "the memory is kept";
    EXPECT_GT(pool.trim(), 0u);
    EXPECT_EQ(this->upstream_.live_chunks(), 0u);
}

TYPED_TEST(object_pool_test, visits_live_objects)
{
    typename TestFixture::pool_type pool({}, &this->upstream_);
    std::vector<counted*> objects;
    for (int i = 0; i != 1000; ++i)
        objects.push_back(pool.create(i));
    std::set<int> expected;
    for (int i = 0; i != 1000; ++i) {
        if (i % 2 == 0)
            pool.destroy(objects[static_cast<std::size_t>(i)]);
        else
            expected.insert(i);
    }
    std::set<int> seen;
    pool.for_each([&](counted& object) { seen.insert(object.value()); });
    EXPECT_EQ(seen, expected);
    pool.for_each([&](counted& object) {
        if (object.value() % 3 == 0)
            pool.destroy(&object);
    });
    EXPECT_EQ(pool.in_use(), static_cast<std::size_t>(counted::alive));
    pool.for_each([](counted& object) { EXPECT_NE(object.value() % 3, 0); });
    EXPECT_TRUE(pool.verify());
}

TYPED_TEST(object_pool_test, unique_pointers_return_their_objects)
{
    typename TestFixture::pool_type pool(test::bounded_to(2), &this->upstream_);
    {
        auto a = pool.make_unique(1);
        auto b = std::move(a);
        EXPECT_EQ(a, nullptr);
        EXPECT_EQ(b->value(), 1);
        EXPECT_EQ(pool.in_use(), 1u);
        typename TestFixture::pool_type::unique_ptr none;
        EXPECT_EQ(none, nullptr);
        none = pool.make_unique(2);
        EXPECT_THROW((void)pool.make_unique(3), mp::pool_exhausted);
    }
    EXPECT_EQ(counted::alive, 0);
    EXPECT_EQ(pool.in_use(), 0u);
}

TYPED_TEST(object_pool_test, respects_max_capacity)
{
    typename TestFixture::pool_type pool(test::bounded_to(3), &this->upstream_);
    for (int i = 0; i != 3; ++i)
        EXPECT_NE(pool.try_create(i), nullptr);
    EXPECT_EQ(pool.try_create(4), nullptr);
    EXPECT_THROW((void)pool.create(4), mp::pool_exhausted);
    EXPECT_EQ(counted::alive, 3);
    EXPECT_EQ(pool.available(), 0u);
    EXPECT_EQ(pool.max_capacity(), 3u);
}

struct parent
{
    mp::object_pool<parent>::unique_ptr first;
    mp::object_pool<parent>::unique_ptr second;
};

TEST(object_pool, supports_objects_that_own_objects_of_the_same_pool)
{
    mp::object_pool<parent> pool;
    {
        const auto root = pool.make_unique();
        root->first = pool.make_unique();
        root->first->second = pool.make_unique();
        EXPECT_EQ(pool.in_use(), 3u);
    }
    EXPECT_EQ(pool.in_use(), 0u);
}

TEST(object_pool, supports_objects_of_any_size_and_alignment)
{
    mp::object_pool<aggregate> aggregates;
    aggregate* const a = aggregates.create(7, "seven");
    EXPECT_EQ(a->number, 7);
    EXPECT_EQ(a->text, "seven");
    EXPECT_EQ(aggregates.create()->number, 0) << "value-initialized";

    mp::object_pool<only_moved> moved;
    EXPECT_EQ(*moved.create(std::make_unique<int>(5))->content, 5);

    mp::object_pool<int> integers;
    EXPECT_EQ(*integers.create(3), 3);

    mp::object_pool<const std::string> constants;
    const std::string* const text = constants.create("constant");
    EXPECT_EQ(*text, "constant");
    constants.destroy(text);

    mp::object_pool<overloaded_address> odd;
    overloaded_address* const object = odd.create();
    odd.for_each([](overloaded_address& one) { one.value = 1; });
    EXPECT_EQ(object->value, 1);
    odd.clear();
    EXPECT_EQ(odd.in_use(), 0u);
}

TEST(object_pool, forwards_constructor_arguments_perfectly)
{
    struct keeps_reference
    {
        explicit keeps_reference(int& number) : reference(number) {}
        int& reference;
    };
    int number = 1;
    mp::object_pool<keeps_reference> pool;
    pool.create(number)->reference = 2;
    EXPECT_EQ(number, 2);
}

TEST(object_pool, honours_the_alignment_of_the_type_and_of_the_options)
{
    mp::object_pool<wide> pool;
    for (int i = 0; i != 100; ++i)
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(pool.create()) % 256, 0u);

    mp::pool_options options;
    options.alignment = 64;
    mp::object_pool<int> apart(options);
    for (int i = 0; i != 100; ++i)
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(apart.create(i)) % 64, 0u);

    struct three_words
    {
        void* words[3];
    };
    mp::object_pool<three_words> close;
    const auto* const first = close.create();
    EXPECT_EQ(close.create(), first + 1) << "24 bytes each, not 32";

    options.alignment = 16;
    mp::object_pool<three_words> as_asked(options);
    for (int i = 0; i != 100; ++i)
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(as_asked.create()) % 16, 0u);
}

TEST(object_pool, release_destroys_its_objects_and_frees_its_memory)
{
    test::accounting_upstream upstream;
    counted::alive = 0;
    mp::object_pool<counted> pool({}, &upstream);
    for (int i = 0; i != 1000; ++i)
        (void)pool.create(i);
    pool.release();
    EXPECT_EQ(counted::alive, 0);
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_EQ(upstream.live_bytes(), 0u);
    (void)pool.create(1);
    EXPECT_EQ(pool.in_use(), 1u);
}

TEST(object_pool, ignores_a_release_by_a_destructor_during_clear)
{
    struct releasing
    {
        mp::object_pool<releasing>* pool;
        ~releasing() { pool->release(); }
    };
    test::accounting_upstream upstream;
    mp::object_pool<releasing> pool({}, &upstream);
    for (int i = 0; i != 100; ++i)
        (void)pool.create(&pool);
    pool.clear();
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_GT(upstream.live_bytes(), 0u);
}

TEST(object_pool, clears_objects_whose_destructors_destroy_others)
{
    {
        tree::pool_type pool;
        (void)pool.create(pool, 10);
        EXPECT_EQ(tree::alive, 2047);
        pool.clear();
        EXPECT_EQ(tree::alive, 0) << "each was destroyed once";
        EXPECT_EQ(pool.in_use(), 0u);
        EXPECT_TRUE(pool.verify());
        (void)pool.create(pool, 10);
    }
    EXPECT_EQ(tree::alive, 0);
}

/// Its destructor creates another object, a given number of times.
struct reborn
{
    using pool_type = mp::object_pool<reborn>;
    reborn(pool_type& home, int left) : pool(home), lives(left) { ++alive; }
    reborn(const reborn&) = delete;
    reborn& operator=(const reborn&) = delete;
    ~reborn()
    {
        --alive;
        if (lives != 0)
            (void)pool.create(pool, lives - 1);
    }

    static inline int alive = 0;
    pool_type& pool;
    int lives;
};

TEST(object_pool, clears_objects_whose_destructors_create_others)
{
    reborn::pool_type pool;
    for (int i = 0; i != 100; ++i)
        (void)pool.create(pool, 2);
    pool.clear();
    EXPECT_EQ(reborn::alive, 0);
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.verify());
}

/// Its destructor clears the pool.
struct last_one
{
    using pool_type = mp::object_pool<last_one>;
    explicit last_one(pool_type& home) : pool(home) { ++alive; }
    last_one(const last_one&) = delete;
    last_one& operator=(const last_one&) = delete;
    ~last_one()
    {
        --alive;
        pool.clear();
    }

    static inline int alive = 0;
    pool_type& pool;
};

TEST(object_pool, clears_once_if_destructors_call_clear)
{
    last_one::pool_type pool;
    for (int i = 0; i != 100; ++i)
        (void)pool.create(pool);
    pool.clear();
    EXPECT_EQ(last_one::alive, 0);
    EXPECT_TRUE(pool.verify());
}

TEST(object_pool, clears_objects_that_destructors_create_in_freed_blocks)
{
    mp::pool_options options;
    options.initial_capacity = options.max_capacity = 200;
    reborn::pool_type pool(options);
    std::vector<reborn*> objects;
    for (int i = 0; i != 200; ++i)
        objects.push_back(pool.create(pool, i < 100 ? 0 : 3));
    for (std::size_t i = 0; i != 100; ++i)
        pool.destroy(objects[i]);
    pool.clear();
    EXPECT_EQ(reborn::alive, 0);
    EXPECT_EQ(pool.in_use(), 0u);
}

/// Its destructor destroys another object.
template <class Policy>
struct link
{
    using pool_type = mp::object_pool<link, Policy>;
    explicit link(pool_type& home) : pool(home) { ++alive; }
    link(const link&) = delete;
    link& operator=(const link&) = delete;
    ~link()
    {
        --alive;
        pool.destroy(next);
    }

    static inline long alive = 0;
    pool_type& pool;
    link* next = nullptr;
};
using plain_link = link<mp::default_policy>;

TEST(object_pool, clears_a_linked_list_without_recursion)
{
    plain_link::pool_type pool;
    plain_link* last = pool.create(pool);
    for (int i = 1; i != 1'000'000; ++i)
        last = last->next = pool.create(pool);
    pool.clear();
    EXPECT_EQ(plain_link::alive, 0);
    EXPECT_TRUE(pool.verify());
}

TEST(object_pool, destroys_objects_that_destroy_each_other_once)
{
    plain_link::pool_type pool;
    plain_link* const one = pool.create(pool);
    one->next = pool.create(pool);
    one->next->next = pool.create(pool);
    one->next->next->next = one;
    pool.create(pool)->next = one;
    pool.clear();
    EXPECT_EQ(plain_link::alive, 0);
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.verify());
}

TEST(object_pool, reports_a_foreign_object_that_a_destructor_destroys_during_clear)
{
    using checked_link = link<mp::checking_policy>;
    checked_link::pool_type pool;
    checked_link::pool_type other;
    checked_link* const foreign = other.create(other);
    pool.create(pool)->next = foreign;
    const test::error_recorder recorder;
    pool.clear();
    ASSERT_EQ(recorder.kinds(), test::kinds{mp::error_kind::foreign_pointer});
    EXPECT_EQ(recorder.reports()[0].address, foreign);
    EXPECT_EQ(checked_link::alive, 1);
}

TEST(object_pool, reports_a_double_destroy_at_its_end_and_destroys_the_other_objects)
{
    counted::alive = 0;
    const test::error_recorder recorder;
    {
        mp::object_pool<counted> pool;
        counted* const object = pool.create(1);
        (void)pool.create(2);
        pool.destroy(object);
        pool.destroy(object);
        EXPECT_EQ(counted::alive, 0) << "the default policy does not check yet";
    }
    EXPECT_EQ(recorder.kinds(), test::kinds{mp::error_kind::double_free});
    EXPECT_EQ(counted::alive, -1) << "the other object was destroyed, too";
}

TEST(object_pool, try_create_supports_every_constructor)
{
    struct from_int
    {
        explicit from_int(int number) : value(number) {}
        int value;
    };
    mp::object_pool<from_int> pool;
    const short number = 3;
    EXPECT_EQ(pool.try_create(number)->value, 3);
    mp::object_pool<std::vector<int>> vectors;
    EXPECT_EQ(vectors.try_create(std::size_t{5}, 7)->size(), 5u) << "parentheses, not braces";
}

TEST(object_pool, try_create_throws_only_exceptions_of_the_constructor)
{
    mp::object_pool<int> pool;
    mp::object_pool<only_moved> moved;
    mp::object_pool<counted> counts;
    EXPECT_TRUE(noexcept(pool.try_create(1)));
    EXPECT_FALSE(noexcept(counts.try_create(1)));
}

TEST(object_pool, reports_a_double_destroy_before_the_destructor_runs)
{
    counted::alive = 0;
    mp::pool_options options;
    options.name = "counted";
    mp::object_pool<counted, mp::checking_policy> pool(options);
    counted* const object = pool.create(1);
    pool.destroy(object);
    const test::error_recorder recorder;
    pool.destroy(object);
    EXPECT_EQ(counted::alive, 0) << "not destroyed twice";
    ASSERT_EQ(recorder.kinds(), test::kinds{mp::error_kind::double_free});
    EXPECT_EQ(recorder.reports()[0].address, object);
    EXPECT_EQ(recorder.reports()[0].pool_name, "counted");
}

#if MEMORY_POOL_ASAN
TYPED_TEST(object_pool_test, reports_a_double_destroy_of_a_trivially_destructible_object)
{
    struct point
    {
        int x, y;
    };
    const test::error_recorder recorder;
    mp::basic_object_pool<point, mp::basic_block_pool<TypeParam>> pool;
    std::array<point*, 10> points{};
    pool.create_bulk(points.data(), points.size(), 1, 2);
    pool.destroy(points[0]);
    pool.destroy(points[0]);
    EXPECT_EQ(recorder.kinds(), test::kinds{mp::error_kind::double_free});
    EXPECT_EQ(recorder.reports()[0].address, points[0]);
    EXPECT_NE(pool.create(1, 2), pool.create(3, 4));
    pool.destroy_bulk(points.data() + 1, points.size() - 1);
    pool.destroy_bulk(points.data() + 1, points.size() - 1);
    EXPECT_EQ(recorder.reports().size(), points.size());
    EXPECT_EQ(pool.in_use(), 2u);
    EXPECT_TRUE(pool.verify());
}
#endif

TEST(object_pool, reports_an_overflow_once_in_the_destructor)
{
    for (const bool is_destroyed : {true, false}) {
        counted::alive = 0;
        const test::error_recorder recorder;
        {
            mp::object_pool<counted, mp::checking_policy> pool;
            counted* const object = pool.create(1);
            test::write_behind(object, sizeof(counted));
            if (is_destroyed) {
                pool.destroy(object);
                EXPECT_EQ(counted::alive, 1) << "ignored";
            }
        }
        EXPECT_EQ(counted::alive, 0);
        EXPECT_EQ(recorder.kinds(), test::kinds{mp::error_kind::buffer_overflow}) << is_destroyed;
    }
}

TEST(object_pool, reports_an_overflow_once_in_clear)
{
    counted::alive = 0;
    const test::error_recorder recorder;
    mp::object_pool<counted, mp::checking_policy> pool;
    (void)pool.create(1);
    test::write_behind(pool.create(2), sizeof(counted));
    pool.clear();
    EXPECT_EQ(counted::alive, 0);
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_EQ(recorder.kinds(), test::kinds{mp::error_kind::buffer_overflow});
}

/// Its destructor writes past the end of the object.
struct overflowing_destructor
{
    static inline int destroyed = 0;
    ~overflowing_destructor()
    {
        ++destroyed;
        test::write_behind(this, sizeof(overflowing_destructor));
    }
    int number = 0;
};

TEST(object_pool, reports_an_overflow_by_a_destructor_once)
{
    overflowing_destructor::destroyed = 0;
    const test::error_recorder recorder;
    {
        mp::object_pool<overflowing_destructor, mp::checking_policy> pool;
        pool.destroy(pool.create());
        EXPECT_EQ(pool.in_use(), 0u);
        (void)pool.create();
    }
    EXPECT_EQ(overflowing_destructor::destroyed, 2);
    EXPECT_EQ(recorder.kinds(), test::kinds(2, mp::error_kind::buffer_overflow));
}

struct overflowing_constructor
{
    overflowing_constructor()
    {
        test::write_behind(this, sizeof(overflowing_constructor));
        throw std::runtime_error("constructor");
    }
    ~overflowing_constructor() { ADD_FAILURE() << "there is no such object"; }
    int number = 0;
};

TEST(object_pool, reports_an_overflow_by_a_throwing_constructor_once_and_frees_the_block)
{
    const test::error_recorder recorder;
    mp::object_pool<overflowing_constructor, mp::checking_policy> pool;
    EXPECT_THROW((void)pool.create(), std::runtime_error);
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_EQ(recorder.kinds(), test::kinds{mp::error_kind::buffer_overflow});
}

TYPED_TEST(object_pool_test, creates_and_destroys_objects_in_bulk)
{
    typename TestFixture::pool_type pool(test::bounded_to(200), &this->upstream_);
    std::vector<counted*> objects(150);
    EXPECT_EQ(pool.create_bulk(objects.data(), 150, 42), 150u);
    EXPECT_EQ(counted::alive, 150);
    EXPECT_EQ(pool.in_use(), 150u);
    EXPECT_TRUE(std::all_of(objects.begin(), objects.end(),
                            [&pool](const counted* object) { return object->value() == 42 && pool.owns(object); }));
    EXPECT_EQ(std::set<counted*>(objects.begin(), objects.end()).size(), 150u);

    std::vector<counted*> too_many(51);
    EXPECT_THROW((void)pool.create_bulk(too_many.data(), 51), mp::pool_exhausted);
    EXPECT_EQ(counted::alive, 150) << "no constructor has run";
    EXPECT_EQ(pool.in_use(), 150u);
    EXPECT_EQ(pool.try_create_bulk(too_many.data(), 51, 7), 50u) << "as many as there are blocks";
    EXPECT_EQ(pool.try_create_bulk(too_many.data(), 1, 7), 0u);
    EXPECT_EQ(pool.create_bulk(too_many.data(), 0), 0u);
    EXPECT_EQ(too_many[0]->value(), 7);

    pool.destroy_bulk(too_many.data(), 51); // The last pointer is nullptr.
    pool.destroy_bulk(objects.data(), 150);
    EXPECT_EQ(counted::alive, 0);
    EXPECT_EQ(pool.in_use(), 0u);
    EXPECT_TRUE(pool.verify());
}

TYPED_TEST(object_pool_test, creates_all_objects_or_none_when_a_constructor_throws)
{
    typename TestFixture::pool_type pool({}, &this->upstream_);
    std::vector<counted*> objects(100);
    for (int fails = 0; fails != 100; ++fails) {
        counted::until_throw = fails;
        EXPECT_THROW((void)pool.create_bulk(objects.data(), 100, 1), std::runtime_error);
        counted::until_throw = fails;
        EXPECT_THROW((void)pool.try_create_bulk(objects.data(), 100, 1), std::runtime_error);
        counted::until_throw = -1;
        ASSERT_EQ(counted::alive, 0);
        ASSERT_EQ(pool.in_use(), 0u);
    }
    EXPECT_TRUE(pool.verify());
}

TYPED_TEST(object_pool_test, creates_as_many_objects_as_there_are_blocks_when_any_upstream_call_fails)
{
    std::vector<counted*> objects(5000);
    for (std::size_t call = 1;; ++call) {
        typename TestFixture::pool_type pool({}, &this->upstream_);
        this->upstream_.fail_from(call);
        const std::size_t made = pool.try_create_bulk(objects.data(), objects.size(), 1);
        ASSERT_EQ(pool.in_use(), made);
        ASSERT_EQ(counted::alive, static_cast<int>(made));
        this->upstream_.never_fail();
        if (made == objects.size())
            break;
    }
    EXPECT_EQ(counted::alive, 0) << "the pool has destroyed the remaining objects";
}

TEST(object_pool, creates_constant_aggregates_in_bulk)
{
    mp::object_pool<const aggregate> pool;
    std::array<const aggregate*, 3> objects{};
    const std::string text = "a text that is too long to fit into the string itself";
    EXPECT_EQ(pool.create_bulk(objects.data(), objects.size(), 3, text), 3u);
    EXPECT_EQ(objects[2]->number, 3);
    EXPECT_EQ(objects[2]->text, text);
    pool.destroy_bulk(objects.data(), objects.size());
    EXPECT_EQ(pool.in_use(), 0u);
}

TEST(object_pool, reports_an_object_that_is_destroyed_twice_in_bulk)
{
    test::error_recorder recorder;
    mp::object_pool<counted, mp::checking_policy> pool;
    std::array<counted*, 3> objects{};
    (void)pool.create_bulk(objects.data(), 2);
    objects[2] = objects[0];
    pool.destroy_bulk(objects.data(), objects.size());
    EXPECT_EQ(recorder.kinds(), test::kinds{mp::error_kind::double_free});
    EXPECT_EQ(counted::alive, 0);
}

/// Its destructor destroys other objects in bulk, even during clear.
struct chief
{
    using pool_type = mp::object_pool<chief>;

    explicit chief(pool_type* owner = nullptr) : pool(owner) { ++alive; }
    chief(const chief&) = delete;
    chief& operator=(const chief&) = delete;
    ~chief()
    {
        --alive;
        if (pool != nullptr)
            pool->destroy_bulk(others.data(), others.size());
    }

    static inline int alive = 0;
    pool_type* pool;
    std::array<chief*, 5> others{};
};

TEST(object_pool, lets_destructors_destroy_objects_in_bulk)
{
    mp::object_pool<chief> pool;
    for (const bool clears : {false, true}) {
        chief* const first = pool.create(&pool);
        (void)pool.create_bulk(first->others.data(), first->others.size());
        EXPECT_EQ(chief::alive, 6);
        if (clears)
            pool.clear();
        else
            pool.destroy(first);
        EXPECT_EQ(chief::alive, 0);
        EXPECT_EQ(pool.in_use(), 0u);
    }
}

TYPED_TEST(object_pool_test, is_constructible_from_an_upstream_alone)
{
    typename TestFixture::pool_type pool(&this->upstream_);
    EXPECT_EQ(pool.upstream_resource(), &this->upstream_);
    std::pmr::memory_resource* const none = nullptr;
    EXPECT_THROW(typename TestFixture::pool_type{none}, std::invalid_argument);
}

TEST(object_pool, rejects_invalid_options)
{
    mp::pool_options options;
    for (const std::size_t alignment : {3u, 12u, 24u, 100u}) {
        options.alignment = alignment;
        EXPECT_THROW(mp::object_pool<int> pool(options), std::invalid_argument) << alignment;
    }
}

TEST(object_pool, counts_under_a_counting_policy)
{
    counted::alive = 0;
    mp::object_pool<counted, mp::counting_policy> pool;
    counted* const a = pool.create(1);
    (void)pool.create(2);
    pool.destroy(a);
    pool.clear();
    const mp::pool_statistics statistics = pool.statistics();
    EXPECT_EQ(statistics.allocations, 2u);
    EXPECT_EQ(statistics.deallocations, 2u);
    EXPECT_EQ(statistics.peak_in_use, 2u);
    EXPECT_EQ(statistics.in_use, 0u);
}

TEST(object_pool, is_empty_while_no_object_is_alive)
{
    const auto expect_empty_after_use = [](auto&& pool) {
        EXPECT_TRUE(pool.empty());
        auto* const only = pool.create(1);
        EXPECT_FALSE(pool.empty());
        pool.destroy(only);
        EXPECT_TRUE(pool.empty());
        (void)pool.create(2);
        pool.clear();
        EXPECT_TRUE(pool.empty());
    };
    expect_empty_after_use(mp::object_pool<int>());
    expect_empty_after_use(mp::concurrent_object_pool<int>());
}
} // namespace
