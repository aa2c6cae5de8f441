// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Work in child processes. Each child begins with the parent's heap, which is nearly unused, so no measurement affects
/// the heap of the next one.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace tour {
/// Zeroed memory shared by a process and its children. Pages are allocated when they are first written.
class shared_memory
{
public:
    explicit shared_memory(std::size_t size) noexcept;
    shared_memory(const shared_memory&) = delete;
    shared_memory& operator=(const shared_memory&) = delete;
    ~shared_memory();

    /// Returns: the beginning of the memory; nullptr on OOM.
    char* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }

private:
    char* data_ = nullptr;
    std::size_t size_;
};

/// Returns: the peak resident memory of this process, in bytes.
std::uint64_t peak_memory() noexcept;

/// Effects: waits for the process `child`.
/// Returns: an error message, or an empty string on success.
std::string failure_of(pid_t child);

/// Returns: the message for errno.
std::string system_error();

/// Effects: calls `work()` in a new process. On failure, writes an error message to `failure`.
/// Returns: the result of `work()`, if it succeeded.
template <class Work>
auto in_child(Work&& work, std::string& failure) -> std::optional<decltype(work())>
{
    using result = decltype(work());
    static_assert(std::is_trivially_copyable_v<result>, "a result from another process must not contain pointers");
    const shared_memory place(sizeof(result));
    const pid_t child = place.data() != nullptr ? ::fork() : -1;
    if (child == -1) {
        failure = "cannot start a process: " + system_error();
        return std::nullopt;
    }
    if (child == 0) {
        ::new (place.data()) result(std::forward<Work>(work)());
        ::_exit(0); // Not exit(), which would print the parent's buffered output again.
    }
    failure = failure_of(child);
    if (!failure.empty())
        return std::nullopt;
    return *std::launder(reinterpret_cast<const result*>(place.data()));
}
} // namespace tour
