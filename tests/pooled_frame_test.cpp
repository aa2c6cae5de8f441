// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include <memory_pool/pooled_frame.hpp>

#include <memory_pool/allocator.hpp>
#include <memory_pool/pool_resource.hpp>

#include <support/child.hpp>
#include <support/error_recorder.hpp>
#include <support/hostile_types.hpp>
#include <support/threads.hpp>
#include <support/upstreams.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace mp = memory_pool;

// --- new and delete of this program: counted, and failing on request

namespace {
std::atomic<std::size_t> calls_of_new{0};
std::atomic<bool> new_fails{false};

struct failing_new
{
    failing_new() { new_fails = true; }
    failing_new(const failing_new&) = delete;
    failing_new& operator=(const failing_new&) = delete;
    ~failing_new() { new_fails = false; }
};

void* counted(void* block)
{
    ++calls_of_new;
    if (block == nullptr || new_fails) {
        std::free(block);
        throw std::bad_alloc();
    }
    return block;
}
} // namespace

// Not inlined, because GCC checks that allocation and deallocation functions match.
MEMORY_POOL_NOINLINE void* operator new(std::size_t bytes)
{
    return counted(std::malloc(bytes));
}
MEMORY_POOL_NOINLINE void* operator new(std::size_t bytes, std::align_val_t alignment)
{
    const auto divisor = static_cast<std::size_t>(alignment);
    return counted(std::aligned_alloc(divisor, (bytes + divisor - 1) / divisor * divisor));
}
MEMORY_POOL_NOINLINE void operator delete(void* block) noexcept
{
    std::free(block);
}
MEMORY_POOL_NOINLINE void operator delete(void* block, std::size_t) noexcept
{
    std::free(block);
}
MEMORY_POOL_NOINLINE void operator delete(void* block, std::align_val_t) noexcept
{
    std::free(block);
}
MEMORY_POOL_NOINLINE void operator delete(void* block, std::size_t, std::align_val_t) noexcept
{
    std::free(block);
}

namespace {
// --- coroutines

/// Owns a coroutine that is initially suspended, with a frame from `Frame`.
template <class Frame>
class routine
{
public:
    struct promise_type : Frame
    {
        routine get_return_object() { return routine(handle::from_promise(*this)); }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(std::uintptr_t yielded) noexcept
        {
            value = yielded;
            return {};
        }
        void return_void() noexcept {}
        void unhandled_exception() { throw; }

        std::uintptr_t value = 0;
    };
    using handle = std::coroutine_handle<promise_type>;

