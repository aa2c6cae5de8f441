// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Pools and resources of every kind, in known states, for debuggers_test.py, which stops in `ready` and inspects them.
/// Before that, prints the expected output of the debugger scripts for each, from the statistics of the library:
///
///     expression|line
///
/// Then aborts, with all its threads.
#include <memory_pool/memory_pool.hpp>
#if MEMORY_POOL_TEST_INTRUSIVE
#include <memory_pool/intrusive_pool.hpp>
#include <memory_pool/recycling_pool.hpp>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace pools = memory_pool;

namespace app {
struct order
{
    std::array<long, 6> parts{};
};

/// A pool as a member and as the base class of a member.
struct engine
{
    struct named_pool : pools::block_pool
    {
        named_pool() : basic_block_pool(32, pools::pool_options{}.with_name("of a base")) {}
    };

    int revolutions = 0;
    pools::block_pool bolts{48, pools::pool_options{}.with_name("bolts")};
    named_pool nuts;
};

#if MEMORY_POOL_TEST_INTRUSIVE
struct task : pools::pooled<task>
{
};

struct local_task : pools::pooled<local_task, pools::plain_references>
{
};
#endif

/// Named pools and resources that no variable refers to.
struct rooms
{
    /// Allocates from each pool and resource.
    void fill()
    {
        (void)named.create();
        for (int i = 0; i != 100; ++i)
            (void)by_handle.create();
        first = shared.make();
        (void)counted.allocate();
        (void)requests.allocate(100, 8);
        (void)sizes.allocate(500, 8);
        (void)bounded.allocate(10, 8);
    }

    pools::object_pool<order> named{pools::pool_options{}.with_name("room")};
    pools::handle_pool<order> by_handle{pools::pool_options{}.with_name("room by handle")};
    pools::unsynchronized_shared_pool<order> shared{pools::pool_options{}.with_name("shared room")};
    std::shared_ptr<order> first;
    pools::basic_concurrent_block_pool<pools::counting_policy> counted{24,
                                                                       pools::pool_options{}.with_name("counted room")};
    pools::synchronized_arena_resource requests{pools::arena_options{}.with_name("requests")};
    pools::unsynchronized_pool_resource sizes{{}, std::pmr::get_default_resource(), "sizes of rooms"};
    pools::limit_resource bounded{pools::limit_options{}.with_name("bounded").with_limit(100)};
};

pools::object_pool<order> orders(pools::pool_options{}.with_name("orders").with_initial_capacity(128));
} // namespace app

static pools::concurrent_block_pool jobs(64, pools::pool_options{}.with_name("jobs"));
static pools::block_pool in_rows(64, pools::pool_options{}.with_name("in rows"));
static pools::block_pool in_spans(64, pools::pool_options{}.with_name("in spans"));
static pools::concurrent_block_pool full(16, pools::pool_options{}.with_name("full").with_max_capacity(4));
static pools::concurrent_block_pool empty(16);

static pools::object_pool<app::order>& returned_orders()
{
    static pools::object_pool<app::order> pool(pools::pool_options{}.with_name("returned"));
    return pool;
}

/// The breakpoint of the debuggers.
__attribute__((noinline)) static void ready()
{
    asm volatile("" : : : "memory");
}

/// Keeps a variable in memory, where debuggers find it.
static void keep(const void* variable)
{
    asm volatile("" : : "r"(variable) : "memory");
}

/// Exits unless the condition holds: the test depends on the states below.
static void require(bool is_true, const char* what)
{
    if (is_true)
        return;
    (void)std::fprintf(stderr, "condition failed: %s\n", what);
    std::_Exit(2);
}

#define REQUIRE(condition) require(condition, #condition)

/// Prints the expected line of a pool.
template <class Pool>
static void expect(const char* expression, const char* name, const Pool& pool, const char* remark = "")
{
    (void)std::printf("%s|%s \"%s\": %zu of %zu in use, %zu bytes%s\n", expression, name, pool.name(), pool.in_use(),
                      pool.capacity(), pool.bytes_reserved(), remark);
}

/// Prints the expected line of an arena resource.
template <class Resource>
static void expect_arenas(const char* expression, const char* name, const Resource& resource)
{
    (void)std::printf("%s|%s \"%s\": %zu of %zu arenas in use, %zu bytes in use, %zu bytes\n", expression, name,
                      resource.name(), resource.arena_count() - resource.free_arenas(), resource.arena_count(),
                      resource.bytes_in_use(), resource.bytes_reserved());
}

