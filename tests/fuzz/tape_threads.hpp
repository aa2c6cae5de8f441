// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Threads that a tape begins and ends, and that do its operations in turns: so what they have in common is in their
/// caches, and the operations still have an order, which a model can follow.
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

    /// Effects: has a thread do it, and waits for it; or does it here, if that thread has not begun.
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
