// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Every pool that needs Boost, and the drop-in over one of them, as a user's translation unit: see headers.cmake.
#include <memory_pool/intrusive_pool.hpp>
#include <memory_pool/recycling_pool.hpp>

#include <boost_intrusive_pool.hpp>

#include <headers/value.hpp>

#include <cstddef>
#include <string>

namespace mp = memory_pool;

namespace headers {
template <class References>
struct counted : mp::pooled<counted<References>, References>, value
{
    using value::value;
};

struct item : memorypool::boost_intrusive_pool_item
{
    void init(const char* initial = "") { text = initial; }
    void destroy() override { text.clear(); }

    std::string text;
};
} // namespace headers

template class memorypool::boost_intrusive_pool<headers::item>;

namespace headers {
template <class Policy>
std::size_t use_intrusive_pointers()
{
    return use_made<mp::intrusive_pool<counted<mp::plain_references>, Policy>>() +
           use_made<mp::intrusive_pool<counted<mp::atomic_references>, Policy>>();
}

template <class Policy>
std::size_t use_recycled_intrusive_pointers()
{
    return use_kept<mp::recycling_pool<counted<mp::plain_references>, Policy>>() +
           use_kept<mp::recycling_pool<counted<mp::atomic_references>, Policy>>();
}

template std::size_t use_intrusive_pointers<mp::default_policy>();
template std::size_t use_intrusive_pointers<mp::counting_policy>();
template std::size_t use_intrusive_pointers<mp::checking_policy>();
template std::size_t use_recycled_intrusive_pointers<mp::default_policy>();
template std::size_t use_recycled_intrusive_pointers<mp::counting_policy>();

std::size_t use_drop_in();
std::size_t use_drop_in()
{
    memorypool::boost_intrusive_pool<item> pool(4);
    const auto first = pool.allocate();
    const auto second = pool.allocate_through_init("x");
    const auto third = pool.allocate_through_function([](item& each) { each.init("x"); });
    return (first ? 1U : 0U) + (second ? 1U : 0U) + (third ? 1U : 0U) + pool.inuse_count();
}
} // namespace headers
