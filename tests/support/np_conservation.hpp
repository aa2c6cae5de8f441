// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A check after each test of a program that nothing of np_alloc was lost, nor left behind by the test.
///
///     before:   some bytes in use           after:   as many; and np_verify()
#pragma once

#include <memory_pool/np_alloc.h>

#include <gtest/gtest.h>

#include <cstddef>

namespace test {
/// Fails a test that leaves np_alloc damaged, or blocks in use. Its threads must not be in a call any more when it
/// ends.
class np_conservation : public testing::EmptyTestEventListener
{
public:
    /// Effects: says that the test leaves that many bytes in use on purpose.
    static void leave_in_use(std::size_t bytes) { left_on_purpose_ += bytes; }

    void OnTestStart(const testing::TestInfo&) override
    {
        before_ = bytes_in_use();
        left_on_purpose_ = 0;
    }

    void OnTestEnd(const testing::TestInfo&) override
    {
        EXPECT_EQ(np_verify(), 1) << "the test has left np_alloc damaged: see above";
        EXPECT_EQ(bytes_in_use(), before_ + left_on_purpose_)
            << "bytes are in use that were not, or the other way round";
    }

private:
    static std::size_t bytes_in_use()
    {
        np_statistics statistics;
        np_get_statistics(&statistics);
        return statistics.bytes_in_use;
    }

    std::size_t before_ = 0;
    static inline std::size_t left_on_purpose_ = 0;
};
} // namespace test
