// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// operator new and delete in every form, for a library that is loaded before the C++ standard library's.
///
/// They call one another through the dynamic linker (see CMakeLists.txt): a program that replaces the plain forms alone gets its
/// own called from all the others, as the standard promises.
#define MEMORY_POOL_PLAIN_FORMS_MAY_BE_REPLACED 1
#include <memory_pool/np_new_delete.hpp>

#include <memory_pool/base/config.hpp>
#include <memory_pool/np_alloc.h>

#include "policy.hpp"

#include <cstddef>
#include <new>

// The plain forms of this library, by names that no program replaces.
extern "C" {
MEMORY_POOL_HIDDEN void* np_plain_new(std::size_t bytes) __attribute__((alias("_Znwm"), malloc, alloc_size(1)));
MEMORY_POOL_HIDDEN void np_plain_delete(void* block) noexcept __attribute__((alias("_ZdlPv")));
}

namespace memory_pool::core
{
namespace
{
/// Has the program replaced a plain form? Then a block need not have the size that is told when it is deleted: its operator new may
/// ask for more.
[[maybe_unused]] bool plain_forms_are_replaced() noexcept
{
    // The one of those that the linker has chosen, and the one here.
    void (*const chosen)(void*) = &::operator delete;
    void* (*const chosen_new)(std::size_t) = &::operator new;
    return chosen != &np_plain_delete || chosen_new != &np_plain_new;
}
} // namespace

void delete_sized(void* block, [[maybe_unused]] std::size_t bytes) noexcept
{
    if constexpr (np::is_checked) {
        if (!plain_forms_are_replaced()) {
            ::np_free_sized(block, bytes);
            return;
        }
    }
    ::operator delete(block);
}

void delete_sized(void* block, std::size_t, std::align_val_t alignment) noexcept
{
    ::operator delete(block, alignment);
}
} // namespace memory_pool::core
