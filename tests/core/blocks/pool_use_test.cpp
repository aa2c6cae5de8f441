// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/blocks/pool_use.hpp>

#include <memory_pool/allocator.hpp>
#include <memory_pool/arena_resource.hpp>
#include <memory_pool/block_pool.hpp>
#include <memory_pool/concurrent_block_pool.hpp>
#include <memory_pool/concurrent_handle_pool.hpp>
#include <memory_pool/concurrent_object_pool.hpp>
#include <memory_pool/handle_pool.hpp>
#include <memory_pool/intrusive_pool.hpp>
#include <memory_pool/object_pool.hpp>
#include <memory_pool/pool_resource.hpp>
#include <memory_pool/recycling_pool.hpp>
#include <memory_pool/resource_adaptors.hpp>
#include <memory_pool/shared_pool.hpp>

#include <support/child.hpp>
#include <support/error_recorder.hpp>
#include <support/sanitizers.hpp>
#include <support/threads.hpp>
#include <support/what.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <memory_resource>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace mp = memory_pool;

namespace {
using mp::error_kind;

template <class Work>
void in_another_thread(Work&& work)
{
    std::thread(std::forward<Work>(work)).join();
}

// The pools and resources for one thread, with one interface: the owner that `take` returns frees the allocation.

using owner = std::unique_ptr<void, std::function<void(void*)>>;

template <class Policy>
struct blocks
{
    auto take()
    {
        return owner(pool.allocate(), [this](void* block) { pool.deallocate(block); });
    }
    mp::basic_block_pool<Policy> pool{48, mp::pool_options{}.with_name("mine")};
};

template <class Policy>
struct objects
{
    auto take() { return pool.make_unique("text"); }
    mp::object_pool<std::string, Policy> pool{mp::pool_options{}.with_name("mine")};
};

template <class Policy>
struct handles
{
    auto take()
    {
        const auto made = pool.create("text");
        return owner(pool.get(made), [this, made](void*) { pool.destroy(made); });
    }
    mp::handle_pool<std::string, Policy> pool{mp::pool_options{}.with_name("mine")};
};

struct item : mp::pooled<item, mp::plain_references>
{
};

template <class Policy>
struct pointers
{
    auto take() { return pool.make(); }
    mp::intrusive_pool<item, Policy> pool{mp::pool_options{}.with_name("mine")};
};

struct kept_pointers
{
    auto take() { return pool.allocate(); }
    mp::recycling_pool<item> pool;
};

template <class Policy>
struct shared_pointers
{
    auto take() { return pool.make("text"); }
    mp::unsynchronized_shared_pool<std::string, Policy> pool{mp::pool_options{}.with_name("mine")};
};

template <class Resource, class = void>
inline constexpr bool has_arenas = false;
template <class Resource>
inline constexpr bool has_arenas<Resource, std::void_t<decltype(&Resource::arena_count)>> = true;

template <class Resource, std::size_t Bytes>
struct from_resource
{
    auto take()
    {
        return owner(pool.allocate(Bytes), [this](void* block) { pool.deallocate(block, Bytes); });
    }
    Resource pool = [] {
        if constexpr (has_arenas<Resource>)
            return Resource(mp::arena_options{}.with_name("mine"));
        else
            return Resource(std::pmr::pool_options{}, std::pmr::get_default_resource(), "mine");
    }();
};

template <class Policy>
using small_blocks = from_resource<mp::basic_unsynchronized_pool_resource<Policy>, 48>;
template <class Policy>
using large_blocks = from_resource<mp::basic_unsynchronized_pool_resource<Policy>, 100'000>;
template <class Policy>
using arena_blocks = from_resource<mp::basic_unsynchronized_arena_resource<Policy>, 48>;
template <class Policy>
using large_arena_blocks = from_resource<mp::basic_unsynchronized_arena_resource<Policy>, 100'000>;

template <class Checked>
class pool_for_one_thread : public testing::Test
{
};

using every_kind =
    testing::Types<blocks<mp::checking_policy>, objects<mp::checking_policy>, handles<mp::checking_policy>,
                   pointers<mp::checking_policy>, shared_pointers<mp::checking_policy>,
                   small_blocks<mp::checking_policy>, large_blocks<mp::checking_policy>,
                   arena_blocks<mp::checking_policy>, large_arena_blocks<mp::checking_policy>>;
TYPED_TEST_SUITE(pool_for_one_thread, every_kind, );

TYPED_TEST(pool_for_one_thread, reports_a_free_by_another_thread_with_both_thread_numbers)
{
    TypeParam mine;
    const test::error_recorder recorder;
    auto first = mine.take();
    auto second = mine.take();
    const std::string first_user = std::to_string(mp::detail::os::thread_number());
    std::string user;
    in_another_thread([&] {
        user = std::to_string(mp::detail::os::thread_number());
        first = nullptr;
    });
    ASSERT_EQ(recorder.kinds(), test::kinds{error_kind::wrong_thread});
    EXPECT_EQ(recorder.reports()[0].pool_name, "mine");
    EXPECT_TRUE(test::contains(recorder.reports()[0].text,
                               "pool 'mine' of thread " + first_user + ", used by thread " + user + "\n  remedy: "));
    second = nullptr;
    EXPECT_EQ(recorder.kinds().size(), 1u) << "the block was freed";
    EXPECT_EQ(mine.take() == nullptr, false);
}

TYPED_TEST(pool_for_one_thread, reports_an_allocation_by_another_thread)
{
    TypeParam mine;
    const test::error_recorder recorder;
    const auto first = mine.take();
    in_another_thread([&] { EXPECT_NE(mine.take(), nullptr); });
    EXPECT_EQ(recorder.kinds(), test::kinds{error_kind::wrong_thread});
}

TYPED_TEST(pool_for_one_thread, reports_a_trim_by_another_thread)
{
    TypeParam mine;
    const test::error_recorder recorder;
    const auto first = mine.take();
    in_another_thread([&] { (void)mine.pool.trim(); });
    EXPECT_EQ(recorder.kinds(), test::kinds{error_kind::wrong_thread});
}

TYPED_TEST(pool_for_one_thread, reports_each_other_thread_once)
{
    TypeParam mine;
    const test::error_recorder recorder;
    const auto kept = mine.take();
    for (std::size_t threads = 1; threads != 4; ++threads) {
        in_another_thread([&] {
            for (int i = 0; i != 10; ++i)
                EXPECT_NE(mine.take(), nullptr);
        });
        EXPECT_EQ(recorder.kinds(), test::kinds(threads, error_kind::wrong_thread));
    }
}

TYPED_TEST(pool_for_one_thread, hand_over_changes_the_owner)
{
    TypeParam mine;
    const test::error_recorder recorder;
    auto first = mine.take();
    auto second = mine.take();
    mine.pool.hand_over();
    in_another_thread([&] { first = mine.take(); });
    EXPECT_TRUE(recorder.reports().empty());
    second = nullptr;
    EXPECT_EQ(recorder.kinds(), test::kinds{error_kind::wrong_thread}) << "the other thread owns the pool now";
}

TEST(pool_for_one_thread, reports_a_visit_of_handles_by_another_thread)
{
    handles<mp::checking_policy> mine;
    const auto kept = mine.take();
    const test::error_recorder recorder;
    in_another_thread([&mine] { mine.pool.for_each([](std::string&) {}); });
    EXPECT_EQ(recorder.kinds(), test::kinds(1, error_kind::wrong_thread));
    in_another_thread([&mine] {
        for (std::string& each : mine.pool)
            each += "!";
    });
    EXPECT_EQ(recorder.kinds(), test::kinds(2, error_kind::wrong_thread));
}

TEST(pool_for_one_thread, accepts_objects_that_outlive_it_from_any_thread)
{
    const test::error_recorder recorder;
    pointers<mp::checking_policy> mine;
    std::array items{mine.take(), mine.take(), mine.take()};
    mine.pool.release();
    for (auto& each : items)
        in_another_thread([&each] { each = nullptr; });
    EXPECT_TRUE(recorder.reports().empty());
}

TYPED_TEST(pool_for_one_thread, changes_the_owner_when_empty)
{
    TypeParam mine;
    const test::error_recorder recorder;
    for (int i = 0; i != 3; ++i)
        in_another_thread([&] {
            const auto first = mine.take();
            const auto second = mine.take();
        });
    EXPECT_NE(mine.take(), nullptr);
    EXPECT_TRUE(recorder.reports().empty());
}

TYPED_TEST(pool_for_one_thread, can_be_destroyed_by_any_thread)
{
    std::optional<TypeParam> mine(std::in_place);
    const test::error_recorder recorder;
    decltype(mine->take()) kept = mine->take();
    in_another_thread([&] { mine.reset(); });
    EXPECT_TRUE(recorder.reports().empty());
    if constexpr (std::is_same_v<TypeParam, pointers<mp::checking_policy>> ||
                  std::is_same_v<TypeParam, shared_pointers<mp::checking_policy>>)
        kept = nullptr; // outlives the pool
    else
        (void)kept.release();
    EXPECT_TRUE(recorder.reports().empty());
}

#if TESTS_MAY_FORK
TYPED_TEST(pool_for_one_thread, can_be_used_in_a_forked_child)
{
    TypeParam mine;
    const test::error_recorder recorder;
    auto first = mine.take();
    test::expect_in_child([&] {
        const auto second = mine.take();
        first = nullptr;
        return recorder.reports().empty();
    });
}
#endif

template <class Mine>
void expect_no_report_of_threads()
{
    const test::error_recorder recorder;
    Mine mine;
    auto kept = mine.take();
    in_another_thread([&] {
        kept = mine.take();
        mine.pool.hand_over();
    });
    kept = nullptr;
    EXPECT_TRUE(recorder.reports().empty());
}

TEST(pool_use, is_not_checked_by_other_policies)
{
    expect_no_report_of_threads<blocks<mp::default_policy>>();
    expect_no_report_of_threads<objects<mp::counting_policy>>();
    expect_no_report_of_threads<handles<mp::default_policy>>();
    expect_no_report_of_threads<pointers<mp::default_policy>>();
    expect_no_report_of_threads<shared_pointers<mp::default_policy>>();
    expect_no_report_of_threads<small_blocks<mp::default_policy>>();
    expect_no_report_of_threads<arena_blocks<mp::default_policy>>();
    expect_no_report_of_threads<kept_pointers>();
}

struct shared_objects
{
    auto take() { return pool.make_unique("text"); }
    mp::concurrent_object_pool<std::string, mp::checking_policy> pool;
};

TEST(pool_use, is_not_checked_in_concurrent_pools)
{
    expect_no_report_of_threads<shared_objects>();
    expect_no_report_of_threads<from_resource<mp::basic_synchronized_pool_resource<mp::checking_policy>, 48>>();
    expect_no_report_of_threads<from_resource<mp::basic_synchronized_arena_resource<mp::checking_policy>, 48>>();
}

TEST(pool_use, is_not_checked_under_a_lock_of_the_library)
{
    const test::error_recorder recorder;
    mp::basic_unsynchronized_arena_resource<mp::checking_policy> arenas;
    mp::basic_unsynchronized_pool_resource<mp::checking_policy> pools(&arenas);
    mp::synchronized_resource locked(&pools);
    mp::concurrent_block_pool blocks(1000, &locked);
    mp::synchronized_pool_resource resource(&locked);
    void* const kept = locked.allocate(100);
    test::in_threads(4, [&](std::size_t) {
        for (int i = 0; i != 100; ++i) {
            void* const block = blocks.allocate();
            void* const small = resource.allocate(100);
            void* const large = locked.allocate(20'000);
            locked.deallocate(large, 20'000);
            resource.deallocate(small, 100);
            blocks.deallocate(block);
            (void)blocks.trim();
        }
    });
    locked.deallocate(kept, 100);
    EXPECT_TRUE(recorder.reports().empty());
}

// The end of a pool.

/// Storage that stays after the pool in it is destroyed.
template <class Pool>
class storage
{
public:
    template <class... Arguments>
    Pool& make(Arguments&&... arguments)
    {
        return *(pool_ = ::new (static_cast<void*>(memory_)) Pool(std::forward<Arguments>(arguments)...));
    }
    void destroy() { pool_->~Pool(); }

private:
    alignas(Pool) std::byte memory_[sizeof(Pool)];
    Pool* pool_ = nullptr;
};

void expect_end_reported(const test::error_recorder& recorder, const char* name)
{
    ASSERT_EQ(recorder.kinds(), test::kinds{error_kind::leak});
    EXPECT_EQ(recorder.reports()[0].pool_name, name);
    EXPECT_TRUE(test::contains(recorder.reports()[0].text,
                               "pool '" + std::string(name) + "' was destroyed before\n  remedy: "));
}

template <class Pool>
void expect_late_pointers_reported()
{
    const test::error_recorder recorder;
    std::string name = "orders"; // does not outlive the pool
    storage<Pool> home;
    auto kept = home.make(mp::pool_options{}.with_name(name.c_str())).make_unique();
    const void* const object = kept.get();
    home.destroy();
    name.assign("no more");
    kept = nullptr;
    expect_end_reported(recorder, "orders");
    EXPECT_EQ(recorder.reports()[0].address, object);

    Pool& next = home.make(mp::pool_options{}.with_name("next"));
    next.destroy(next.create());
    next.destroy(next.create());
    home.destroy();
    EXPECT_EQ(recorder.reports().size(), 1u) << "no report for another pool at that address";
}

TEST(pool_end, is_reported_when_a_unique_ptr_outlives_the_pool)
{
    expect_late_pointers_reported<mp::object_pool<int, mp::checking_policy>>();
    expect_late_pointers_reported<mp::object_pool<std::string, mp::checking_policy>>();
    expect_late_pointers_reported<mp::concurrent_object_pool<int, mp::checking_policy>>();
    expect_late_pointers_reported<mp::concurrent_object_pool<std::string, mp::checking_policy>>();
}

template <class Pool>
void expect_late_blocks_reported()
{
    const test::error_recorder recorder;
    storage<Pool> home;
    Pool& pool = home.make(48u, mp::pool_options{}.with_name("blocks"));
    void* blocks[2] = {pool.allocate(), pool.allocate()};
    home.destroy();
    pool.deallocate(nullptr);
    EXPECT_TRUE(recorder.reports().empty());
    pool.deallocate(blocks[0]);
    expect_end_reported(recorder, "blocks");
    pool.deallocate_bulk(blocks, 2);
    EXPECT_EQ(recorder.kinds(), test::kinds(3, error_kind::leak));
}

TEST(pool_end, is_reported_when_a_block_is_freed_later)
{
    expect_late_blocks_reported<mp::basic_block_pool<mp::checking_policy>>();
    expect_late_blocks_reported<mp::basic_concurrent_block_pool<mp::checking_policy>>();
}

template <class Pool>
void expect_late_handles_reported()
{
    const test::error_recorder recorder;
    storage<Pool> home;
    Pool& pool = home.make(mp::pool_options{}.with_name("entities"));
    const auto kept = pool.create();
    home.destroy();
    EXPECT_FALSE(pool.destroy(kept));
    expect_end_reported(recorder, "entities");
}

TEST(pool_end, is_reported_when_a_handle_is_destroyed_later)
{
    expect_late_handles_reported<mp::handle_pool<std::string, mp::checking_policy>>();
    expect_late_handles_reported<mp::concurrent_handle_pool<std::string, mp::checking_policy>>();
}

template <class Resource, class... Options>
void expect_late_resource_use_reported(const Options&... options)
{
    for (const std::size_t count : {10u, 100'000u}) {
        const test::error_recorder recorder;
        storage<Resource> home;
        {
            const std::pmr::vector<int> kept(count, &home.make(options...));
            home.destroy();
        }
        expect_end_reported(recorder, "frames");
    }
    const test::error_recorder recorder;
    storage<Resource> home;
    Resource& resource = home.make(options...);
    auto text = mp::allocate_unique<std::string>(resource, "a text that is longer than a small one");
    auto number = mp::allocate_unique<int>(static_cast<std::pmr::memory_resource*>(&resource), 3);
    char* const content = text->data(); // The destructor would free it.
    home.destroy();
    text = nullptr;
    expect_end_reported(recorder, "frames");
    number = nullptr;
    EXPECT_EQ(recorder.kinds(), test::kinds(2, error_kind::leak));
    ::operator delete(content);
}

TEST(pool_end, is_reported_when_containers_and_objects_outlive_their_resource)
{
    const mp::arena_options arenas = mp::arena_options{}.with_name("frames");
    expect_late_resource_use_reported<mp::basic_unsynchronized_arena_resource<mp::checking_policy>>(arenas);
    expect_late_resource_use_reported<mp::basic_synchronized_arena_resource<mp::checking_policy>>(arenas);
    const std::pmr::pool_options pools;
    std::pmr::memory_resource* const upstream = std::pmr::get_default_resource();
    const char* const name = "frames";
    expect_late_resource_use_reported<mp::basic_unsynchronized_pool_resource<mp::checking_policy>>(pools, upstream,
                                                                                                   name);
    expect_late_resource_use_reported<mp::basic_synchronized_pool_resource<mp::checking_policy>>(pools, upstream, name);
}

#if !MEMORY_POOL_ASAN && !MEMORY_POOL_TSAN // These tools report the accesses themselves.
TEST(pool_end_death_test, is_reported_after_scope_exit_and_after_delete)
{
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    using pool_type = mp::object_pool<std::string, mp::checking_policy>;
    const mp::pool_options options = mp::pool_options{}.with_name("orders");
    EXPECT_DEATH(
        {
            pool_type::unique_ptr kept;
            {
                pool_type pool(options);
                kept = pool.make_unique("text");
            }
        },
        "pool 'orders' was destroyed before\n  remedy: destroy a pool after its objects");
    EXPECT_DEATH(
        {
            auto pool = std::make_unique<pool_type>(options);
            auto kept = pool->make_unique("text");
            pool = nullptr;
        },
        "pool 'orders' was destroyed before");
}
#endif
} // namespace
