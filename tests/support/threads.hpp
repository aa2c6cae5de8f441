// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Threads that start together, and a thread that performs actions on request.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace test {
/// Runs `action(i)` in `count` threads, which start together, and waits for all of them.
template <class Action>
void in_threads(std::size_t count, Action&& action)
{
    std::atomic<std::size_t> missing{count};
    std::vector<std::thread> threads;
    threads.reserve(count);
    for (std::size_t i = 0; i != count; ++i)
        threads.emplace_back([&, i] {
            missing.fetch_sub(1);
            while (missing.load() != 0)
                std::this_thread::yield();
            action(i);
        });
    for (std::thread& thread : threads)
        thread.join();
}

/// Runs `action()` in `count` threads and waits for all of them. No thread exits before all threads have run
/// `action()`.
template <class Action>
void in_threads_at_the_same_time(std::size_t count, Action&& action)
{
    std::atomic<std::size_t> at_work{count};
    in_threads(count, [&](std::size_t) {
        action();
        for (--at_work; at_work.load() != 0;)
            std::this_thread::yield();
    });
}

/// Runs `action` in a new thread and waits for it.
template <class Action>
void in_a_thread(Action&& action)
{
    std::thread(std::forward<Action>(action)).join();
}

/// A thread that performs actions one by one until its destruction.
class lasting_thread
{
public:
    lasting_thread() : thread_([this] { work(); }) {}
    lasting_thread(const lasting_thread&) = delete;
    lasting_thread& operator=(const lasting_thread&) = delete;
    ~lasting_thread()
    {
        give({});
        thread_.join();
    }

    /// Effects: runs `action` in the thread and waits for it.
    void does(std::function<void()> action)
    {
        give(std::move(action));
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !has_work_; });
    }

private:
    void give(std::function<void()> action)
    {
        const std::lock_guard lock(mutex_);
        action_ = std::move(action);
        has_work_ = true;
        changed_.notify_all();
    }

    void work()
    {
        std::unique_lock lock(mutex_);
        while (true) {
            changed_.wait(lock, [this] { return has_work_; });
            if (!action_)
                return;
            action_();
            has_work_ = false;
            changed_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::function<void()> action_;
    bool has_work_ = false;
    std::thread thread_; ///< Last: uses the other members.
};
} // namespace test
