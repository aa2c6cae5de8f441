// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/reports/protobuf_message.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>

namespace core = memory_pool::detail::core;

namespace {
using namespace std::string_view_literals;

TEST(protobuf_message, encodes_the_examples_of_its_documentation)
{
    core::protobuf_message<64> number;
    number.number(1, 150);
    EXPECT_EQ(number.bytes(), "\x08\x96\x01"sv);
    core::protobuf_message<64> text;
    text.text(2, "testing");
    EXPECT_EQ(text.bytes(), "\x12\x07testing"sv);
}

TEST(protobuf_message, encodes_the_largest_numbers)
{
    core::protobuf_message<core::protobuf_message<0>::max_number_bytes> message;
    message.number((1U << 29U) - 1, ~std::uint64_t{0});
    EXPECT_EQ(message.bytes(), "\xF8\xFF\xFF\xFF\x0F\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"sv);
}
} // namespace
