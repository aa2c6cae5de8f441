// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/core/profiles/gzip_output.hpp>

#include <support/pprof_reader.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace core = memory_pool::detail::core;

namespace {
void append(const char* text, std::size_t length, void* to)
{
    static_cast<std::string*>(to)->append(text, length);
}

std::string zipped(const std::string& text, std::size_t part)
{
    std::string file;
    core::gzip_output output(core::report_output(&append, &file));
    for (std::size_t i = 0; i < text.size(); i += part)
        output.write(std::string_view(text).substr(i, part));
    output.finish();
    return file;
}

TEST(gzip_output, has_the_check_value_of_crc_32)
{
    core::crc32 sum;
    sum.add("123456789");
    EXPECT_EQ(sum.value(), 0xCBF4'3926U);
}

TEST(gzip_output, gives_back_what_was_written)
{
    for (const std::size_t length : {0U, 1U, 2047U, 2048U, 2049U, 100'000U}) {
        std::string text;
        for (std::size_t i = 0; i != length; ++i)
            text += static_cast<char>(i * i >> 3U);
        for (const std::size_t part : {1U, 1000U, 200'000U})
            EXPECT_EQ(test::gunzip(zipped(text, part)), text) << length << " bytes by " << part;
    }
}

TEST(gzip_output, is_refused_by_the_reader_if_a_byte_is_changed)
{
    std::string file = zipped("some text", 3);
    file[file.size() - 10] ^= 1;
    EXPECT_THROW((void)test::gunzip(file), std::runtime_error);
}
} // namespace
