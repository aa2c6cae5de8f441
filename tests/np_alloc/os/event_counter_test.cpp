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
    os::event_counter its;

    ~event_counter() override { its.close(); }

    static bool is_readable(int descriptor)
    {
        ::pollfd waited{descriptor, POLLIN, 0};
        return ::poll(&waited, 1, 0) == 1 && (waited.revents & POLLIN) != 0;
    }
};

TEST_F(event_counter, does_nothing_before_it_is_open)
{
    EXPECT_EQ(its.number(), -1);
    EXPECT_FALSE(its.is_valid());
    errno = E2BIG;
    its.signal();
    EXPECT_EQ(errno, E2BIG);
    its.wait(-1, 0);
    its.close();
    EXPECT_EQ(its.number(), -1);
}

TEST_F(event_counter, is_readable_from_when_it_is_signalled_until_it_was_waited_for)
{
    ASSERT_TRUE(its.open());
    EXPECT_TRUE(its.is_valid());
    EXPECT_FALSE(is_readable(its.number()));
    its.signal();
    its.signal();
    EXPECT_TRUE(is_readable(its.number()));
    its.wait(-1, -1); // Returns at once.
    EXPECT_FALSE(is_readable(its.number()));
    its.wait(-1, 0); // Has nothing to read, and does not wait for it.
    EXPECT_TRUE(its.is_valid());
}

TEST_F(event_counter, is_opened_once_and_again_when_it_was_closed)
{
    ASSERT_TRUE(its.open());
    const int number = its.number();
    ASSERT_TRUE(its.open());
    EXPECT_EQ(its.number(), number);
    its.close();
    EXPECT_EQ(its.number(), -1);
    EXPECT_FALSE(its.is_valid());
    ASSERT_TRUE(its.open());
    EXPECT_TRUE(its.is_valid());
}

TEST_F(event_counter, leaves_another_descriptor_alone_that_has_got_its_number)
{
    ASSERT_TRUE(its.open());
    const int number = its.number();
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    ASSERT_EQ(::dup2(ends[0], number), number) << "closes the other one";
    EXPECT_FALSE(its.is_valid());
    errno = E2BIG;
    its.signal();
    EXPECT_EQ(errno, E2BIG);
    EXPECT_FALSE(is_readable(ends[1]));
    ASSERT_EQ(::write(ends[1], "12345678", 8), 8);
    its.wait(-1, 0);
    EXPECT_TRUE(is_readable(number)) << "nothing was read";
    its.close();
    EXPECT_TRUE(is_readable(number)) << "it was not closed";
    for (const int each : {number, ends[0], ends[1]})
        EXPECT_EQ(::close(each), 0);
    EXPECT_TRUE(its.open());
}

TEST_F(event_counter, is_not_open_if_the_process_may_have_no_more_descriptors)
{
    os::event_counter counter; // Not the member: sanitizers need descriptors to look at that.
    ::rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const ::rlimit none{0, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    errno = 0;
    const bool is_open = counter.open();
    const int error = errno;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_FALSE(is_open);
    EXPECT_EQ(error, EMFILE);
    EXPECT_FALSE(counter.is_valid());
    EXPECT_TRUE(counter.open());
    counter.close();
}
} // namespace
#endif
