// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Plays a tape of bytes as operations on a pool of objects with handles and on a simple model of one, which remembers
/// stale handles, too, and compares the two after each. Any tape is valid. Used by a seeded test and a fuzzer; prints
/// the operations on a mismatch.
#pragma once

#include <memory_pool/concurrent_handle_pool.hpp>
#include <memory_pool/handle_pool.hpp>

#include <fuzz/marked_item.hpp>
#include <fuzz/pool_player.hpp>
#include <fuzz/tape.hpp>
#include <fuzz/watching_observer.hpp>
#include <support/upstreams.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

namespace fuzz {
template <class Pool>
class handle_pool_player : public pool_player<handle_pool_player<Pool>, Pool>
{
    using base = pool_player<handle_pool_player<Pool>, Pool>;
    friend base;
    using item = typename Pool::value_type;
    using handle = typename Pool::handle;
    using policy = typename Pool::policy;
    static constexpr bool is_shared = std::is_base_of_v<memory_pool::concurrent_handle_pool<item, policy>, Pool>;
    static constexpr std::size_t most_stale = 500;
    static constexpr std::size_t operations = 22;

    using base::expect;
    using base::fail;
    using base::log;
    using base::log_;
    using base::pool_;
    using base::refused;
    using base::reserve;
    using base::tape_;
    using base::trim;
    using base::upstream_;
    using base::upstream_is_to_fail_;

    handle_pool_player(tape& instructions, test::accounting_upstream& upstream)
        : base(instructions, upstream, options_of_small_pool(instructions, instructions.byte()))
    {
    }

    void step(std::size_t operation)
    {
        switch (operation) {
        case 0:
        case 1: return log("create"), create(1 + tape_.byte() % 20);
        case 2: return log("create many"), create(tape_.byte());
        case 3: return log("create, if possible"), try_create(1 + tape_.byte() % 40);
        case 4: return log("create in bulk"), create_bulk(tape_.byte() * 2);
        case 5: return log("create in bulk, if possible"), try_create_bulk(tape_.byte() * 2);
        case 6: return log("destroy the first"), destroy_from(0, 1 + tape_.number() % 300);
        case 7: return log("destroy in the middle"), destroy_from(tape_.number(), 1 + tape_.byte() % 30);
        case 8: return log("destroy in bulk"), destroy_bulk(tape_.number(), tape_.byte());
        case 9: return log("use stale handles"), use_stale(tape_.byte());
        case 10: return log("invent a handle"), invent(tape_.number(), tape_.byte());
        case 11: return log("the constructor throws"), item::throw_at(1 + tape_.byte() % 20);
        case 12: return log("upstream fails"), fail(1 + tape_.byte() % 4);
        case 13: return log("visit and destroy"), visit(2 + tape_.byte() % 5);
        case 14: return log("iterate and erase"), iterate(2 + tape_.byte() % 5);
        case 15: return log("erase if"), erase(1 + tape_.byte() % 5);
        case 16: return log("visit one"), visit_one(tape_.number(), tape_.byte());
        case 17: return log("trim"), trim();
        case 18: return log("reserve"), reserve(tape_.number() % 500);
        case 19: return log("forget all"), forget(tape_.byte());
        default: return log("wait"), wait(1 + tape_.byte() % 9);
        }
    }

    // Objects that come.

    void create(std::size_t count)
    {
        for (; count != 0; --count) {
            handle created;
            if (!memory_pool::detail::base::succeeds([&] { created = pool_.create(); }))
                return refused();
            add(created);
        }
    }

    void try_create(std::size_t count)
    {
        for (; count != 0; --count) {
            handle created;
            (void)memory_pool::detail::base::succeeds([&] { created = pool_.try_create(); });
            if (created.is_null())
                return refused();
            add(created);
        }
    }

    void create_bulk(std::size_t count)
    {
        std::vector<handle> handles(count);
        if (!memory_pool::detail::base::succeeds(
                [&] { expect(pool_.create_bulk(handles.data(), count) == count, "created others than asked for"); }))
            return refused(count);
        for (const handle created : handles)
            add(created);
    }

    void try_create_bulk(std::size_t count)
    {
        std::vector<handle> handles(count);
        std::size_t created = 0;
        const bool succeeds =
            memory_pool::detail::base::succeeds([&] { created = pool_.try_create_bulk(handles.data(), count); });
        for (std::size_t i = 0; i != created; ++i)
            add(handles[i]);
        if (!succeeds || created != count)
            refused();
    }

