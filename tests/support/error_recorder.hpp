// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// An error handler that records reports instead of aborting.
#pragma once

#include <memory_pool/errors.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace test {
/// Records errors during its lifetime. Only one may exist at a time.
class error_recorder
{
public:
    struct entry
    {
        memory_pool::error_kind kind;
        const void* address;
        std::size_t block_size;
        std::string pool_name;
        std::string text;
    };

    error_recorder() : previous_(memory_pool::set_error_handler(&record))
    {
        entries().clear();
        action() = nullptr;
    }
    error_recorder(const error_recorder&) = delete;
    error_recorder& operator=(const error_recorder&) = delete;
    ~error_recorder() { memory_pool::set_error_handler(previous_); }

    /// Calls `handle` after it records an error, from now on.
    void handle_by(std::function<void()> handle) { action() = std::move(handle); }

    const std::vector<entry>& reports() const { return entries(); }

    /// Returns the kinds of all reports so far, in order.
    std::vector<memory_pool::error_kind> kinds() const
    {
        std::vector<memory_pool::error_kind> kinds;
        for (const entry& report : entries())
            kinds.push_back(report.kind);
        return kinds;
    }

private:
    static std::vector<entry>& entries()
    {
        static std::vector<entry> all;
        return all;
    }

    static std::function<void()>& action()
    {
        static std::function<void()> handle;
        return handle;
    }

    static void record(const memory_pool::error_report& report)
    {
        entries().push_back({report.kind, report.address, report.block_size,
                             report.pool_name != nullptr ? report.pool_name : "", report.text});
        if (action())
            action()();
    }

    memory_pool::error_handler previous_;
};

using kinds = std::vector<memory_pool::error_kind>;
} // namespace test
