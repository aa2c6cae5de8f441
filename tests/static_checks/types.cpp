// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Programs that must not compile, one for each value of REFUSED, and valid ones for 0. The expected messages are in
/// static_checks.cmake.
#include "included.hpp"

namespace mp = memory_pool;

struct shape
{
    virtual double area() const = 0;
    virtual ~shape() = default;
};

struct locked_in
{
private:
    ~locked_in() = default;
};

struct loud
{
    ~loud() noexcept(false) {}
};

struct counts_only
{
    static constexpr bool counts = true;
};

struct only_declared;

struct plain
{
};

struct derived_from_plain : plain
{
};

struct takes_a_number
{
    explicit takes_a_number(int) {}
};

#if REFUSED > 40
struct without_constructor : mp::pooled<without_constructor, mp::plain_references>
{
    int number;
};

struct pooled_shape : mp::pooled<pooled_shape, mp::plain_references>
{
    virtual double area() const = 0;
    virtual ~pooled_shape() = default;
};

struct pooled_loud : mp::pooled<pooled_loud, mp::plain_references>
{
    pooled_loud() {}
    ~pooled_loud() noexcept(false) {}
};

struct pooled_number : mp::pooled<pooled_number, mp::plain_references>
{
    explicit pooled_number(int) {}
};

struct pooled_item : mp::pooled<pooled_item, mp::plain_references>
{
};
#endif

template <class T, class Policy = mp::default_policy>
void use()
{
    mp::object_pool<T, Policy> pool;
    pool.destroy(pool.create());
}

template <class Pool>
void use_handles()
{
    Pool pool;
    (void)pool.destroy(pool.create());
}

template <class Pool>
void make()
{
    Pool pool;
    (void)pool.make();
}

template <class Pool>
void recycle()
{
    Pool pool;
    (void)pool.allocate();
}

