// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Forks at the worst moments. Uses the public interface only.
#include <memory_pool/np_alloc.h>
#include <np_alloc/os/stdio_lock.hpp>

#include <support/child.hpp>
#include <support/np_blocks.hpp>
#include <support/threads.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>
#include <thread>
#include <vector>

#if TESTS_MAY_FORK
#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <unistd.h>

namespace {
using test::filled_block;

test::np_resource np;

/// Returns: whether blocks of every kind can be allocated, and keep their contents until they are freed.
bool use_blocks(int times)
{
    bool is_right = true;
    for (int i = 0; i != times; ++i) {
        std::array<filled_block, 4 * test::sizes_of_all_kinds.size()> blocks{};
        std::size_t next = 0;
        for (filled_block& each : blocks)
            each = test::allocate_filled(np, test::sizes_of_all_kinds[next++ % test::sizes_of_all_kinds.size()]);
        for (const filled_block& each : blocks)
            is_right = test::give_back(np, each) && is_right;
    }
    return is_right;
}

/// Uses blocks in this thread and in another one. The alarm ends a child that deadlocks.
bool works_in_child()
{
    alarm(10);
    bool is_right = use_blocks(5);
    std::thread([&] { is_right = use_blocks(5) && is_right; }).join();
    (void)np_trim();
    return use_blocks(5) && is_right;
}

/// Threads that allocate, free each other's blocks, and start short-lived threads, until the destructor stops them.
class busy_threads
{
public:
    explicit busy_threads(unsigned count)
    {
        for (unsigned seed = 1; seed <= count; ++seed)
            threads_.emplace_back([this, seed] { work(seed); });
    }
    busy_threads(const busy_threads&) = delete;
    busy_threads& operator=(const busy_threads&) = delete;
    ~busy_threads()
    {
        ends_ = true;
        for (std::thread& each : threads_)
            each.join();
        EXPECT_TRUE(free_all());
    }

    /// Effects: frees the blocks that the threads have handed over. A child process may call this function, too.
    /// Returns: whether the contents of the blocks were intact.
    bool free_all()
    {
        bool is_right = true;
        for (std::atomic<filled_block*>& place : places_)
            is_right = give_back(place.exchange(nullptr)) && is_right;
        return is_right;
    }

private:
    static bool give_back(filled_block* note)
    {
        if (note == nullptr)
            return true;
        const filled_block block = *note;
        np_free(note);
        return test::give_back(np, block);
    }

    static filled_block* allocate(std::size_t bytes)
    {
        const filled_block block = test::allocate_filled(np, bytes);
        return ::new (np_alloc(sizeof block)) filled_block(block);
    }

