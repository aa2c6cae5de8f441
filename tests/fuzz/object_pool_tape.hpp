// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Plays a tape of bytes as operations on an object pool and on a simple model, and compares both after each operation.
/// Any tape is valid. Used by a seeded test and a fuzzer; prints the operations on a mismatch.
#pragma once

#include <memory_pool/allocator.hpp>
#include <memory_pool/concurrent_object_pool.hpp>
#include <memory_pool/object_pool.hpp>
#include <memory_pool/profiling_policy.hpp>

#include <fuzz/marked_item.hpp>
#include <fuzz/pool_player.hpp>
#include <fuzz/tape.hpp>
#include <fuzz/watching_observer.hpp>
#include <support/error_recorder.hpp>
#include <support/upstreams.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace fuzz {
/// May own another object of its pool; the destructor destroys it.
struct owning_item : marked_item, owned_base
{
    owning_item() = default;
    ~owning_item() override
    {
        if (owned != nullptr)
            destroy(pool, owned);
    }

    owning_item* owned = nullptr;
    void (*destroy)(void* pool, owning_item* object) = nullptr;
    void* pool = nullptr;
};

template <class Pool>
class object_pool_player : public pool_player<object_pool_player<Pool>, Pool>
{
    using base = pool_player<object_pool_player<Pool>, Pool>;
    friend base;
    using item = typename Pool::value_type;
    using policy = typename Pool::policy;
    static constexpr bool is_shared = std::is_base_of_v<memory_pool::concurrent_object_pool<item, policy>, Pool>;
    static constexpr bool owns_others = std::is_same_v<item, owning_item>;
    static constexpr std::size_t max_chain_length = 3000; ///< each destroys the next by recursion
    static constexpr std::size_t operations = 24;

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

    object_pool_player(tape& instructions, test::accounting_upstream& upstream)
        : base(instructions, upstream, options_from(instructions))
    {
    }

