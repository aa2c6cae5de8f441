// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A generator with frames from pools. It walks a tree with a coroutine for each node on the path. After warm-up, a
/// walk allocates no memory from the heap.
#include <memory_pool/pooled_frame.hpp>

#include <coroutine>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <iterator>
#include <memory>
#include <utility>

namespace {
/// Values of type `T`, computed on demand. std::generator of C++23 offers more.
template <class T>
class generator
{
public:
    struct promise_type : memory_pool::pooled_frame // This base class allocates the frames from pools.
    {
        generator get_return_object() noexcept { return generator(handle::from_promise(*this)); }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(const T& yielded) noexcept
        {
            value = &yielded;
            return {};
        }
        void return_void() noexcept {}
        void unhandled_exception() { throw; }

        const T* value = nullptr;
    };
    using handle = std::coroutine_handle<promise_type>;

    explicit generator(handle made) noexcept : handle_(made) {}
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

    struct iterator
    {
        const T& operator*() const { return *at.promise().value; }
        iterator& operator++()
        {
            at.resume();
            return *this;
        }
        bool operator!=(std::default_sentinel_t) const { return !at.done(); }

        handle at;
    };

    iterator begin()
    {
        handle_.resume();
        return iterator{handle_};
    }
    std::default_sentinel_t end() const { return {}; }

private:
    handle handle_;
};

struct node
{
    int key;
    std::unique_ptr<node> left{};
    std::unique_ptr<node> right{};
};

/// Returns: a balanced tree of the keys from `first` to `last`.
std::unique_ptr<node> tree_of(int first, int last)
{
    if (first > last)
        return nullptr;
    const int middle = first + (last - first) / 2;
    return std::make_unique<node>(node{middle, tree_of(first, middle - 1), tree_of(middle + 1, last)});
}

/// Yields the keys in order.
generator<int> keys(const node* root)
{
    if (root == nullptr)
        co_return;
    for (const int key : keys(root->left.get()))
        co_yield key;
    co_yield root->key;
    for (const int key : keys(root->right.get()))
        co_yield key;
}

long sum_of(const node& root)
{
    long sum = 0;
    for (const int key : keys(&root))
        sum += key;
    return sum;
}
} // namespace

int main()
{
    const std::unique_ptr<node> root = tree_of(1, 1000);
    const long sum = sum_of(*root);
    const std::size_t reserved = memory_pool::pooled_frame::bytes_reserved();
    bool is_right = sum == 500'500;
    for (int i = 0; i != 100; ++i)
        is_right = sum_of(*root) == sum && is_right;
    std::printf("sum of the keys from 1 to 1000: %ld\n", sum);

    const bool has_grown = memory_pool::pooled_frame::bytes_reserved() != reserved;
    std::printf("bytes in the pools of frames: %zu; growth after warm-up: %s\n", reserved, has_grown ? "yes" : "none");

    const bool is_back = memory_pool::pooled_frame::bytes_in_use() == 0;
    const std::size_t returned = memory_pool::pooled_frame::trim();
    std::printf("bytes returned by trim: %zu\n", returned);
    return is_right && !has_grown && is_back && returned != 0 ? 0 : 1;
}
