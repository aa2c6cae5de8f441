// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/reports/report_registry.hpp>

#include <memory_pool/core/reports/report_figures.hpp>
#include <memory_pool/core/reports/report_source.hpp>

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
using memory_pool::report_figures;

namespace {
struct pool_of_test
{
    static report_figures read_figures(const void* pool) noexcept
    {
        report_figures figures;
        figures.in_use = static_cast<const pool_of_test*>(pool)->in_use;
        figures.bytes_reserved = 1000;
        return figures;
    }

    core::report_source source(bool is_shared) const { return {&read_figures, this, is_shared}; }

    std::uint64_t in_use = 0;
};

/// The registry of the process may have entries of others: those of the tests have names that begin alike.
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

TEST_F(report_registry, lists_records_in_the_order_in_which_they_came)
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

TEST_F(report_registry, copies_names_up_to_a_length)
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

TEST_F(report_registry, reads_pools_that_are_shared_and_shows_of_others_what_they_publish)
{
    core::report_record& read = enter("read", true);
    core::report_record& published = enter("published", false);
    pool_.in_use = 5;
    std::vector<core::report_view> all = views();
    EXPECT_EQ(all.at(0).figures.in_use, 5U);
    EXPECT_FALSE(all[0].is_published);
    EXPECT_EQ(all.at(1).figures.in_use, 0U) << "not published yet";
    EXPECT_TRUE(all[1].is_published);
    publish(published);
    pool_.in_use = 6;
    for (core::report_record* const each : {&read, &published})
        set_more_bytes(*each, 24);
    all = views();
    EXPECT_EQ(all[0].figures.in_use, 6U);
    EXPECT_EQ(all[0].age_ms, 0U);
    EXPECT_EQ(all[0].figures.bytes_reserved, 1024U);
    EXPECT_EQ(all[1].figures.in_use, 5U);
    EXPECT_EQ(all[1].figures.bytes_reserved, 1024U);
    EXPECT_FALSE(all[1].is_of_lost_thread);
}

TEST_F(report_registry, lets_records_come_and_go_while_it_shows_them)
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
    EXPECT_EQ(seen, 40U) << "all that were there, but the last, and the new one";
}

/// A pool whose reader takes its time.
struct slow_pool
{
    static report_figures read_figures(const void* pool) noexcept
    {
        auto* const its = const_cast<slow_pool*>(static_cast<const slow_pool*>(pool));
        its->is_being_read = true;
        while (!its->leaves)
            std::this_thread::yield();
        for (int i = 0; i != 1000; ++i) // So that it could leave meanwhile.
            std::this_thread::yield();
        its->was_read = true;
        return {};
    }

    std::atomic<bool> is_being_read{false};
    std::atomic<bool> leaves{false};
    std::atomic<bool> was_read{false};
};

TEST_F(report_registry, lets_a_pool_leave_when_it_is_not_being_read_any_more)
{
    slow_pool pool;
    core::report_record* const record =
        registry_.enter("kind", "registry test slow", {&slow_pool::read_figures, &pool, true});
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
TEST_F(report_registry, does_not_read_pools_of_lost_threads_in_the_child_of_a_fork)
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
        return all.size() == 3 && all[0].is_of_lost_thread && all[0].is_published && all[0].figures.in_use == 0 &&
               !all[1].is_of_lost_thread && all[1].figures.in_use == 7 && !all[2].is_of_lost_thread &&
               all[2].figures.in_use == 7;
    });
    EXPECT_FALSE(views().at(0).is_of_lost_thread) << "in the parent";
}
#endif
} // namespace
