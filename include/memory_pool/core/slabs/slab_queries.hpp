// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Queries about the blocks of one pool: which block contains an address, which blocks are in use or damaged; and how
/// misuse is reported.
///
/// Thread safety: none; the pool that owns the store synchronizes.
#pragma once

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/misuse_log.hpp>
#include <memory_pool/core/slabs/fill_pattern.hpp>
#include <memory_pool/core/slabs/slab.hpp>
#include <memory_pool/core/slabs/slab_directory.hpp>
#include <memory_pool/core/slabs/slab_walk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The chunks of one pool, and queries about their blocks. See slab_store.
class slab_queries : public slab_walk
{
public:
    /// Effects: logs misuse there from now on, or, if that is nullptr, reports it at once.
    void log_misuse_to(base::misuse_log* log) noexcept { log_ = log; }

    /// Returns: the log of misuse; nullptr if it is reported at once.
    base::misuse_log* log() const noexcept { return log_; }

    /// Effects: reports or logs a misuse.
    void report_misuse(error_kind kind, const void* block) const noexcept
    {
        if (log_ != nullptr)
            log_->add(kind, block, identity_.block_size);
        else
            base::report_misuse(kind, block, identity_.block_size, identity_.name);
    }

    /// The position of an address in the blocks of a store.
    struct block_position
    {
        slab* home;        ///< The slab that it lies in; nullptr: it is in no slab's blocks.
        std::size_t index; ///< Of the block there that it lies in.
        bool at_start;     ///< Is it where the block starts?
    };

    /// Returns: the position of `address`, which may be any pointer.
    /// Complexity: logarithmic in slabs. Reads nothing near `address` unless it lies in a slab.
    block_position find(const void* address) const noexcept
    {
        slab* const home = look_up(address);
        if (home == nullptr || address < home->first_block())
            return {nullptr, 0, false};
        const auto offset = static_cast<std::size_t>(static_cast<const char*>(address) - home->first_block());
        const std::size_t index = offset / layout_.stride();
        if (index >= home->block_count())
            return {nullptr, 0, false};
        return {home, index, offset % layout_.stride() == 0};
    }

    /// Returns: whether a block starts at `address`.
    /// Complexity: as `find`.
    bool has_block_at(const void* address) const noexcept
    {
        const block_position position = find(address);
        return position.home != nullptr && position.at_start;
    }

    /// Returns: whether a block starts at `address` that is handed out.
    /// Complexity: as `find`.
    bool has_handed_out(const void* address) const noexcept
    {
        const block_position position = find(address);
        return position.home != nullptr && position.at_start && !position.home->is_free(position.index);
    }

    /// Returns: the misuse that freeing `address`, which may be any pointer, would be, if any.
    /// Preconditions: the bits say exactly what is in use.
    /// Complexity: as `find`.
    std::optional<error_kind> misuse_at(const void* address) const noexcept
    {
        const block_position position = find(address);
        if (position.home == nullptr)
            return error_kind::foreign_pointer;
        if (!position.at_start)
            return error_kind::misaligned_pointer;
        return position.home->is_free(position.index) ? std::optional(error_kind::double_free) : std::nullopt;
    }

    /// Effects: reports the misuse that freeing `block` would be, if any; each overflow only once.
    /// Returns: whether there was nothing to report.
    /// Preconditions: as `misuse_at`; the user of the store fills blocks as fill_pattern requires.
    /// Complexity: as `find`.
    bool check(const void* block) const noexcept
    {
        std::optional<error_kind> misuse = misuse_at(block);
        if (!misuse && checks().take_overflow(const_cast<void*>(block)))
            misuse = error_kind::buffer_overflow;
        if (misuse)
            report_misuse(*misuse, block);
        return !misuse;
    }