    /// For no time, as no other thread destroys anything meanwhile.
    void wait([[maybe_unused]] std::size_t count)
    {
        if constexpr (is_shared) {
            for (; count != 0; --count) {
                handle created;
                const bool can_wait = pool_.in_use() < pool_.max_capacity() && !upstream_is_to_fail_;
                (void)memory_pool::detail::base::succeeds([&] {
                    created = count % 3 == 0                ? pool_.try_create_for(std::chrono::nanoseconds(0))
                              : count % 3 == 1 || !can_wait ? pool_.try_create_until(std::chrono::steady_clock::now())
                                                            : pool_.create_wait();
                });
                if (created.is_null())
                    return refused();
                add(created);
            }
        }
    }

    void add(handle created)
    {
        item* const object = pool_.get(created);
        expect(object != nullptr && object->is_intact(), "an object is not as it was made");
        expect(created.generation % 2 == 1, "the generation of a handle is even");
        expect(alive_.emplace(created, object).second, "a handle stands for two objects");
        expect(stale_.count(created) == 0, "a stale handle is used again");
        handles_.push_back(created);
        if (first_generation_ == 0)
            first_generation_ = created.generation;
    }

    // Objects that go.

    void destroy_from(std::size_t first, std::size_t count)
    {
        expect(!pool_.destroy(handle{}), "the null handle stood for an object");
        if (handles_.empty())
            return;
        first %= handles_.size();
        const std::size_t end = first + std::min(count, handles_.size() - first);
        for (std::size_t i = first; i != end; ++i) {
            expect(pool_.destroy(handles_[i]), "an object was not there to be destroyed");
            expect(!pool_.destroy(handles_[i]), "an object was destroyed twice");
            gone(handles_[i]);
        }
        sweep();
    }

    /// With handles in it that are stale, or null.
    void destroy_bulk(std::size_t first, std::size_t count)
    {
        std::vector<handle> ended{handle{}};
        std::size_t expected = 0;
        if (!handles_.empty())
            for (std::size_t i = first % handles_.size(); i != handles_.size() && expected != count; ++i, ++expected) {
                ended.push_back(handles_[i]);
                if (expected % 7 == 0)
                    ended.push_back(handles_[i]); // which is stale by then
            }
        ended.insert(ended.end(), stale_.begin(), stale_.end());
        expect(pool_.destroy_bulk(ended.data(), ended.size()) == expected, "destroyed others than asked for");
        for (const handle each : ended)
            if (alive_.count(each) != 0)
                gone(each);
        sweep();
    }

    void gone(handle ended)
    {
        expect(alive_.erase(ended) == 1, "an object has ended that was not alive");
        if (stale_.size() < most_stale)
            stale_.insert(ended);
    }

    /// Drops those from the list that have ended.
    void sweep()
    {
        const auto has_ended = [this](handle each) { return alive_.count(each) == 0; };
        handles_.erase(std::remove_if(handles_.begin(), handles_.end(), has_ended), handles_.end());
    }

    void use_stale(std::size_t count)
    {
        for (const handle each : stale_) {
            if (count-- == 0)
                return;
            expect_stale(each);
        }
    }

    void expect_stale(handle each)
    {
        const Pool& constant = pool_;
        expect(!pool_.contains(each) && pool_.get(each) == nullptr && constant.get(each) == nullptr &&
                   !pool_.destroy(each),
               "a stale handle stands for an object");
        if constexpr (is_shared)
            expect(!pool_.visit(each, [](item&) {}), "an object of a stale handle was visited");
    }

    void invent(std::size_t index, std::size_t generation)
    {
        if (first_generation_ == 0)
            return; // A checking pool would report that it is of another pool, unless it is close to those it has made.
        const handle invented{static_cast<std::uint32_t>(index * (generation % 5 == 0 ? 0x10001U : 1U)),
                              static_cast<std::uint32_t>(first_generation_ + generation)};
        if (alive_.count(invented) == 0)
            expect_stale(invented);
    }

    void visit(std::size_t every)
    {
        std::size_t count = 0;
        std::set<item*> visited;
        const std::size_t before = alive_.size();
        pool_.for_each([&](item& object) {
            const handle its = pool_.handle_of(&object);
            expect(alive_.count(its) != 0 && alive_[its] == &object, "visited what is not alive");
            expect(visited.insert(&object).second, "visited one twice");
            if (++count % every != 0)
                return;
            expect(pool_.destroy(its), "an object was not there to be destroyed");
            gone(its);
        });
        expect(visited.size() == before, "not all were visited");
        sweep();
    }

