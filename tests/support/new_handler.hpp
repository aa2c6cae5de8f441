// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A std::new_handler for the duration of a test.
#pragma once

#include <cstddef>
#include <functional>
#include <new>
#include <utility>

namespace test {
/// For its lifetime, calls `action` on OOM. `action` may remove itself with std::set_new_handler. Only one may exist.
class new_handler
{
public:
    explicit new_handler(std::function<void()> action) : previous_(std::get_new_handler())
    {
        current_action() = std::move(action);
        call_count() = 0;
        std::set_new_handler([] {
            ++call_count();
            current_action()();
        });
    }
    new_handler(const new_handler&) = delete;
    new_handler& operator=(const new_handler&) = delete;
    ~new_handler() { std::set_new_handler(previous_); }

    /// Returns the number of calls.
    static std::size_t calls() { return call_count(); }

private:
    static std::function<void()>& current_action()
    {
        static std::function<void()> action;
        return action;
    }

    static std::size_t& call_count()
    {
        static std::size_t count = 0;
        return count;
    }

    std::new_handler previous_;
};
} // namespace test
