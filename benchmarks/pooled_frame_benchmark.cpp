// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Coroutine frames from pooled_frame and resource_frame, and from new and delete.
///
///     frame_pair          one frame of 136 bytes, by operator new and delete of the promise
///     frame_churn         100 frames, freed in order
///     coroutine           creates a generator, resumes it once, and destroys it. `frame_bytes` is the size of its
///                         frame. The time of one_frame is the cost of everything but the allocator
///     coroutine_churn     100 generators, each resumed once, and destroyed in order
///
/// Rows are <shape>/<side>, and `per_block` is the time for one frame. The function that creates the coroutines is not
/// inlined, so that no compiler elides their frames. Each side has the memory that it needs before its row starts.
///
/// glibc's malloc takes shortcuts in a process that never had a second thread, so the program starts and joins one
/// before the measurements.
#include <memory_pool/pooled_frame.hpp>

#include "context.hpp"

#include <benchmark/benchmark.h>

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <thread>
#include <utility>

namespace {
/// Allocates frames as for a promise without an operator new.
struct new_delete
{
    MEMORY_POOL_ALWAYS_INLINE static void* operator new(std::size_t bytes) { return ::operator new(bytes); }
    MEMORY_POOL_ALWAYS_INLINE static void operator delete(void* frame, std::size_t bytes) noexcept
    {
        ::operator delete(frame, bytes);
    }
};
/// The base of a promise without an operator new.
struct nothing
{
};

/// A lower bound for any allocator: one frame for each thread, which must not need a second frame.
struct one_frame
{
    static void* operator new(std::size_t bytes)
    {
        void* const mine = free_one;
        free_one = nullptr;
        return mine != nullptr ? mine : ::operator new(bytes);
    }
    static void operator delete(void* frame, std::size_t) noexcept { free_one = frame; }

    static inline thread_local void* free_one = nullptr; ///< Never freed.
};

template <class Base>
class generator
{
public:
    struct promise_type : Base
    {
        generator get_return_object() noexcept
        {
            return generator(std::coroutine_handle<promise_type>::from_promise(*this));
        }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(std::uint64_t yielded) noexcept
        {
            value = yielded;
            return {};
        }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }

        std::uint64_t value = 0;
    };

    generator() = default;
    explicit generator(std::coroutine_handle<promise_type> made) noexcept : handle_(made) {}
    generator(generator&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    generator& operator=(generator&& other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~generator()
    {
        if (handle_)
            handle_.destroy();
    }

    std::uint64_t next()
    {
        handle_.resume();
        return handle_.promise().value;
    }

private:
    std::coroutine_handle<promise_type> handle_;
};

/// The type of the local variable of the coroutine, which is part of the frame.
struct account
{
    std::uint64_t balance;
    std::uint64_t interest;
    std::array<char, 40> name;
};

constexpr std::uint64_t first_balance = 20;

template <class Base>
MEMORY_POOL_NOINLINE generator<Base> balances(std::uint64_t interest)
{
    account mine{first_balance, interest, {"savings"}};
    for (;;) {
        co_yield mine.balance;
        mine.balance += mine.interest;
        benchmark::DoNotOptimize(mine);
    }
}

constexpr std::size_t bytes = 136;
constexpr std::size_t many = 100;

void count_frames(benchmark::State& state, std::size_t count)
{
    state.counters["per_block"] = benchmark::Counter(
        static_cast<double>(count), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

template <class Frame>
void frame_pair(benchmark::State& state)
{
    for (auto _ : state) {
        void* frame = Frame::operator new(bytes);
        benchmark::DoNotOptimize(frame);
        Frame::operator delete(frame, bytes);
    }
    count_frames(state, 1);
}

template <class Frame>
void frame_churn(benchmark::State& state)
{
    std::array<void*, many> frames{};
    for (auto _ : state) {
        for (void*& frame : frames)
            frame = Frame::operator new(bytes);
        benchmark::DoNotOptimize(frames);
        for (void* const frame : frames)
            Frame::operator delete(frame, bytes);
    }
    count_frames(state, many);
}

/// Ends every row: reports an error instead of a time if any value was wrong.
void require(benchmark::State& state, bool is_right)
{
    if (!is_right)
        state.SkipWithError("wrong values");
}

template <class Base>
void coroutine(benchmark::State& state)
{
    const std::size_t before = memory_pool::pooled_frame::bytes_in_use();
    {
        const generator<memory_pool::pooled_frame> one = balances<memory_pool::pooled_frame>(1);
        state.counters["frame_bytes"] = static_cast<double>(memory_pool::pooled_frame::bytes_in_use() - before);
    }
    bool is_right = true;
    for (auto _ : state) {
        generator<Base> one = balances<Base>(1);
        is_right = one.next() == first_balance && is_right;
    }
    require(state, is_right);
    count_frames(state, 1);
}

template <class Base>
void coroutine_churn(benchmark::State& state)
{
    std::array<generator<Base>, many> all;
    bool is_right = true;
    for (auto _ : state) {
        for (generator<Base>& each : all)
            each = balances<Base>(1);
        for (generator<Base>& each : all)
            is_right = each.next() == first_balance && is_right;
        for (generator<Base>& each : all)
            each = generator<Base>();
    }
    require(state, is_right);
    count_frames(state, many);
}

template <class Base, class Frame = Base>
void add(const std::string& side)
{
    benchmark::RegisterBenchmark(("frame_pair/" + side).c_str(), frame_pair<Frame>);
    benchmark::RegisterBenchmark(("frame_churn/" + side).c_str(), frame_churn<Frame>);
    benchmark::RegisterBenchmark(("coroutine/" + side).c_str(), coroutine<Base>);
    benchmark::RegisterBenchmark(("coroutine_churn/" + side).c_str(), coroutine_churn<Base>);
}

bool add_rows()
{
    std::thread([] {}).join();
    add<nothing, new_delete>("new_delete");
    add<memory_pool::pooled_frame>("pooled_frame");
    add<memory_pool::resource_frame>("resource_frame");
    benchmark::RegisterBenchmark("coroutine/one_frame", coroutine<one_frame>);
    return context::add();
}

[[maybe_unused]] const bool rows_added = add_rows();
} // namespace
