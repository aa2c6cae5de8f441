// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Work in child processes. Each begins with the heap that the parent has, which the parent keeps all but untouched, so
/// no measurement is warmed, or fragmented, by the one before.
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
/// Memory that a process and its children share. Empty bytes at first; takes none until they are written.
class shared_memory
{
public:
    explicit shared_memory(std::size_t size) noexcept;
    shared_memory(const shared_memory&) = delete;
    shared_memory& operator=(const shared_memory&) = delete;
    ~shared_memory();

    /// Returns: its beginning, or nullptr if there was no memory.
    char* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }

private:
    char* data_ = nullptr;
    std::size_t size_;
};

/// Returns: the most memory, in bytes, that this process ever had at one time.
std::uint64_t peak_memory() noexcept;

/// Effects: waits for the process `child`.
/// Returns: how it failed, in words; empty if it did not.
std::string failure_of(pid_t child);

/// What the system said last, as the end of a sentence.
std::string system_error();

/// Effects: calls `work()` in a new process.
/// Returns: what it returned; or nothing, and in `failure` why.
template <class Work>
auto in_child(Work&& work, std::string& failure) -> std::optional<decltype(work())>
{
    using result = decltype(work());
    static_assert(std::is_trivially_copyable_v<result>, "what comes from another process must not point into it");
    const shared_memory place(sizeof(result));
    const pid_t child = place.data() != nullptr ? ::fork() : -1;
    if (child == -1) {
        failure = "cannot start a process: " + system_error();
        return std::nullopt;
    }
    if (child == 0) {
        ::new (place.data()) result(std::forward<Work>(work)());
        ::_exit(0); // Not exit(): what the parent has yet to print must not be printed twice.
    }
    failure = failure_of(child);
    if (!failure.empty())
        return std::nullopt;
    return *std::launder(reinterpret_cast<const result*>(place.data()));
}
} // namespace tour
