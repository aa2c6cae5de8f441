// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Plays a tape of bytes as operations on a pool whose pointers return their objects, and on a simple model. Compares
/// both after each operation. Any tape is valid. Used by a seeded test and a fuzzer; prints the operations on a
/// mismatch.
#pragma once

#include <memory_pool/intrusive_pool.hpp>
#include <memory_pool/policies.hpp>
#include <memory_pool/recycling_pool.hpp>
#include <memory_pool/shared_pool.hpp>

#include <fuzz/marked_item.hpp>
#include <fuzz/pool_player.hpp>
#include <fuzz/tape.hpp>
#include <support/upstreams.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace fuzz {
/// An item with the functions that recycling pools call.
struct recycled_item : marked_item
{
    using marked_item::marked_item;

    void init(std::size_t number) { uses = number; }
    void destroy() { uses = 0; }

    std::size_t uses = 0;
};

struct pooled_item : memory_pool::pooled<pooled_item, memory_pool::plain_references>, recycled_item
{
    using recycled_item::recycled_item;
};

struct shared_item : memory_pool::pooled<shared_item, memory_pool::atomic_references>, recycled_item
{
    using recycled_item::recycled_item;
};

/// `IsShared`: whether threads share the pool.
template <class Pool, bool IsShared = false>
class item_pool_player : public pool_player<item_pool_player<Pool, IsShared>, Pool>
{
    using base = pool_player<item_pool_player<Pool, IsShared>, Pool>;
    friend base;
    using pointer = typename Pool::pointer;
    using item = typename Pool::value_type;
    using policy = typename Pool::policy;
    static constexpr std::size_t operations = 20;
    static constexpr bool is_shared = IsShared;

    using base::expect;
    using base::fail;
    using base::log;
    using base::log_;
    using base::pool_;
    using base::refused;
    using base::tape_;
    using base::trim;
    using base::upstream_;
    using base::upstream_is_to_fail_;

    item_pool_player(tape& instructions, test::accounting_upstream& upstream)
        : base(instructions, upstream, options_of_small_pool(instructions, instructions.byte()))
    {
    }

    void step(std::size_t operation)
    {
        switch (operation) {
        case 0:
        case 1: return log("make"), make(1 + tape_.byte() % 20, [this] { return made(); });
        case 2: return log("make many"), make(tape_.byte(), [this] { return made(); });
        case 3: return log("release the first"), release_from(0, 1 + tape_.number() % 300);
        case 4: return log("release the last"), release_last(1 + tape_.byte());
        case 5: return log("release in the middle"), release_from(tape_.number(), 1 + tape_.byte() % 30);
        case 6: return log("upstream fails"), fail(1 + tape_.byte() % 4);
        case 7: return log("the constructor throws"), marked_item::throw_at(1 + tape_.byte() % 20);
        case 8:
        case 9: return log("trim"), trim();
        case 10: return log("reserve"), reserve(tape_.number() % 500);
        case 11: return log("free all"), forget(tape_.byte());
        case 12: return log("make, if possible"), make(1 + tape_.byte() % 40, [this] { return try_made(); });
        case 13: return log("make and initialise"), make(1 + tape_.byte() % 9, [this] { return initialised(); });
        case 14: return log("wait"), make(1 + tape_.byte() % 9, [this] { return made_in_no_time(); });
        case 15: return log("share"), share(tape_.number(), 1 + tape_.byte() % 60);
        case 16: return log("drop shared pointers"), drop_shares(tape_.byte());
        case 17: return log("recycle in another way"), recycle(tape_.byte());
        default: return log("move the pool"), move();
        }
    }

    pointer made()
    {
        if constexpr (has_allocate)
            return pool_.allocate();
        else
            return pool_.make(tape_);
    }

    pointer try_made()
    {
        if constexpr (has_allocate)
            return pool_.try_allocate();
        else
            return pool_.try_make(tape_);
    }

    pointer initialised()
    {
        if constexpr (has_allocate) {
            pointer made = pool_.try_allocate_through_function([](item& fresh) { fresh.init(3); });
            if (made == nullptr)
                made = pool_.allocate_through_init(std::size_t{3});
            expect(made->uses == 3, "an item was not initialized");
            return made;
        } else {
            return made();
        }
    }

    /// Waits for zero time, because no other thread releases anything.
    pointer made_in_no_time()
    {
        if constexpr (!is_shared) {
            return made();
        } else if constexpr (has_allocate) {
            pointer made = pool_.try_allocate_until(std::chrono::steady_clock::now());
            return made != nullptr ? made : pool_.try_allocate_for(std::chrono::nanoseconds(0));
        } else {
            pointer made = pool_.try_make_for(std::chrono::nanoseconds(0), tape_);
            return made != nullptr ? made : pool_.try_make_until(std::chrono::steady_clock::now(), tape_);
        }
    }

    template <class Make>
    void make(std::size_t count, Make&& make_one)
    {
        for (; count != 0; --count) {
            pointer made;
            (void)memory_pool::detail::base::succeeds([&] { made = make_one(); });
            if (made == nullptr)
                return refused();
            expect(made->is_intact(), "a new item is damaged");
            items_.push_back(std::move(made));
        }
    }

    void drop_shares(std::size_t how)
    {
        if (how % 3 != 0)
            shares_.clear();
        if (how % 3 != 1)
            weak_.clear();
    }

    void share(std::size_t first, std::size_t count)
    {
        if (count > 30)
            return share_weakly(first, count - 30);
        for (std::size_t i = first; count != 0 && !items_.empty(); ++i, --count)
            shares_.push_back(items_[i % items_.size()]);
    }

