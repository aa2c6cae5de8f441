// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/base/errors.hpp>
#include <memory_pool/pool_options.hpp>

#include <support/error_recorder.hpp>
#include <support/what.hpp>

#include <gtest/gtest.h>

#include <new>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace mp = memory_pool;
using test::contains;

namespace {
TEST(pool_exhausted, is_a_bad_alloc_that_names_pool_limit_and_size)
{
    static_assert(std::is_base_of_v<std::bad_alloc, mp::pool_exhausted>);
    const std::string text = mp::pool_exhausted("orders", 100, 48).what();
    EXPECT_TRUE(contains(text, "'orders'")) << text;
    EXPECT_TRUE(contains(text, "100 blocks of 48 bytes")) << text;
}

TEST(size_overflow, is_a_bad_array_new_length_that_names_both_factors)
{
    static_assert(std::is_base_of_v<std::bad_array_new_length, mp::size_overflow>);
    const std::string text = mp::size_overflow(123456, 789).what();
    EXPECT_TRUE(contains(text, "123456 blocks of 789 bytes")) << text;
}

TEST(limit_exceeded, is_a_bad_alloc_that_names_the_resource_and_the_numbers)
{
    static_assert(std::is_base_of_v<std::bad_alloc, mp::limit_exceeded>);
    const std::string text = mp::limit_exceeded("cache", 1000, 900, 101).what();
    EXPECT_TRUE(contains(text, "'cache'")) << text;
    EXPECT_TRUE(contains(text, "101 more bytes would exceed its limit of 1000 bytes; 900 are in use")) << text;
}

TEST(out_of_memory, is_a_bad_alloc_with_a_message)
{
    static_assert(std::is_base_of_v<std::bad_alloc, mp::out_of_memory>);
    EXPECT_STREQ(mp::out_of_memory(mp::detail::base::message("none for %s", "me")).what(), "none for me");
}

TEST(error_name, differs_for_each_kind)
{
    std::set<std::string> names;
    int kind = 0;
    for (; mp::error_name(mp::error_kind(kind)) != std::string("unknown error"); ++kind)
        EXPECT_TRUE(names.insert(mp::error_name(mp::error_kind(kind))).second) << kind;
    EXPECT_EQ(kind, static_cast<int>(mp::error_kind::buffer_underflow) + 1) << "the last kind";
}

TEST(remedy_for, exists_for_each_misuse)
{
    for (const mp::error_kind kind :
         {mp::error_kind::double_free, mp::error_kind::buffer_underflow, mp::error_kind::mismatched_deallocation})
        EXPECT_GT(std::string(mp::detail::base::remedy_for(kind)).size(), 10U);
}

TEST(message, distinguishes_singular_and_plural)
{
    EXPECT_TRUE(contains(mp::pool_exhausted("orders", 1, 48).what(), "1 block of 48 bytes"));
    EXPECT_TRUE(contains(mp::size_overflow(1, 789).what(), "1 block of 789 bytes"));
    EXPECT_TRUE(contains(mp::detail::base::leak_message(1, 48, "orders").c_str(), "1 object of 48 bytes"));
    EXPECT_TRUE(contains(mp::detail::base::leak_message(2, 48, "orders").c_str(), "2 objects of 48 bytes"));
}

TEST(message, is_truncated)
{
    const std::string long_name(10'000, 'x');
    const std::string text = mp::pool_exhausted(long_name.c_str(), 1, 1).what();
    EXPECT_GT(text.size(), 100u);
    EXPECT_LT(text.size(), 1000u);
}

TEST(message, shortens_only_the_name_of_a_pool)
{
    const std::string long_name(10'000, 'x');
    const char* const name = long_name.c_str();
    EXPECT_TRUE(contains(mp::pool_exhausted(name, 123, 48).what(), "123 blocks of 48 bytes"));
    EXPECT_TRUE(contains(mp::limit_exceeded(name, 1000, 900, 101).what(), "its limit of 1000 bytes"));
    EXPECT_TRUE(contains(mp::detail::base::leak_message(3, 48, name).c_str(), "or use a policy that allows leaks"));
    const test::error_recorder recorder;
    mp::detail::base::report_misuse(mp::error_kind::double_free, nullptr, 48, name);
    mp::detail::base::report_misuse(
        mp::detail::base::misuse({mp::pool_options::unbounded, mp::pool_options::unbounded}), name,
        {mp::pool_options::unbounded, mp::pool_options::unbounded}, name);
    mp::detail::base::report_more_misuse(3, mp::error_kind::double_free, 48, name);
    for (const auto& report : recorder.reports()) {
        EXPECT_TRUE(contains(report.text, mp::detail::base::remedy_for(report.kind))) << report.text;
        EXPECT_EQ(report.pool_name, long_name) << "the error handler gets the full name";
    }
}

/// Returns the exception that `action` throws.
template <class Exception, class Action>
std::optional<Exception> thrown_by(Action&& action)
{
    try {
        action();
    } catch (const Exception& thrown) {
        return thrown;
    }
    return std::nullopt;
}

TEST(throwing, passes_its_arguments_to_the_exception)
{
    const auto exhausted = thrown_by<mp::pool_exhausted>([] { mp::detail::base::throw_exhausted("p", 7, 48); });
    ASSERT_TRUE(exhausted);
    EXPECT_STREQ(exhausted->pool_name(), "p");
    EXPECT_EQ(exhausted->max_capacity(), 7u);
    EXPECT_EQ(exhausted->block_size(), 48u);
    const auto too_large = thrown_by<mp::size_overflow>([] { mp::detail::base::throw_size_overflow(3, 9); });
    ASSERT_TRUE(too_large);
    EXPECT_EQ(too_large->count(), 3u);
    EXPECT_EQ(too_large->size(), 9u);
    const auto limited =
        thrown_by<mp::limit_exceeded>([] { mp::detail::base::throw_limit_exceeded("r", 100, 90, 11); });
    ASSERT_TRUE(limited);
    EXPECT_STREQ(limited->resource_name(), "r");
    EXPECT_EQ(limited->limit(), 100u);
    EXPECT_EQ(limited->bytes_in_use(), 90u);
    EXPECT_EQ(limited->bytes(), 11u);
    EXPECT_EQ(test::what_of<mp::out_of_memory>(
                  [] { mp::detail::base::throw_out_of_memory(mp::detail::base::message("%d", 42)); }),
              "42");
    EXPECT_EQ(test::what_of<std::invalid_argument>(
                  [] { mp::detail::base::throw_invalid_argument(mp::detail::base::message("%d", 42)); }),
              "42");
}

TEST(succeeds, turns_any_exception_into_false)
{
    EXPECT_TRUE(mp::detail::base::succeeds([] {}));
    EXPECT_FALSE(mp::detail::base::succeeds([] { throw 1; }));
    EXPECT_FALSE(mp::detail::base::succeeds([] { throw std::bad_alloc(); }));
}

TEST(try_to, drops_an_exception_after_enough_progress)
{
    int done = 0;
    const auto fail = [&] {
        ++done;
        throw std::bad_alloc();
    };
    EXPECT_NO_THROW(mp::detail::base::try_to(fail, [&] { return done == 1; }));
    EXPECT_THROW(mp::detail::base::try_to(fail, [&] { return done == 1; }), std::bad_alloc);
    EXPECT_NO_THROW(mp::detail::base::try_to([] {}, [] { return false; }));
}

TEST(error_handler, receives_all_details_of_a_misuse)
{
    const test::error_recorder recorder;
    const int block = 0;
    mp::detail::base::report_misuse(mp::error_kind::double_free, &block, 32, "orders");
    ASSERT_EQ(recorder.reports().size(), 1u);
    const auto& report = recorder.reports().front();
    EXPECT_EQ(report.kind, mp::error_kind::double_free);
    EXPECT_EQ(report.address, &block);
    EXPECT_EQ(report.block_size, 32u);
    EXPECT_EQ(report.pool_name, "orders");
    EXPECT_TRUE(contains(report.text, "double free")) << report.text;
    EXPECT_TRUE(contains(report.text, "32 bytes")) << report.text;
    EXPECT_TRUE(contains(report.text, "'orders'")) << report.text;
    EXPECT_TRUE(contains(report.text, "\n  remedy: give each block back once")) << report.text;
}

TEST(error_handler, can_be_replaced_and_restored)
{
    const mp::error_handler initial = mp::get_error_handler();
    {
        const test::error_recorder recorder;
        EXPECT_NE(mp::get_error_handler(), initial);
    }
    EXPECT_EQ(mp::get_error_handler(), initial);
    EXPECT_EQ(mp::set_error_handler(nullptr), initial);
    EXPECT_EQ(mp::get_error_handler(), initial) << "nullptr restores the default";
}

TEST(error_handler_death, aborts_by_default_after_printing)
{
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(mp::detail::base::report_misuse(mp::error_kind::buffer_overflow, nullptr, 7, "p"),
                testing::KilledBySignal(SIGABRT),
                "memory_pool: buffer overflow: address .*, block size 7 bytes, pool 'p'\n  remedy: ");
}

TEST(error_name, is_distinct_for_all_errors)
{
    using mp::error_kind;
    const error_kind all[] = {error_kind::double_free,     error_kind::foreign_pointer,  error_kind::misaligned_pointer,
                              error_kind::buffer_overflow, error_kind::write_after_free, error_kind::pool_exhausted,
                              error_kind::size_overflow,   error_kind::out_of_memory,    error_kind::invalid_argument};
    for (const error_kind one : all) {
        EXPECT_STRNE(mp::error_name(one), "unknown error");
        for (const error_kind other : all)
            EXPECT_EQ(std::string(mp::error_name(one)) == mp::error_name(other), one == other);
    }
}
} // namespace
