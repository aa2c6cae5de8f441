// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Plays a tape of bytes as operations on a pool of objects that return by themselves and on a simple model of one, and
/// compares the two after each. Any tape is valid. Used by a seeded test and a fuzzer; prints the operations on a
/// mismatch.
#pragma once

#include <memory_pool/intrusive_pool.hpp>
#include <memory_pool/policies.hpp>
#include <memory_pool/recycling_pool.hpp>
#include <memory_pool/shared_pool.hpp>

#include <fuzz/marked_item.hpp>
#include <fuzz/tape.hpp>
#include <fuzz/tape_threads.hpp>
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
/// What recycling pools call.
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
class item_pool_player
{
public:
    static void play(const std::uint8_t* bytes, std::size_t size)
    {
        tape instructions(bytes, size);
        test::accounting_upstream upstream;
        {
            item_pool_player player(instructions, upstream);
            while (!instructions.at_end())
                player.step();
            marked_item::throw_at(0);
        }
        if (marked_item::alive() != 0)
            disagree({}, "an item is alive without a pool");
        if (upstream.live_chunks() != 0 || upstream.mismatched() != 0)
            disagree({}, "the pool kept something from upstream");
    }

private:
    using pointer = typename Pool::pointer;
    using item = typename Pool::value_type;
    using policy = typename Pool::policy;

    item_pool_player(tape& instructions, test::accounting_upstream& upstream)
        : tape_(instructions), upstream_(upstream), pool_(options_from(tape_), &upstream)
    {
    }

    static memory_pool::pool_options options_from(tape& instructions)
    {
        memory_pool::pool_options options;
        if (instructions.byte() % 2 == 0)
            options.growth_step = 1 + instructions.byte() % 40;
        if (instructions.byte() % 3 == 0)
            options.max_cached_blocks = 1 + instructions.number() % 300;
        if (instructions.byte() % 2 == 0)
            options.max_capacity = 1 + instructions.number() % 900;
        options.initial_capacity = std::min<std::size_t>(instructions.byte() % 50, options.max_capacity);
        return options;
    }

    void step()
    {
        const std::size_t operation = tape_.byte() % 20;
        const std::size_t thread = IsShared ? tape_.byte() : 0;
        if (operation == 19)
            return log("begin or end a thread"), threads_.begin_or_end(thread);
        threads_.run(thread, [&] { step(operation); });
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
        case 11: return log("forget all"), forget(tape_.byte());
        case 12: return log("make, if possible"), make(1 + tape_.byte() % 40, [this] { return try_made(); });
        case 13: return log("make and initialise"), make(1 + tape_.byte() % 9, [this] { return initialised(); });
        case 14: return log("wait"), make(1 + tape_.byte() % 9, [this] { return made_in_no_time(); });
        case 15: return log("share"), share(tape_.number(), 1 + tape_.byte() % 60);
        case 16: return log("drop what is shared"), drop_shares(tape_.byte());
        case 17: return log("recycle in another way"), recycle(tape_.byte());
        default: return log("move the pool"), move();
        }
    }

    void log(const char* operation)
    {
        verify();
        log_.emplace_back(operation);
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
            expect(made->uses == 3, "an item was not initialised");
            return made;
        } else {
            return made();
        }
    }

    /// As no other thread releases anything meanwhile.
    pointer made_in_no_time()
    {
        if constexpr (!IsShared) {
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
            expect(made->is_intact(), "an item is not as it was made");
            items_.push_back(std::move(made));
        }
    }

    void fail(std::size_t call)
    {
        upstream_.fail_at(call);
        upstream_is_to_fail_ = true;
    }

    /// A call has made nothing, for the reason that there was.
    void refused()
    {
        const bool has_reason =
            upstream_is_to_fail_ || pool_.in_use() == pool_.max_capacity() || marked_item::has_thrown();
        expect(has_reason, "refused for no reason");
        upstream_.never_fail();
        upstream_is_to_fail_ = false;
        marked_item::throw_at(0);
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

    /// Blocks of objects that have ended are in use as long as there are weak pointers.
    void share_weakly([[maybe_unused]] std::size_t first, [[maybe_unused]] std::size_t count)
    {
        if constexpr (has_weak_pointers)
            for (std::size_t i = first; count != 0 && !items_.empty(); ++i, --count) {
                const pointer& its = items_[i % items_.size()];
                weak_.emplace_back(its, its.get());
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

    void trim()
    {
        const std::size_t before = pool_.bytes_reserved();
        const std::size_t trimmed = pool_.trim();
        expect(trimmed <= before && before - trimmed == pool_.bytes_reserved(), "trim miscounted");
    }

    void reserve(std::size_t count)
    {
        const bool is_reserved = memory_pool::detail::base::succeeds([&] { pool_.reserve(count); });
        expect(!is_reserved || pool_.capacity() >= count, "reserved too little");
        marked_item::throw_at(0);
    }

    void forget(std::size_t how)
    {
        if (how % 8 == 0)
            survivors_.clear();
        // Seldom, or nothing would ever get large.
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
                expect(each->is_intact(), "an item was written to");
                alive.insert(each.get());
            }
        std::set<const item*> in_use = alive;
        if constexpr (has_weak_pointers)
            for (const auto& [weak, address] : weak_) {
                in_use.insert(address);
                expect(weak.expired() == (alive.count(address) == 0), "a weak pointer has expired at a wrong time");
            }
        for (const pointer& each : survivors_)
            expect(each->is_intact(), "an item that has survived was written to");
        expect(pool_.in_use() == in_use.size(), "in_use is wrong");
        expect(pool_.capacity() >= in_use.size(), "capacity is wrong");
        expect(has_allocate || marked_item::alive() == alive.size() + survivors_.size(), "other items are alive");
        if constexpr (policy::counts)
            expect(pool_.statistics().in_use == in_use.size(), "other items were counted");
        if (survivors_.empty())
            expect(pool_.bytes_reserved() == upstream_.live_bytes(), "bytes_reserved is wrong");
        if (log_.size() % 8 == 0)
            expect(pool_.verify(), "not valid");
    }

    void expect(bool condition, const char* otherwise)
    {
        if (!condition)
            disagree(log_, otherwise);
    }

    template <class P>
    static auto can_allocate(int) -> decltype(std::declval<P&>().allocate(), std::true_type());
    template <class P>
    static std::false_type can_allocate(...);
    static constexpr bool has_allocate = decltype(can_allocate<Pool>(0))::value; ///< It keeps its objects.
    static constexpr bool has_weak_pointers = std::is_same_v<pointer, std::shared_ptr<item>>;
    using weak_pointers = std::vector<std::pair<std::weak_ptr<item>, const item*>>;

    tape& tape_;
    test::accounting_upstream& upstream_;
    Pool pool_;
    std::vector<pointer> items_;
    std::vector<pointer> shares_;    ///< More pointers to items, also to such of which there is no other.
    weak_pointers weak_;             ///< With the address of the item.
    std::vector<pointer> survivors_; ///< Of what the pool has forgotten.
    bool upstream_is_to_fail_ = false;
    std::vector<std::string> log_;
    tape_threads threads_; ///< Last, as they use the others.
};

/// Plays the tape on a pool of the kind and the policy that its first byte picks.
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
