// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Tasks: coroutines that wait for each other. The type supports two ways to allocate frames:
///
///     task<int> price(int item)                                      in a pool; the task may end in any thread
///     task<int> total(std::allocator_arg_t, allocator, order)        in the arena of a request, with its other memory
#include <memory_pool/arena_resource.hpp>
#include <memory_pool/pooled_frame.hpp>

#include <atomic>
#include <condition_variable>
#include <coroutine>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <exception>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace {
/// Starts when it is awaited. When it ends, resumes the awaiting coroutine.
template <class T>
class task
{
public:
    struct promise_type : memory_pool::resource_frame // This base class allocates the frames.
    {
        /// Transfers control from the ended task to the awaiting coroutine.
        struct resume_waiting
        {
            bool await_ready() const noexcept { return false; }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> ended) const noexcept
            {
                return ended.promise().waiting;
            }
            void await_resume() const noexcept {}
        };

        task get_return_object() noexcept { return task(std::coroutine_handle<promise_type>::from_promise(*this)); }
        std::suspend_always initial_suspend() noexcept { return {}; }
        resume_waiting final_suspend() noexcept { return {}; }
        void return_value(T returned) { result.emplace(std::move(returned)); }
        void unhandled_exception() noexcept { failure = std::current_exception(); }

        std::coroutine_handle<> waiting = std::noop_coroutine();
        std::optional<T> result;
        std::exception_ptr failure;
    };

    explicit task(std::coroutine_handle<promise_type> made) noexcept : handle_(made) {}
    task(task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    task& operator=(task&& other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~task()
    {
        if (handle_)
            handle_.destroy();
    }

    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) noexcept
    {
        handle_.promise().waiting = waiting;
        return handle_;
    }
    T await_resume()
    {
        if (handle_.promise().failure)
            std::rethrow_exception(handle_.promise().failure);
        return std::move(*handle_.promise().result);
    }

    /// Runs the task in this thread, until it ends or moves to another thread.
    void start() { handle_.resume(); }

private:
    std::coroutine_handle<promise_type> handle_;
};

/// Threads that resume coroutines. `co_await workers.next()` continues in one of these threads.
class worker_threads
{
public:
    explicit worker_threads(std::size_t count)
    {
        for (std::size_t i = 0; i != count; ++i)
            threads_.emplace_back([this] { work(); });
    }
    worker_threads(const worker_threads&) = delete;
    worker_threads& operator=(const worker_threads&) = delete;

    /// Waits until all coroutines are resumed.
    ~worker_threads()
    {
        {
            const std::lock_guard lock(mutex_);
            is_over_ = true;
        }
        changed_.notify_all();
        for (std::thread& each : threads_)
            each.join();
    }

    struct hop
    {
        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<> coroutine) const { workers.add(coroutine); }
        void await_resume() const noexcept {}

        worker_threads& workers;
    };
    hop next() noexcept { return {*this}; }

private:
    void add(std::coroutine_handle<> coroutine)
    {
        {
            const std::lock_guard lock(mutex_);
            ready_.push_back(coroutine);
        }
        changed_.notify_one();
    }

    void work()
    {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [this] { return !ready_.empty() || is_over_; });
            if (ready_.empty())
                return;
            const std::coroutine_handle<> coroutine = ready_.front();
            ready_.pop_front();
            lock.unlock();
            coroutine.resume();
            lock.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::coroutine_handle<>> ready_;
    bool is_over_ = false;
    std::vector<std::thread> threads_;
};

// --- frames in pools: created in this thread, destroyed in another

/// A coroutine that destroys itself when it ends.
struct detached
{
    struct promise_type : memory_pool::pooled_frame
    {
        detached get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
};

task<int> price(int item)
{
    co_return 100 + item;
}

detached add_price(worker_threads& workers, int item, std::atomic<long>& sum)
{
    co_await workers.next();
    sum += co_await price(item);
}

// --- frames in the arena of a request, whose memory is freed as a whole

using allocator = std::pmr::polymorphic_allocator<>;

task<int> price_in(std::allocator_arg_t, allocator, int item)
{
    co_return 100 + item;
}

task<int> total(std::allocator_arg_t, allocator memory, int items)
{
    std::pmr::vector<int> prices(memory);
    for (int item = 0; item != items; ++item)
        prices.push_back(co_await price_in(std::allocator_arg, memory, item));
    int sum = 0;
    for (const int each : prices)
        sum += each;
    co_return sum;
}
} // namespace

int main()
{
    constexpr int items = 1000;
    constexpr long expected = 100L * items + (items - 1L) * items / 2;

    std::atomic<long> sum{0};
    {
        worker_threads workers(2);
        for (int item = 0; item != items; ++item)
            add_price(workers, item, sum);
    }
    const std::size_t in_use = memory_pool::pooled_frame::bytes_in_use();
    std::printf("tasks that end in other threads: %ld, bytes of frames in use: %zu\n", sum.load(), in_use);

    memory_pool::unsynchronized_arena_resource arenas;
    long in_arenas = 0;
    {
        task<int> request = total(std::allocator_arg, &arenas, items);
        request.start();
        in_arenas = request.await_resume();
    }
    std::printf("a task with frames in an arena: %ld\n", in_arenas);
    return sum == expected && in_arenas == expected && in_use == 0 ? 0 : 1;
}
