// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// The standard's requirements for the global operators new and delete. Several programs contain this file, each with
// different operators.
#include <support/memory_limit.hpp>
#include <support/new_forms.hpp>
#include <support/new_handler.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <utility>

using test::new_form;
using test::new_forms;
using test::sized_delete_forms;

namespace {
constexpr std::size_t largest = std::numeric_limits<std::size_t>::max();

void expect_no_memory(const new_form& form, std::size_t bytes)
{
    if (form.throws)
        EXPECT_THROW((void)form.allocate(bytes), std::bad_alloc) << form.name;
    else
        EXPECT_EQ(form.allocate(bytes), nullptr) << form.name;
}

TEST(operator_new, returns_blocks_of_every_size_in_every_form)
{
    for (const new_form& form : new_forms) {
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{5000},
                                        std::size_t{40'000}, std::size_t{3'000'000}}) {
            void* const block = form.allocate(bytes);
            ASSERT_NE(block, nullptr) << form.name;
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % form.alignment, 0U) << form.name;
            std::memset(block, 1, bytes);
            form.free(block);
        }
    }
}

TEST(operator_new, returns_distinct_addresses_for_0_bytes)
{
    for (const new_form& form : new_forms) {
        std::set<void*> blocks{nullptr};
        for (int i = 0; i != 10; ++i)
            EXPECT_TRUE(blocks.insert(form.allocate(0)).second) << form.name;
        for (void* block : blocks)
            form.free(block);
    }
}

TEST(operator_new, throws_or_returns_nullptr_for_impossible_sizes)
{
    for (const new_form& form : new_forms)
        for (const std::size_t bytes : {largest, largest - 1, largest / 2, std::size_t{1} << 60})
            expect_no_memory(form, bytes);
}

TEST(operator_new, calls_the_handler_until_none_is_set)
{
    for (const new_form& form : new_forms) {
        const test::new_handler handler([] {
            if (test::new_handler::calls() == 3)
                std::set_new_handler(nullptr);
        });
        expect_no_memory(form, largest);
        EXPECT_EQ(test::new_handler::calls(), 3U) << form.name;
    }
}

TEST(operator_new, catches_bad_alloc_of_the_handler_in_nothrow_forms)
{
    for (const new_form& form : new_forms) {
        const test::new_handler handler([] { throw std::bad_alloc(); });
        expect_no_memory(form, largest);
        EXPECT_EQ(test::new_handler::calls(), 1U) << form.name;
    }
}

TEST(operator_new, calls_no_handler_while_memory_is_available)
{
    const test::new_handler handler([] { throw std::bad_alloc(); });
    for (const new_form& form : new_forms)
        form.free(form.allocate(1'000'000));
    EXPECT_EQ(test::new_handler::calls(), 0U);
}

#if TESTS_MAY_LIMIT_MEMORY
TEST(operator_new, retries_with_memory_that_the_handler_has_freed)
{
    constexpr std::size_t bytes = std::size_t{512} << 20;
    for (const new_form& form : new_forms) {
        void* reserve = form.allocate(bytes);
        const test::memory_limit limit(bytes / 8);
        expect_no_memory(form, bytes);
        const test::new_handler handler([&] { form.free(std::exchange(reserve, nullptr)); });
        void* const block = form.allocate(bytes);
        EXPECT_NE(block, nullptr) << form.name;
        EXPECT_EQ(test::new_handler::calls(), 1U) << form.name;
        form.free(block);
    }
}
#endif

TEST(operator_delete, ignores_nullptr_in_every_form)
{
    for (const new_form& form : new_forms)
        form.free(nullptr);
    for (const auto& form : sized_delete_forms)
        form.free(nullptr, 8);
}

TEST(operator_delete, accepts_the_size)
{
    for (const auto& form : sized_delete_forms)
        for (std::size_t bytes = 0; bytes < 100'000; bytes += 1 + bytes / 2)
            form.free(form.allocate(bytes), bytes);
}

struct counted
{
    static inline int alive = 0;
    counted() { ++alive; }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    ~counted() { --alive; }
    int value = 7;
};

struct alignas(1024) over_aligned : counted
{
};

template <class T>
void make_and_destroy()
{
    const auto one = std::make_unique<T>();
    const auto many = std::make_unique<T[]>(3);
    const std::unique_ptr<T> quiet(new (std::nothrow) T);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(one.get()) % alignof(T), 0U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(many.get()) % alignof(T), 0U);
    EXPECT_EQ(one->value + many[2].value + quiet->value, 21);
    EXPECT_EQ(counted::alive, 5);
}

TEST(new_expressions, create_objects_and_arrays_of_every_alignment)
{
    make_and_destroy<counted>();
    make_and_destroy<over_aligned>();
    EXPECT_EQ(counted::alive, 0);
}

struct throws
{
    throws() { throw std::runtime_error("no"); }
};

TEST(new_expressions, free_the_block_when_the_constructor_throws)
{
    EXPECT_THROW(delete new throws, std::runtime_error);
    EXPECT_THROW(delete new (std::nothrow) throws, std::runtime_error);
    EXPECT_THROW(delete[] new throws[3], std::runtime_error);
}
} // namespace
