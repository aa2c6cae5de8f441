// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/base/misuse_log.hpp>

#include <support/error_recorder.hpp>
#include <support/what.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace base = memory_pool::detail::base;
using memory_pool::error_kind;

namespace {
TEST(misuse_log, reports_its_entries_and_the_number_of_omitted_ones)
{
    const test::error_recorder recorder;
    base::misuse_log log;
    EXPECT_TRUE(log.empty());
    for (int i = 0; i != 16; ++i)
        log.add(error_kind::double_free, &log, 32);
    EXPECT_FALSE(log.empty());
    log.report("test");
    EXPECT_EQ(recorder.kinds(), test::kinds(16, error_kind::double_free));

    log.add(error_kind::double_free, &log, 32);
    log.add(error_kind::foreign_pointer, &log, 48);
    log.report("test");
    ASSERT_EQ(recorder.reports().size(), 16u + 17u);
    const auto& left_out = recorder.reports().back();
    EXPECT_EQ(left_out.kind, error_kind::foreign_pointer);
    EXPECT_EQ(left_out.address, nullptr);
    EXPECT_EQ(left_out.block_size, 48u);
    EXPECT_TRUE(test::contains(left_out.text, "2 more at the same time, the last a foreign pointer"));
}

/// A store that reports misuse.
struct owner
{
    struct identity_type
    {
        const char* name;
    };

    void find_misuse()
    {
        if (log_ != nullptr)
            log_->add(error_kind::double_free, this, 32);
        else
            base::report_misuse(error_kind::double_free, this, 32, "test");
    }

    base::misuse_log* log() const { return log_; }
    void log_misuse_to(base::misuse_log* log) { log_ = log; }
    static identity_type identity() { return {"test"}; }

    base::misuse_log* log_ = nullptr;
};

TEST(late_reports, are_delivered_at_the_end_of_the_outermost_scope)
{
    const test::error_recorder recorder;
    owner finder;
    {
        const base::late_reports reports(finder);
        {
            const base::late_reports inner(finder);
            finder.find_misuse();
        }
        finder.find_misuse();
        EXPECT_TRUE(recorder.reports().empty());
    }
    ASSERT_EQ(recorder.kinds(), test::kinds(2, error_kind::double_free));
    EXPECT_EQ(recorder.reports()[0].address, &finder);
    EXPECT_EQ(recorder.reports()[0].block_size, 32u);
    EXPECT_EQ(recorder.reports()[0].pool_name, "test");
}

TEST(late_reports, end_before_the_error_handler_runs)
{
    test::error_recorder recorder;
    owner finder;
    recorder.handle_by([&] {
        if (recorder.reports().size() == 1) {
            const base::late_reports reports(finder);
            finder.find_misuse();
        }
    });
    {
        const base::late_reports reports(finder);
        finder.find_misuse();
    }
    finder.find_misuse(); // reported immediately again
    EXPECT_EQ(recorder.kinds(), test::kinds(3, error_kind::double_free));
    recorder.handle_by(nullptr);
}
} // namespace
