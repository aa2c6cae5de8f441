// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The text of an exception.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace test {
/// Calls `action`, which must throw an `Exception`.
/// Returns the text of the exception.
template <class Exception, class Action>
std::string what_of(Action&& action)
{
    try {
        action();
    } catch (const Exception& exception) {
        return exception.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
}

inline bool contains(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}
} // namespace test
