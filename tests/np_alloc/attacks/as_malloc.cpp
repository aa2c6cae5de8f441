// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Attacks on malloc, free, new and delete of the whole program. The attacking code uses the same malloc.
#include "attacks.hpp"

#include <cstddef>
#include <new>

namespace attacks {
bool count_reports(notes&)
{
    return false; // The library does not export its error handler.
}

bool is_in_order()
{
    return true; // The library does not export np_verify.
}

void* by_new(std::size_t bytes, form_of_new form)
{
    const std::align_val_t alignment{form.alignment};
    if (form.alignment != 0)
        return form.is_array ? ::operator new[](bytes, alignment) : ::operator new(bytes, alignment);
    return form.is_array ? ::operator new[](bytes) : ::operator new(bytes);
}

void by_delete(void* block, form_of_new form)
{
    const std::align_val_t alignment{form.alignment};
    if (form.alignment != 0)
        form.is_array ? ::operator delete[](block, alignment) : ::operator delete(block, alignment);
    else if (form.bytes != 0)
        ::operator delete(block, form.bytes);
    else if (form.is_array)
        ::operator delete[](block);
    else
        ::operator delete(block);
}
} // namespace attacks
