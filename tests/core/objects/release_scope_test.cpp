// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/objects/release_scope.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace core = memory_pool::detail::core;

namespace {
/// Ends other nodes when it ends.
struct node
{
    std::string name;
    std::vector<std::pair<const void*, node*>> ends; ///< Each with its store.
    void* next = nullptr;
};

class release_scope_test : public testing::Test
{
protected:
    void end(const void* store, node& ended)
    {
        core::end_in_turn(
            store, &ended,
            [&](node* now) {
                log_.push_back("begin " + now->name);
                ++depth_;
                deepest_ = std::max(deepest_, depth_);
                for (const auto& [others_store, other] : now->ends)
                    end(others_store, *other);
                --depth_;
                log_.push_back("end " + now->name);
            },
            [](node* waiting, void* next) { waiting->next = next; }, [](node* waiting) { return waiting->next; });
    }

    int store_ = 0;
    int other_store_ = 0;
    int depth_ = 0;
    int deepest_ = 0;
    std::vector<std::string> log_;
};

TEST_F(release_scope_test, ends_an_object_immediately_if_none_is_ending)
{
    node a{"a", {}};
    end(&store_, a);
    EXPECT_EQ(log_, (std::vector<std::string>{"begin a", "end a"}));
    EXPECT_EQ(core::innermost_release_scope, nullptr);
}

TEST_F(release_scope_test, defers_objects_of_the_same_store)
{
    node b{"b", {}};
    node c{"c", {}};
    node a{"a", {{&store_, &b}, {&store_, &c}}};
    end(&store_, a);
    EXPECT_EQ(log_, (std::vector<std::string>{"begin a", "end a", "begin c", "end c", "begin b", "end b"}));
}

TEST_F(release_scope_test, ends_objects_of_another_store_immediately)
{
    node b{"b", {}};
    node a{"a", {{&other_store_, &b}}};
    end(&store_, a);
    EXPECT_EQ(log_, (std::vector<std::string>{"begin a", "begin b", "end b", "end a"}));
}

TEST_F(release_scope_test, bounds_recursion_for_chains_across_stores)
{
    std::vector<node> chain(10'000);
    for (std::size_t i = 0; i + 1 != chain.size(); ++i)
        chain[i].ends = {{i % 2 == 0 ? &other_store_ : &store_, &chain[i + 1]}};
    end(&store_, chain.front());
    EXPECT_EQ(log_.size(), 2 * chain.size());
    EXPECT_EQ(deepest_, 2);
}
} // namespace
