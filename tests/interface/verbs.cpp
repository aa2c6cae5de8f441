// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Generates the tables of verbs in docs/interface.md: the functions of each kind of pool and resource.
///
///     verbs <guide>            exits 1 if a table in the guide is outdated, and prints the current one
///     verbs <guide> --write    writes the tables into the guide
///
/// Compiles the whole body of each verb that a kind offers. Each verb that a kind does not offer needs a reason, which
/// stands below the table.
#include <memory_pool/intrusive_pool.hpp>
#include <memory_pool/memory_pool.hpp>
#include <memory_pool/recycling_pool.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory_resource>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {
namespace mp = memory_pool;

template <class References>
struct session : mp::pooled<session<References>, References>
{
};

/// A kind of pool, unsynchronized and concurrent. The concurrent one offers the same verbs and more.
template <class Single, class Shared = Single>
struct kind
{
    using single = Single;
    using shared = Shared;
    static constexpr bool has_both = !std::is_same_v<Single, Shared>;
};

/// `call` exists for kinds that offer the verb. `is_waiting`: requires another thread that can free.
template <bool IsWaiting = false>
struct verb
{
    static constexpr bool is_waiting = IsWaiting;
};

#define VERB(verb_name, waits, label, expression)                                                                      \
    struct verb_name : verb<waits>                                                                                     \
    {                                                                                                                  \
        static constexpr const char* word = label;                                                                     \
        template <class P>                                                                                             \
        static auto call([[maybe_unused]] P& p) -> decltype(expression)                                                \
        {                                                                                                              \
            return expression;                                                                                         \
        }                                                                                                              \
    }

constexpr std::chrono::seconds a_second{1};
std::pmr::memory_resource* const upstream = std::pmr::get_default_resource();
constexpr auto visit_nothing = [](auto&&) {};

VERB(allocate, false, "`allocate`", p.allocate());
VERB(create, false, "`create`", p.create());
VERB(make, false, "`make`", p.make());
VERB(make_unique, false, "`make_unique`", p.make_unique());
VERB(try_allocate, false, "`try_allocate`", p.try_allocate());
VERB(try_create, false, "`try_create`", p.try_create());
VERB(try_make, false, "`try_make`", p.try_make());
VERB(allocate_wait, true, "`allocate_wait`", p.allocate_wait());
VERB(create_wait, true, "`create_wait`", p.create_wait());
VERB(make_wait, true, "`make_wait`", p.make_wait());
VERB(allocate_for, true, "`try_allocate_for`", p.try_allocate_for(a_second));
VERB(create_for, true, "`try_create_for`", p.try_create_for(a_second));
VERB(make_for, true, "`try_make_for`", p.try_make_for(a_second));
VERB(allocate_bulk, false, "`allocate_bulk`", p.allocate_bulk(static_cast<void**>(nullptr), 0));
VERB(try_allocate_bulk, false, "`try_allocate_bulk`", p.try_allocate_bulk(static_cast<void**>(nullptr), 0));
VERB(create_bulk, false, "`create_bulk`", p.create_bulk(nullptr, 0));
VERB(try_create_bulk, false, "`try_create_bulk`", p.try_create_bulk(nullptr, 0));
VERB(destroy_bulk, false, "`destroy_bulk`", p.destroy_bulk(nullptr, 0));
VERB(good_size, false, "`good_size`", p.good_size(1));
VERB(move, false, "yes", P(std::move(p)));
VERB(make_from_upstream, false, "yes", P(upstream));

/// For pools with a block size.
struct make_from_size_and_upstream : verb<false>
{
    static constexpr const char* word = "yes";
    template <class P>
    static auto call(P& p) -> std::enable_if_t<sizeof(p.block_size()) != 0, P>
    {
        return P(p.block_size(), upstream);
    }
};