/// Prints the expected line of a pool resource.
template <class Resource>
static void expect_pools(const char* expression, const char* name, const Resource& resource, const char* count)
{
    (void)std::printf("%s|%s \"%s\": %s, %zu bytes in use, %zu bytes\n", expression, name, resource.name(), count,
                      resource.bytes_in_use(), resource.bytes_reserved());
}

/// Allocates a number of blocks.
template <class Pool>
static std::vector<void*> take(Pool& pool, std::size_t count)
{
    std::vector<void*> blocks(count);
    for (void*& block : blocks)
        block = pool.allocate();
    return blocks;
}

/// Frees the first `count` blocks, in allocation order.
template <class Pool>
static void give_back(Pool& pool, const std::vector<void*>& blocks, std::size_t count)
{
    std::for_each(blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(count),
                  [&pool](void* block) { pool.deallocate(block); });
}

/// Runs `work` in a thread that never ends, so its caches stay.
template <class Work>
static void stay_after(Work work)
{
    static std::mutex mutex;
    static std::condition_variable never;
    std::atomic<bool> is_done{false};
    std::thread([&is_done, work] {
        work();
        is_done = true;
        std::unique_lock<std::mutex> lock(mutex);
        never.wait(lock, [] { return false; });
    }).detach();
    while (!is_done)
        std::this_thread::yield();
}

