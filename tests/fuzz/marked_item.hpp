// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Objects for pools: they detect foreign writes, count live instances, and throw on request.
#pragma once

#include <fuzz/tape.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

namespace fuzz {
/// Makes a constructor throw at a planned call.
class planned_failure
{
public:
    void set(std::size_t call)
    {
        calls_until_failure_ = call;
        has_come_ = false;
    }

    bool has_come() const { return has_come_; }

    void count_call()
    {
        if (calls_until_failure_ == 0)
            return;
        --calls_until_failure_;
        if (calls_until_failure_ != 0)
            return;
        has_come_ = true;
        throw std::bad_alloc();
    }

private:
    std::size_t calls_until_failure_ = 0; ///< 0: no failure
    bool has_come_ = false;
};

class marked_item
{
public:
    explicit marked_item(tape&) : marked_item() {}
    marked_item()
    {
        failure_.count_call();
        marks_.fill(mark());
        ++alive_;
    }
    marked_item(const marked_item&) = delete;
    marked_item& operator=(const marked_item&) = delete;
    ~marked_item()
    {
        if (!is_intact())
            disagree({}, "an item was overwritten");
        marks_.fill(0);
        --alive_;
    }

    bool is_intact() const
    {
        return std::all_of(marks_.begin(), marks_.end(), [this](std::uintptr_t each) { return each == mark(); });
    }

    /// Effects: makes the constructor throw at the given call from now on, counted from 1; 0: never.
    static void throw_at(std::size_t call) { failure_.set(call); }
    /// Returns: whether the planned failure has occurred.
    static bool has_thrown() { return failure_.has_come(); }
    static std::size_t alive() { return alive_; }

private:
    std::uintptr_t mark() const { return reinterpret_cast<std::uintptr_t>(this) ^ 0x5A5A; }

    std::array<std::uintptr_t, 5> marks_{};
    inline static planned_failure failure_;
    inline static std::size_t alive_ = 0;
};

/// A trivially destructible item.
class plain_item
{
public:
    plain_item()
    {
        failure_.count_call();
        marks_.fill(mark());
    }
    plain_item(const plain_item&) = delete;
    plain_item& operator=(const plain_item&) = delete;
    ~plain_item() = default;

    bool is_intact() const
    {
        return std::all_of(marks_.begin(), marks_.end(), [this](std::uintptr_t each) { return each == mark(); });
    }

    static void throw_at(std::size_t call) { failure_.set(call); }
    /// Returns: whether the planned failure has occurred.
    static bool has_thrown() { return failure_.has_come(); }

private:
    std::uintptr_t mark() const { return reinterpret_cast<std::uintptr_t>(this) ^ 0xA5A5; }

    std::array<std::uintptr_t, 3> marks_{};
    inline static planned_failure failure_;
};

/// Base class for owning pointers.
struct owned_base
{
    owned_base() = default;
    owned_base(const owned_base&) = delete;
    owned_base& operator=(const owned_base&) = delete;
    virtual ~owned_base() = default;
};
} // namespace fuzz