VERB(deallocate, false, "`deallocate`", p.deallocate(nullptr));
VERB(destroy, false, "`destroy`", p.destroy({}));
VERB(deallocate_bulk, false, "`deallocate_bulk`", p.deallocate_bulk(static_cast<void**>(nullptr), 0));
VERB(reserve, false, "`reserve`", p.reserve(1));
VERB(reserve_for_thread, false, "`reserve_for_thread`", p.reserve_for_thread());
VERB(trim, false, "`trim`", p.trim());
VERB(clear, false, "`clear`", p.clear());
VERB(release, false, "`release`", p.release());
VERB(hand_over, false, "`hand_over`", p.hand_over());
VERB(owns, false, "`owns`", p.owns(nullptr));
VERB(for_each, false, "`for_each`", p.for_each(visit_nothing));
VERB(verify, false, "`verify`", p.verify());
VERB(statistics, false, "`statistics`", p.statistics());
VERB(reset_peak, false, "`reset_peak`", p.reset_peak());
VERB(is_empty, false, "`empty`", p.empty());
VERB(capacity, false, "`capacity`", p.capacity());
VERB(max_capacity, false, "`max_capacity`", p.max_capacity());
VERB(in_use, false, "`in_use`", p.in_use());
VERB(available, false, "`available`", p.available());
VERB(growth_count, false, "`growth_count`", p.growth_count());
VERB(bytes_in_use, false, "`bytes_in_use`", p.bytes_in_use());
VERB(bytes_reserved, false, "`bytes_reserved`", p.bytes_reserved());
VERB(pool_name, false, "`name`", p.name());
VERB(upstream_resource, false, "`upstream_resource`", p.upstream_resource());

template <class Verb, class P, class = void>
inline constexpr bool is_declared = false;
template <class Verb, class P>
inline constexpr bool is_declared<Verb, P, std::void_t<decltype(Verb::call(std::declval<P&>()))>> = true;

/// Returns: the verb's name if `P` offers it, or "". Taking the address of `call` compiles its whole body.
template <class Verb, class P, bool IsShared>
std::string word_of()
{
    if constexpr (is_declared<Verb, P> && (IsShared || !Verb::is_waiting)) {
        [[maybe_unused]] auto* const call = &Verb::template call<P>;
        return Verb::word;
    } else {
        return "";
    }
}

[[noreturn]] void fail(const std::string& text)
{
    std::fprintf(stderr, "%s\n", text.c_str());
    std::exit(EXIT_FAILURE);
}

/// Returns: the text of a cell: the first of the verbs that the kind offers.
template <class Kind, class... Verbs>
std::string cell_of(const char* row)
{
    std::string single;
    std::string shared;
    ((single.empty() ? void(single = word_of<Verbs, typename Kind::single, false>()) : void()), ...);
    ((shared.empty() ? void(shared = word_of<Verbs, typename Kind::shared, true>()) : void()), ...);
    const bool waits = (Verbs::is_waiting || ...);
    if (!waits && single != shared)
        fail(std::string("row ") + row + ": the single-threaded pool offers " + single + ", the other " + shared);
    return shared;
}

/// Reasons why a kind does not offer the verb of a row, by row and column.
using reasons = std::map<std::pair<std::string, std::string>, std::string>;

/// A Markdown table.
class table
{
public:
    table(std::vector<std::string> columns, reasons why) : columns_(std::move(columns)), why_(std::move(why))
    {
        text_ = "| |";
        for (const std::string& column : columns_)
            text_ += " " + column + " |";
        text_ += "\n|---|";
        for (std::size_t i = 0; i != columns_.size(); ++i)
            text_ += "---|";
        text_ += '\n';
    }

    void add(const char* row, const std::vector<std::string>& cells)
    {
        text_ += std::string("| ") + row + " |";
        for (std::size_t i = 0; i != cells.size(); ++i)
            text_ += " " + (cells[i].empty() ? "- " + note(row, columns_[i]) : cells[i]) + " |";
        text_ += '\n';
    }

    /// Returns: the table and the reasons below it.
    std::string text() const
    {
        std::string all = text_ + '\n';
        for (std::size_t i = 0; i != notes_.size(); ++i)
            all += std::to_string(i + 1) + ". " + notes_[i] + '\n';
        for (const auto& [cell, why] : why_)
            if (used_.count(cell) == 0)
                fail("row " + cell.first + ", " + cell.second + ": is offered, but there is a reason why not: " + why);
        return all;
    }

private:
    std::string note(const std::string& row, const std::string& column)
    {
        const auto found = why_.count({row, column}) != 0 ? why_.find({row, column}) : why_.find({row, ""});
        if (found == why_.end())
            fail("row " + row + ", " + column + ": is not offered, but there is no reason why");
        used_.insert(*found);
        const auto known = std::find(notes_.begin(), notes_.end(), found->second);
        const auto number = known - notes_.begin() + 1;
        if (known == notes_.end())
            notes_.push_back(found->second);
        return "(" + std::to_string(number) + ")";
    }

    std::vector<std::string> columns_;
    reasons why_;
    reasons used_;
    std::vector<std::string> notes_;
    std::string text_;
};

template <class... Verbs, class... Kinds>
void add_row(table& to, const char* row, Kinds...)
{
    to.add(row, {cell_of<Kinds, Verbs...>(row)...});
}