    static memory_pool::pool_options options_from(tape& instructions)
    {
        const std::size_t which = instructions.byte();
        memory_pool::pool_options options = options_of_small_pool(instructions, which);
        if (which / 8 % 2 == 1)
            options.alignment = std::size_t{1} << instructions.byte() % 8;
        memory_pool::set_profile_bytes(which * 8);
        return options;
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
        case 6: return log("make owners"), make_unique(1 + tape_.byte() % 10);
        case 7: return log("drop owners"), owners_.resize(owners_.size() / (1 + tape_.byte() % 3));
        case 8: return log("destroy the first"), destroy_from(0, 1 + tape_.number() % 300);
        case 9: return log("destroy the last"), destroy_last(1 + tape_.byte());
        case 10: return log("destroy in the middle"), destroy_from(tape_.number(), 1 + tape_.byte() % 30);
        case 11: return log("destroy in bulk"), destroy_bulk(tape_.number(), tape_.byte());
        case 12: return log("the constructor throws"), item::throw_at(1 + tape_.byte() % 20);
        case 13: return log("upstream fails"), fail(1 + tape_.byte() % 4);
        case 14: return log("visit and destroy"), visit(2 + tape_.byte() % 5);
        case 15: return log("iterate and erase"), iterate(2 + tape_.byte() % 5);
        case 16: return log("erase if"), erase(1 + tape_.byte() % 5);
        case 17: return log("own"), own(tape_.number(), 1 + tape_.byte());
        case 18: return log("trim"), trim();
        case 19: return log("reserve"), reserve(tape_.number() % 500);
        case 20: return log("free all"), forget(tape_.byte());
        case 21: return log("wait"), wait(1 + tape_.byte() % 9);
        default: return log("misuse"), misuse(tape_.number(), tape_.byte());
        }
    }

    // Creation.

    void create(std::size_t count)
    {
        for (; count != 0; --count) {
            item* object = nullptr;
            if (!memory_pool::detail::base::succeeds([&] { object = pool_.create(); }))
                return refused();
            add(object);
        }
    }

    void try_create(std::size_t count)
    {
        for (; count != 0; --count) {
            item* object = nullptr;
            (void)memory_pool::detail::base::succeeds([&] { object = pool_.try_create(); });
            if (object == nullptr)
                return refused();
            add(object);
        }
    }

    void create_bulk(std::size_t count)
    {
        std::vector<item*> objects(count);
        if (!memory_pool::detail::base::succeeds(
                [&] { expect(pool_.create_bulk(objects.data(), count) == count, "created a wrong number"); }))
            return refused(count);
        for (item* const object : objects)
            add(object);
    }

    void try_create_bulk(std::size_t count)
    {
        std::vector<item*> objects(count);
        std::size_t created = 0;
        const bool succeeds =
            memory_pool::detail::base::succeeds([&] { created = pool_.try_create_bulk(objects.data(), count); });
        for (std::size_t i = 0; i != created; ++i)
            add(objects[i]);
        if (!succeeds || created != count)
            refused();
    }

    void make_unique([[maybe_unused]] std::size_t count)
    {
        if constexpr (owns_others) {
            for (; count != 0; --count) {
                owner object;
                if (!memory_pool::detail::base::succeeds([&] { object = pool_.make_unique(); }))
                    return refused();
                auto* const made = static_cast<item*>(object.get());
                owners_.push_back(std::move(object));
                expect(known_.insert(made).second && made->is_intact(), "a new object is damaged");
                is_owned_.insert(made);
            }
        }
    }

    /// Waits for zero time, because no other thread destroys anything.
    void wait([[maybe_unused]] std::size_t count)
    {
        if constexpr (is_shared) {
            for (; count != 0; --count) {
                item* object = nullptr;
                const bool can_wait = pool_.in_use() < pool_.max_capacity() && !upstream_is_to_fail_;
                (void)memory_pool::detail::base::succeeds([&] {
                    object = count % 3 == 0                ? pool_.try_create_for(std::chrono::nanoseconds(0))
                             : count % 3 == 1 || !can_wait ? pool_.try_create_until(std::chrono::steady_clock::now())
                                                           : pool_.create_wait();
                });
                if (object == nullptr)
                    return refused();
                add(object);
            }
        }
    }

    void add(item* object)
    {
        expect(known_.insert(object).second, "created two objects at one address");
        expect(reinterpret_cast<std::uintptr_t>(object) % alignof(item) == 0, "misaligned");
        expect(object->is_intact(), "a new object is damaged");
        objects_.push_back(object);
    }

    // Destruction.

    /// Forgets an object and the objects it owns.
    void gone(item* object)
    {
        while (object != nullptr) {
            expect(known_.erase(object) == 1, "destroyed an object that is not alive");
            is_owned_.erase(object);
            last_gone_ = object;
            object = owned_by(object);
        }
    }

    item* owned_by([[maybe_unused]] item* object)
    {
        if constexpr (owns_others) {
            const auto owned = owned_.find(object);
            if (owned == owned_.end())
                return nullptr;
            item* const result = owned->second;
            owned_.erase(owned);
            return result;
        }
        return nullptr;
    }

    bool is_owned(item* object) const { return is_owned_.count(object) != 0; }

    /// Destroys the object if it is alive and unowned.
    void destroy(item* object)
    {
        if (known_.count(object) == 0 || is_owned(object))
            return;
        expect(object->is_intact(), "an object was overwritten");
        gone(object);
        pool_.destroy(object);
    }

    void destroy_from(std::size_t first, std::size_t count)
    {
        pool_.destroy(nullptr); // ignored
        if (objects_.empty())
            return;
        first %= objects_.size();
        const std::size_t end = first + std::min(count, objects_.size() - first);
        for (std::size_t i = first; i != end; ++i)
            destroy(objects_[i]);
        sweep();
    }

    void destroy_last(std::size_t count)
    {
        for (std::size_t i = objects_.size(); i != 0 && count != 0; --i, --count)
            destroy(objects_[i - 1]);
        sweep();
    }

    void destroy_bulk(std::size_t first, std::size_t count)
    {
        if (objects_.empty())
            return;
        first %= objects_.size();
        std::vector<item*> ended{nullptr}; // ignored
        for (std::size_t i = first; i != objects_.size() && ended.size() <= count; ++i)
            if (!is_owned(objects_[i]))
                ended.push_back(objects_[i]);
        for (item* const object : ended)
            gone(object);
        pool_.destroy_bulk(ended.data(), ended.size());
        sweep();
    }

    /// Drops destroyed objects from the list.
    void sweep()
    {
        const auto has_ended = [this](item* object) { return known_.count(object) == 0; };
        objects_.erase(std::remove_if(objects_.begin(), objects_.end(), has_ended), objects_.end());
    }

    /// Makes objects own their successors, so each is destroyed by its predecessor.
    void own([[maybe_unused]] std::size_t first, [[maybe_unused]] std::size_t count)
    {
        if constexpr (owns_others) {
            if (objects_.empty())
                return;
            first %= objects_.size();
            for (std::size_t i = first; i + 1 < objects_.size() && count != 0; ++i, --count) {
                item* const first_of_two = objects_[i];
                item* const owned = objects_[i + 1];
                // In list order, so no object owns itself.
                if (first_of_two->owned != nullptr || is_owned(owned) || owned_.size() == max_chain_length)
                    continue;
                first_of_two->owned = owned;
                first_of_two->pool = &pool_;
                first_of_two->destroy = [](void* pool, item* object) { static_cast<Pool*>(pool)->destroy(object); };
                owned_[first_of_two] = owned;
                is_owned_.insert(owned);
            }
        }
    }

    void visit(std::size_t every)
    {
        std::size_t count = 0;
        std::set<item*> visited;
        pool_.for_each([&](item& object) {
            expect(known_.count(&object) != 0 && visited.insert(&object).second, "visited a destroyed object");
            if (++count % every == 0)
                destroy(&object);
        });
        for (item* const object : known_)
            expect(visited.count(object) != 0, "not all were visited");
        sweep();
    }

    void iterate([[maybe_unused]] std::size_t every)
    {
        if constexpr (!is_shared) {
            const Pool& constant = pool_;
            std::set<const item*> visited;
            for (const item& object : constant)
                visited.insert(&object);
            expect(visited.size() == known_.size() && pool_.size() == known_.size(), "wrong objects in the range");
            visited.clear();
            std::size_t count = 0;
            for (auto at = pool_.begin(); at != pool_.end();) {
                item* const object = &*at;
                expect(known_.count(object) != 0 && visited.insert(object).second, "iterated over a destroyed object");
                if (++count % every != 0 || is_owned(object)) {
                    at++;
                    continue;
                }
                gone(object);
                at = pool_.erase(at);
            }
            for (const item* const object : known_)
                expect(visited.count(object) != 0, "the iterator skipped objects");
            sweep();
        }
    }

    void erase([[maybe_unused]] std::size_t every)
    {
        if constexpr (!is_shared) {
            std::size_t count = 0;
            std::size_t expected = 0;
            const std::size_t erased = memory_pool::erase_if(pool_, [&](item& object) {
                if (++count % every != 0 || is_owned(&object))
                    return false;
                gone(&object);
                ++expected;
                return true;
            });
            expect(erased == expected, "erased the wrong elements");
            sweep();
        }
    }

    // All objects.

    void forget(std::size_t how)
    {
        if (how % 8 > 1)
            return; // rarely, so pools can grow large
        for (owner& each : owners_)
            (void)each.release(); // NOLINT(bugprone-unused-return-value): the pool destroys it
        owners_.clear();
        how % 8 == 0 ? pool_.release() : pool_.clear();
        objects_.clear();
        known_.clear();
        owned_.clear();
        is_owned_.clear();
        expect(!owns_others || marked_item::alive() == 0, "an object survived release() or clear()");
        // A shared pool keeps its depot until it is destroyed.
        expect(how % 8 == 1 || is_shared || upstream_.live_chunks() == 0, "release() kept upstream memory");
    }

    /// Only checking pools detect all of this misuse.
    void misuse([[maybe_unused]] std::size_t which, [[maybe_unused]] std::size_t how)
    {
        if constexpr (policy::checks) {
            const test::error_recorder recorder;
            alignas(item) std::array<unsigned char, sizeof(item)> local{};
            void* foreign = local.data();
            if (how % 3 == 0 && last_gone_ != nullptr && known_.count(last_gone_) == 0)
                foreign = last_gone_;
            else if (how % 3 == 1 && !objects_.empty())
                foreign = memory_pool::detail::base::address_past(objects_[which % objects_.size()], alignof(item));
            pool_.destroy(static_cast<item*>(foreign));
            expect(recorder.reports().size() == 1, "misuse was not reported exactly once");
        }
    }

    void verify()
    {
        forget_dropped_owners();
        for (item* const object : known_)
            expect(object->is_intact(), "an object was overwritten");
        expect(pool_.in_use() == known_.size(), "in_use is wrong");
        expect(!owns_others || marked_item::alive() == known_.size(), "wrong number of live objects");
        expect(pool_.capacity() >= known_.size() && pool_.capacity() <= pool_.max_capacity(), "capacity is wrong");
        expect(pool_.bytes_reserved() == upstream_.live_bytes(), "bytes_reserved is wrong");
        if (!known_.empty())
            expect(pool_.owns(*known_.begin()), "owns() is false for its own object");
        if constexpr (policy::counts) {
            const memory_pool::pool_statistics counted = pool_.statistics();
            expect(counted.in_use == known_.size() && counted.allocations - counted.deallocations == known_.size(),
                   "wrong count of objects");
        }
        if constexpr (is_watched<policy>)
            expect(watching_observer::blocks().size() == known_.size(), "the observer's blocks differ");
        if (log_.size() % 8 == 0)
            expect(pool_.verify(), "verify() failed");
    }

    /// Forgets the objects whose owners were destroyed.
    void forget_dropped_owners()
    {
        if constexpr (owns_others) {
            std::set<item*> alive(objects_.begin(), objects_.end());
            for (const owner& each : owners_)
                alive.insert(static_cast<item*>(each.get()));
            for (auto object = known_.begin(); object != known_.end();) {
                if (alive.count(*object) != 0) {
                    ++object;
                    continue;
                }
                is_owned_.erase(*object);
                object = known_.erase(object);
            }
        }
    }

    using owner = std::unique_ptr<owned_base, memory_pool::polymorphic_deleter>;

    std::vector<owner> owners_;
    std::vector<item*> objects_;   ///< alive, oldest first, except those in owners_
    std::set<item*> known_;        ///< all live objects
    std::map<item*, item*> owned_; ///< by owner
    std::set<item*> is_owned_;     ///< owned by an object or an owner, which alone may destroy it
    item* last_gone_ = nullptr;
};

