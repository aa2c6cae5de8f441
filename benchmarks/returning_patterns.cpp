// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Creates, lightly processes and releases large objects, with and without a pool, in two patterns:
///
///     continuous    creates and keeps all objects, then releases all
///     mixed         creates all objects; after each, with a probability of 1/2, releases a random live object, the
///                   same in every run; releases the remaining objects at the end. This fragments a heap
///
///     returning_patterns                              lists patterns and sides
///     returning_patterns PATTERN SIDE STEP [ITEMS]    measures one side, with a pool that grows by STEP objects; if
///                                                     STEP is 0, by the default of the pool
///
/// Prints `<state> <nanoseconds per object> <page faults per object>` for each round. The states are
///
///     first     the first round of the process: all memory comes from the OS
///     new       a later round: the heap may have retained memory, but the pool is new, and grows
///     whole     as new, with construction and destruction of the pool in the measured time
///     reused    a later round with the same pool
///
/// A new pool has room for STEP objects. returning_patterns.py runs each measurement in a process of its own, so that
/// no side inherits the heap of another.
#include <memory_pool/intrusive_pool.hpp>
#include <memory_pool/recycling_pool.hpp>

#include "virtual_recycle.hpp"

#include <boost/smart_ptr/intrusive_ptr.hpp>

#include <sys/resource.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace {
/// An object of about 1 KiB. The processing does not touch most of it.
class large
{
public:
    void init(std::uint32_t number)
    {
        number_ = number;
        state_ = 0;
    }

    /// Returns: a value that depends on the contents before the call.
    std::uint64_t process()
    {
        samples_[number_ % samples_.size()] = number_;
        name_[0] = 'x';
        state_ += 1;
        return samples_[number_ % samples_.size()] + state_;
    }

    /// Returns: whether the object was last processed with this number.
    bool is(std::uint32_t number) const
    {
        // The text is never written.
        return number_ == number && samples_[number % samples_.size()] == number && state_ == 1 && text_.back() == 0;
    }

private:
    std::uint32_t number_ = 0;
    std::uint32_t state_ = 0;
    std::array<char, 128> name_{};
    std::array<char, 384> text_{};
    std::array<std::uint64_t, 64> samples_{};
};

/// boost::intrusive_ptr, and new and delete.
class plain_malloc
{
    struct item : large
    {
        std::uint32_t references = 0;

        friend void intrusive_ptr_add_ref(item* object) noexcept { ++object->references; }
        friend void intrusive_ptr_release(item* object) noexcept
        {
            if (--object->references == 0)
                delete object;
        }
    };

public:
    using pointer = boost::intrusive_ptr<item>;

    explicit plain_malloc(std::size_t) {}

    pointer make(std::uint32_t number)
    {
        pointer made(new item);
        made->init(number);
        return made;
    }
};

/// No pool: adjacent objects in chunks of 1 MiB, constructed at first use, and a stack of free objects. The time is the
/// cost of the memory and the constructors alone: a lower bound.
class bare_array
{
    struct item : large
    {
    };
    static_assert(std::is_trivially_destructible_v<item>);

    struct return_to_array
    {
        bare_array* home;
        void operator()(item* object) const { home->free_.push_back(object); }
    };

public:
    using pointer = std::unique_ptr<item, return_to_array>;

    explicit bare_array(std::size_t) {}

    pointer make(std::uint32_t number)
    {
        pointer made(take(), return_to_array{this});
        made->init(number);
        return made;
    }

private:
    static constexpr std::size_t items_in_a_chunk = std::size_t{1024} * 1024 / sizeof(item);

    item* take()
    {
        if (!free_.empty()) {
            item* const last = free_.back();
            free_.pop_back();
            return last;
        }
        if (used_in_chunk_ == items_in_a_chunk) {
            chunks_.push_back(std::unique_ptr<std::byte[]>(new std::byte[items_in_a_chunk * sizeof(item)]));
            used_in_chunk_ = 0;
        }
        return ::new (static_cast<void*>(&chunks_.back()[sizeof(item) * used_in_chunk_++])) item;
    }

