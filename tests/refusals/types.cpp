// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Programs that must not compile, one for each value of REFUSED, and a few that must, where it is 0: refusals.cmake has the texts.
#include <memory_pool/allocator.hpp>
#include <memory_pool/object_pool.hpp>
#include <memory_pool/pool_resource.hpp>

#if REFUSED == 9
#include <memory_pool/intrusive_pool.hpp>
#endif

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

#if REFUSED == 9
struct without_constructor : mp::pooled<without_constructor>
{
    int number;
};
#endif

template <class T>
void use()
{
    mp::object_pool<T> pool;
    pool.destroy(pool.create());
}

void refused()
{
#if REFUSED == 0
    use<int>();
    use<const int>();
    use<volatile int>();
    mp::object_pool<shape*> pointers;
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
    mp::intrusive_pool<without_constructor> pool;
    (void)pool.make();
    (void)pool.make(3);
#endif
}
