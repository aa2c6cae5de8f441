// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Objects of 24 bytes held by std::shared_ptr.
///
///     shared    one object created and released
///
/// Rows are <shape>/<side>. `per_block` is the time per object. The program is single-threaded, so the reference
/// counts of libstdc++ use no atomic instructions, on all sides alike.
#include <memory_pool/shared_pool.hpp>

#include "context.hpp"
#include "item_rows.hpp"

#include <memory>
#include <memory_resource>

namespace {
using item_rows::record;

class make_shared
{
public:
    MEMORY_POOL_ALWAYS_INLINE std::shared_ptr<record> make() { return std::make_shared<record>(); }
};

class pmr_allocate_shared
{
public:
    MEMORY_POOL_ALWAYS_INLINE std::shared_ptr<record> make()
    {
        return std::allocate_shared<record>(std::pmr::polymorphic_allocator<record>(&memory_));
    }

private:
    std::pmr::unsynchronized_pool_resource memory_;
};

template <class Pool>
class made
{
public:
    MEMORY_POOL_ALWAYS_INLINE std::shared_ptr<record> make() { return pool_.make(); }

private:
    Pool pool_;
};

class recycled
{
public:
    MEMORY_POOL_ALWAYS_INLINE std::shared_ptr<record> make() { return pool_.allocate(); }

private:
    memory_pool::unsynchronized_recycling_shared_pool<record> pool_;
};

bool add_rows()
{
    item_rows::add<make_shared>("shared", "make_shared");
    item_rows::add<pmr_allocate_shared>("shared", "pmr_allocate_shared");
    item_rows::add<made<memory_pool::unsynchronized_shared_pool<record>>>("shared", "unsynchronized_shared_pool");
    item_rows::add<made<memory_pool::shared_pool<record>>>("shared", "shared_pool");
    item_rows::add<recycled>("shared", "unsynchronized_recycling_shared_pool");
    return context::add();
}

[[maybe_unused]] const bool rows_added = add_rows();
} // namespace
