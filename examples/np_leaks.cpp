// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Finds a leak by its allocation site: a function that leaks a block if a message is malformed, and what a test of it
/// can check. With NP_LEAKS=1 in the environment, the same is reported at process exit.
#include <memory_pool/np_alloc.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

/// A block that remembers this line.
#define NEW_BLOCK(bytes) np_alloc_at((bytes), __FILE__, __LINE__)

namespace {
/// Returns: the value of a message of the form "name=value", for the caller to free; nullptr if it has another form.
char* value_of(const char* message)
{
    const std::size_t bytes = std::strlen(message) + 1;
    auto* const copy = static_cast<char*>(NEW_BLOCK(bytes));
    if (copy == nullptr)
        return nullptr;
    std::memcpy(copy, message, bytes);
    const char* const equals = std::strchr(copy, '=');
    if (equals == nullptr)
        return nullptr; // The copy is forgotten.
    std::memmove(copy, equals + 1, std::strlen(equals + 1) + 1);
    return copy;
}

/// Returns: how many blocks are left in use by reading a message. They are listed.
std::size_t leaks_of(const char* message)
{
    const std::uint64_t before = np_leak_checkpoint();
    np_free(value_of(message));
    const std::size_t leaks = np_leak_diff(before, np_format_text, stdout);
    std::printf("\"%s\" leaks %zu\n", message, leaks);
    return leaks;
}
} // namespace

int main()
{
    const bool is_found = leaks_of("colour=green") == 0 && leaks_of("green") == 1;
    return is_found && np_leak_report(np_format_text, stdout) == 1 ? 0 : 1;
}
