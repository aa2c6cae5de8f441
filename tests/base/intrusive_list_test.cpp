// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/base/intrusive_list.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace base = memory_pool::detail::base;

namespace {
using numbers = std::vector<std::size_t>;

struct item
{
    item* next = nullptr;
    item* previous = nullptr;
};

/// Nodes that are pointers.
struct by_pointer
{
    using links = base::member_links<item, &item::next, &item::previous>;

    item* node(std::size_t number) { return &items[number]; }
    static links all_links() { return {}; }

    std::array<item, 3> items{};
};

/// Nodes that are indices.
struct by_index
{
    struct entry
    {
        unsigned next = 0;
        unsigned previous = 0;
    };
    struct links
    {
        using node = unsigned;
        static constexpr node none = 0;
        node& next(node of) const noexcept { return table[of].next; }
        node& previous(node of) const noexcept { return table[of].previous; }

        entry* table;
    };

    static unsigned node(std::size_t number) { return static_cast<unsigned>(number + 1); }
    links all_links() { return {table.data()}; }

    std::array<entry, 4> table{};
};

template <class Nodes>
class intrusive_list_test : public testing::Test
{
protected:
    using list = base::intrusive_list<typename Nodes::links>;

    numbers listed()
    {
        numbers all;
        list_.for_each(
            [&](auto each) {
                std::size_t number = 0;
                while (nodes_.node(number) != each)
                    ++number;
                all.push_back(number);
            },
            links());
        EXPECT_TRUE(list_.has(all.size(), links()));
        EXPECT_FALSE(list_.has(all.size() + 1, links()));
        return all;
    }

    typename Nodes::links links() { return nodes_.all_links(); }
    void add_first(std::size_t number) { list_.add_first(nodes_.node(number), links()); }
    void add_last(std::size_t number) { list_.add_last(nodes_.node(number), links()); }
    void remove(std::size_t number) { list_.remove(nodes_.node(number), links()); }
    void forget(std::size_t number) { list::forget(nodes_.node(number), links()); }
    bool is_listed(std::size_t number) { return list::is_listed(nodes_.node(number), links()); }

    Nodes nodes_;
    list list_;
};

using node_kinds = testing::Types<by_pointer, by_index>;
TYPED_TEST_SUITE(intrusive_list_test, node_kinds, );

TYPED_TEST(intrusive_list_test, adds_at_both_ends)
{
    EXPECT_TRUE(this->list_.empty());
    EXPECT_EQ(this->listed(), numbers{});
    this->add_first(1);
    this->add_last(2);
    this->add_first(0);
    EXPECT_EQ(this->listed(), (numbers{0, 1, 2}));
    EXPECT_EQ(this->list_.first(), this->nodes_.node(0));
    EXPECT_FALSE(this->list_.empty());
}

TYPED_TEST(intrusive_list_test, add_last_works_on_an_empty_list)
{
    this->add_last(0);
    this->add_last(1);
    EXPECT_EQ(this->listed(), (numbers{0, 1}));
}

TYPED_TEST(intrusive_list_test, ignores_nodes_that_are_already_listed)
{
    this->add_first(0);
    this->add_first(0);
    this->add_first(1);
    this->add_first(0);
    this->add_last(1);
    EXPECT_EQ(this->listed(), (numbers{1, 0}));
}

TYPED_TEST(intrusive_list_test, removes_nodes_in_any_order_and_ignores_unlisted_nodes)
{
    numbers order{0, 1, 2};
    do {
        for (std::size_t number = 0; number != 3; ++number)
            this->add_last(number);
        numbers left{0, 1, 2};
        for (const std::size_t removed : order) {
            EXPECT_TRUE(this->is_listed(removed));
            this->remove(removed);
            this->remove(removed);
            EXPECT_FALSE(this->is_listed(removed));
            left.erase(std::find(left.begin(), left.end(), removed));
            EXPECT_EQ(this->listed(), left);
        }
        EXPECT_TRUE(this->list_.empty());
    } while (std::next_permutation(order.begin(), order.end()));
}

TYPED_TEST(intrusive_list_test, allows_removal_during_a_visit)
{
    for (std::size_t number = 0; number != 3; ++number)
        this->add_last(number);
    std::size_t visited = 0;
    this->list_.for_each(
        [&](auto each) {
            ++visited;
            this->list_.remove(each, this->links());
        },
        this->links());
    EXPECT_EQ(visited, 3u);
    EXPECT_TRUE(this->list_.empty());
}

TYPED_TEST(intrusive_list_test, is_empty_after_clear)
{
    this->add_first(0);
    this->list_.clear();
    EXPECT_TRUE(this->list_.empty());
    EXPECT_TRUE(this->list_.has(0, this->links()));
}

TYPED_TEST(intrusive_list_test, accepts_forgotten_nodes_of_a_cleared_list)
{
    for (std::size_t number = 0; number != 3; ++number)
        this->add_last(number);
    this->list_.clear();
    for (std::size_t number = 0; number != 3; ++number) {
        this->forget(number);
        EXPECT_FALSE(this->is_listed(number));
    }
    this->remove(1);
    this->add_last(2);
    this->add_last(0);
    EXPECT_EQ(this->listed(), (numbers{2, 0}));
}

TYPED_TEST(intrusive_list_test, detects_a_wrong_back_link)
{
    this->add_last(0);
    this->add_last(1);
    this->add_last(2);
    this->links().previous(this->nodes_.node(2)) = this->nodes_.node(0);
    EXPECT_FALSE(this->list_.has(3, this->links()));
}

TYPED_TEST(intrusive_list_test, detects_a_cycle)
{
    this->add_last(0);
    this->add_last(1);
    this->links().next(this->nodes_.node(1)) = this->nodes_.node(0);
    EXPECT_FALSE(this->list_.is_linked([](auto) { return true; }, this->links()));
    EXPECT_FALSE(this->list_.has(2, this->links()));
}
} // namespace