std::string table_of_pools()
{
    using counting = mp::counting_policy;
    const kind<mp::basic_block_pool<counting>, mp::basic_concurrent_block_pool<counting>> blocks;
    const kind<mp::object_pool<int, counting>, mp::concurrent_object_pool<int, counting>> objects;
    const kind<mp::handle_pool<int, counting>, mp::concurrent_handle_pool<int, counting>> handles;
    const kind<mp::intrusive_pool<session<mp::plain_references>, counting>,
               mp::intrusive_pool<session<mp::atomic_references>, counting>>
        intrusive;
    const kind<mp::recycling_pool<session<mp::plain_references>, counting>,
               mp::recycling_pool<session<mp::atomic_references>, counting>>
        recycling;
    const kind<mp::unsynchronized_shared_pool<int, counting>, mp::shared_pool<int, counting>> shared;
    const kind<mp::unsynchronized_recycling_shared_pool<int, counting>, mp::recycling_shared_pool<int, counting>> kept;

    const std::string pointer = "The last pointer to an object gives it back: there is no function for that, and none "
                                "that destroys objects in use.";
    const std::string inside = "Objects are accessible only through their pointers.";
    const std::string many = "Each object has its own owner: call the form for one object in a loop.";
    table pools({"`block_pool`", "`object_pool`", "`handle_pool`", "`intrusive_pool`", "`recycling_pool`",
                 "`shared_pool`", "`recycling_shared_pool`"},
                {{{"free", ""}, pointer},
                 {{"free many", ""}, pointer},
                 {{"free all, keep the memory", ""}, pointer},
                 {{"allocate many, or throw", ""}, many},
                 {{"allocate as many as possible", ""}, many},
                 {{"movable and swappable", ""},
                  "Objects or threads refer to it by its address: hold it by a std::unique_ptr."},
                 {{"is the block from this pool?", ""}, inside},
                 {{"is it empty?", ""}, "A name of containers, for pools that are ranges: compare `in_use()` with 0."},
                 {{"visit the blocks or objects in use", ""}, inside}});
    const auto row = [&](const char* words, auto... verbs) {
        add_row<decltype(verbs)...>(pools, words, blocks, objects, handles, intrusive, recycling, shared, kept);
    };
    row("allocate, or throw", allocate{}, create{}, make{});
    row("allocate, or return nullptr", try_allocate{}, try_create{}, try_make{});
    row("allocate, or wait (pools shared by threads)", allocate_wait{}, create_wait{}, make_wait{});
    row("allocate, or wait until a deadline", allocate_for{}, create_for{}, make_for{});
    row("allocate many, or throw", allocate_bulk{}, create_bulk{});
    row("allocate as many as possible", try_allocate_bulk{}, try_create_bulk{});
    row("free", deallocate{}, destroy{});
    row("free many", deallocate_bulk{}, destroy_bulk{});
    row("reserve memory", reserve{});
    row("create a thread's cache in advance", reserve_for_thread{});
    row("return unused memory upstream", trim{});
    row("free all, keep the memory", clear{});
    row("free all, return the memory upstream", release{});
    row("is the block from this pool?", owns{});
    row("visit the blocks or objects in use", for_each{});
    row("hand the pool over to another thread (`checking_policy`)", hand_over{});
    row("check the invariants", verify{});
    row("exact statistics (`counting_policy`)", statistics{});
    row("reset the peak", reset_peak{});
    row("maximum capacity", max_capacity{});
    row("current capacity", capacity{});
    row("number in use", in_use{});
    row("is it empty?", is_empty{});
    row("number available", available{});
    row("number of growths", growth_count{});
    row("bytes from upstream", bytes_reserved{});
    row("its name in reports", pool_name{});
    row("its upstream", upstream_resource{});
    row("constructible from an upstream alone", make_from_size_and_upstream{}, make_from_upstream{});
    row("movable and swappable", move{});
    return pools.text();
}

