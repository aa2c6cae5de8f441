// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/os/uncancelled.hpp>

#include <memory_pool/base/config.hpp>

#include <gtest/gtest.h>

// AddressSanitizer does not see that the stack of a cancelled thread is unwound. libc++ brings its own unwinder, which
// is incompatible with the unwinder of pthread_cancel.
#if defined(__linux__) && !MEMORY_POOL_ASAN && !defined(_LIBCPP_VERSION)
#include <pthread.h>

namespace os = memory_pool::detail::os;

namespace {
TEST(uncancelled, defers_cancellation_until_after_the_scope)
{
    static bool has_gone_on;
    static bool has_come_through;
    has_gone_on = has_come_through = false;
    const auto be_cancelled = [](void*) -> void* {
        {
            const os::uncancelled outer;
            const os::uncancelled inner;
            (void)::pthread_cancel(::pthread_self());
            ::pthread_testcancel();
            has_gone_on = true;
        }
        ::pthread_testcancel();
        has_come_through = true;
        return nullptr;
    };
    pthread_t thread{};
    ASSERT_EQ(::pthread_create(&thread, nullptr, be_cancelled, nullptr), 0);
    void* result = nullptr;
    ASSERT_EQ(::pthread_join(thread, &result), 0);
    EXPECT_EQ(result, PTHREAD_CANCELED);
    EXPECT_TRUE(has_gone_on);
    EXPECT_FALSE(has_come_through);
}
} // namespace
#endif