    /// A weak pointer keeps the block of a destroyed object outstanding.
    void share_weakly([[maybe_unused]] std::size_t first, [[maybe_unused]] std::size_t count)
    {
        if constexpr (has_weak_pointers)
            for (std::size_t i = first; count != 0 && !items_.empty(); ++i, --count) {
                const pointer& shared = items_[i % items_.size()];
                weak_.emplace_back(shared, shared.get());
            }
    }

    void recycle([[maybe_unused]] std::size_t how)
    {
        if constexpr (has_allocate) {
            if (how % 3 == 0)
                pool_.set_recycle_action(memory_pool::recycle::nothing);
            else if (how % 3 == 1)
                pool_.set_recycle_action(memory_pool::recycle::call_destroy);
            else
                pool_.set_recycle_action([](item& recycled) { recycled.uses = 7; });
        }
    }

    void move()
    {
        Pool moved(std::move(pool_));
        pool_ = std::move(moved);
    }

    void release_from(std::size_t first, std::size_t count)
    {
        if (items_.empty())
            return;
        const auto begin = items_.begin() + static_cast<std::ptrdiff_t>(first % items_.size());
        items_.erase(begin, begin + std::min(static_cast<std::ptrdiff_t>(count), items_.end() - begin));
    }

    void release_last(std::size_t count) { items_.resize(items_.size() - std::min(count, items_.size())); }

    /// Reserving constructs items if the pool recycles them.
    void reserve(std::size_t count)
    {
        base::reserve(count);
        marked_item::throw_at(0);
    }

    void forget(std::size_t how)
    {
        if (how % 8 == 0)
            survivors_.clear();
        // Rarely, so pools can grow large.
        if (how % 8 != 1)
            return;
        shares_.clear();
        weak_.clear();
        if (!memory_pool::detail::base::succeeds([this] { pool_.release(); }))
            return;
        std::move(items_.begin(), items_.end(), std::back_inserter(survivors_));
        items_.clear();
    }

    void verify()
    {
        std::set<const item*> alive;
        for (const std::vector<pointer>* const list : {&items_, &shares_})
            for (const pointer& each : *list) {
                expect(each->is_intact(), "an item was overwritten");
                alive.insert(each.get());
            }
        std::set<const item*> in_use = alive;
        if constexpr (has_weak_pointers)
            for (const auto& [weak, address] : weak_) {
                in_use.insert(address);
                expect(weak.expired() == (alive.count(address) == 0), "a weak pointer expired at the wrong time");
            }
        for (const pointer& each : survivors_)
            expect(each->is_intact(), "a surviving item was overwritten");
        expect(pool_.in_use() == in_use.size(), "in_use is wrong");
        expect(pool_.capacity() >= in_use.size(), "capacity is wrong");
        expect(has_allocate || marked_item::alive() == alive.size() + survivors_.size(), "wrong number of live items");
        if constexpr (policy::counts)
            expect(pool_.statistics().in_use == in_use.size(), "wrong count of items");
        if (survivors_.empty())
            expect(pool_.bytes_reserved() == upstream_.live_bytes(), "bytes_reserved is wrong");
        if (log_.size() % 8 == 0)
            expect(pool_.verify(), "verify() failed");
    }

    template <class P>
    static auto can_allocate(int) -> decltype(std::declval<P&>().allocate(), std::true_type());
    template <class P>
    static std::false_type can_allocate(...);
    static constexpr bool has_allocate = decltype(can_allocate<Pool>(0))::value; ///< the pool recycles its objects
    static constexpr bool has_weak_pointers = std::is_same_v<pointer, std::shared_ptr<item>>;
    using weak_pointers = std::vector<std::pair<std::weak_ptr<item>, const item*>>;

    std::vector<pointer> items_;
    std::vector<pointer> shares_;    ///< further pointers, some of them the last to their item
    weak_pointers weak_;             ///< with the address of the item
    std::vector<pointer> survivors_; ///< items that the pool has released
};

/// Plays the tape on a pool; the first byte selects kind and policy.
inline void play_item_pool(const std::uint8_t* bytes, std::size_t size)
{
    using namespace memory_pool;
    if (size == 0)
        return;
    const std::uint8_t kind = *bytes++ % 11;
    --size;
    switch (kind) {
    case 0: return item_pool_player<intrusive_pool<pooled_item>>::play(bytes, size);
    case 1: return item_pool_player<intrusive_pool<pooled_item, checking_policy>>::play(bytes, size);
    case 2: return item_pool_player<recycling_pool<pooled_item>>::play(bytes, size);
    case 3: return item_pool_player<unsynchronized_shared_pool<recycled_item>>::play(bytes, size);
    case 4: return item_pool_player<unsynchronized_recycling_shared_pool<recycled_item>>::play(bytes, size);
    case 5: return item_pool_player<intrusive_pool<shared_item>, true>::play(bytes, size);
    case 6: return item_pool_player<intrusive_pool<shared_item, counting_policy>, true>::play(bytes, size);
    case 7: return item_pool_player<recycling_pool<shared_item>, true>::play(bytes, size);
    case 8: return item_pool_player<recycling_pool<shared_item, counting_policy>, true>::play(bytes, size);
    case 9: return item_pool_player<shared_pool<recycled_item>, true>::play(bytes, size);
    default: return item_pool_player<recycling_shared_pool<recycled_item, counting_policy>, true>::play(bytes, size);
    }
}
} // namespace fuzz
