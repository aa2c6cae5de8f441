// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/base/lifetime_access.hpp>

#include <memory_pool/allocator.hpp>
#include <memory_pool/memory_pool.hpp>

#if __has_include(<boost/smart_ptr/intrusive_ptr.hpp>)
#include <memory_pool/intrusive_pool.hpp>
#include <memory_pool/recycling_pool.hpp>
#endif

#include <gtest/gtest.h>

#include <memory_resource>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace mp = memory_pool;
namespace base = memory_pool::detail::base;

namespace {
/// A class whose objects only pools can construct and destroy.
class secret
{
public:
    static inline int alive = 0;

    const std::string& text() const { return text_; }

private:
    friend mp::lifetime_access;

    secret() : secret("none") {}
    explicit secret(const char* text) : text_(text) { ++alive; }
    ~secret() { --alive; }

    std::string text_;
};

/// A class with private members and no friend.
class closed
{
    closed() = default;
    ~closed() = default;
};

struct noisy
{
    noisy() noexcept(false) {}
    ~noisy() noexcept(false) {}
};

static_assert(!std::is_constructible_v<secret, const char*> && !std::is_destructible_v<secret>);
static_assert(base::is_constructible<secret> && base::is_constructible<secret, const char*>);
static_assert(!base::is_constructible<secret, int> && !base::is_constructible<secret, const secret&, int>);
static_assert(base::is_destructible<secret> && base::is_nothrow_destructible<secret>);
static_assert(!base::is_constructible<closed> && !base::is_destructible<closed>);
static_assert(base::is_destructible<noisy> && !base::is_nothrow_destructible<noisy>);

template <class Pool>
struct lifetime_access : testing::Test
{
    ~lifetime_access() override { EXPECT_EQ(secret::alive, 0); }
};

template <class T>
using checked = mp::object_pool<T, mp::checking_policy>;
using pools = testing::Types<mp::object_pool<secret>, checked<secret>, mp::concurrent_object_pool<secret>,
                             mp::handle_pool<secret>, mp::concurrent_handle_pool<secret>>;
TYPED_TEST_SUITE(lifetime_access, pools, );

TYPED_TEST(lifetime_access, lets_pools_use_private_constructors_and_destructors)
{
    TypeParam pool;
    const auto one = pool.create("one");
    const auto two = pool.try_create();
    EXPECT_EQ(secret::alive, 2);
    pool.for_each([](const secret& each) { EXPECT_EQ(each.text().size(), each.text() == "one" ? 3u : 4u); });
    pool.destroy(one);
    EXPECT_EQ(secret::alive, 1);
    std::remove_const_t<decltype(two)> many[3];
    EXPECT_EQ(pool.create_bulk(many, 3, "many"), 3u);
    EXPECT_EQ(secret::alive, 4);
    pool.clear();
    EXPECT_EQ(secret::alive, 0);
    (void)pool.create(); // Destroyed by the pool's destructor.
}

template <class Pool>
void expect_made_and_gone()
{
    {
        Pool pool;
        const auto made = pool.make("made");
        EXPECT_EQ(made->text(), "made");
    }
    EXPECT_EQ(secret::alive, 0);
}

TEST(lifetime_access_of_owners, applies_to_shared_pools_and_allocate_unique)
{
    expect_made_and_gone<mp::shared_pool<secret>>();
    expect_made_and_gone<mp::unsynchronized_shared_pool<secret>>();
    {
        mp::recycling_shared_pool<secret> pool;
        EXPECT_EQ(pool.allocate()->text(), "none");
        mp::unsynchronized_recycling_shared_pool<secret> other;
        EXPECT_EQ(other.allocate()->text(), "none");
        mp::object_pool<secret> unique;
        EXPECT_EQ(unique.make_unique("unique")->text(), "unique");
        EXPECT_EQ(mp::allocate_unique<secret>(std::pmr::get_default_resource(), "pmr")->text(), "pmr");
    }
    EXPECT_EQ(secret::alive, 0);
}

#if __has_include(<boost/smart_ptr/intrusive_ptr.hpp>)
/// A class for pools of reference-counted objects.
class counted_secret : public mp::pooled<counted_secret>
{
public:
    static inline int alive = 0;

private:
    friend mp::lifetime_access;

    counted_secret() { ++alive; }
    ~counted_secret() { --alive; }
};

TEST(lifetime_access_of_owners, applies_to_intrusive_and_recycling_pools)
{
    {
        mp::intrusive_pool<counted_secret> pool;
        const auto made = pool.make();
        mp::recycling_pool<counted_secret> recycling;
        const auto kept = recycling.allocate();
        EXPECT_GE(counted_secret::alive, 2);
    }
    EXPECT_EQ(counted_secret::alive, 0);
}
#endif
} // namespace
