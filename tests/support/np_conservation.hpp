// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// After each test of a program, checks that np_alloc has lost nothing, and that the test has left nothing behind.
///
///     before:   some bytes in use           after:   the same number; and np_verify()
#pragma once

#include <memory_pool/np_alloc.h>

#include <gtest/gtest.h>

#include <cstddef>

namespace test {
/// Fails a test that leaves np_alloc damaged, or blocks in use. No thread of the test may be in a call of np_alloc when
/// the test ends.
class np_conservation : public testing::EmptyTestEventListener
{
public:
    /// Effects: declares that the test deliberately leaves that many bytes in use.
    static void leave_in_use(std::size_t bytes) { left_on_purpose_ += bytes; }

    void OnTestStart(const testing::TestInfo&) override
    {
        before_ = bytes_in_use();
        left_on_purpose_ = 0;
    }

    void OnTestEnd(const testing::TestInfo&) override
    {
        EXPECT_EQ(np_verify(), 1) << "the test has damaged np_alloc: see above";
        EXPECT_EQ(bytes_in_use(), before_ + left_on_purpose_)
            << "the test has leaked blocks, or freed blocks of others";
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
