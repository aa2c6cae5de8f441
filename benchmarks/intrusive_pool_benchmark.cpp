// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Objects that return to their pool when the last boost::intrusive_ptr to them is destroyed.
///
///     pair    one object created and released
///
/// Rows are <shape>/<side>. `per_block` is the time per object. The object is trivial, so that only the cost of the
/// pool is measured. `block_pool` allocates only a block, without an object.
#include <memory_pool/intrusive_pool.hpp>
#include <memory_pool/recycling_pool.hpp>

#include "competitors.hpp"
#include "context.hpp"
#include "item_rows.hpp"
#include "virtual_recycle.hpp"

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <cstddef>
#include <cstdint>

namespace {
using item_rows::record;

template <class References>
struct item : memory_pool::pooled<item<References>, References>, record
{
};

template <class References>
class intrusive_pool
{
public:
    MEMORY_POOL_ALWAYS_INLINE auto make() { return pool_.make(); }

private:
    memory_pool::intrusive_pool<item<References>> pool_;
};

class recycling_pool
{
public:
    MEMORY_POOL_ALWAYS_INLINE auto make() { return pool_.allocate(); }

private:
    memory_pool::recycling_pool<item<memory_pool::plain_references>> pool_;
};

/// A block of the same size, which is freed at the end of the scope.
class block_pool
{
    static constexpr std::size_t block_size = sizeof(item<memory_pool::plain_references>);

    class holder
    {
    public:
        MEMORY_POOL_ALWAYS_INLINE explicit holder(memory_pool::block_pool& pool)
            : pool_(&pool), block_(static_cast<record*>(pool.allocate()))
        {
        }
        holder(holder&& other) noexcept : pool_(other.pool_), block_(other.block_) { other.block_ = nullptr; }
        holder(const holder&) = delete;
        holder& operator=(const holder&) = delete;
        holder& operator=(holder&&) = delete;
        MEMORY_POOL_ALWAYS_INLINE ~holder() { pool_->deallocate(block_); } // A no-op for nullptr.

        MEMORY_POOL_ALWAYS_INLINE record& operator*() const { return *block_; }
        MEMORY_POOL_ALWAYS_INLINE record* operator->() const { return block_; }

    private:
        memory_pool::block_pool* pool_;
        record* block_;
    };

public:
    MEMORY_POOL_ALWAYS_INLINE holder make() { return holder(pool_); }

private:
    memory_pool::block_pool pool_{block_size};
};

class new_delete
{
    struct counted : record
    {
        std::uint32_t references = 0;

        friend void intrusive_ptr_add_ref(counted* object) noexcept { ++object->references; }
        friend void intrusive_ptr_release(counted* object) noexcept
        {
            if (--object->references == 0)
                delete object;
        }
    };

public:
    MEMORY_POOL_ALWAYS_INLINE boost::intrusive_ptr<counted> make() { return new counted; }
};

class virtual_recycle_pool
{
    struct counted : virtual_recycle::item, record
    {
    };

public:
    MEMORY_POOL_ALWAYS_INLINE auto make() { return pool_.allocate(); }

private:
    virtual_recycle::pool<counted> pool_{64};
};

bool add_rows()
{
    item_rows::add<new_delete>("pair", "new_delete");
    item_rows::add<block_pool>("pair", "block_pool");
    item_rows::add<intrusive_pool<memory_pool::plain_references>>("pair", "intrusive_pool");
    item_rows::add<intrusive_pool<memory_pool::atomic_references>>("pair", "atomic_intrusive_pool");
    item_rows::add<recycling_pool>("pair", "recycling_pool");
    item_rows::add<virtual_recycle_pool>("pair", "virtual_recycle");
    return context::add();
}

[[maybe_unused]] const bool rows_added = add_rows();
} // namespace
