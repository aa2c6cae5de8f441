// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A warehouse that ships orders, with three bugs that docs/find-my-bug.md finds. Does not refer to np_alloc.
///
///     find_my_bug overflow | use-after-free | double-free
///
/// Without an argument, the program runs without bugs.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {
/// An order for one article.
struct order
{
    const char* article;
    std::size_t count;
    std::size_t shipped;
    std::size_t number;
};

/// All orders, and the orders to ship next.
class warehouse
{
public:
    order* add(const char* article, std::size_t count)
    {
        auto* const added = new order{article, count, 0, all_.size()};
        all_.push_back(added);
        next_.push_back(added);
        return added;
    }

    /// Deletes an order. With the bug, the order stays in the list of orders to ship.
    void cancel(order* cancelled, bool has_bug)
    {
        all_.erase(std::find(all_.begin(), all_.end(), cancelled));
        if (!has_bug)
            next_.erase(std::find(next_.begin(), next_.end(), cancelled));
        delete cancelled;
    }

    void ship_all()
    {
        for (order* each : next_)
            each->shipped += each->count;
    }

    void close()
    {
        for (order* each : all_)
            delete each;
    }

private:
    std::vector<order*> all_;
    std::vector<order*> next_;
};

/// Prints a label. With the bug, the buffer has no room for the terminating zero.
void print_label(const order& labelled, bool has_bug)
{
    const std::string text = std::to_string(labelled.count) + " x " + labelled.article;
    auto* const label = static_cast<char*>(std::malloc(text.size() + (has_bug ? 0 : 1)));
    std::memcpy(label, text.c_str(), text.size() + 1);
    std::puts(label);
    std::free(label);
}

/// Takes goods back. With the bug, deletes the order, which the warehouse deletes again.
void take_back(order* returned, bool has_bug)
{
    std::printf("%s: back\n", returned->article);
    if (has_bug)
        delete returned;
}
} // namespace

int main(int count, char** arguments)
{
    const std::string bug = count > 1 ? arguments[1] : "";
    warehouse all;
    order* const lamps = all.add("floor lamps", 12);
    order* const chairs = all.add("chairs", 4);
    print_label(*lamps, bug == "overflow");
    all.cancel(chairs, bug == "use-after-free");
    all.ship_all();
    for (std::size_t later = 0; later != 5000; ++later)
        all.cancel(all.add("tables", later), false);
    take_back(lamps, bug == "double-free");
    all.close();
    return 0;
}
