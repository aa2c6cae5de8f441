// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Plays a tape of bytes as operations on a handle pool and on a simple model that also remembers stale handles, and
/// compares both after each operation. Any tape is valid. Used by a seeded test and a fuzzer; prints the operations on
/// a mismatch.
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
    static constexpr std::size_t max_stale = 500;
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
        case 19: return log("free all"), forget(tape_.byte());
        default: return log("wait"), wait(1 + tape_.byte() % 9);
        }
    }

    // Creation.

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
                [&] { expect(pool_.create_bulk(handles.data(), count) == count, "created a wrong number"); }))
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

    /// Creates `count` objects through calls that can wait. None may block: no other thread would end the wait.
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
        expect(object != nullptr && object->is_intact(), "a new object is damaged");
        expect(created.generation % 2 == 1, "the generation of a handle is even");
        expect(alive_.emplace(created, object).second, "two objects share a handle");
        expect(stale_.count(created) == 0, "a stale handle was reused");
        handles_.push_back(created);
        if (first_generation_ == 0)
            first_generation_ = created.generation;
    }

    // Destruction.

    void destroy_from(std::size_t first, std::size_t count)
    {
        expect(!pool_.destroy(handle{}), "the null handle refers to an object");
        if (handles_.empty())
            return;
        first %= handles_.size();
        const std::size_t end = first + std::min(count, handles_.size() - first);
        for (std::size_t i = first; i != end; ++i) {
            expect(pool_.destroy(handles_[i]), "destroy() missed a live object");
            expect(!pool_.destroy(handles_[i]), "an object was destroyed twice");
            gone(handles_[i]);
        }
        sweep();
    }

    /// Destroys in bulk, including stale and null handles.
    void destroy_bulk(std::size_t first, std::size_t count)
    {
        std::vector<handle> ended{handle{}};
        std::size_t expected = 0;
        if (!handles_.empty())
            for (std::size_t i = first % handles_.size(); i != handles_.size() && expected != count; ++i, ++expected) {
                ended.push_back(handles_[i]);
                if (expected % 7 == 0)
                    ended.push_back(handles_[i]); // stale by then
            }
        ended.insert(ended.end(), stale_.begin(), stale_.end());
        expect(pool_.destroy_bulk(ended.data(), ended.size()) == expected, "destroyed a wrong number");
        for (const handle each : ended)
            if (alive_.count(each) != 0)
                gone(each);
        sweep();
    }

    void gone(handle ended)
    {
        expect(alive_.erase(ended) == 1, "destroyed an object that is not alive");
        if (stale_.size() < max_stale)
            stale_.insert(ended);
    }

    /// Drops the handles of destroyed objects from the list.
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
               "a stale handle refers to an object");
        if constexpr (is_shared)
            expect(!pool_.visit(each, [](item&) {}), "visited the object of a stale handle");
    }

    void invent(std::size_t index, std::size_t generation)
    {
        if (first_generation_ == 0)
            return; // A checking pool reports handles far from its own as foreign.
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
            const handle current = pool_.handle_of(&object);
            expect(alive_.count(current) != 0 && alive_[current] == &object, "visited a destroyed object");
            expect(visited.insert(&object).second, "visited an object twice");
            if (++count % every != 0)
                return;
            expect(pool_.destroy(current), "destroy() missed a live object");
            gone(current);
        });
        expect(visited.size() == before, "not all were visited");
        sweep();
    }

    void visit_one([[maybe_unused]] std::size_t which, [[maybe_unused]] std::size_t how)
    {
        if constexpr (is_shared) {
            if (handles_.empty())
                return;
            const handle current = handles_[which % handles_.size()];
            const auto size = pool_.visit(current, [&](item& object) {
                expect(&object == alive_[current], "visited the wrong object");
                if (how % 2 == 0) {
                    expect(pool_.destroy(current), "destroy() missed a live object");
                    expect(!pool_.contains(current), "a handle is valid after current object was destroyed");
                    expect(object.is_intact(), "destroyed an object during current visit");
                }
                return sizeof object;
            });
            expect(size && *size == sizeof(item), "did not visit a live object");
            if (how % 2 == 0)
                gone(current);
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
            expect(count == alive_.size(), "wrong objects in the range");
            count = 0;
            for (auto at = pool_.begin(); at != pool_.end();) {
                const handle current = at.handle();
                expect(alive_.count(current) != 0 && alive_[current] == &*at, "iterated over a destroyed object");
                if (++count % every != 0) {
                    at++;
                    continue;
                }
                gone(current);
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
        expect(erased == count / every, "erased the wrong elements");
        sweep();
    }

    // All objects.

    void forget(std::size_t how)
    {
        if (how % 8 > 1)
            return; // rarely, so pools can grow large
        how % 8 == 0 ? pool_.release() : pool_.clear();
        for (const handle each : handles_)
            gone(each);
        handles_.clear();
        expect(pool_.empty(), "the pool is not empty");
    }

    void verify()
    {
        for (const auto& [key, object] : alive_)
            expect(pool_.contains(key) && pool_.get(key) == object && object->is_intact(), "an object was overwritten");
        expect(pool_.in_use() == alive_.size() && pool_.size() == alive_.size(), "in_use is wrong");
        expect(marked_item::alive() == alive_.size() || !counts_alive, "wrong number of live objects");
        expect(pool_.capacity() >= alive_.size() && pool_.capacity() <= pool_.max_capacity(), "capacity is wrong");
        expect(pool_.bytes_reserved() == upstream_.live_bytes(), "bytes_reserved is wrong");
        if constexpr (policy::counts) {
            const memory_pool::pool_statistics counted = pool_.statistics();
            expect(counted.in_use == alive_.size() && counted.allocations - counted.deallocations == alive_.size() &&
                       counted.bytes_reserved == upstream_.live_bytes(),
                   "wrong statistics");
        }
        if constexpr (is_watched<policy>)
            expect(watching_observer::blocks().size() == alive_.size(), "the observer's blocks differ");
        if (log_.size() % 8 == 0)
            expect(pool_.verify(), "verify() failed");
    }

    static constexpr bool counts_alive = std::is_same_v<item, marked_item>;

    std::map<handle, item*> alive_;
    std::vector<handle> handles_;        ///< of live objects, oldest first
    std::uint32_t first_generation_ = 0; ///< of the first handle; 0: none yet
    std::set<handle> stale_;             ///< some handles of destroyed objects
};

/// Plays the tape on a pool; the first byte selects kind, object type and policy.
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