    void work(unsigned seed)
    {
        std::mt19937 random(seed);
        while (!ends_) {
            const auto hand_over = [&] {
                const std::size_t bytes = 1 + random() % (random() % 20 == 0 ? 200'000 : 2000);
                EXPECT_TRUE(give_back(places_[random() % places_.size()].exchange(allocate(bytes))));
            };
            for (int i = 0; i != 100; ++i)
                hand_over();
            std::thread(hand_over).join();
        }
    }

    std::array<std::atomic<filled_block*>, 256> places_{};
    std::atomic<bool> ends_{false};
    std::vector<std::thread> threads_; ///< Declared last, because the threads use the other members.
};

TEST(np_fork, leaves_a_working_child_while_threads_allocate)
{
    busy_threads busy(3);
    for (int i = 0; i != 30; ++i)
        test::expect_in_child([&] {
            alarm(10);
            const bool is_right = works_in_child() && busy.free_all();
            return works_in_child() && is_right;
        });
}

TEST(np_fork, leaves_a_child_that_can_fork)
{
    const busy_threads busy(2);
    for (int i = 0; i != 10; ++i)
        test::expect_in_child([] {
            bool is_right = works_in_child();
            test::expect_in_child([] { return works_in_child(); });
            is_right = works_in_child() && is_right;
            return is_right && !testing::Test::HasFailure();
        });
}

TEST(np_fork, works_during_the_first_allocation_of_another_thread)
{
    for (int round = 0; round != 100; ++round)
        test::expect_in_child([round] {
            std::atomic<bool> has_started{false};
            std::atomic<bool> is_right{true};
            std::thread other([&] {
                has_started = true;
                is_right = use_blocks(1);
            });
            while (!has_started)
                continue;
            for (std::atomic<int> moments{0}; moments != round * 10;) // Each round forks at a different moment.
                ++moments;
            test::expect_in_child([] { return works_in_child(); });
            other.join();
            return is_right && works_in_child() && !testing::Test::HasFailure();
        });
}

TEST(np_fork, gives_parent_and_child_separate_blocks)
{
    std::vector<filled_block> blocks;
    const auto allocate_all = [&] {
        for (int i = 0; i != 20; ++i)
            for (std::size_t bytes : test::sizes_of_all_kinds)
                blocks.push_back(test::allocate_filled(np, bytes));
    };
    test::lasting_thread lasting;
    allocate_all();
    lasting.does(allocate_all);
    test::in_a_thread(allocate_all);
    test::expect_in_child([&] {
        alarm(10);
        const bool is_right = test::give_back_all(np, blocks);
        // New blocks with other contents may reuse the addresses.
        std::vector<void*> others;
        others.reserve(blocks.size());
        for (const filled_block& each : blocks)
            others.push_back(std::memset(np_alloc(each.bytes), 1, each.bytes));
        std::for_each(others.begin(), others.end(), np_free);
        return works_in_child() && is_right;
    });
    const bool is_right = test::give_back_all(np, blocks);
    EXPECT_TRUE(is_right);
    blocks.clear();
    lasting.does([] { EXPECT_TRUE(use_blocks(10)); });
}

TEST(np_fork, keeps_the_cache_of_the_forking_thread_in_the_child)
{
    for (int i = 0; i != 10; ++i)
        test::in_a_thread([] {
            const std::array<filled_block, 3> blocks{test::allocate_filled(np, 100), test::allocate_filled(np, 5000),
                                                     test::allocate_filled(np, 100'000)};
            test::expect_in_child([&] {
                alarm(10);
                bool is_right = true;
                for (const filled_block& each : blocks)
                    is_right = test::give_back(np, each) && is_right;
                return works_in_child() && is_right;
            });
            for (const filled_block& each : blocks)
                EXPECT_TRUE(test::give_back(np, each));
        });
}

// Fork handlers of the program.

std::atomic<bool> handlers_are_active{false};
std::atomic<int> handler_calls{0};

void allocate_in_handler()
{
    if (!handlers_are_active)
        return;
    ++handler_calls;
    EXPECT_TRUE(use_blocks(3));
}

/// Forks while other threads allocate. Runs in a child process with an alarm.
bool forks_with_handlers()
{
    alarm(10);
    const busy_threads busy(2);
    handlers_are_active = true;
    for (int i = 0; i != 10; ++i)
        test::expect_in_child([] { return works_in_child(); });
    handlers_are_active = false;
    return handler_calls == 20 && !testing::Test::HasFailure(); // Two calls per fork in the parent, one in the child.
}

TEST(np_fork, lets_later_handlers_allocate)
{
    np_free(np_alloc(1));
    test::expect_in_child([] {
        return pthread_atfork(&allocate_in_handler, &allocate_in_handler, &allocate_in_handler) == 0 &&
               forks_with_handlers();
    });
}

#if defined(__linux__)
/// The early handlers allocate if this flag and handlers_are_active are set.
std::atomic<bool> early_handlers_are_active{false};

std::atomic<bool> early_handlers_raise_signals{false};

void allocate_in_early_handler()
{
    if (early_handlers_are_active)
        allocate_in_handler();
    if (early_handlers_raise_signals.exchange(false)) { // Not in the nested fork of the signal handler.
        (void)std::raise(SIGUSR1);
        early_handlers_raise_signals = true;
    }
}

void register_early()
{
    pthread_atfork(&allocate_in_early_handler, &allocate_in_early_handler, &allocate_in_early_handler);
}

/// Runs before all constructors of all libraries.
[[gnu::section(".preinit_array"), gnu::used]] void (*const register_before_all)() = &register_early;

TEST(np_fork, lets_earlier_handlers_allocate)
{
    np_free(np_alloc(1));
    test::expect_in_child([] {
        early_handlers_are_active = true;
        return forks_with_handlers();
    });
}
#endif

#if defined(__linux__)
// Locks of the C library.

/// Lets waiting threads take the lock, because glibc's locks are not fair.
void pause_without_lock()
{
    std::this_thread::sleep_for(std::chrono::microseconds(20));
}

/// Allocates while the stream is locked.
ssize_t read_lines(void*, char* buffer, std::size_t size)
{
    for (int i = 0; i != 20; ++i)
        np_free(np_alloc(100'000));
    std::memset(buffer, '\n', size);
    return static_cast<ssize_t>(size);
}

void read_stream(const std::atomic<bool>& ends)
{
    std::FILE* const stream = fopencookie(nullptr, "r", {&read_lines, nullptr, nullptr, nullptr});
    std::array<char, 2> buffer{};
    (void)std::setvbuf(stream, buffer.data(), _IOFBF, buffer.size());
    char* line = nullptr;
    std::size_t size = 0;
    while (!ends) {
        (void)getline(&line, &size, stream);
        pause_without_lock();
    }
    std::free(line); // NOLINT(cppcoreguidelines-no-malloc): allocated by getline
    (void)std::fclose(stream);
}

TEST(np_fork, does_not_deadlock_with_stdio_locks)
{
    test::expect_in_child([] {
        alarm(20);
        std::atomic<bool> ends{false};
        std::vector<std::thread> threads;
        for (int i = 0; i != 4; ++i)
            threads.emplace_back([&ends] { read_stream(ends); });
        threads.emplace_back([&ends] {
            while (!ends) {
                (void)std::fflush(nullptr);
                pause_without_lock();
            }
        });
        for (int i = 0; i != 100; ++i)
            test::expect_in_child([] { return works_in_child() && std::fflush(nullptr) == 0; });
        ends = true;
        for (std::thread& each : threads)
            each.join();
        return !testing::Test::HasFailure();
    });
}

// Signal handlers.

/// Forks while the thread is already in fork().
void fork_in_signal_handler(int)
{
    ++handler_calls;
    test::expect_in_child([] {
        alarm(10);
        return use_blocks(5);
    });
}

TEST(np_fork, can_be_called_by_a_signal_handler_that_interrupts_it)
{
    np_free(np_alloc(1));
    test::expect_in_child([] {
        alarm(10);
        (void)std::signal(SIGUSR1, &fork_in_signal_handler);
        const busy_threads busy(2);
        for (int i = 0; i != 10; ++i) {
            early_handlers_raise_signals = true;
            const pid_t child = fork();
            early_handlers_raise_signals = false;
            if (child == 0)
                _exit(works_in_child() ? 0 : 1);
            int status = 0;
            EXPECT_EQ(waitpid(child, &status, 0), child);
            EXPECT_EQ(status, 0);
            EXPECT_TRUE(use_blocks(1));
        }
        return handler_calls == 20 && !testing::Test::HasFailure(); // Two calls per fork in the parent.
    });
}
#endif

#if defined(__GLIBC__)
// A signal handler that runs right after np_alloc locks the list of streams, or right before it unlocks the list.

enum class moment
{
    none,
    stdio_list_was_locked,
    stdio_list_will_be_unlocked,
};

std::atomic<moment> moment_of_signal{moment::none};
pid_t child_of_handler = -1;

void raise_signal_at(moment now)
{
    if (moment_of_signal == now) {
        moment_of_signal = moment::none;
        (void)std::raise(SIGUSR1);
    }
}

void call_of_libc(const char* name)
{
    reinterpret_cast<void (*)()>(dlsym(RTLD_NEXT, name))();
}
} // namespace

// np_alloc calls these functions, but the C library calls the original functions.

// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
extern "C" void _IO_list_lock()
{
    call_of_libc("_IO_list_lock");
    raise_signal_at(moment::stdio_list_was_locked);
}

// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
extern "C" void _IO_list_unlock()
{
    raise_signal_at(moment::stdio_list_will_be_unlocked);
    call_of_libc("_IO_list_unlock");
}

namespace {
/// Returns: whether the lock of the streams is free in this process, and was free in the child of the handler.
bool can_flush_streams_in_any_thread()
{
    alarm(5);
    (void)std::fflush(nullptr);
    std::thread([] { (void)std::fflush(nullptr); }).join();
    if (child_of_handler == 0)
        _exit(0);
    if (moment_of_signal != moment::none)
        return true; // A shared np_alloc calls the original functions, so there was no signal.
    int status = 0;
    return waitpid(child_of_handler, &status, 0) == child_of_handler && status == 0;
}

TEST(np_fork, leaves_stdio_usable_if_a_signal_handler_forks)
{
    np_free(np_alloc(1));
    for (const moment each : {moment::stdio_list_was_locked, moment::stdio_list_will_be_unlocked}) {
        test::expect_in_child([each] {
            (void)std::signal(SIGUSR1, [](int) { child_of_handler = fork(); });
            moment_of_signal = each;
            const pid_t child = fork();
            if (child == 0)
                _exit(0);
            (void)waitpid(child, nullptr, 0); // Fails in the child of the handler, where `child` may be a sibling.
            return can_flush_streams_in_any_thread();
        });
    }
}
#endif

// Child processes that share the memory of the parent until they execute another program.

TEST(np_fork, does_not_disturb_posix_spawn_and_vfork)
{
    const busy_threads busy(2);
    std::array<char, 5> name{"true"};
    std::array<char*, 2> arguments{name.data(), nullptr};
    const auto expect_success = [](pid_t child) {
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
    };
    for (int i = 0; i != 20; ++i) {
        pid_t child = 0;
        ASSERT_EQ(posix_spawnp(&child, name.data(), nullptr, nullptr, arguments.data(), environ), 0);
        expect_success(child);
        child = vfork(); // NOLINT(bugprone-unsafe-functions): the function under test
        if (child == 0) {
            execvp(name.data(), arguments.data());
            _exit(1);
        }
        ASSERT_GT(child, 0);
        expect_success(child);
        EXPECT_TRUE(use_blocks(1));
    }
}
} // namespace
#endif