std::string table_of_resources()
{
    const kind<mp::unsynchronized_arena_resource, mp::synchronized_arena_resource> arenas;
    const kind<mp::unsynchronized_pool_resource, mp::synchronized_pool_resource> pools;
    const kind<mp::block_resource<mp::block_pool>, mp::block_resource<mp::concurrent_block_pool>> view;
    const kind<mp::page_resource> pages;
    const kind<mp::tracking_resource> tracking;
    const kind<mp::limit_resource> limit;

    const std::string view_of = "A view of a pool, which offers it: `resource.pool()`.";
    const std::string holds_none = "Holds no memory: ask the resource behind it.";
    const std::string keeps_none = "Keeps no memory: freed memory goes back to the system at once.";
    reasons why{{{"its upstream", "`page_resource`"}, "Its upstream is the system."},
                {{"its name in reports", "`tracking_resource`"}, "Prints the name of each call site instead."},
                {{"exact statistics", ""}, "Put a `tracking_resource` in front of it."},
                {{"reset the peak", ""}, "Put a `tracking_resource` in front of it."},
                {{"reserve memory", "pool resources"}, "Pools by size class: a count does not choose one."},
                {{"bytes in use", "`block_resource`"}, view_of}};
    const char* const of_memory[] = {"reserve memory",
                                     "return unused memory upstream",
                                     "free all, keep the memory",
                                     "free all, return the memory upstream",
                                     "is the block from this pool?",
                                     "check the invariants",
                                     "bytes from upstream"};
    const std::string from_upstream = "constructible from an upstream alone";
    why[{from_upstream, "`block_resource`"}] = "Needs its pool, or its limit.";
    why[{from_upstream, "`limit_resource`"}] = why[{from_upstream, "`block_resource`"}];
    why[{from_upstream, "`page_resource`"}] = "Its upstream is the system.";
    const std::string room_for = "room in the block for a request";
    why[{room_for, "`page_resource`"}] = "Whole pages: round up by the page size.";
    why[{room_for, "`tracking_resource`"}] = why[{room_for, "`limit_resource`"}] = holds_none;
    for (const char* const row : of_memory) {
        why[{row, "`block_resource`"}] = view_of;
        why[{row, "`page_resource`"}] = keeps_none;
        why[{row, "`tracking_resource`"}] = why[{row, "`limit_resource`"}] = holds_none;
    }
    why[{"its name in reports", "`block_resource`"}] = view_of;
    const std::string hands_over = "hand the pool over to another thread (`checking_policy`)";
    why[{hands_over, "`block_resource`"}] = view_of;
    why[{hands_over, "`page_resource`"}] = "Any thread may use it.";
    why[{hands_over, "`tracking_resource`"}] = why[{hands_over, "`limit_resource`"}] = holds_none;
    table resources({"arena resources", "pool resources", "`block_resource`", "`page_resource`", "`tracking_resource`",
                     "`limit_resource`"},
                    why);
    const auto row = [&](const char* words, auto... verbs) {
        add_row<decltype(verbs)...>(resources, words, arenas, pools, view, pages, tracking, limit);
    };
    row("reserve memory", reserve{});
    row("return unused memory upstream", trim{});
    row("free all, keep the memory", clear{});
    row("free all, return the memory upstream", release{});
    row("is the block from this pool?", owns{});
    row(hands_over.c_str(), hand_over{});
    row("check the invariants", verify{});
    row("exact statistics", statistics{});
    row("reset the peak", reset_peak{});
    row("bytes in use", bytes_in_use{});
    row("bytes from upstream", bytes_reserved{});
    row("room in the block for a request", good_size{});
    row("its name in reports", pool_name{});
    row("its upstream", upstream_resource{});
    row("constructible from an upstream alone", make_from_upstream{});
    return resources.text();
}

std::string generated()
{
    return table_of_pools() + "\nResources:\n\n" + table_of_resources();
}

std::string read(const char* path)
{
    std::ifstream file(path);
    if (!file)
        fail(std::string("cannot read ") + path);
    return {std::istreambuf_iterator<char>(file), {}};
}
} // namespace

int main(int argc, char** argv)
{
    if (argc < 2)
        fail("usage: verbs <guide> [--write]");
    const std::string begin = "<!-- verbs: made by tests/interface/verbs.cpp -->\n";
    const std::string end = "<!-- end of verbs -->\n";
    const std::string guide = read(argv[1]);
    const std::size_t from = guide.find(begin);
    const std::size_t to = guide.find(end);
    if (from == std::string::npos || to == std::string::npos)
        fail("the guide has no place for the table");
    const std::string fresh = guide.substr(0, from + begin.size()) + '\n' + generated() + '\n' + guide.substr(to);
    if (argc > 2 && std::strcmp(argv[2], "--write") == 0) {
        std::ofstream(argv[1]) << fresh;
        return EXIT_SUCCESS;
    }
    if (fresh != guide) {
        std::printf("%s", generated().c_str());
        fail("the table in the guide is another one: run it with --write");
    }
    return EXIT_SUCCESS;
}
