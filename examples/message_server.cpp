// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A server whose clients send messages from a pool with a limit, so that a slow server cannot exhaust the memory. At
/// the limit, a client waits to send an order, which must not be lost, but drops a price, which is soon outdated.
/// See docs/tasks/queues.md.
#include <memory_pool/concurrent_object_pool.hpp>

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <mutex>
#include <thread>

namespace {
enum kind : std::size_t
{
    order,
    price,
    last ///< The last message of a client.
};

struct message
{
    kind what;
    message* next = nullptr; ///< Links the inbox, which therefore needs no memory.
};

class inbox
{
public:
    void push(message* pushed)
    {
        const std::lock_guard lock(mutex_);
        *last_ = pushed;
        last_ = &pushed->next;
        arrived_.notify_one();
    }

    message* wait_and_pop()
    {
        std::unique_lock lock(mutex_);
        arrived_.wait(lock, [this] { return first_ != nullptr; });
        message* const popped = first_;
        first_ = popped->next;
        if (first_ == nullptr)
            last_ = &first_;
        return popped;
    }

private:
    std::mutex mutex_;
    std::condition_variable arrived_;
    message* first_ = nullptr;
    message** last_ = &first_;
};
} // namespace

int main()
{
    constexpr long count = 50'000;
    memory_pool::concurrent_object_pool<message> pool(
        memory_pool::pool_options{}.with_name("messages").with_max_capacity(100));
    inbox messages;
    std::thread orders([&] {
        for (long i = 0; i != count; ++i)
            messages.push(pool.create_wait(message{order})); // Waits until the server has destroyed a message.
        messages.push(pool.create_wait(message{last}));
    });
    long dropped = 0;
    std::thread prices([&] {
        for (long i = 0; i != count; ++i) {
            if (message* const made = pool.try_create(message{price})) // nullptr at the limit.
                messages.push(made);
            else
                ++dropped;
            std::this_thread::yield(); // Until the next price is known.
        }
        messages.push(pool.create_wait(message{last}));
    });

    std::array<long, 3> received{};
    while (received[last] != 2) {
        message* const each = messages.wait_and_pop();
        ++received[each->what];
        pool.destroy(each); // Any thread may destroy a message, not only the thread that created it.
    }
    orders.join();
    prices.join();
    std::printf("orders received: %ld of %ld; prices received: %ld, dropped: %ld; messages in use: %zu\n",
                received[order], count, received[price], dropped, pool.in_use());
    if (received[order] == count && received[price] + dropped == count && pool.in_use() == 0)
        return 0;
    std::fprintf(stderr, "message_server: messages were lost\n");
    return 1;
}
