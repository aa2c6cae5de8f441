// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/np_new_delete.hpp>

#include <support/new_forms.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {
TEST(np_new_delete, replaces_every_form_of_new)
{
    for (const test::new_form& form : test::new_forms) {
        for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, std::size_t{1'000'000}}) {
            void* const block = form.allocate(bytes);
            EXPECT_TRUE(np_owns(block)) << form.name;
            form.free(block);
        }
    }
}

TEST(np_new_delete, replaces_every_form_of_delete)
{
    constexpr std::size_t bytes = 1'000'000; // np_owns returns false for free large blocks.
    for (const test::new_form& form : test::new_forms) {
        void* const block = form.allocate(bytes);
        form.free(block);
        EXPECT_FALSE(np_owns(block)) << form.name;
    }
    for (const auto& form : test::sized_delete_forms) {
        void* const block = form.allocate(bytes);
        form.free(block, bytes);
        EXPECT_FALSE(np_owns(block)) << form.name;
    }
}

TEST(np_new_delete, serves_the_standard_library)
{
    const std::string text(100, 'x');
    const std::map<int, std::string> texts{{1, text}};
    const auto shared = std::make_shared<std::vector<int>>(1000);
    EXPECT_TRUE(np_owns(text.data()));
    EXPECT_TRUE(np_owns(&texts.at(1)));
    EXPECT_TRUE(np_owns(shared.get()));
    EXPECT_TRUE(np_owns(shared->data()));
}

TEST(np_new_delete, lets_a_thread_delete_objects_of_another)
{
    std::unique_ptr<std::vector<std::string>> texts;
    std::thread([&] { texts = std::make_unique<std::vector<std::string>>(1000, std::string(100, 'x')); }).join();
    std::thread([&] { texts.reset(); }).join();
    EXPECT_EQ(texts, nullptr);
}
} // namespace
