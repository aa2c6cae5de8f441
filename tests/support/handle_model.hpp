// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Random operations on a pool with handles, compared with a model that knows which objects are alive.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>

namespace test {
/// An object that identifies itself by a number.
struct numbered
{
    std::uint64_t number;
    std::uint64_t check = ~number;

    bool is(std::uint64_t expected) const noexcept { return number == expected && check == ~expected; }
};

/// Compares a pool with the objects that it should contain. Remembers stale handles and looks them up repeatedly.
template <class Pool>
class handle_model
{
public:
    explicit handle_model(std::uint64_t seed) : random_(seed) {}

    /// Effects: performs random operations.
    /// Returns the number of wrong results.
    std::uint64_t run(std::uint64_t operations)
    {
        for (std::uint64_t i = 0; i != operations; ++i)
            step();
        expect(pool_.size() == alive_ && pool_.verify());
        return wrong_;
    }

    /// Returns the number of objects created so far.
    std::uint64_t created() const { return created_; }

private:
    using handle = typename Pool::handle;

    struct entry
    {
        handle last;
        std::uint64_t number = 0;
        bool is_alive = false;
    };

    void expect(bool is_right) { wrong_ += is_right ? 0 : 1; }

    void step()
    {
        const std::uint64_t dice = random_();
        entry& chosen = entries_[dice % entries_.size()];
        look_up(chosen);
        const handle stale = stale_[dice / entries_.size() % stale_.size()];
        expect(pool_.get(stale) == nullptr);
        const std::uint64_t kind = dice >> 52;
        if (kind == 0)
            whole_pool();
        else if (kind < 64)
            expect(!pool_.destroy(stale));
        else if (kind < 72)
            change_in_bulk(dice);
        else if (kind % 2 == 0)
            change(chosen, dice);
    }

    void look_up(const entry& expected)
    {
        const numbered* const object = pool_.get(expected.last);
        expect(expected.is_alive ? object != nullptr && object->is(expected.number) : object == nullptr);
    }

    void change(entry& changed, std::uint64_t dice)
    {
        if (changed.is_alive) {
            expect(pool_.destroy(changed.last));
            changed.is_alive = false;
            --alive_;
            return;
        }
        stale_[(dice >> 32) % stale_.size()] = changed.last;
        changed.last = pool_.create(numbered{++created_});
        changed.number = created_;
        changed.is_alive = true;
        ++alive_;
    }

    /// Destroys the live objects of a range of entries, and in half of the cases creates an object for each entry.
    void change_in_bulk(std::uint64_t dice)
    {
        const std::size_t first = dice % (entries_.size() - bulk_.size());
        const std::size_t count = (dice >> 16) % (bulk_.size() + 1);
        const auto begin = entries_.begin() + static_cast<std::ptrdiff_t>(first);
        const auto end = begin + static_cast<std::ptrdiff_t>(count);
        std::transform(begin, end, bulk_.begin(), [](const entry& each) { return each.last; });
        const auto alive = std::count_if(begin, end, [](const entry& each) { return each.is_alive; });
        expect(pool_.destroy_bulk(bulk_.data(), count) == static_cast<std::size_t>(alive));
        std::for_each(begin, end, [](entry& each) { each.is_alive = false; });
        alive_ -= static_cast<std::size_t>(alive);
        if ((dice >> 32) % 2 == 0)
            return;
        expect(pool_.create_bulk(bulk_.data(), count, numbered{0}) == count);
        for (std::size_t i = 0; i != count; ++i) {
            entry& created = entries_[first + i];
            created = {bulk_[i], ++created_, true};
            *pool_.get(created.last) = numbered{created_};
        }
        alive_ += count;
    }

    void whole_pool()
    {
        (void)pool_.trim();
        switch (random_() % 32) {
        case 0: pool_.clear(); break;
        case 1: pool_.release(); break;
        default: return;
        }
        for (entry& each : entries_)
            each.is_alive = false;
        alive_ = 0;
    }

    Pool pool_;
    std::mt19937_64 random_;
    std::array<entry, 4096> entries_{};
    std::array<handle, 16384> stale_{}; ///< Null handles at first.
    std::array<handle, 200> bulk_{};
    std::uint64_t created_ = 0;
    std::size_t alive_ = 0;
    std::uint64_t wrong_ = 0;
};
} // namespace test
