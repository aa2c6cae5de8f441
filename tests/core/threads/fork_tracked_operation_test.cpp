// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/threads/fork_tracked_operation.hpp>

#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace core = memory_pool::detail::core;

namespace {
struct job : core::fork_tracked_operation
{
    explicit job(int job_number) : number(job_number) {}

    int number;
};

TEST(fork_tracked_operations, is_empty_after_all_leave_in_any_order)
{
    core::fork_tracked_operations<job> jobs;
    EXPECT_TRUE(jobs.empty());
    job first(1);
    job second(2);
    job third(3);
    for (job* const each : {&first, &second, &third})
        jobs.enter(*each);
    for (job* const each : {&second, &third, &first}) {
        EXPECT_FALSE(jobs.empty());
        jobs.leave(*each);
    }
    EXPECT_TRUE(jobs.empty());
}

TEST(fork_tracked_operations, forgets_and_reports_jobs_of_other_threads)
{
    core::fork_tracked_operations<job> jobs;
    job mine(1);
    std::optional<job> other;
    std::optional<job> another;
    test::in_a_thread([&] { other.emplace(2); });
    test::in_a_thread([&] { another.emplace(3); });
    jobs.enter(*other);
    jobs.enter(mine);
    jobs.enter(*another);
    std::vector<int> lost;
    jobs.forget_other_threads([&lost](const job& each) { lost.push_back(each.number); });
    EXPECT_EQ(lost, (std::vector<int>{3, 2}));
    EXPECT_FALSE(jobs.empty());
    jobs.leave(mine);
    EXPECT_TRUE(jobs.empty());
}
} // namespace
