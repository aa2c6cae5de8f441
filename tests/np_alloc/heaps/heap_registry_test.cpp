// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Periodic maintenance by any thread, and the registration of fork handlers.
#include <np_alloc/heaps/heap_registry.hpp>

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/errors.hpp>

#include <np_alloc/support/fork_mutex.hpp>

#include <support/child.hpp>
#include <support/error_recorder.hpp>
#include <support/np_blocks.hpp>
#include <support/option_for_now.hpp>
#include <support/system_calls.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#if TESTS_MAY_FORK
#include <pthread.h>
#endif

namespace np = memory_pool::np;

namespace {
std::size_t dirty_bytes()
{
    np_statistics now;
    np_get_statistics(&now);
    return now.bytes_dirty;
}

/// Allocates and frees blocks in existing slabs, without taking runs.
class busy_blocks
{
public:
    busy_blocks() : blocks_(2000)
    {
        for (void*& block : blocks_)
            block = np_alloc(bytes);
    }
    busy_blocks(const busy_blocks&) = delete;
    busy_blocks& operator=(const busy_blocks&) = delete;
    ~busy_blocks()
    {
        for (void* block : blocks_)
            np_free(block);
    }

    void free_and_allocate()
    {
        for (int round = 0; round != 300; ++round) {
            for (std::size_t i = 0; i < blocks_.size(); i += 2)
                np_free(blocks_[i]);
            for (std::size_t i = 0; i < blocks_.size(); i += 2)
                blocks_[i] = np_alloc(bytes);
        }
    }

private:
    static constexpr std::size_t bytes = 200;

    std::vector<void*> blocks_;
};

TEST(np_process, purges_old_runs_while_the_program_needs_none)
{
    constexpr std::size_t bytes = std::size_t{4} << 20;
    busy_blocks busy;
    (void)np_trim();
    const test::option_for_now is_young(np_option_decay_ms, 1'000'000);
    np_free(np_alloc(bytes));
    busy.free_and_allocate();
    EXPECT_GE(dirty_bytes(), bytes);
    const test::option_for_now is_old(np_option_decay_ms, 0);
    busy.free_and_allocate();
    EXPECT_LT(dirty_bytes(), bytes);
}

#if defined(__unix__)
TEST(heap_registry, reports_a_failure_to_register_fork_handlers)
{
    const test::system_calls calls;
    calls.refuse(test::system_call::register_fork, 1);
    testing::internal::CaptureStderr();
    EXPECT_FALSE(np::heap_registry::prepare_for_fork());
    const std::string text = testing::internal::GetCapturedStderr();
    EXPECT_EQ(text.find("np_alloc: no memory to register fork handlers"), 0U) << text;
}
#endif

#if TESTS_MAY_FORK
/// A static object of the program that registers fork handlers. Before a fork, handlers run in the reverse order of
/// registration.
struct static_object
{
    static inline bool np_alloc_was_first = false;

    static_object()
    {
        (void)pthread_atfork([] { np_alloc_was_first = np::this_thread_forks; }, nullptr, nullptr);
    }
};
const static_object object_of_the_program;

TEST(heap_registry, registers_fork_handlers_before_static_objects)
{
    test::expect_in_child([] { return true; });
    EXPECT_FALSE(static_object::np_alloc_was_first);
}
#endif

TEST(np_process, reports_double_frees_while_magazines_drain)
{
    const test::error_recorder recorder;
    std::vector<void*> blocks(3000);
    for (void*& block : blocks)
        block = np_alloc(100);
    for (void* const block : blocks) {
        (void)np::registry().maintenance().ask_for_drains();
        np_free(block);
        np_free(block);
    }
    EXPECT_EQ(recorder.kinds(), test::kinds(blocks.size(), memory_pool::error_kind::double_free));
}
} // namespace
