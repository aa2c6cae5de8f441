// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The algorithm of the original of memory_pool.h, reimplemented as a baseline: an array of bytes, and a stack with the
/// index of each free block.
///
///     setup(n):  array of n * sizeof(T) bytes; push n - 1, ..., 1, 0
///     new:       pop  ->  within the array?  ->  address = array + index * sizeof(T)
///     delete:    index = (address - array) / sizeof(T)  ->  push  ->  pointer = nullptr
///
/// Thread safety: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

namespace indexed_array {
/// The indices of the free blocks.
class free_indices
{
public:
    void setup(std::uint64_t count)
    {
        indices_.clear();
        indices_.reserve(static_cast<std::size_t>(count));
        for (std::uint64_t index = count; index != 0;)
            push(--index);
    }

    void clear() noexcept { std::vector<std::uint64_t>().swap(indices_); }

    void push(std::uint64_t index) { indices_.push_back(index); }

    std::uint64_t pop()
    {
        if (indices_.empty())
            throw std::out_of_range("indexed_array: no block is free");
        const std::uint64_t index = indices_.back();
        indices_.pop_back();
        return index;
    }

    std::uint64_t size() const noexcept { return indices_.size(); }

private:
    std::vector<std::uint64_t> indices_;
};

/// A pool of `T`, which must not be over-aligned.
template <class T>
class pool
{
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

public:
    explicit pool(std::uint64_t count) : size_(count)
    {
        bytes_.reset(new std::byte[static_cast<std::size_t>(count) * sizeof(T)]);
        free_.setup(count);
    }

    T* new_block_pt() { return ::new (take()) T; }

    T* new_block_pt(T&& object) { return ::new (take()) T(std::move(object)); }

    void delete_block_pt(T*& object)
    {
        const auto offset = reinterpret_cast<std::byte*>(object) - bytes_.get();
        free_.push(static_cast<std::uint64_t>(offset) / sizeof(T));
        object = nullptr;
    }

    std::uint64_t size() const noexcept { return size_; }

    std::uint64_t available_capacity() const noexcept { return free_.size(); }

private:
    void* take()
    {
        const std::uint64_t index = free_.pop();
        if (index >= size_)
            throw std::out_of_range("indexed_array: the index is not one of a block");
        return bytes_.get() + index * sizeof(T);
    }

    std::unique_ptr<std::byte[]> bytes_;
    std::uint64_t size_;
    free_indices free_;
};
} // namespace indexed_array
