// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Typical use of standard containers, written once for every allocator:
///
///     list            1,000 elements; then 10,000 times: pop_front, push_back
///     map             1,000 ordered keys, as in a timer queue; then 10,000 times: erases the smallest key, inserts a
///                     new largest one
///     filled_map      eleven times: inserts 1,000 keys in order, with end() as hint, then erases all
///     random_map      1,000 keys; then 10,000 times: finds and erases a random key, inserts a new largest one
///     unordered_map   as random_map
///     strings         1,000 strings of 16 to 2,000 characters, most of them short; then 10,000 times: replaces a
///                     random string
///
/// A job takes an allocator, and returns a number that shows whether every element had the expected value. `operations`
/// is the number of elements that the job creates and destroys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace jobs {
inline constexpr std::size_t elements = 1'000;
inline constexpr std::size_t replacements = 10'000;
inline constexpr std::size_t operations = elements + replacements;

template <class Allocator, class T>
using allocator_for = typename std::allocator_traits<Allocator>::template rebind_alloc<T>;

/// The element that each replacement replaces. Random, but the same for every side and in every run.
inline const std::vector<std::size_t>& replaced_places()
{
    static const std::vector<std::size_t> places = [] {
        std::mt19937 random(2026);
        std::vector<std::size_t> made(replacements);
        for (std::size_t& place : made)
            place = random() % elements;
        return made;
    }();
    return places;
}

struct list
{
    template <class Allocator>
    std::uint64_t operator()(const Allocator& allocator) const
    {
        std::list<int, allocator_for<Allocator, int>> queue(allocator);
        int next = 0;
        for (std::size_t i = 0; i != elements; ++i)
            queue.push_back(next++);
        for (std::size_t i = 0; i != replacements; ++i) {
            queue.pop_front();
            queue.push_back(next++);
        }
        std::uint64_t sum = 0;
        for (const int element : queue)
            sum = sum * 31 + static_cast<std::uint64_t>(element);
        return sum;
    }
};

/// The job of random_map and unordered_map.
template <class Map>
std::uint64_t replace_at_random(Map& map)
{
    std::vector<int> keys(elements);
    int next = 0;
    for (int& key : keys) {
        key = next++;
        map.emplace(key, key);
    }
    for (const std::size_t place : replaced_places()) {
        map.erase(keys[place]);
        keys[place] = next++;
        map.emplace(keys[place], keys[place]);
    }
    std::uint64_t sum = map.size();
    for (const int key : keys)
        sum = sum * 31 + static_cast<std::uint64_t>(map.at(key));
    return sum;
}

struct map
{
    template <class Allocator>
    std::uint64_t operator()(const Allocator& allocator) const
    {
        std::map<int, int, std::less<>, allocator_for<Allocator, std::pair<const int, int>>> due(allocator);
        int next = 0;
        for (; next != int{elements}; ++next)
            due.emplace_hint(due.end(), next, next);
        for (; next != int{operations}; ++next) {
            due.erase(due.begin());
            due.emplace_hint(due.end(), next, next);
        }
        std::uint64_t sum = due.size();
        for (const auto& [key, value] : due)
            sum = (sum * 31 + static_cast<std::uint64_t>(key)) * 31 + static_cast<std::uint64_t>(value);
        return sum;
    }
};

struct filled_map
{
    template <class Allocator>
    std::uint64_t operator()(const Allocator& allocator) const
    {
        std::map<int, int, std::less<>, allocator_for<Allocator, std::pair<const int, int>>> filled(allocator);
        std::uint64_t sum = 0;
        for (int next = 0; next != int{operations}; filled.clear()) {
            for (std::size_t i = 0; i != elements; ++i, ++next)
                filled.emplace_hint(filled.end(), next, next);
            sum = sum * 31 + filled.size() + static_cast<std::uint64_t>(filled.rbegin()->second);
        }
        return sum;
    }
};

struct random_map
{
    template <class Allocator>
    std::uint64_t operator()(const Allocator& allocator) const
    {
        std::map<int, int, std::less<>, allocator_for<Allocator, std::pair<const int, int>>> used(allocator);
        return replace_at_random(used);
    }
};

struct unordered_map
{
    template <class Allocator>
    std::uint64_t operator()(const Allocator& allocator) const
    {
        std::unordered_map<int, int, std::hash<int>, std::equal_to<>,
                           allocator_for<Allocator, std::pair<const int, int>>>
            used(allocator);
        return replace_at_random(used);
    }
};

/// The length of each string, in the order of their creation.
inline const std::vector<std::size_t>& string_lengths()
{
    static const std::vector<std::size_t> lengths = [] {
        std::mt19937 random(2027);
        std::vector<std::size_t> made(operations);
        for (std::size_t& length : made) {
            // Half of the lengths are from 16 to 31, a quarter are from 32 to 63, and so on.
            std::size_t shortest = 16;
            while (shortest != 1024 && random() % 2 == 0)
                shortest *= 2;
            length = shortest + random() % shortest;
        }
        return made;
    }();
    return lengths;
}

struct strings
{
    template <class Allocator>
    std::uint64_t operator()(const Allocator& allocator) const
    {
        using string = std::basic_string<char, std::char_traits<char>, allocator_for<Allocator, char>>;
        const std::vector<std::size_t>& lengths = string_lengths();
        std::vector<string> made;
        made.reserve(elements);
        for (std::size_t i = 0; i != elements; ++i)
            made.emplace_back(lengths[i], letter(i), allocator);
        for (std::size_t i = 0; i != replacements; ++i)
            made[replaced_places()[i]] = string(lengths[elements + i], letter(i), allocator);
        std::uint64_t sum = 0;
        for (const string& each : made)
            sum = sum * 31 + each.size() + static_cast<unsigned char>(each.front() ^ (each.back() * 2));
        return sum;
    }

private:
    static char letter(std::size_t number) { return static_cast<char>('a' + number % 26); }
};
} // namespace jobs
