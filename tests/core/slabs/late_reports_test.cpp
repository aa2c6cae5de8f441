// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/slabs/late_reports.hpp>

#include <support/error_recorder.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <memory_resource>

namespace core = memory_pool::core;
using memory_pool::error;

namespace
{
class late_reports_test : public testing::Test
{
protected:
    void find_misuse() { store_.report_misuse(error::double_free, this); }

    static constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

    test::error_recorder recorder_;
    core::slab_store store_{core::slab_layout(32, 16, unbounded),
                            unbounded,
                            {false, false, false},
                            {"test", 32},
                            std::pmr::new_delete_resource()};
};

TEST_F(late_reports_test, come_when_the_outermost_ends)
{
    {
        const core::late_reports reports(store_);
        {
            const core::late_reports inner(store_);
            find_misuse();
        }
        find_misuse();
        EXPECT_TRUE(recorder_.reports().empty());
    }
    ASSERT_EQ(recorder_.kinds(), test::kinds(2, error::double_free));
    EXPECT_EQ(recorder_.reports()[0].address, this);
    EXPECT_EQ(recorder_.reports()[0].block_size, 32u);
    EXPECT_EQ(recorder_.reports()[0].pool_name, "test");
}

TEST_F(late_reports_test, are_over_when_the_error_handler_is_called)
{
    recorder_.handle_by([this] {
        if (recorder_.reports().size() == 1) {
            const core::late_reports reports(store_);
            find_misuse();
        }
    });
    {
        const core::late_reports reports(store_);
        find_misuse();
    }
    find_misuse(); // is reported at once again
    EXPECT_EQ(recorder_.kinds(), test::kinds(3, error::double_free));
    recorder_.handle_by(nullptr);
}
} // namespace