    std::vector<std::unique_ptr<std::byte[]>> chunks_;
    std::vector<item*> free_;
    std::size_t used_in_chunk_ = items_in_a_chunk;
};

struct pooled_item : memory_pool::pooled<pooled_item, memory_pool::plain_references>, large
{
};

memory_pool::pool_options growing_by(std::size_t step)
{
    memory_pool::pool_options options;
    options.initial_capacity = step;
    options.growth_step = step;
    return options;
}

class intrusive_pool
{
public:
    using pointer = boost::intrusive_ptr<pooled_item>;

    explicit intrusive_pool(std::size_t step) : pool_(growing_by(step)) {}

    pointer make(std::uint32_t number)
    {
        pointer made = pool_.make();
        made->init(number);
        return made;
    }

private:
    memory_pool::intrusive_pool<pooled_item> pool_;
};

class recycling_pool
{
public:
    using pointer = boost::intrusive_ptr<pooled_item>;

    explicit recycling_pool(std::size_t step) : pool_(growing_by(step)) {}

    pointer make(std::uint32_t number) { return pool_.allocate_through_init(number); }

private:
    memory_pool::recycling_pool<pooled_item> pool_;
};

class virtual_recycle_pool
{
    struct item : virtual_recycle::item, large
    {
    };

public:
    using pointer = boost::intrusive_ptr<item>;

    explicit virtual_recycle_pool(std::size_t step) : pool_(step != 0 ? step : 64) {}

    pointer make(std::uint32_t number)
    {
        pointer made = pool_.allocate();
        made->init(number);
        return made;
    }

private:
    virtual_recycle::pool<item> pool_;
};

/// The object released after each step: an index below the number of live objects, or `none`. Computed before the
/// measurement.
using plan = std::vector<std::uint32_t>;
constexpr auto none = static_cast<std::uint32_t>(-1);

plan continuous(std::uint32_t items)
{
    plan result(items, none);
    return result;
}

plan mixed(std::uint32_t items)
{
    std::mt19937 random(2026); // NOLINT(bugprone-random-generator-seed): the same in every run.
    plan result(items, none);
    std::uint32_t alive = 0;
    for (std::uint32_t& victim : result) {
        ++alive;
        if (random() % 2 == 0)
            victim = static_cast<std::uint32_t>(random() % alive--);
    }
    return result;
}

/// One side that follows one plan.
template <class Side>
class bench
{
public:
    explicit bench(const plan& to_follow) : plan_(&to_follow), alive_(to_follow.size() + 1), numbers_(alive_.size()) {}

    /// Returns: whether objects are distinct and keep their contents.
    bool holds_data(Side& side)
    {
        std::size_t count = 0;
        bool holds = true;
        for (std::uint32_t number = 0; number != plan_->size(); ++number) {
            numbers_[count] = number;
            alive_[count] = side.make(number);
            alive_[count++]->process();
            const std::uint32_t victim = (*plan_)[number];
            if (victim == none)
                continue;
            holds = holds && alive_[victim]->is(numbers_[victim]);
            numbers_[victim] = numbers_[--count];
            alive_[victim] = std::move(alive_[count]);
        }
        while (count-- != 0) {
            holds = holds && alive_[count]->is(numbers_[count]);
            alive_[count].reset();
        }
        return holds;
    }

    /// Effects: creates and releases all objects, as planned.
    /// Returns: the sum of the results of their processing.
    std::uint64_t run(Side& side)
    {
        std::uint64_t sum = 0;
        std::size_t count = 0;
        for (std::uint32_t number = 0; number != plan_->size(); ++number) {
            alive_[count] = side.make(number);
            sum += alive_[count++]->process();
            const std::uint32_t victim = (*plan_)[number];
            if (victim != none)
                alive_[victim] = std::move(alive_[--count]);
        }
        for (std::size_t i = 0; i != count; ++i)
            alive_[i].reset();
        return sum;
    }

private:
    const plan* plan_;
    std::vector<typename Side::pointer> alive_;
    std::vector<std::uint32_t> numbers_;
};