    /// Effects: calls `visit(kind, block)` for each free block that was written to, and each in use that has
    ///   overflowed.
    /// Preconditions: as `check`.
    /// Complexity: linear in bytes.
    template <class Visit>
    void for_each_damaged(Visit&& visit) const
    {
        for_each_free([&](void* block) {
            if (!checks().is_untouched(block))
                visit(error_kind::write_after_free, block);
        });
        for_each_handed_out([&](void* block) {
            if (!checks().canary_is_intact(block))
                visit(error_kind::buffer_overflow, block);
        });
    }

    /// Effects: reports each block that for_each_damaged finds.
    void report_damage() const
    {
        for_each_damaged([this](error_kind kind, const void* block) { report_misuse(kind, block); });
    }

    /// Returns: whether for_each_damaged finds one.
    bool has_damage() const
    {
        bool damaged = false;
        for_each_damaged([&damaged](error_kind, const void*) { damaged = true; });
        return damaged;
    }

    /// Returns: the fill pattern of blocks.
    fill_pattern checks() const noexcept { return {identity_.block_size, layout_.stride()}; }

    /// Effects: calls `visit(block)` for each block that is handed out. `visit` may put blocks back, take some, and
    ///   make the store grow; it may not return slabs to upstream.
    /// Complexity: linear in blocks ever used.
    template <class Visit>
    void for_each_handed_out(Visit&& visit) const
    {
        for (const slab* chunk = directory_.first_behind(nullptr); chunk != nullptr;
             chunk = directory_.first_behind(chunk))
            for_each_slab_in(chunk, [&](const slab* home) {
                for (std::size_t i = home->next_in_use(0); i != home->carved(); i = home->next_in_use(i + 1))
                    visit(home->block(i, layout_.stride()));
            });
    }

    /// Returns: the handed out block with the lowest address above `after`, or nullptr.
    /// Complexity: logarithmic in chunks, and linear in the bits of blocks between.
    void* next_handed_out(const void* after) const noexcept
    {
        const slab* chunk = directory_.last_at_or_before(after);
        if (chunk == nullptr)
            chunk = directory_.first_behind(after);
        for (; chunk != nullptr; chunk = directory_.first_behind(chunk)) {
            void* found = nullptr;
            for_each_slab_in(chunk, [&](const slab* home) {
                if (found == nullptr)
                    found = next_handed_out_of(*home, after);
            });
            if (found != nullptr)
                return found;
        }
        return nullptr;
    }

    /// Effects: calls `visit(block)` for each block whose bit says it is free.
    template <class Visit>
    void for_each_free(Visit&& visit) const
    {
        for_each_slab([&](const slab* home) {
            for (std::size_t i = 0; i != home->block_count(); ++i)
                if (home->is_free(i))
                    visit(home->block(i, layout_.stride()));
        });
    }

    /// Returns: whether all blocks that `for_each_cached(visit)` visits are handed out, and none is visited twice.
    template <class ForEach>
    bool are_handed_out_once(ForEach&& for_each_cached) const
    {
        // Marks each block as free in its slab, which exposes duplicates, and then unmarks them.
        bool valid = true;
        std::size_t marked = 0;
        const auto flip = [this](void* block) {
            const block_position position = find(block);
            *position.home->word_of(position.index) ^= base::bit_in_word(position.index);
        };
        for_each_cached([&](void* block) {
            const block_position position = find(block);
            valid = valid && position.home != nullptr && position.at_start && !position.home->is_free(position.index);
            if (valid) {
                flip(block);
                ++marked;
            }
        });
        for_each_cached([&](void* block) {
            if (marked != 0) {
                flip(block);
                --marked;
            }
        });
        return valid;
    }

protected:
    using slab_walk::slab_walk;
    ~slab_queries() = default;

private:
    void* next_handed_out_of(const slab& home, const void* after) const noexcept
    {
        std::size_t index = 0;
        if (!base::is_before(after, home.first_block()))
            index =
                static_cast<std::size_t>(static_cast<const char*>(after) - home.first_block()) / layout_.stride() + 1;
        index = home.next_in_use(std::min(index, home.carved()));
        return index != home.carved() ? home.block(index, layout_.stride()) : nullptr;
    }

    base::misuse_log* log_ = nullptr;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
