// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <np_alloc/os/event_counter.hpp>

#include <gtest/gtest.h>

#if defined(__linux__)
#include <cerrno>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace os = memory_pool::detail::os;

namespace {
struct event_counter : testing::Test
{
    os::event_counter counter;

    ~event_counter() override { counter.close(); }

    static bool is_readable(int descriptor)
    {
        ::pollfd waited{descriptor, POLLIN, 0};
        return ::poll(&waited, 1, 0) == 1 && (waited.revents & POLLIN) != 0;
    }
};

TEST_F(event_counter, does_nothing_before_it_is_open)
{
    EXPECT_EQ(counter.number(), -1);
    EXPECT_FALSE(counter.is_valid());
    errno = E2BIG;
    counter.signal();
    EXPECT_EQ(errno, E2BIG);
    counter.wait(-1, 0);
    counter.close();
    EXPECT_EQ(counter.number(), -1);
}

TEST_F(event_counter, is_readable_between_signal_and_wait)
{
    ASSERT_TRUE(counter.open());
    EXPECT_TRUE(counter.is_valid());
    EXPECT_FALSE(is_readable(counter.number()));
    counter.signal();
    counter.signal();
    EXPECT_TRUE(is_readable(counter.number()));
    counter.wait(-1, -1); // returns at once
    EXPECT_FALSE(is_readable(counter.number()));
    counter.wait(-1, 0); // nothing to read: does not wait
    EXPECT_TRUE(counter.is_valid());
}

TEST_F(event_counter, opens_one_descriptor_until_closed)
{
    ASSERT_TRUE(counter.open());
    const int number = counter.number();
    ASSERT_TRUE(counter.open());
    EXPECT_EQ(counter.number(), number);
    counter.close();
    EXPECT_EQ(counter.number(), -1);
    EXPECT_FALSE(counter.is_valid());
    ASSERT_TRUE(counter.open());
    EXPECT_TRUE(counter.is_valid());
}

TEST_F(event_counter, leaves_a_foreign_descriptor_with_its_number_alone)
{
    ASSERT_TRUE(counter.open());
    const int number = counter.number();
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    ASSERT_EQ(::dup2(ends[0], number), number) << "closes the counter's descriptor";
    EXPECT_FALSE(counter.is_valid());
    errno = E2BIG;
    counter.signal();
    EXPECT_EQ(errno, E2BIG);
    EXPECT_FALSE(is_readable(ends[1]));
    ASSERT_EQ(::write(ends[1], "12345678", 8), 8);
    counter.wait(-1, 0);
    EXPECT_TRUE(is_readable(number)) << "the counter has not read from it";
    counter.close();
    EXPECT_TRUE(is_readable(number)) << "the counter has not closed it";
    for (const int each : {number, ends[0], ends[1]})
        EXPECT_EQ(::close(each), 0);
    EXPECT_TRUE(counter.open());
}

TEST_F(event_counter, fails_to_open_without_free_descriptors)
{
    os::event_counter local; // not the member: sanitizers need descriptors to inspect it
    ::rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const ::rlimit none{0, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    errno = 0;
    const bool is_open = local.open();
    const int error = errno;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_FALSE(is_open);
    EXPECT_EQ(error, EMFILE);
    EXPECT_FALSE(local.is_valid());
    EXPECT_TRUE(local.open());
    local.close();
}
} // namespace
#endif
