// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Blocks that are too large for a resource's own structures. Each is allocated from upstream.
///
///     | block                         | canary | node |      node: address, size, number, links
///
///     list:  the newest block -> ... -> the oldest one       tree:  the blocks up to the number `searchable_`
///
/// The node follows the block, at an offset given by the block's size. Therefore, the block keeps upstream's alignment,
/// and freeing needs no search. The list is used to release blocks that are still in use at the end. A search first
/// adds the blocks allocated since the previous search to the tree, so a resource without searches has no tree to
/// maintain.
///
/// Thread safety: none; the owner synchronizes.
#pragma once

#include <memory_pool/base/address_tree.hpp>
#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/intrusive_list.hpp>
#include <memory_pool/base/poisoning.hpp>
#include <memory_pool/core/blocks/pool_arguments.hpp>
#include <memory_pool/core/reports/upstream_call.hpp>
#include <memory_pool/core/slabs/fill_pattern.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <optional>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The large blocks of one resource.
class oversized_blocks
{
public:
    explicit oversized_blocks(std::pmr::memory_resource* upstream) noexcept : upstream_(upstream) {}
    ~oversized_blocks() { release(); }

    /// Throws: size_overflow if `bytes` or `alignment` exceeds the address space.
    static void check_size(std::size_t bytes, std::size_t alignment)
    {
        if (bytes > largest_size || alignment > largest_size)
            base::throw_size_overflow(1, std::max(bytes, alignment));
    }

    /// Effects: allocates a block from upstream.
    /// Throws: as check_size; exceptions from upstream.
    /// Complexity: O(1) plus a call upstream.
    void* allocate(std::size_t bytes, std::size_t alignment)
    {
        check_size(bytes, alignment);
        void* const block = allocate_upstream(upstream_, bytes_with_node(bytes), alignment_with_node(alignment));
        blocks_.add_first(::new (place_of_node(block, bytes)) node{block, bytes, alignment, ++newest_});
        canary_behind(bytes).mark_in_use(block);
        bytes_in_use_ += bytes;
        bytes_reserved_ += bytes_with_node(bytes);
        return block;
    }

    /// Effects: returns a block to upstream, if the arguments match its allocation.
    /// Preconditions: `block` is from `allocate`.
    /// Returns: whether the arguments match.
    /// Complexity: O(1) plus a call upstream; logarithmic in blocks, on average, if `misuse` or `owns` is in use.
    bool deallocate(void* block, std::size_t bytes, std::size_t alignment) noexcept
    {
        node* const leaving = std::launder(static_cast<node*>(place_of_node(block, bytes)));
        if (leaving->block != block || leaving->bytes != bytes || leaving->alignment != alignment)
            return false;
        give_back(leaving);
        return true;
    }

    /// Effects: returns all blocks to upstream.
    void release() noexcept { release_after(0); }

    /// Effects: returns the blocks with a number above `last` to upstream.
    void release_after(std::uint64_t last) noexcept
    {
        while (!blocks_.empty() && blocks_.first()->number > last)
            give_back(blocks_.first());
    }

    /// Returns: the number of the newest block; 0 if there was none.
    std::uint64_t newest() const noexcept { return newest_; }

    /// Returns: whether a block begins at `address`. Any pointer is allowed.
    /// Complexity, including that of `contains` and `misuse`: logarithmic in blocks, on average and amortized.
    bool owns(const void* address) const noexcept
    {
        const node* const owner = find(address);
        return owner != nullptr && owner->block == address;
    }

    /// Returns: whether `address` lies in a block, or directly after it. Any pointer is allowed.
    bool contains(const void* address) const noexcept { return find(address) != nullptr; }

    /// Returns: the misuse if freeing `block` is misuse. `block` may be any pointer. Each overflow is returned only
    ///   once.
    std::optional<base::misuse> misuse(const void* block, const base::block_request& given) const noexcept
    {
        const node* const found = find(block);
        if (found == nullptr || found->block != block)
            return error_kind::foreign_pointer;
        if (const base::block_request actual{found->bytes, found->alignment}; actual != given)
            return base::misuse(actual);
        if (canary_behind(given.bytes).take_overflow(found->block))
            return error_kind::buffer_overflow;
        return std::nullopt;
    }

    std::pmr::memory_resource* upstream() const noexcept { return upstream_; }

    /// Returns: the number of bytes requested.
    std::size_t bytes_in_use() const noexcept { return bytes_in_use_; }
    /// Returns: the number of bytes allocated from upstream.
    std::size_t bytes_reserved() const noexcept { return bytes_reserved_; }

private:
    struct node
    {
        void* block;
        std::size_t bytes;
        std::size_t alignment;
        std::uint64_t number;
        node* next = nullptr;
        node* previous = nullptr;
        node* lower = nullptr;
        node* higher = nullptr;
    };

    /// Returns the node of the block that contains `address` or ends there; nullptr if there is none.
    const node* find(const void* address) const noexcept
    {
        for (node* each = blocks_.first(); each != nullptr && each->number > searchable_; each = each->next)
            tree_.insert(each);
        searchable_ = newest_;
        const node* const found = tree_.around(address).behind;
        return found != nullptr && !base::is_before(address, found->block) ? found : nullptr;
    }

    static std::size_t offset_of_node(std::size_t bytes) noexcept
    {
        return base::round_up(bytes + fill_pattern::canary_bytes, alignof(node));
    }

    static void* place_of_node(void* block, std::size_t bytes) noexcept
    {
        return static_cast<std::byte*>(block) + offset_of_node(bytes);
    }

    static std::size_t bytes_with_node(std::size_t bytes) noexcept { return offset_of_node(bytes) + sizeof(node); }

    static fill_pattern canary_behind(std::size_t bytes) noexcept { return {bytes, offset_of_node(bytes)}; }

    static std::size_t alignment_with_node(std::size_t alignment) noexcept
    {
        return std::max(alignment, alignof(node));
    }

    void give_back(node* leaving) noexcept
    {
        blocks_.remove(leaving);
        if (leaving->number <= searchable_)
            tree_.remove(leaving);
        void* const block = leaving->block;
        const std::size_t bytes = leaving->bytes;
        const std::size_t alignment = leaving->alignment;
        bytes_in_use_ -= bytes;
        bytes_reserved_ -= bytes_with_node(bytes);
        base::permit_access(block, bytes_with_node(bytes));
        upstream_->deallocate(block, bytes_with_node(bytes), alignment_with_node(alignment));
    }

    std::pmr::memory_resource* upstream_;
    base::intrusive_list<base::member_links<node, &node::next, &node::previous>> blocks_;
    // Searches change these members.
    mutable base::address_tree<node> tree_;
    mutable std::uint64_t searchable_ = 0;
    std::uint64_t newest_ = 0;
    std::size_t bytes_in_use_ = 0;
    std::size_t bytes_reserved_ = 0;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
