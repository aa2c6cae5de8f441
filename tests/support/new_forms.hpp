// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Every form of the global operators new and delete, as functions with a common signature.
#pragma once

#include <array>
#include <cstddef>
#include <new>

namespace test {
inline constexpr std::size_t strict_alignment = 256;

/// One form of operator new.
struct new_form
{
    const char* name;
    void* (*allocate)(std::size_t bytes);
    bool throws;
    std::size_t alignment;
    void (*free)(void* block); ///< The matching form of operator delete.
};

inline const std::array<new_form, 8> new_forms{{
    {"plain", [](std::size_t bytes) { return ::operator new(bytes); }, true, 16,
     [](void* block) { ::operator delete(block); }},
    {"array", [](std::size_t bytes) { return ::operator new[](bytes); }, true, 16,
     [](void* block) { ::operator delete[](block); }},
    {"nothrow", [](std::size_t bytes) { return ::operator new(bytes, std::nothrow); }, false, 16,
     [](void* block) { ::operator delete(block, std::nothrow); }},
    {"nothrow array", [](std::size_t bytes) { return ::operator new[](bytes, std::nothrow); }, false, 16,
     [](void* block) { ::operator delete[](block, std::nothrow); }},
    {"aligned", [](std::size_t bytes) { return ::operator new(bytes, std::align_val_t{strict_alignment}); }, true,
     strict_alignment, [](void* block) { ::operator delete(block, std::align_val_t{strict_alignment}); }},
    {"aligned array", [](std::size_t bytes) { return ::operator new[](bytes, std::align_val_t{strict_alignment}); },
     true, strict_alignment, [](void* block) { ::operator delete[](block, std::align_val_t{strict_alignment}); }},
    {"aligned nothrow",
     [](std::size_t bytes) { return ::operator new(bytes, std::align_val_t{strict_alignment}, std::nothrow); }, false,
     strict_alignment, [](void* block) { ::operator delete(block, std::align_val_t{strict_alignment}, std::nothrow); }},
    {"aligned nothrow array",
     [](std::size_t bytes) { return ::operator new[](bytes, std::align_val_t{strict_alignment}, std::nothrow); }, false,
     strict_alignment,
     [](void* block) { ::operator delete[](block, std::align_val_t{strict_alignment}, std::nothrow); }},
}};

/// One form of operator delete with a size parameter.
struct sized_delete_form
{
    const char* name;
    void* (*allocate)(std::size_t bytes);
    void (*free)(void* block, std::size_t bytes);
};

inline const std::array<sized_delete_form, 4> sized_delete_forms{{
    {"plain", new_forms[0].allocate, [](void* block, std::size_t bytes) { ::operator delete(block, bytes); }},
    {"array", new_forms[1].allocate, [](void* block, std::size_t bytes) { ::operator delete[](block, bytes); }},
    {"aligned", new_forms[4].allocate,
     [](void* block, std::size_t bytes) { ::operator delete(block, bytes, std::align_val_t{strict_alignment}); }},
    {"aligned array", new_forms[5].allocate,
     [](void* block, std::size_t bytes) { ::operator delete[](block, bytes, std::align_val_t{strict_alignment}); }},
}};
} // namespace test
