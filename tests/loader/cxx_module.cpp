// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// A module in C++ that runs out of memory.
#include <support/new_forms.hpp>
#include <support/new_handler.hpp>

#include <cstddef>
#include <limits>
#include <new>

namespace {
/// Returns: whether this form of operator new reported out of memory as the standard says.
bool tells(const test::new_form& form)
{
    try {
        return form.allocate(std::numeric_limits<std::size_t>::max() / 2) == nullptr && !form.throws;
    } catch (const std::bad_alloc&) {
        return form.throws;
    }
}

bool calls_handler_and_tells(const test::new_form& form)
{
    const test::new_handler handler([] { std::set_new_handler(nullptr); });
    return tells(form) && test::new_handler::calls() == 1;
}
} // namespace

/// Returns: the name of a form of operator new that violates the standard when out of memory, or nullptr.
extern "C" const char* wrong_form()
{
    for (const test::new_form& form : test::new_forms)
        if (!tells(form) || !calls_handler_and_tells(form))
            return form.name;
    return nullptr;
}