/// Plays the tape on a pool; the first byte selects kind, object type and policy.
inline void play_object_pool(const std::uint8_t* bytes, std::size_t size)
{
    using namespace memory_pool;
    if (size == 0)
        return;
    const std::uint8_t* const rest = bytes + 1;
    switch (bytes[0] % 10) {
    case 0: return object_pool_player<object_pool<owning_item>>::play(rest, size - 1);
    case 1: return object_pool_player<object_pool<plain_item>>::play(rest, size - 1);
    case 2: return object_pool_player<object_pool<owning_item, counting_policy>>::play(rest, size - 1);
    case 3: return object_pool_player<object_pool<owning_item, watched_checking_policy>>::play(rest, size - 1);
    case 4: return object_pool_player<object_pool<plain_item, checking_policy>>::play(rest, size - 1);
    case 5: return object_pool_player<object_pool<owning_item, profiling_policy<>>>::play(rest, size - 1);
    case 6: return object_pool_player<concurrent_object_pool<owning_item>>::play(rest, size - 1);
    case 7: return object_pool_player<concurrent_object_pool<plain_item, counting_policy>>::play(rest, size - 1);
    case 8: return object_pool_player<concurrent_object_pool<owning_item, checking_policy>>::play(rest, size - 1);
    default: return object_pool_player<concurrent_object_pool<owning_item, watched_policy>>::play(rest, size - 1);
    }
}
} // namespace fuzz
