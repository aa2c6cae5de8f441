// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The pools in a program without exceptions and RTTI. Where they would throw, they call the error handler instead.
#include <memory_pool/memory_pool.hpp>

#include <support/check.hpp>
#include <support/expect_error.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace mp = memory_pool;
using test::expect_error;

int main()
{
    mp::set_error_handler(&test::leave);
    {
        mp::block_pool pool(32);
        void* const block = pool.allocate();
        pool.deallocate(block);
        CHECK(pool.try_allocate() == block);
        pool.for_each([&](void* one) { CHECK(one == block); });
        CHECK(pool.verify());
    }
    {
        mp::object_pool<std::string> strings;
        std::string* const text = strings.create("a text that is too long to fit into the object itself");
        CHECK(text->size() == 53);
        auto owner = strings.make_unique("x");
        strings.clear();
        (void)owner.release();
        CHECK(strings.in_use() == 0);
    }
    {
        mp::concurrent_block_pool pool(32);
        void* const block = pool.allocate();
        pool.deallocate(block);
        CHECK(pool.try_allocate() != nullptr);
        mp::concurrent_object_pool<std::string> strings;
        CHECK(strings.make_unique("a text that is too long to fit into the object itself")->size() == 53);
        CHECK(pool.verify() && strings.verify());
    }
    {
        mp::unsynchronized_shared_pool<std::string> strings;
        std::weak_ptr<std::string> weak;
        {
            const auto text = strings.make("a text that is too long to fit into the object itself");
            weak = text;
            CHECK(text->size() == 53 && strings.in_use() == 1);
        }
        CHECK(weak.expired());
        mp::unsynchronized_recycling_shared_pool<std::string> kept([](std::string& text) { text.clear(); });
        CHECK(kept.allocate_through_function([](std::string& text) { text = "x"; })->size() == 1);
        CHECK(kept.try_allocate()->empty() && kept.verify());
    }
    static mp::pool_options options; // static: longjmp does not change it
    options.max_capacity = 1;
    options.name = "bounded";
    static mp::basic_block_pool<mp::counting_policy> bounded(48, options);
    CHECK(bounded.try_allocate() != nullptr);
    CHECK(bounded.try_allocate() == nullptr);
    expect_error(mp::error_kind::pool_exhausted, "'bounded' is exhausted", [] { (void)bounded.allocate(); });
    static mp::concurrent_block_pool shared(48, options);
    CHECK(shared.try_allocate() != nullptr);
    CHECK(shared.try_allocate() == nullptr);
    expect_error(mp::error_kind::pool_exhausted, "'bounded' is exhausted", [] { (void)shared.allocate(); });
    CHECK(shared.verify());
    expect_error(mp::error_kind::size_overflow, "blocks of 48 bytes",
                 [] { bounded.reserve(static_cast<std::size_t>(-1)); });
    expect_error(mp::error_kind::invalid_argument, "block_size is 0", [] { mp::block_pool pool(0); });
    CHECK(bounded.verify());

    // The error handler leaves a call by longjmp. Later misuse must still be reported.
    static mp::basic_block_pool<mp::checking_policy> checked(48, options);
    static void* const block = checked.allocate();
    expect_error(mp::error_kind::pool_exhausted, "'bounded' is exhausted", [] { (void)checked.allocate(); });
    checked.deallocate(block);
    expect_error(mp::error_kind::double_free, "double free", [] { checked.deallocate(block); });
    CHECK(checked.verify());
}