int main()
{
    // Single-threaded pools: free blocks in the magazine, in a span and in a row.
    for (int i = 0; i != 12; ++i)
        (void)app::orders.create();
    app::orders.destroy(app::orders.create());
    REQUIRE(app::orders.in_use() == 12);
    give_back(in_rows, take(in_rows, 900), 800);
    REQUIRE(in_rows.in_use() == 100);
    (void)take(in_spans, 70);
    (void)returned_orders().create();
    app::engine engine;
    (void)take(engine.bolts, 3);
    (void)take(engine.nuts, 2);

    // Concurrent pools: free blocks in thread caches and in the depot.
    give_back(jobs, take(jobs, 5000), 4000);
    stay_after([] { give_back(jobs, take(jobs, 300), 200); });
    REQUIRE(jobs.in_use() == 1100);
    (void)take(full, 4);
    std::thread([] { (void)full.allocate_wait(); }).detach();
    while (full.waiting() != 1)
        std::this_thread::yield();
    // No variable refers to these: the first has a name, the second is only in the registry of threads.
    auto apart = std::make_unique<pools::concurrent_object_pool<app::order>>(pools::pool_options{}.with_name("apart"));
    (void)apart->create();
    auto apart_without_name = std::make_unique<pools::concurrent_block_pool>(40);
    (void)take(*apart_without_name, 3);

    // These are only in the registry of named pools.
    const auto rooms = std::make_unique<app::rooms>();
    rooms->fill();

    // Policies.
    pools::basic_block_pool<pools::counting_policy> counted(40, pools::pool_options{}.with_name("counted"));
    (void)take(counted, 7);
    pools::object_pool<app::order, pools::checking_policy> checked;
    (void)checked.create();
    pools::basic_concurrent_block_pool<pools::checking_policy> checked_jobs(40);
    (void)take(checked_jobs, 2);
    pools::concurrent_object_pool<app::order> shared_orders(pools::pool_options{}.with_name("shared"));
    (void)shared_orders.create();

    // Handles, with a table of more than one chunk.
    pools::handle_pool<app::order> handles(pools::pool_options{}.with_name("handles"));
    for (int i = 0; i != 100; ++i)
        (void)handles.create();
    pools::concurrent_handle_pool<app::order, pools::counting_policy> shared_handles;
    (void)shared_handles.destroy(shared_handles.create());
    (void)shared_handles.create();

    // Objects owned by pointers.
    pools::shared_pool<app::order> sharing(pools::pool_options{}.with_name("sharing"));
    const auto first = sharing.make();
    pools::unsynchronized_shared_pool<app::order> local_sharing;
    const auto second = local_sharing.make();
    pools::recycling_shared_pool<app::order> kept;
    const auto third = kept.allocate();
    pools::shared_pool<app::order> source;
    static pools::shared_pool<app::order> target(std::move(source));
    std::shared_ptr<app::order> survivor;
    {
        pools::shared_pool<app::order> gone(pools::pool_options{}.with_name("gone"));
        survivor = gone.make();
    }

    // Resources.
    pools::synchronized_pool_resource shared_sizes;
    for (const std::size_t bytes : std::initializer_list<std::size_t>{50, 500, 50'000})
        (void)shared_sizes.allocate(bytes, 8);
    pools::unsynchronized_pool_resource sizes;
    (void)sizes.allocate(50, 8);
    pools::unsynchronized_arena_resource arenas(pools::arena_options{}.with_name("arenas").with_arena_count(3));
    for (int i = 0; i != 100; ++i)
        arenas.deallocate(arenas.allocate(1000, 8), 1000, 8);
    std::vector<void*> requests(100);
    for (void*& request : requests)
        request = arenas.allocate(1000, 8);
    for (std::size_t i = 0; i != 70; ++i)
        arenas.deallocate(requests[i], 1000, 8);
    (void)arenas.allocate(100'000, 8);
    pools::synchronized_arena_resource shared_arenas(pools::arena_options{}.with_name("shared arenas"));
    void* const request = shared_arenas.allocate(1000, 8);
    (void)shared_arenas.allocate(500, 8);
    stay_after([&] {
        shared_arenas.deallocate(request, 1000, 8);
        (void)shared_arenas.allocate(200, 8);
    });
    static pools::page_resource pages(pools::page_options{}.with_name("pages"));
    (void)pages.allocate(10'000, 8);
    static pools::tracking_resource tracked(&pages);
    (void)tracked.allocate(100, 8);
    tracked.deallocate(tracked.allocate(50, 8), 50, 8);
    static pools::limit_resource limited(pools::limit_options{}.with_name("limited").with_limit(4096), &tracked);
    (void)limited.allocate(1000, 8);
    static pools::failing_resource failing(2, &limited);
    (void)failing.allocate(10, 8);
    static pools::synchronized_resource locked(&tracked);
    static pools::block_resource<pools::block_pool> of_bolts(engine.bolts);
    static const pools::resource_allocator<app::order, pools::unsynchronized_pool_resource> allocator(sizes);

    // Values.
    static const pools::pool_options options = pools::pool_options{}.with_name("options").with_max_capacity(128);
    static const pools::arena_options of_arenas = pools::arena_options{}.with_max_arenas(7).with_prefault(true);
    static const pools::page_options of_pages =
        pools::page_options{}.with_huge_pages(pools::huge_page_use::transparent);
    static const pools::limit_options of_limit = pools::limit_options{}.with_limit(100);
    static const pools::pool_statistics statistics = counted.statistics();
    static const pools::resource_statistics of_tracked = tracked.statistics();
    static const pools::call_site site{"orders.cpp", 42};

    // Memory that is not a valid pool, as a core may contain.
    using memory_of_pool = std::array<std::byte, sizeof(pools::block_pool)>;
    alignas(pools::block_pool) static memory_of_pool zeros{};
    alignas(pools::block_pool) static memory_of_pool ones{};
    ones.fill(std::byte{0xFF});
    static auto* zeroed = reinterpret_cast<pools::block_pool*>(zeros.data());
    static auto* damaged = reinterpret_cast<pools::block_pool*>(ones.data());

    expect("app::orders", "object_pool<app::order>", app::orders);
    expect("in_rows", "block_pool", in_rows);
    expect("in_spans", "block_pool", in_spans);
    expect("jobs", "concurrent_block_pool", jobs);
    expect("full", "concurrent_block_pool", full, ", 1 thread waits for a block");
    expect("empty", "concurrent_block_pool", empty);
    expect("engine.bolts", "block_pool", engine.bolts);
    expect("*apart", "concurrent_object_pool<app::order>", *apart);
    expect("*apart_without_name", "concurrent_block_pool", *apart_without_name);
    expect("rooms->named", "object_pool", rooms->named);
    expect("rooms->by_handle", "handle_pool", rooms->by_handle);
    expect("rooms->shared", "unsynchronized_shared_pool<app::order>", rooms->shared);
    expect("rooms->counted", "concurrent_block_pool", rooms->counted);
    expect_arenas("rooms->requests", "synchronized_arena_resource", rooms->requests);
    expect_pools("rooms->sizes", "unsynchronized_pool_resource", rooms->sizes, "1 pool");
    (void)std::puts("rooms->bounded|limit_resource \"bounded\": 10 of 100 bytes in use");
    expect("counted", "basic_block_pool<counting_policy>", counted);
    expect("checked", "object_pool<app::order, checking_policy>", checked);
    expect("checked_jobs", "basic_concurrent_block_pool<checking_policy>", checked_jobs);
    expect("shared_orders", "concurrent_object_pool<app::order>", shared_orders);
    expect("handles", "handle_pool<app::order>", handles);
    expect("shared_handles", "concurrent_handle_pool<app::order, counting_policy>", shared_handles);
    expect("sharing", "shared_pool<app::order>", sharing);
    expect("local_sharing", "unsynchronized_shared_pool<app::order>", local_sharing);
    expect("kept", "recycling_shared_pool<app::order>", kept);
    expect("target", "shared_pool<app::order>", target);
    (void)std::puts("source|shared_pool<app::order>: moved from");
    expect_pools("shared_sizes", "synchronized_pool_resource", shared_sizes, "2 pools");
    expect_pools("sizes", "unsynchronized_pool_resource", sizes, "1 pool");
    expect_arenas("arenas", "unsynchronized_arena_resource", arenas);
    expect_arenas("shared_arenas", "synchronized_arena_resource", shared_arenas);
    (void)std::printf("pages|page_resource \"pages\": %zu bytes in use\n", pages.bytes_in_use());
    (void)std::printf("tracked|tracking_resource: %zu bytes in use (peak %zu), %zu chunks in use (peak %zu), "
                      "%llu allocations, 0 failures\n",
                      of_tracked.bytes_in_use, of_tracked.peak_bytes_in_use, of_tracked.in_use, of_tracked.peak_in_use,
                      static_cast<unsigned long long>(of_tracked.allocations));
    (void)std::puts("limited|limit_resource \"limited\": 1010 of 4096 bytes in use");
    (void)std::puts("failing|failing_resource: 1 calls, 0 failures");
    (void)std::printf("locked|synchronized_resource over tracking_resource: %zu bytes in use (peak %zu), %zu chunks in "
                      "use (peak %zu), %llu allocations, 0 failures\n",
                      of_tracked.bytes_in_use, of_tracked.peak_bytes_in_use, of_tracked.in_use, of_tracked.peak_in_use,
                      static_cast<unsigned long long>(of_tracked.allocations));
    expect("of_bolts", "block_resource over block_pool", engine.bolts);
    expect_pools("allocator", "resource_allocator<app::order> from unsynchronized_pool_resource", sizes, "1 pool");
    (void)std::puts("options|pool_options \"options\": initial_capacity 0, max_capacity 128, growth_step 0, "
                    "max_cached_blocks 0, alignment 0");
    (void)std::puts("of_arenas|arena_options \"unnamed\": arena_count 0, arena_size 65536, max_arenas 7, prefault");
    (void)std::puts("of_pages|page_options \"unnamed\": huge_pages transparent");
    (void)std::puts("of_limit|limit_options \"unnamed\": limit 100, soft_limit unbounded");
    (void)std::printf("statistics|pool_statistics: in_use 7, peak_in_use 7, allocations 7, deallocations 0, "
                      "failures 0, slabs 1, bytes_reserved %zu\n",
                      statistics.bytes_reserved);
    (void)std::printf("of_tracked|resource_statistics: bytes_in_use %zu, peak_bytes_in_use %zu, in_use %zu, "
                      "peak_in_use %zu, allocations %llu, deallocations 1, failures 0\n",
                      of_tracked.bytes_in_use, of_tracked.peak_bytes_in_use, of_tracked.in_use, of_tracked.peak_in_use,
                      static_cast<unsigned long long>(of_tracked.allocations));
    (void)std::puts("site|orders.cpp:42");
    (void)std::puts("*zeroed|block_pool: not constructed yet, destroyed, or damaged");
    expect("returned", "object_pool<app::order>", returned_orders());
    expect("engine.nuts", "block_pool", engine.nuts);

#if MEMORY_POOL_TEST_INTRUSIVE
    pools::intrusive_pool<app::task> tasks(pools::pool_options{}.with_name("tasks"));
    const auto some_task = tasks.make();
    const auto same_task = some_task;
    pools::recycling_pool<app::local_task> kept_tasks;
    const auto local = kept_tasks.allocate();
    const app::task outside_of_pools;
    expect("tasks", "intrusive_pool<app::task>", tasks);
    expect("kept_tasks", "recycling_pool<app::local_task>", kept_tasks);
    static const pools::pooled<app::task>* counted_task = some_task.get();
    static const pools::pooled<app::task>* idle_task = &outside_of_pools;
    static const pools::pooled<app::local_task, pools::plain_references>* counted_local = local.get();
    (void)std::puts("*counted_task|pooled: 2 references");
    (void)std::puts("*idle_task|pooled: no references");
    (void)std::puts("*counted_local|pooled: 1 reference");
    keep(&counted_task);
    keep(&idle_task);
    keep(&counted_local);
#endif
    (void)std::fflush(stdout);
    for (const auto* each : std::initializer_list<const void*>{
             &zeroed, &damaged, &target, &pages, &tracked, &limited, &failing, &locked, &of_bolts, &allocator, &options,
             &of_arenas, &of_pages, &of_limit, &statistics, &of_tracked, &site})
        keep(each);
    ready();
    std::abort();
}
