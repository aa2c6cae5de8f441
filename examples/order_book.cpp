// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The bids of an order book. Orders wait at their price, in order of arrival, until they are filled or cancelled. All
/// memory is allocated before trading begins.
/// See docs/tasks/limits.md.
#include <memory_pool/handle_pool.hpp>
#include <memory_pool/no_allocation_scope.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <random>

namespace {
/// Objects of a pool never move, so pointers can link the orders of a price, without the nodes of a container.
struct order
{
    int quantity = 0;
    order* previous = this;
    order* next = this;
};

class bids
{
public:
    /// A customer keeps a handle: a pointer would dangle, or point to a later order, once the order is filled.
    using handle = memory_pool::handle_pool<order>::handle;

    /// Returns: a handle; the null handle if the book is full. A full book is not an error, so add calls try_create,
    ///   which does not throw.
    handle add(std::size_t price, int quantity)
    {
        const handle added = orders_.try_create(quantity);
        if (order* const made = orders_.get(added)) {
            made->next = &prices_[price];
            made->previous = prices_[price].previous;
            made->previous->next = made->next->previous = made;
        }
        return added;
    }

    /// Returns: the quantity; 0 if the order was already filled. The handle is then stale, and get returns nullptr.
    int cancel(handle cancelled)
    {
        const order* const found = orders_.get(cancelled);
        return found != nullptr ? remove(*found) : 0;
    }

    /// Returns: the quantity of the oldest order at the best price; 0 if there is none.
    int fill_best()
    {
        for (std::size_t price = prices_.size(); price-- != 0;)
            if (prices_[price].next != &prices_[price])
                return remove(*prices_[price].next);
        return 0;
    }

    std::size_t size() const { return orders_.size(); }

private:
    int remove(const order& removed)
    {
        const int quantity = removed.quantity;
        removed.previous->next = removed.next;
        removed.next->previous = removed.previous;
        orders_.destroy(orders_.handle_of(&removed));
        return quantity;
    }

    /// The limit is also the initial capacity. The pool touches all of this memory, to avoid page faults later.
    memory_pool::handle_pool<order> orders_{memory_pool::pool_options{}
                                                .with_name("orders")
                                                .with_initial_capacity(1'000)
                                                .with_max_capacity(1'000)
                                                .with_prefault(true)};
    std::array<order, 100> prices_; ///< For each price, the sentinel of a circular list of orders.
};
} // namespace

int main()
{
    bids book;
    std::array<bids::handle, 2'000> customers{};
    std::mt19937 random(1);
    int rejected = 0;
    long left = 0; // The quantity neither filled nor cancelled.
    const memory_pool::no_allocation_scope trading("trading", memory_pool::allocating::counted);
    for (int i = 0; i != 300'000; ++i) {
        bids::handle& customer = customers[random() % customers.size()];
        left -= book.cancel(customer);
        const int quantity = 1 + static_cast<int>(random() % 100);
        customer = book.add(random() % 100, quantity);
        left += customer.is_null() ? 0 : quantity;
        rejected += customer.is_null() ? 1 : 0;
        if (i % 10 == 0)
            left -= book.fill_best();
    }
    std::printf("orders waiting: %zu, rejected by the full book: %d, allocations while trading: %zu\n", book.size(),
                rejected, trading.allocations());
    while (const int quantity = book.fill_best())
        left -= quantity;
    if (rejected != 0 && trading.allocations() == 0 && left == 0 && book.size() == 0)
        return 0;
    std::fprintf(stderr, "order_book: a quantity of %ld is left, or trading allocated memory\n", left);
    return 1;
}
