// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// np_alloc as the operator new of a program without exceptions and RTTI. Where it would throw, it calls the error
/// handler instead; only the nothrow forms return nullptr.
#include <memory_pool/np_new_delete.hpp>

#include <support/check.hpp>
#include <support/expect_error.hpp>
#include <support/new_forms.hpp>
#include <support/new_handler.hpp>

#include <cstddef>
#include <list>
#include <memory>
#include <new>
#include <vector>

namespace mp = memory_pool;
using test::expect_error;

namespace {
const volatile std::size_t too_many = static_cast<std::size_t>(-1);
} // namespace

int main()
{
    const auto numbers = std::make_unique<std::vector<int>>(1000);
    CHECK(np_owns(numbers.get()) && np_owns(numbers->data()));

    mp::set_error_handler(&test::leave);
    for (const test::new_form& form : test::new_forms) {
        form.free(form.allocate(100));
        if (form.throws) {
            expect_error(mp::error_kind::out_of_memory, "np_alloc has no", [&] { (void)form.allocate(too_many); });
        } else {
            const test::new_handler gives_up([] { std::set_new_handler(nullptr); });
            CHECK(form.allocate(too_many) == nullptr);
            CHECK(test::new_handler::calls() == 1);
        }
    }

    const std::list<int, mp::np_allocator<int>> list(100, 1);
    CHECK(np_owns(&list.front()));
    expect_error(mp::error_kind::size_overflow, "more than a program can address",
                 [] { (void)mp::np_allocator<int>().allocate(too_many); });
    expect_error(mp::error_kind::out_of_memory, "np_alloc has no", [] { (void)mp::np_resource()->allocate(too_many); });
}
