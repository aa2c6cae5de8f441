// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Blocks that are allocated before main.
#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

/// Blocks of malloc and calloc of several sizes; all null before `allocate`.
class early_block
{
public:
    /// Effects: allocates the blocks and frees others. Calls only malloc and related functions: nothing else may be
    ///   initialized yet.
    void allocate()
    {
        std::size_t next = 0;
        for (volatile unsigned char*& block : blocks_) {
            const std::size_t bytes = sizes[next++];
            std::free(std::malloc(bytes));
            std::free(std::realloc(std::malloc(bytes), 2 * bytes));
            block = static_cast<unsigned char*>(next % 2 == 0 ? std::malloc(bytes) : std::calloc(1, bytes));
            block[0] = static_cast<unsigned char>(next);
            block[bytes - 1] = static_cast<unsigned char>(next);
        }
    }

    /// Effects: frees the blocks.
    /// Returns: whether all blocks were allocated and are intact.
    bool is_intact_and_freed() const
    {
        bool is_intact = true;
        std::size_t next = 0;
        for (volatile unsigned char* const block : blocks_) {
            const std::size_t bytes = sizes[next++];
            if (block == nullptr)
                return false;
            is_intact = is_intact && block[0] == next && block[bytes - 1] == next;
            std::free(const_cast<unsigned char*>(block));
        }
        return is_intact;
    }

private:
    static constexpr std::array<std::size_t, 5> sizes{16, 100, 5000, 40'000, 300'000};

    std::array<volatile unsigned char*, sizes.size()> blocks_{};
};

/// Returns: the blocks of early_library.cpp.
early_block& from_library();

/// Returns: whether the malloc of this process is in the library of that name.
inline bool malloc_is_that_of(const char* library)
{
    Dl_info where{};
    return dladdr(dlsym(RTLD_DEFAULT, "malloc"), &where) != 0 && std::strstr(where.dli_fname, library) != nullptr;
}
