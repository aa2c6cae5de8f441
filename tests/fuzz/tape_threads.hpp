// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Threads that a tape starts and ends. The threads perform the operations of the tape in turns: shared state spreads
/// over their caches, but the operations keep an order that a model can follow.
#pragma once

#include <support/threads.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <utility>

namespace fuzz {
class tape_threads
{
public:
    void begin_or_end(std::size_t which)
    {
        std::optional<test::lasting_thread>& thread = threads_[which % threads_.size()];
        if (thread)
            thread.reset();
        else
            thread.emplace();
    }

    /// Effects: runs the action in the thread and waits for it, or runs it here if the thread has not started.
    template <class Action>
    void run(std::size_t which, Action&& action)
    {
        std::optional<test::lasting_thread>& thread = threads_[which % threads_.size()];
        if (thread)
            thread->does(std::forward<Action>(action));
        else
            action();
    }

private:
    std::array<std::optional<test::lasting_thread>, 3> threads_;
};
} // namespace fuzz
