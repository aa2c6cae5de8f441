// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/objects/recycle_action.hpp>

#include <support/error_recorder.hpp>
#include <support/what.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

namespace mp = memory_pool;
namespace core = memory_pool::detail::core;
using test::contains;
using test::error_recorder;
using test::what_of;

namespace {
struct resettable
{
    int destroyed = 0;
    void destroy() { ++destroyed; }
};

struct plain
{
};

TEST(recycle_action, nothing_leaves_the_object_unchanged)
{
    const core::recycle_action<resettable> action(mp::recycle::nothing);
    resettable object;
    action(object);
    EXPECT_EQ(object.destroyed, 0);
    EXPECT_FALSE(action.runs_code());
}

TEST(recycle_action, calls_destroy)
{
    const core::recycle_action<resettable> action(mp::recycle::call_destroy);
    resettable object;
    action(object);
    EXPECT_EQ(object.destroyed, 1);
    EXPECT_TRUE(action.runs_code());
}

TEST(recycle_action, calls_a_function)
{
    const core::recycle_action<resettable> action(
        std::function<void(resettable&)>([](resettable& object) { object.destroyed = 7; }));
    resettable object;
    action(object);
    EXPECT_EQ(object.destroyed, 7);
    EXPECT_TRUE(action.runs_code());
}

TEST(recycle_action, rejects_a_missing_or_empty_function)
{
    EXPECT_TRUE(contains(
        what_of<std::invalid_argument>([] { const core::recycle_action<plain> action(mp::recycle::call_destroy); }),
        "no destroy()"));
    EXPECT_TRUE(contains(
        what_of<std::invalid_argument>([] { const core::recycle_action<plain> action{std::function<void(plain&)>()}; }),
        "is empty"));
}

TEST(reset_object, reports_exceptions_of_the_action)
{
    const error_recorder errors;
    const core::recycle_action<resettable> action(
        std::function<void(resettable&)>([](resettable&) { throw std::runtime_error("hook"); }));
    resettable object;
    core::reset_object(action, object, "pool");
    ASSERT_EQ(errors.kinds(), std::vector<mp::error_kind>{mp::error_kind::hook_failed});
}
} // namespace
