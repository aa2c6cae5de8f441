// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Objects of a shared_pool that are destroyed later because another object is being destroyed, built with
/// MemorySanitizer. Their control blocks, which contain them, are destroyed before the objects.
#include <memory_pool/shared_pool.hpp>

#include <memory>
#include <utility>

namespace {
template <class Itself>
struct link
{
    link() = default;
    link(const link&) = delete;
    link& operator=(const link&) = delete;
    ~link() { ended += is_there ? 1 : 0; }

    static inline int ended = 0;
    bool is_there = true;
    std::shared_ptr<Itself> next;
};

struct plain : link<plain>
{
};

/// Its control block is destroyed during its own destruction.
struct knows_itself : link<knows_itself>, std::enable_shared_from_this<knows_itself>
{
};

/// Returns whether all objects of a chain are destroyed and their blocks free.
template <class Object>
bool ends_a_chain()
{
    constexpr int length = 10;
    memory_pool::unsynchronized_shared_pool<Object> pool;
    std::shared_ptr<Object> first;
    for (int i = 0; i != length; ++i) {
        std::shared_ptr<Object> made = pool.make();
        made->next = std::move(first);
        first = std::move(made);
    }
    first.reset();
    return Object::ended == length && pool.in_use() == 0;
}
} // namespace

int main()
{
    return ends_a_chain<plain>() && ends_a_chain<knows_itself>() ? 0 : 1;
}