    void visit_one([[maybe_unused]] std::size_t which, [[maybe_unused]] std::size_t how)
    {
        if constexpr (is_shared) {
            if (handles_.empty())
                return;
            const handle its = handles_[which % handles_.size()];
            const auto size = pool_.visit(its, [&](item& object) {
                expect(&object == alive_[its], "another object was visited");
                if (how % 2 == 0) {
                    expect(pool_.destroy(its), "an object was not there to be destroyed");
                    expect(!pool_.contains(its), "a handle is valid after its object was destroyed");
                    expect(object.is_intact(), "an object has ended while it was visited");
                }
                return sizeof object;
            });
            expect(size && *size == sizeof(item), "an object was not visited");
            if (how % 2 == 0)
                gone(its);
            sweep();
        }
    }

    void iterate([[maybe_unused]] std::size_t every)
    {
        if constexpr (!is_shared) {
            const Pool& constant = pool_;
            std::size_t count = 0;
            for (const item& object : constant)
                count += pool_.owns(&object) ? 1U : 0U;
            expect(count == alive_.size(), "other objects are in the range");
            count = 0;
            for (auto at = pool_.begin(); at != pool_.end();) {
                const handle its = at.handle();
                expect(alive_.count(its) != 0 && alive_[its] == &*at, "came to what is not alive");
                if (++count % every != 0) {
                    at++;
                    continue;
                }
                gone(its);
                at = pool_.erase(at);
            }
            sweep();
        }
    }

    void erase(std::size_t every)
    {
        std::size_t count = 0;
        const std::size_t erased = memory_pool::erase_if(pool_, [&](item& object) {
            if (++count % every != 0)
                return false;
            gone(pool_.handle_of(&object));
            return true;
        });
        expect(erased == count / every, "erased others than asked for");
        sweep();
    }

    // All of them.

    void forget(std::size_t how)
    {
        if (how % 8 > 1)
            return; // seldom, or nothing would ever get large
        how % 8 == 0 ? pool_.release() : pool_.clear();
        for (const handle each : handles_)
            gone(each);
        handles_.clear();
        expect(pool_.empty(), "it is not empty");
    }

    void verify()
    {
        for (const auto& [its, object] : alive_)
            expect(pool_.contains(its) && pool_.get(its) == object && object->is_intact(), "an object was written to");
        expect(pool_.in_use() == alive_.size() && pool_.size() == alive_.size(), "in_use is wrong");
        expect(marked_item::alive() == alive_.size() || !counts_alive, "other objects are alive");
        expect(pool_.capacity() >= alive_.size() && pool_.capacity() <= pool_.max_capacity(), "capacity is wrong");
        expect(pool_.bytes_reserved() == upstream_.live_bytes(), "bytes_reserved is wrong");
        if constexpr (policy::counts) {
            const memory_pool::pool_statistics counted = pool_.statistics();
            expect(counted.in_use == alive_.size() && counted.allocations - counted.deallocations == alive_.size() &&
                       counted.bytes_reserved == upstream_.live_bytes(),
                   "the statistics are wrong");
        }
        if constexpr (is_watched<policy>)
            expect(watching_observer::blocks().size() == alive_.size(), "the observer knows other blocks");
        if (log_.size() % 8 == 0)
            expect(pool_.verify(), "not valid");
    }

    static constexpr bool counts_alive = std::is_same_v<item, marked_item>;

    std::map<handle, item*> alive_;
    std::vector<handle> handles_;        ///< Of those, oldest first.
    std::uint32_t first_generation_ = 0; ///< Of the first handle; 0: none yet.
    std::set<handle> stale_;             ///< Some whose objects have ended.
};

/// Plays the tape on a pool of the kind, the object and the policy that its first byte picks.
inline void play_handle_pool(const std::uint8_t* bytes, std::size_t size)
{
    using namespace memory_pool;
    if (size == 0)
        return;
    const std::uint8_t* const rest = bytes + 1;
    switch (bytes[0] % 7) {
    case 0: return handle_pool_player<handle_pool<marked_item>>::play(rest, size - 1);
    case 1: return handle_pool_player<handle_pool<plain_item, counting_policy>>::play(rest, size - 1);
    case 2: return handle_pool_player<handle_pool<marked_item, watched_checking_policy>>::play(rest, size - 1);
    case 3: return handle_pool_player<concurrent_handle_pool<marked_item>>::play(rest, size - 1);
    case 4: return handle_pool_player<concurrent_handle_pool<plain_item, counting_policy>>::play(rest, size - 1);
    case 5: return handle_pool_player<concurrent_handle_pool<marked_item, checking_policy>>::play(rest, size - 1);
    default: return handle_pool_player<concurrent_handle_pool<marked_item, watched_policy>>::play(rest, size - 1);
    }
}
} // namespace fuzz