/// Returns: the minor page faults of this process.
long page_faults()
{
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

/// Measures the CPU time of the process, user and system, which excludes other load on the machine.
class stopwatch
{
public:
    /// Effects: prints the time and page faults per object since construction.
    void print(const char* state, std::size_t items) const
    {
        const double seconds = static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC;
        const auto count = static_cast<double>(items);
        std::printf("%s %.3f %.4f\n", state, seconds / count * 1e9,
                    static_cast<double>(page_faults() - faults_) / count);
    }

private:
    long faults_ = page_faults();
    std::clock_t start_ = std::clock();
};

constexpr int rounds = 3;

/// Returns: whether all objects kept their contents.
template <class Side>
bool measure(const plan& to_follow, std::size_t step)
{
    const std::size_t items = to_follow.size();
    std::uint64_t sum = 0;
    bench<Side> side_under_test(to_follow);
    for (int round = 0; round <= rounds; ++round) {
        Side side(step);
        const stopwatch watch;
        sum += side_under_test.run(side);
        watch.print(round == 0 ? "first" : "new", items);
    }
    for (int round = 0; round != rounds; ++round) {
        const stopwatch watch;
        std::optional<Side> side(step);
        sum += side_under_test.run(*side);
        side.reset();
        watch.print("whole", items);
    }
    Side side(step);
    for (int round = 0; round <= rounds; ++round) {
        const stopwatch watch;
        sum += side_under_test.run(side);
        if (round != 0)
            watch.print("reused", items);
    }
    // process() returns `number` + 1, because each object is processed once.
    const std::uint64_t once = std::uint64_t{items} * (items - 1) / 2 + items;
    return sum == once * (3 * rounds + 2) && side_under_test.holds_data(side);
}

struct pattern
{
    const char* name;
    plan (*make)(std::uint32_t);
};

struct side
{
    const char* name;
    bool (*measure)(const plan&, std::size_t);
};

constexpr pattern patterns[] = {{"continuous", continuous}, {"mixed", mixed}};
constexpr side sides[] = {{"plain_malloc", measure<plain_malloc>},
                          {"bare_array", measure<bare_array>},
                          {"intrusive_pool", measure<intrusive_pool>},
                          {"recycling_pool", measure<recycling_pool>},
                          {"virtual_recycle", measure<virtual_recycle_pool>}};

/// Returns: the entry of that name, or nullptr.
template <class Named, std::size_t Count>
const Named* named(const Named (&all)[Count], std::string_view name)
{
    for (const Named& each : all)
        if (name == each.name)
            return &each;
    return nullptr;
}
} // namespace

int main(int argc, char** argv)
{
    if (argc == 1) {
        for (const pattern& each : patterns)
            std::printf("pattern %s\n", each.name);
        for (const side& each : sides)
            std::printf("side %s\n", each.name);
        return 0;
    }
    const pattern* const chosen = argc > 3 ? named(patterns, argv[1]) : nullptr;
    const side* const measured = argc > 3 ? named(sides, argv[2]) : nullptr;
    const auto items = argc > 4 ? static_cast<std::uint32_t>(std::strtoul(argv[4], nullptr, 10)) : 100000;
    if (chosen == nullptr || measured == nullptr || items == 0) {
        std::fputs("usage: returning_patterns [PATTERN SIDE STEP [ITEMS]]; without arguments, what there is\n", stderr);
        return 2;
    }
    if (!measured->measure(chosen->make(items), std::strtoul(argv[3], nullptr, 10))) {
        std::fputs("returning_patterns: objects overlap, or lose their contents\n", stderr);
        return 1;
    }
    return 0;
}
