// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/reports/report_registry.hpp>

#include <memory_pool/core/reports/report_source.hpp>
#include <memory_pool/core/reports/report_statistics.hpp>

#include <support/child.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace core = memory_pool::detail::core;
using memory_pool::report_statistics;

namespace {
struct pool_of_test
{
    static report_statistics read_statistics(const void* pool) noexcept
    {
        report_statistics statistics;
        statistics.in_use = static_cast<const pool_of_test*>(pool)->in_use;
        statistics.bytes_reserved = 1000;
        return statistics;
    }

    core::report_source source(bool is_shared) const { return {&read_statistics, this, is_shared}; }

    std::uint64_t in_use = 0;
};

/// The registry of the process may list other pools, so the names of test records share a prefix.
class report_registry : public testing::Test
{
protected:
    ~report_registry() override
    {
        for (core::report_record* const each : records_)
            registry_.leave(each);
        EXPECT_TRUE(views().empty());
        EXPECT_EQ(registry_.left_out(), 0U);
    }

    core::report_record& enter(const std::string& name, bool is_shared = true)
    {
        records_.push_back(registry_.enter("kind", ("registry test " + name).c_str(), pool_.source(is_shared)));
        return *records_.back();
    }

    static bool is_of_test(const core::report_view& view)
    {
        return std::string_view(view.name.data()).substr(0, 14) == "registry test ";
    }

    std::vector<core::report_view> views() const
    {
        std::vector<core::report_view> all;
        registry_.for_each([&all](const core::report_view& each) {
            if (is_of_test(each))
                all.push_back(each);
        });
        return all;
    }

    core::report_registry& registry_ = core::report_registry::get();
    pool_of_test pool_;
    std::vector<core::report_record*> records_;
};

TEST_F(report_registry, lists_records_in_the_order_of_entry)
{
    for (int i = 0; i != 100; ++i)
        enter(std::to_string(i));
    registry_.leave(records_[50]);
    records_.erase(records_.begin() + 50);
    const std::vector<core::report_view> all = views();
    ASSERT_EQ(all.size(), 99U);
    for (std::size_t i = 0; i != all.size(); ++i)
        EXPECT_EQ(all[i].name.data(), "registry test " + std::to_string(i < 50 ? i : i + 1));
}

TEST_F(report_registry, truncates_long_names)
{
    std::string name(500, 'x');
    enter(name);
    name = "another text";
    const std::string kind(100, 'k');
    set_kind(*records_.back(), kind.c_str());
    const core::report_view view = views().at(0);
    EXPECT_EQ(view.name.data(), "registry test " + std::string(127 - 14, 'x'));
    EXPECT_EQ(view.kind.data(), kind.substr(0, view.kind.size() - 1));
    set_kind(*records_.back(), "kind");
}

TEST_F(report_registry, reads_shared_pools_and_uses_published_statistics_of_others)
{
    core::report_record& read = enter("read", true);
    core::report_record& published = enter("published", false);
    pool_.in_use = 5;
    std::vector<core::report_view> all = views();
    EXPECT_EQ(all.at(0).statistics.in_use, 5U);
    EXPECT_FALSE(all[0].is_published);
    EXPECT_EQ(all.at(1).statistics.in_use, 0U) << "not published yet";
    EXPECT_TRUE(all[1].is_published);
    publish(published);
    pool_.in_use = 6;
    for (core::report_record* const each : {&read, &published})
        set_more_bytes(*each, 24);
    all = views();
    EXPECT_EQ(all[0].statistics.in_use, 6U);
    EXPECT_EQ(all[0].age_ms, 0U);
    EXPECT_EQ(all[0].statistics.bytes_reserved, 1024U);
    EXPECT_EQ(all[1].statistics.in_use, 5U);
    EXPECT_EQ(all[1].statistics.bytes_reserved, 1024U);
    EXPECT_FALSE(all[1].is_of_lost_thread);
}

TEST_F(report_registry, allows_changes_while_it_lists_records)
{
    for (int i = 0; i != 40; ++i)
        enter(std::to_string(i));
    std::size_t seen = 0;
    registry_.for_each([&](const core::report_view& each) {
        if (!is_of_test(each))
            return;
        if (++seen == 1) {
            enter("late");
            for (const std::size_t i : {std::size_t{39}, std::size_t{0}}) {
                registry_.leave(records_[i]);
                records_.erase(records_.begin() + static_cast<std::ptrdiff_t>(i));
            }
        }
    });
    EXPECT_EQ(views().size(), 39U);
    EXPECT_EQ(seen, 40U) << "skips the last record, which has left, and includes the new one";
}

/// A pool that takes long to read.
struct slow_pool
{
    static report_statistics read_statistics(const void* pool) noexcept
    {
        auto* const self = const_cast<slow_pool*>(static_cast<const slow_pool*>(pool));
        self->is_being_read = true;
        while (!self->leaves)
            std::this_thread::yield();
        for (int i = 0; i != 1000; ++i) // Gives leave() time to return too early.
            std::this_thread::yield();
        self->was_read = true;
        return {};
    }

    std::atomic<bool> is_being_read{false};
    std::atomic<bool> leaves{false};
    std::atomic<bool> was_read{false};
};

TEST_F(report_registry, leave_waits_until_the_pool_is_not_read)
{
    slow_pool pool;
    core::report_record* const record =
        registry_.enter("kind", "registry test slow", {&slow_pool::read_statistics, &pool, true});
    test::in_threads(2, [&](std::size_t thread) {
        if (thread == 0) {
            EXPECT_EQ(views().size(), 1U);
            return;
        }
        while (!pool.is_being_read)
            std::this_thread::yield();
        pool.leaves = true;
        registry_.leave(record);
        EXPECT_TRUE(pool.was_read);
    });
}

#if TESTS_MAY_FORK
TEST_F(report_registry, does_not_read_pools_of_lost_threads_in_a_forked_child)
{
    test::lasting_thread other;
    other.does([this] {
        publish(enter("lost"));
        publish(enter("used again"));
    });
    enter("mine");
    pool_.in_use = 7;
    test::expect_in_child([this] {
        enter_again(*records_[1]);
        const std::vector<core::report_view> all = views();
        return all.size() == 3 && all[0].is_of_lost_thread && all[0].is_published && all[0].statistics.in_use == 0 &&
               !all[1].is_of_lost_thread && all[1].statistics.in_use == 7 && !all[2].is_of_lost_thread &&
               all[2].statistics.in_use == 7;
    });
    EXPECT_FALSE(views().at(0).is_of_lost_thread) << "in the parent";
}
#endif
} // namespace
