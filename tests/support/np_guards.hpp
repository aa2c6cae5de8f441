// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Runs tests of np_alloc with NP_GUARD_PAGES=0.
#pragma once

#include <np_alloc/support/options.hpp>

namespace test {
/// During its lifetime, np_alloc guards no pages, and freed large blocks stay accessible.
class no_guards_for_now
{
public:
    no_guards_for_now() { (void)memory_pool::np::the_options.set(np_option_guard_pages, 0); }
    no_guards_for_now(const no_guards_for_now&) = delete;
    no_guards_for_now& operator=(const no_guards_for_now&) = delete;
    ~no_guards_for_now() { (void)memory_pool::np::the_options.set(np_option_guard_pages, 1); }
};
} // namespace test
