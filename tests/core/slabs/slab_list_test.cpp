// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/slabs/slab_list.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <vector>

namespace core = memory_pool::core;

namespace
{
class slab_list_test : public testing::Test
{
protected:
    std::vector<const core::slab*> listed() const
    {
        std::vector<const core::slab*> all;
        for (const core::slab* each = list_.first(); each != nullptr; each = each->next)
            all.push_back(each);
        EXPECT_TRUE(list_.has(all.size()));
        EXPECT_FALSE(list_.has(all.size() + 1));
        return all;
    }

    core::slab_layout layout_{64, 16, 10};
    core::slab first_{this, layout_, 0};
    core::slab second_{this, layout_, 0};
    core::slab third_{this, layout_, 0};
    core::slab_list list_;
};

using slabs = std::vector<const core::slab*>;

TEST_F(slab_list_test, begins_with_the_slab_that_was_added_last)
{
    EXPECT_EQ(list_.first(), nullptr);
    for (core::slab* const each : {&first_, &second_, &third_})
        list_.add(*each);
    EXPECT_EQ(listed(), (slabs{&third_, &second_, &first_}));
}

TEST_F(slab_list_test, leaves_a_slab_where_it_is_that_is_added_again)
{
    list_.add(first_);
    list_.add(second_);
    list_.add(first_);
    EXPECT_EQ(listed(), (slabs{&second_, &first_}));
}

TEST_F(slab_list_test, loses_slabs_wherever_they_are_and_ignores_those_that_are_not_listed)
{
    for (core::slab* const removed : {&first_, &second_, &third_}) {
        for (core::slab* const each : {&first_, &second_, &third_})
            list_.add(*each);
        list_.remove(*removed);
        list_.remove(*removed);
        EXPECT_FALSE(removed->is_listed);
        EXPECT_EQ(listed().size(), 2u);
        for (core::slab* const each : {&first_, &second_, &third_})
            list_.remove(*each);
        EXPECT_EQ(list_.first(), nullptr);
    }
}

TEST_F(slab_list_test, notices_a_link_that_does_not_lead_back)
{
    list_.add(first_);
    list_.add(second_);
    first_.previous = nullptr;
    EXPECT_FALSE(list_.has(2));
}
} // namespace
