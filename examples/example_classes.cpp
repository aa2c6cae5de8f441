// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A pool of objects of a derived class with members that own memory. The pool constructs and destroys the objects.
#include <memory_pool.h>

#include <cstdio>
#include <string>
#include <utility>

namespace {
class shape
{
public:
    explicit shape(std::string name) : name_(std::move(name)) { ++alive; }
    shape(shape&& other) noexcept : name_(std::move(other.name_)) { ++alive; }
    shape& operator=(shape&&) = delete;
    virtual ~shape() { --alive; }

    const std::string& name() const { return name_; }
    virtual double area() const = 0;

    static inline int alive = 0;

private:
    std::string name_;
};

class rectangle : public shape
{
public:
    rectangle(double width, double height) : shape("a rectangle of arbitrary size"), width_(width), height_(height) {}
    double area() const override { return width_ * height_; }

private:
    double width_;
    double height_;
};
} // namespace

int main()
{
    {
        memory_pool::MemoryPool<rectangle> pool(100);
        const shape* const small = pool.new_block_pt(rectangle(2.0, 3.0));
        rectangle* large = pool.new_block_pt(rectangle(20.0, 30.0));
        std::printf("%s: %.0f\n", small->name().c_str(), small->area());
        std::printf("%s: %.0f\n", large->name().c_str(), large->area());

        pool.delete_block_pt(large);
        std::printf("alive: %d\n", shape::alive);
    }
    // The pool has destroyed `small`, which was never deleted.
    std::printf("alive after the pool: %d\n", shape::alive);
    return shape::alive;
}
