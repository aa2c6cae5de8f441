// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The sides of the job in chapters.hpp: each is a source of memory for standard containers. A side has two functions:
///
///     resource()    ->  the std::pmr::memory_resource
///     bytes_held()  ->  the bytes that the side holds now, bookkeeping included, if known
#pragma once

#include <memory_pool/arena_resource.hpp>
#include <memory_pool/pool_resource.hpp>

#include "lexer.hpp"

#include <cstddef>
#include <cstring>
#include <memory_resource>
#include <optional>

namespace tour {
/// New and delete: the side to which the other sides are compared.
class heap_memory
{
public:
    std::pmr::memory_resource* resource() noexcept { return std::pmr::new_delete_resource(); }
    std::optional<std::size_t> bytes_held() const noexcept { return std::nullopt; }
};

/// The pool resource of the standard library.
class std_pool_memory
{
public:
    std::pmr::memory_resource* resource() noexcept { return &resource_; }
    std::optional<std::size_t> bytes_held() const noexcept { return std::nullopt; }

private:
    std::pmr::unsynchronized_pool_resource resource_;
};

/// A resource of the library. It exists for all chapters, and keeps its memory between them.
template <class Resource>
class library_memory
{
public:
    std::pmr::memory_resource* resource() noexcept { return &resource_; }
    std::optional<std::size_t> bytes_held() const noexcept { return resource_.bytes_reserved(); }

private:
    Resource resource_;
};

using pool_memory = library_memory<memory_pool::unsynchronized_pool_resource>;
using arena_memory = library_memory<memory_pool::unsynchronized_arena_resource>;

/// Corrupts a block of text offsets when the next one is allocated, to show that the tour detects it: see --faulty.
class faulty_memory : private std::pmr::memory_resource
{
public:
    std::pmr::memory_resource* resource() noexcept { return this; }
    std::optional<std::size_t> bytes_held() const noexcept { return std::nullopt; }

private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        void* const block = std::pmr::new_delete_resource()->allocate(bytes, alignment);
        if (alignment == alignof(text_offset)) {
            if (last_ != nullptr)
                std::memset(last_, 0xFF, sizeof(text_offset));
            last_ = block;
        }
        return block;
    }

    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override
    {
        if (block == last_)
            last_ = nullptr;
        std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
    }

    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

    void* last_ = nullptr;
};
} // namespace tour