void refused()
{
#if REFUSED == 0
    use<int>();
    use<const int>();
    use_handles<mp::handle_pool<const int>>();
    use_handles<mp::concurrent_handle_pool<int>>();
    use<volatile int>();
    mp::object_pool<shape*> pointers;
    recycle<mp::unsynchronized_recycling_shared_pool<int>>();
    mp::block_pool blocks(48, {1000});
    mp::object_pool<int> objects(mp::pool_options{1000});
    mp::object_pool<int> braces{{1000}};
    mp::unsynchronized_shared_pool<int> shared(mp::pool_options{1000});
    mp::unsynchronized_recycling_shared_pool<int> kept(mp::pool_options{1000});
    mp::unsynchronized_recycling_shared_pool<int> by_lambda([](int& number) { number = 0; });
    mp::unsynchronized_arena_resource arenas(mp::arena_options{10, 1000});
    mp::unsynchronized_arena_resource over_another(&arenas);
    mp::unsynchronized_pool_resource pools({10, 1000}, &arenas);
    mp::block_pool blocks_over_another(48, &arenas);
    mp::block_pool with_defaults(48, {});
    mp::object_pool<int> objects_over_another(&arenas);
    mp::unsynchronized_shared_pool<int> shared_over_another(&arenas);
    mp::unsynchronized_recycling_shared_pool<int> kept_over_another(&arenas);
    mp::unsynchronized_recycling_shared_pool<int> action_over_another(mp::recycle::nothing, &arenas);
    mp::unsynchronized_recycling_shared_pool<int> lambda_over_another([](int& number) { number = 0; }, &arenas);
#elif REFUSED == 1
    use<int&>();
#elif REFUSED == 2
    use<void>();
#elif REFUSED == 3
    use<int[3]>();
#elif REFUSED == 4
    use<shape>();
#elif REFUSED == 5
    mp::object_pool<locked_in> pool;
#elif REFUSED == 6
    mp::object_pool<loud> pool;
#elif REFUSED == 7
    mp::basic_block_pool<counts_only> pool(8);
#elif REFUSED == 8
    mp::unsynchronized_pool_resource pools;
    const mp::resource_allocator<const int, mp::unsynchronized_pool_resource> allocator(pools);
#elif REFUSED == 9
    use<only_declared>();
#elif REFUSED == 10
    use<int()>();
#elif REFUSED == 11
    mp::object_pool<int> pool;
    (void)pool.create_wait(1);
#elif REFUSED == 12
    mp::object_pool<int> pool;
    (void)pool.try_create_for(std::chrono::seconds(1), 1);
#elif REFUSED == 13
    mp::object_pool<int> pool;
    (void)pool.try_create_until(std::chrono::steady_clock::now(), 1);
#elif REFUSED == 14
    mp::block_pool pool(8);
    (void)pool.allocate_wait();
#elif REFUSED == 15
    mp::block_pool pool(8);
    (void)pool.try_allocate_for(std::chrono::seconds(1));
#elif REFUSED == 16
    mp::block_pool pool(8);
    (void)pool.try_allocate_until(std::chrono::steady_clock::now());
#elif REFUSED == 17
    mp::block_pool pool(48, 1000);
#elif REFUSED == 18
    mp::block_pool pool(48, std::string("orders"));
#elif REFUSED == 19
    mp::concurrent_block_pool pool(48, -1, std::pmr::get_default_resource());
#elif REFUSED == 20
    mp::object_pool<int> pool(1000);
#elif REFUSED == 21
    mp::object_pool<int> pool("orders");
#elif REFUSED == 22
    mp::unsynchronized_arena_resource arenas(10, 1000);
#elif REFUSED == 23
    mp::synchronized_arena_resource arenas(mp::pool_options{});
#elif REFUSED == 24
    mp::unsynchronized_pool_resource pools(1000);
#elif REFUSED == 25
    mp::unsynchronized_shared_pool<int> pool(1000);
#elif REFUSED == 26
    mp::unsynchronized_recycling_shared_pool<int> pool(1000);
#elif REFUSED == 27
    mp::basic_concurrent_block_pool<int> pool(8);
#elif REFUSED == 28
    use<int, int>();
#elif REFUSED == 29
    make<mp::unsynchronized_shared_pool<int, int>>();
#elif REFUSED == 30
    mp::basic_unsynchronized_pool_resource<int> pools;
    (void)pools.allocate(8);
#elif REFUSED == 31
    make<mp::unsynchronized_shared_pool<int&>>();
#elif REFUSED == 32
    make<mp::unsynchronized_shared_pool<only_declared>>();
#elif REFUSED == 33
    make<mp::unsynchronized_shared_pool<int[3]>>();
#elif REFUSED == 34
    make<mp::unsynchronized_shared_pool<const int>>();
#elif REFUSED == 35
    make<mp::unsynchronized_shared_pool<shape>>();
#elif REFUSED == 36
    make<mp::unsynchronized_shared_pool<locked_in>>();
#elif REFUSED == 37
    recycle<mp::unsynchronized_recycling_shared_pool<void>>();
#elif REFUSED == 38
    recycle<mp::unsynchronized_recycling_shared_pool<takes_a_number>>();
#elif REFUSED == 39
    recycle<mp::unsynchronized_recycling_shared_pool<shape>>();
#elif REFUSED == 40
    recycle<mp::unsynchronized_recycling_shared_pool<int, mp::checking_policy>>();
#elif REFUSED == 41
    mp::basic_block_pool<mp::leak_fatal_policy<>> pool(8);
#elif REFUSED == 42
    use<int, mp::leak_reporting_policy<>>();
#elif REFUSED == 43
    mp::basic_unsynchronized_arena_resource<mp::counting_policy> arenas;
#elif REFUSED == 44
    mp::basic_synchronized_pool_resource<mp::counting_policy> pools;
#elif REFUSED == 45
    mp::basic_unsynchronized_arena_resource<mp::leak_fatal_policy<>> arenas;
#elif REFUSED == 46
    mp::basic_unsynchronized_pool_resource<mp::leak_fatal_policy<mp::checking_policy>> pools;
#elif REFUSED == 47
    mp::block_pool pool(48, nullptr);
#elif REFUSED == 48
    mp::object_pool<int> pool(std::pmr::get_default_resource(), mp::pool_options{});
#elif REFUSED == 49
    mp::unsynchronized_shared_pool<int> pool(nullptr);
#elif REFUSED == 50
    mp::unsynchronized_recycling_shared_pool<int> pool(std::pmr::get_default_resource(), mp::recycle::nothing);
#elif REFUSED == 51
    mp::unsynchronized_shared_pool<int> pool;
    (void)pool.make_wait(1);
#elif REFUSED == 52
    mp::unsynchronized_shared_pool<int> pool;
    (void)pool.try_make_for(std::chrono::seconds(1), 1);
#elif REFUSED == 53
    mp::unsynchronized_recycling_shared_pool<int> pool;
    (void)pool.allocate_wait();
#elif REFUSED == 54
    mp::unsynchronized_recycling_shared_pool<int> pool;
    (void)pool.try_allocate_until(std::chrono::steady_clock::now());
#elif REFUSED == 55
    (void)mp::allocate_unique<int[3]>(*std::pmr::get_default_resource());
#elif REFUSED == 56
    mp::object_pool<derived_from_plain> pool;
    const std::unique_ptr<plain, mp::polymorphic_deleter> owner = pool.make_unique();
#elif REFUSED == 57
    use_handles<mp::handle_pool<int&>>();
#elif REFUSED == 58
    use_handles<mp::handle_pool<shape>>();
#elif REFUSED == 59
    use_handles<mp::concurrent_handle_pool<loud>>();
#elif REFUSED == 60
    use_handles<mp::handle_pool<only_declared>>();
#elif REFUSED == 61
    mp::handle_pool<int> pool(1000);
#elif REFUSED == 62
    mp::concurrent_handle_pool<int> pool("orders");
#elif REFUSED == 63
    mp::handle_pool<int> pool;
    (void)pool.create_wait();
#elif REFUSED == 64
    mp::object_pool<int> pool(mp::pool_options{}, std::string("orders"));
#elif REFUSED == 65
    mp::concurrent_handle_pool<int> pool(1, 2);
#elif REFUSED == 66
    mp::concurrent_object_pool<int> pool;
    for (int& each : pool)
        ++each;
#elif REFUSED == 67
    mp::concurrent_handle_pool<int> pool;
    for (const int& each : pool)
        (void)each;
#elif REFUSED == 68
    mp::object_pool<int> pool;
    mp::object_pool<int> other(std::move(pool));
#elif REFUSED == 69
    mp::object_pool<int> pool;
    mp::object_pool<int> other;
    other = std::move(pool);
#elif REFUSED == 70
    mp::block_pool pool(8);
    const auto other = std::move(pool);
#elif REFUSED == 71
    mp::unsynchronized_arena_resource arenas;
    mp::unsynchronized_arena_resource other(arenas);
#elif REFUSED == 72
    mp::unsynchronized_arena_resource arenas;
    const std::pmr::vector<int> numbers(arenas);
#elif REFUSED == 73
    mp::synchronized_pool_resource pools;
    const std::pmr::string text("orders", pools);
#elif REFUSED == 74
    mp::limit_resource limit(1000);
    const std::pmr::vector<int> numbers({1, 2, 3}, limit);
#elif REFUSED == 75
    mp::object_pool<int> pool(mp::pool_options{.max_capasity = 3});
#elif REFUSED == 76
    mp::unsynchronized_arena_resource arenas(mp::arena_options{.arena_cuont = 3});
#elif REFUSED == 77
    mp::object_pool<int> pool({.max_capasity = 3});
#elif REFUSED == 78
    mp::intrusive_pool<without_constructor> pool;
    (void)pool.make(3);
#elif REFUSED == 79
    make<mp::intrusive_pool<int&>>();
#elif REFUSED == 80
    recycle<mp::recycling_pool<takes_a_number>>();
#elif REFUSED == 81
    make<mp::intrusive_pool<only_declared>>();
#elif REFUSED == 82
    make<mp::intrusive_pool<pooled_shape>>();
#elif REFUSED == 83
    make<mp::intrusive_pool<pooled_loud>>();
#elif REFUSED == 84
    recycle<mp::recycling_pool<pooled_number>>();
#elif REFUSED == 85
    make<mp::intrusive_pool<pooled_item, int>>();
#elif REFUSED == 86
    mp::intrusive_pool<pooled_item> pool(1000);
#elif REFUSED == 87
    mp::recycling_pool<pooled_item> pool(1000);
#elif REFUSED == 88
    recycle<mp::recycling_pool<pooled_item, mp::checking_policy>>();
#endif
}
