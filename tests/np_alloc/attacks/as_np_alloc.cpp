// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Attacks on the functions of np_alloc. The attacking code itself uses other operators new and delete.
#include "attacks.hpp"

#include <memory_pool/base/errors.hpp>
#include <memory_pool/np_alloc.h>
#include <memory_pool/np_alloc.hpp>

#include <algorithm>
#include <cstddef>

namespace attacks {
namespace {
notes* noted;

void count(const memory_pool::error_report&)
{
    if (noted->reports++ == 0)
        noted->first_report = noted->now.load();
}
} // namespace

bool count_reports(notes& written)
{
    noted = &written;
    memory_pool::set_error_handler(&count);
    return true;
}

bool is_in_order()
{
    return np_verify() == 1;
}

void* by_new(std::size_t bytes, form_of_new form)
{
    return memory_pool::np_allocate(bytes, std::max(form.alignment, memory_pool::np_alignment));
}

void by_delete(void* block, form_of_new form)
{
    if (form.bytes != 0)
        np_free_sized(block, form.bytes);
    else
        np_free(block);
}
} // namespace attacks