    routine() = default;
    explicit routine(handle made) : handle_(made) {}
    routine(routine&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
    routine& operator=(routine&& other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~routine() { destroy(); }

    void destroy()
    {
        if (handle_)
            std::exchange(handle_, {}).destroy();
    }

    std::uintptr_t next()
    {
        handle_.resume();
        return handle_.promise().value;
    }
    bool is_done() const { return handle_.done(); }
    const void* address() const { return handle_.address(); }
    std::uintptr_t address_of_promise() const { return reinterpret_cast<std::uintptr_t>(&handle_.promise()); }

private:
    handle handle_;
};

using pooled = routine<mp::pooled_frame>;
using from_resource = routine<mp::resource_frame>;

/// Its frame has `Count` numbers, which are checked and written again after each suspension.
template <class Routine, std::size_t Count>
MEMORY_POOL_NOINLINE Routine numbers(std::uintptr_t first)
{
    std::array<volatile std::uintptr_t, Count> kept{}; // Otherwise clang elides it.
    for (std::uintptr_t round = first;; ++round) {
        for (std::size_t i = 0; i != Count; ++i)
            kept[i] = round + i;
        co_yield round;
        for (std::size_t i = 0; i != Count; ++i)
            if (kept[i] != round + i)
                throw std::logic_error("the frame has changed");
    }
}

/// Expects that each test leaves the bytes in use unchanged.
class pooled_frame : public testing::Test
{
protected:
    ~pooled_frame() override
    {
        EXPECT_EQ(mp::pooled_frame::bytes_in_use(), before_);
        EXPECT_TRUE(mp::pooled_frame::verify());
    }

    std::size_t bytes_added() const { return mp::pooled_frame::bytes_in_use() - before_; }

private:
    const std::size_t before_ = mp::pooled_frame::bytes_in_use();
};

static_assert(std::is_empty_v<mp::pooled_frame> && std::is_empty_v<mp::resource_frame>);

TEST_F(pooled_frame, is_allocated_from_the_pools)
{
    pooled count = numbers<pooled, 10>(5);
    EXPECT_GE(bytes_added(), 10 * sizeof(std::uintptr_t));
    EXPECT_LE(bytes_added(), 10 * sizeof(std::uintptr_t) + 128);
    EXPECT_EQ(count.next(), 5u);
    EXPECT_EQ(count.next(), 6u);
    const void* const place = count.address();
    count.destroy();
    EXPECT_EQ(bytes_added(), 0u);
    EXPECT_EQ((numbers<pooled, 10>(0).address()), place);
}

TEST_F(pooled_frame, does_not_call_new_once_the_pools_have_memory)
{
    const auto make_and_destroy = [] {
        std::array<pooled, 50> many;
        for (pooled& each : many)
            each = numbers<pooled, 10>(1);
        for (pooled& each : many)
            EXPECT_EQ(each.next(), 1u);
    };
    make_and_destroy();
    const std::size_t calls = calls_of_new;
    for (int i = 0; i != 100; ++i)
        make_and_destroy();
    EXPECT_EQ(calls_of_new, calls);
}

template <class Routine, std::size_t... Counts>
void use_frames_of(std::index_sequence<Counts...>)
{
    std::array<Routine, sizeof...(Counts)> all{numbers<Routine, 1 + (std::size_t{1} << Counts) * 3 / 2>(Counts)...};
    for (int round = 0; round != 3; ++round)
        for (Routine& each : all)
            each.next();
}

TEST_F(pooled_frame, supports_frames_of_any_size)
{
    use_frames_of<pooled>(std::make_index_sequence<14>()); // From 8 bytes to 96 KiB.
    use_frames_of<from_resource>(std::make_index_sequence<14>());
}

TEST_F(pooled_frame, uses_new_beyond_the_largest_size_class)
{
    constexpr std::size_t count = 5000;
    const std::size_t reserved = mp::pooled_frame::bytes_reserved();
    {
        pooled large = numbers<pooled, count>(7);
        EXPECT_GE(bytes_added(), count * sizeof(std::uintptr_t));
        EXPECT_EQ(large.next(), 7u);
    }
    EXPECT_EQ(mp::pooled_frame::bytes_reserved(), reserved);
}

// --- threads

TEST_F(pooled_frame, can_be_destroyed_in_another_thread)
{
    pooled here = numbers<pooled, 10>(1);
    std::thread([&here] {
        EXPECT_EQ(here.next(), 1u);
        here.destroy();
    }).join();
}

TEST_F(pooled_frame, survives_the_thread_that_created_it)
{
    std::vector<pooled> many(1000);
    std::thread([&many] {
        for (pooled& each : many)
            each = numbers<pooled, 10>(1);
    }).join();
    for (pooled& each : many)
        EXPECT_EQ(each.next(), 1u);
}

/// Constructed before or after the thread cache, so destroyed after or before its flush.
thread_local pooled first_of_thread;
thread_local pooled last_of_thread;

TEST_F(pooled_frame, can_be_created_and_destroyed_during_thread_exit)
{
    struct maker
    {
        ~maker() { (void)numbers<pooled, 10>(1).next(); }
    };
    std::thread([] {
        thread_local const maker makes_at_the_end;
        static_cast<void>(&makes_at_the_end);
        first_of_thread = pooled();
        pooled made = numbers<pooled, 10>(1);
        first_of_thread = std::move(made);
        last_of_thread = numbers<pooled, 20>(1);
        EXPECT_EQ(first_of_thread.next() + last_of_thread.next(), 2u);
    }).join();
}

TEST_F(pooled_frame, can_move_between_threads)
{
    constexpr std::size_t threads = 4;
    constexpr std::size_t rounds = 2000;
    std::array<std::atomic<pooled*>, 16> places{};
    test::in_threads(threads, [&](std::size_t thread) {
        for (std::size_t i = 0; i != rounds; ++i) {
            auto made = std::make_unique<pooled>(i % 2 == 0 ? numbers<pooled, 5>(i) : numbers<pooled, 50>(i));
            ASSERT_EQ(made->next(), i);
            const std::unique_ptr<pooled> other(places[(i * 7 + thread) % places.size()].exchange(made.release()));
            if (other)
                (void)other->next();
        }
    });
    for (const std::atomic<pooled*>& left : places)
        delete left.load();
}

#if TESTS_MAY_FORK
TEST_F(pooled_frame, can_be_destroyed_in_the_child_of_a_fork)
{
    pooled kept = numbers<pooled, 10>(1);
    test::expect_in_child([&] {
        const std::size_t bytes_before = mp::pooled_frame::bytes_in_use();
        kept.destroy();
        return mp::pooled_frame::bytes_in_use() < bytes_before && numbers<pooled, 10>(3).next() == 3u;
    });
    EXPECT_EQ(kept.next(), 1u);
}
#endif

/// Destroyed after `main`. Its destructor creates another coroutine.
struct static_routine
{
    static_routine() = default;
    static_routine(const static_routine&) = delete;
    static_routine& operator=(const static_routine&) = delete;
    ~static_routine()
    {
        if (kept.next() != (is_tested ? 2u : 1u) || numbers<pooled, 100>(3).next() != 3u)
            std::abort();
        kept.destroy();
        if (!mp::pooled_frame::verify())
            std::abort();
    }

    pooled kept = numbers<pooled, 10>(1); // Possibly the first use of the pools.
    bool is_tested = false;
};
static_routine lives_longest;

TEST_F(pooled_frame, can_be_created_before_main_and_destroyed_after_it)
{
    lives_longest.is_tested = true;
    EXPECT_EQ(lives_longest.kept.next(), 1u); // The destructor has further checks.
}

// --- memory

TEST_F(pooled_frame, is_freed_to_upstream_by_trim)
{
    {
        std::vector<pooled> many(1000);
        for (pooled& each : many)
            each = numbers<pooled, 300>(1);
    }
    const std::size_t reserved = mp::pooled_frame::bytes_reserved();
    const std::size_t returned = mp::pooled_frame::trim();
    EXPECT_GT(returned, 1000 * 300 * sizeof(std::uintptr_t) / 2);
    EXPECT_EQ(mp::pooled_frame::bytes_reserved(), reserved - returned);
}

TEST_F(pooled_frame, keeps_no_magazines_of_a_peak_after_trim)
{
    const auto reserved_after = [](std::size_t count) {
        std::vector<pooled> many(count);
        for (pooled& each : many)
            each = numbers<pooled, 300>(1);
        many.clear();
        mp::pooled_frame::trim();
        return mp::pooled_frame::bytes_reserved();
    };
    const std::size_t usual = reserved_after(1'000);
    EXPECT_LE(reserved_after(20'000), usual);
}

template <std::size_t Alignment>
using aligned_frame = mp::basic_pooled_frame<mp::default_policy, Alignment>;

struct alignas(64) line
{
    unsigned char bytes[64];
};

/// Yields the address of a variable that needs a stricter alignment than new guarantees.
template <class Routine>
MEMORY_POOL_NOINLINE Routine aligned_local()
{
    line local{};
    for (;;) {
        local.bytes[5] = 1;
        co_yield reinterpret_cast<std::uintptr_t>(&local);
    }
}

TEST_F(pooled_frame, honours_the_alignment_of_its_promise)
{
    const auto use = []<class Frame>(Frame*) {
        std::array<routine<Frame>, 20> many;
        for (routine<Frame>& each : many)
            each = aligned_local<routine<Frame>>();
        for (routine<Frame>& each : many) {
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(each.address()) % 64, 0u);
            EXPECT_EQ(each.next() % 64, 0u);
            EXPECT_EQ(each.address_of_promise() % 64, 0u);
        }
    };
    struct pools : aligned_frame<64>
    {
        line in_promise{};
    };
    struct resource : mp::basic_resource_frame<64>
    {
        line in_promise{};
    };
    use(static_cast<pools*>(nullptr));
    use(static_cast<resource*>(nullptr));
}

TEST_F(pooled_frame, supports_any_alignment_from_that_of_new)
{
    const auto use = []<class Frame>(Frame*, std::size_t alignment) {
        for (const std::size_t bytes : {1u, 200u, 5'000u, 50'000u}) {
            void* const frame = Frame::operator new(bytes);
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(frame) % alignment, 0u);
            Frame::operator delete(frame, bytes);
        }
    };
    use(static_cast<aligned_frame<16>*>(nullptr), 16);
    use(static_cast<aligned_frame<32>*>(nullptr), 32);
    use(static_cast<aligned_frame<4096>*>(nullptr), 4096);
    use(static_cast<aligned_frame<8192>*>(nullptr), 8192);
    use(static_cast<mp::basic_resource_frame<16>*>(nullptr), 16);
    use(static_cast<mp::basic_resource_frame<8192>*>(nullptr), 8192);
}

struct item : mp::pooled_frame
{
    explicit item(int initial) : value(initial)
    {
        if (initial < 0)
            throw std::invalid_argument("negative");
    }
    int value;
};

TEST_F(pooled_frame, can_be_a_base_of_any_class)
{
    const std::unique_ptr<item> made(new item(3));
    EXPECT_EQ(bytes_added(), 16u);
    EXPECT_EQ(made->value, 3);
    EXPECT_THROW(delete new item(-1), std::invalid_argument);
    item* const none = nullptr;
    delete none;
}

#if MEMORY_POOL_ASAN
TEST(pooled_frame_misuse, is_reported_if_address_sanitizer_has_poisoned_the_frame)
{
    const test::error_recorder errors;
    void* const frame = mp::pooled_frame::operator new(100);
    mp::pooled_frame::operator delete(frame, 100);
    mp::pooled_frame::operator delete(frame, 100);
    EXPECT_EQ(errors.kinds(), std::vector{mp::error_kind::double_free});
    EXPECT_EQ(errors.reports().back().pool_name, "of coroutine frames");
}
#endif

TEST(checked_pooled_frame, reports_misused_frames)
{
    using frame = mp::basic_pooled_frame<mp::checking_policy>;
    const test::error_recorder errors;
    std::array<std::byte, 16> no_frame{};
    void* const small = frame::operator new(100);
    void* const large = frame::operator new(50'000);
    frame::operator delete(no_frame.data(), 5000); // No pool of that size was used.
    frame::operator delete(no_frame.data(), 100);
    frame::operator delete(no_frame.data(), 50'000);
    frame::operator delete(large, 60'000);
    frame::operator delete(large, 50'000);
    frame::operator delete(small, 100);
    frame::operator delete(small, 100);
    using enum mp::error_kind;
    EXPECT_EQ(errors.kinds(),
              (std::vector{foreign_pointer, foreign_pointer, foreign_pointer, size_mismatch, double_free}));
    EXPECT_EQ(errors.reports().back().pool_name, "of coroutine frames");
    EXPECT_EQ(frame::bytes_in_use(), 0u);
    EXPECT_TRUE(frame::verify());
}

// --- failure

enum class place
{
    nowhere,
    promise,
    return_object,
    initial_suspend,
    body,
};

struct failure : std::runtime_error
{
    failure() : std::runtime_error("made to fail") {}
};

/// Starts immediately, and throws on request.
struct failing_routine
{
    struct promise_type : mp::pooled_frame
    {
        explicit promise_type(place where) : fails_at(where) { reached(place::promise); }
        void reached(place here) const
        {
            if (here == fails_at)
                throw failure();
        }
        failing_routine get_return_object()
        {
            reached(place::return_object);
            return {};
        }
        std::suspend_never initial_suspend()
        {
            reached(place::initial_suspend);
            return {};
        }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() { throw; }

        place fails_at;
    };
};

MEMORY_POOL_NOINLINE failing_routine fail(place where)
{
    if (where == place::body)
        throw failure();
    co_return;
}

class failing_frame : public pooled_frame, public testing::WithParamInterface<place>
{
};

TEST_P(failing_frame, is_freed)
{
    EXPECT_THROW(fail(GetParam()), failure);
    EXPECT_EQ(bytes_added(), 0u);
    fail(place::nowhere);
}

INSTANTIATE_TEST_SUITE_P(pooled_frame, failing_frame,
                         testing::Values(place::promise, place::return_object, place::initial_suspend, place::body));

/// Frames of a size that no other test uses, so that the pools must call new.
template <class Routine, std::size_t Round>
Routine of_new_size()
{
    return numbers<Routine, 1900 + Round * 250>(1);
}

TEST_F(pooled_frame, propagates_exceptions_of_new)
{
    const auto make = [] { return of_new_size<pooled, 0>(); };
    {
        const failing_new fails;
        EXPECT_THROW((void)make(), std::bad_alloc);
        EXPECT_THROW((numbers<pooled, 5000>(1)), std::bad_alloc);
    }
    EXPECT_EQ(make().next(), 1u);
}

/// Empty if there was no memory for the coroutine.
template <class Frame>
struct optional_routine
{
    struct promise_type : Frame
    {
        static optional_routine get_return_object_on_allocation_failure() noexcept { return {}; }
        optional_routine get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };

    std::coroutine_handle<promise_type> handle{};
};

template <class Frame>
MEMORY_POOL_NOINLINE optional_routine<Frame> large_and_optional()
{
    std::array<volatile char, 20'000> room{};
    co_await std::suspend_always();
    room[1] = room[2];
    co_await std::suspend_always();
}

template <class Frame>
MEMORY_POOL_NOINLINE optional_routine<Frame> optional_in(std::allocator_arg_t, std::pmr::memory_resource*)
{
    co_await std::suspend_always();
}

TEST_F(pooled_frame, uses_get_return_object_on_allocation_failure)
{
    const auto use = []<class Frame>(Frame*) {
        {
            const failing_new fails;
            EXPECT_FALSE(large_and_optional<Frame>().handle);
        }
        const optional_routine<Frame> made = large_and_optional<Frame>();
        ASSERT_TRUE(made.handle);
        made.handle.resume();
        made.handle.resume();
        made.handle.destroy();
    };
    mp::pooled_frame::trim();
    use(static_cast<mp::nothrow_frame<mp::pooled_frame>*>(nullptr));
    mp::pooled_frame::trim();
    use(static_cast<mp::nothrow_frame<mp::resource_frame>*>(nullptr));
}

// --- resources

/// Each takes its resource after std::allocator_arg.
template <class Source>
MEMORY_POOL_NOINLINE from_resource in(std::allocator_arg_t, Source, std::unique_ptr<int> number)
{
    co_yield static_cast<std::uintptr_t>(*number);
}

class counter
{
public:
    explicit counter(std::uintptr_t first) : value_(first) {}

    MEMORY_POOL_NOINLINE from_resource count(std::allocator_arg_t, std::pmr::memory_resource*, std::uintptr_t step)
    {
        for (;; value_ += step)
            co_yield value_;
    }
    MEMORY_POOL_NOINLINE from_resource read(std::allocator_arg_t, std::pmr::polymorphic_allocator<int>) const&
    {
        co_yield value_;
    }
    MEMORY_POOL_NOINLINE static from_resource zero(std::allocator_arg_t, std::pmr::memory_resource*) { co_yield 0; }

private:
    std::uintptr_t value_;
};

class resource_frame : public pooled_frame
{
protected:
    ~resource_frame() override
    {
        EXPECT_EQ(upstream_.live_chunks(), 0u);
        EXPECT_EQ(upstream_.mismatched(), 0u);
    }

    /// Expects a coroutine that yields `value`, with a frame in the resource.
    void expect(from_resource made, std::uintptr_t value)
    {
        EXPECT_EQ(upstream_.live_chunks(), 1u);
        EXPECT_EQ(bytes_added(), 0u);
        EXPECT_EQ(made.next(), value);
    }

    test::accounting_upstream upstream_;
};

TEST_F(resource_frame, is_allocated_from_the_resource_after_allocator_arg)
{
    expect(in<std::pmr::memory_resource*>(std::allocator_arg, &upstream_, std::make_unique<int>(3)), 3);
    expect(in<test::accounting_upstream*>(std::allocator_arg, &upstream_, std::make_unique<int>(4)), 4);
    using polymorphic = std::pmr::polymorphic_allocator<std::byte>;
    expect(in<polymorphic>(std::allocator_arg, &upstream_, std::make_unique<int>(5)), 5);
    using concrete = mp::resource_allocator<char, test::accounting_upstream>;
    expect(in<concrete>(std::allocator_arg, concrete(upstream_), std::make_unique<int>(6)), 6);
}

TEST_F(resource_frame, uses_the_resource_argument_of_a_member_function)
{
    counter counts(7);
    expect(counts.count(std::allocator_arg, &upstream_, 2), 7);
    expect(std::as_const(counts).read(std::allocator_arg, &upstream_), 7);
    expect(counter::zero(std::allocator_arg, &upstream_), 0);
}

TEST_F(resource_frame, uses_the_resource_argument_of_a_lambda)
{
    const auto lambda = [](std::allocator_arg_t, std::pmr::memory_resource*, std::uintptr_t value) -> from_resource {
        co_yield value;
    };
    expect(lambda(std::allocator_arg, &upstream_, 8), 8);
}

TEST_F(resource_frame, is_allocated_from_the_pools_without_a_resource)
{
    from_resource made = numbers<from_resource, 10>(1);
    EXPECT_GE(bytes_added(), 10 * sizeof(std::uintptr_t));
    EXPECT_EQ(made.next(), 1u);
}

TEST_F(resource_frame, can_be_freed_to_its_resource_in_any_thread)
{
    mp::synchronized_pool_resource pools;
    test::in_threads(3, [&](std::size_t thread) {
        for (int i = 0; i != 500; ++i) {
            counter counts(thread);
            EXPECT_EQ(counts.count(std::allocator_arg, &pools, 1).next(), thread);
        }
    });
    EXPECT_EQ(pools.bytes_in_use(), 0u);
}

TEST_F(resource_frame, propagates_exceptions_of_its_resource)
{
    upstream_.fail_at(1);
    EXPECT_THROW(counter::zero(std::allocator_arg, &upstream_), std::bad_alloc);
    expect(counter::zero(std::allocator_arg, &upstream_), 0);
}

TEST_F(resource_frame, rejects_a_null_resource)
{
    EXPECT_THROW(counter::zero(std::allocator_arg, nullptr), std::invalid_argument);
}

TEST_F(resource_frame, uses_get_return_object_on_allocation_failure)
{
    using frame = mp::nothrow_frame<mp::resource_frame>;
    upstream_.fail_at(1);
    EXPECT_FALSE(optional_in<frame>(std::allocator_arg, &upstream_).handle);
    const optional_routine<frame> made = optional_in<frame>(std::allocator_arg, &upstream_);
    ASSERT_TRUE(made.handle);
    EXPECT_EQ(upstream_.live_chunks(), 1u);
    made.handle.resume();
    made.handle.destroy();
}

template <class Routine, class Object>
Routine values_of(Object parameter)
{
    Object local(parameter);
    for (;; ++local.value)
        co_yield static_cast<std::uintptr_t>(local.value);
}

TEST_F(pooled_frame, supports_arguments_with_hostile_operators)
{
    EXPECT_EQ(values_of<pooled>(test::hostile<test::deleted_operators>(3)).next(), 3u);
    EXPECT_EQ(values_of<pooled>(test::hostile<test::aborting_operators>(4)).next(), 4u);
    EXPECT_EQ(values_of<from_resource>(test::hostile<test::aborting_operators>(5)).next(), 5u);
    EXPECT_EQ(test::hostile<test::deleted_operators>::alive, 0);
    EXPECT_EQ(test::hostile<test::aborting_operators>::alive, 0);
}
} // namespace
