// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The fallible system calls of the library: counts them and refuses them on request.
///
///     the library -> mmap, by the linker:  __wrap_mmap in system_calls.cpp -> the real mmap, or ENOMEM
///
/// The library contains no code for this, so the tested archive is the shipped one. Link such a program with
/// memory_pool_system_calls. Calls inside the C library are neither counted nor refused.
///
/// Thread safety: any thread may make system calls; only one thread at a time may configure refusals.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace test {
/// The calls that can be refused, each with the error of the system.
enum class system_call : std::size_t
{
    map,               ///< mmap, with EAGAIN, as when too much memory is locked
    unmap,             ///< munmap, as at the limit of mappings
    protect,           ///< mprotect
    advise,            ///< madvise, as in locked memory
    advise_huge_pages, ///< madvise, about huge pages
    advise_dumps,      ///< madvise, about core dumps
    guard,             ///< madvise or mprotect, to make pages inaccessible
    move,              ///< mremap, after the destination is unmapped, as in Linux 6.1
    create_key,        ///< pthread_key_create
    set_key,           ///< pthread_setspecific
    register_fork,     ///< pthread_atfork
    make_thread,       ///< pthread_create by the library, not by std::thread
    barrier,           ///< membarrier
    random,            ///< getrandom, by syscall()
    write,             ///< write
    duplicate,         ///< fcntl that duplicates a descriptor
    open_file,         ///< fopen
    inherit,           ///< futex with priority inheritance, as in an emulator
    read_clock,        ///< clock_gettime of CLOCK_MONOTONIC, as with a system call filter
    any,               ///< Any of these calls.
};
inline constexpr std::size_t kinds_of_system_calls = static_cast<std::size_t>(system_call::any) + 1;

/// Counts the calls of a kind, and determines which of them are refused.
class call_counter
{
public:
    /// Effects: resets the count, and refuses no call.
    void start_anew() noexcept { made_ = first_refused_ = count_refused_ = 0; }
    /// Effects: refuses `count` calls, beginning with call `number`. The next call has the number 1.
    void refuse(std::size_t number, std::size_t count) noexcept
    {
        first_refused_ = made_ + number;
        count_refused_ = count;
    }
    std::size_t made() const noexcept { return made_; }

    /// Effects: counts a call.
    /// Returns whether to refuse it.
    bool counts_and_refuses() noexcept
    {
        const std::size_t number = ++made_;
        return number >= first_refused_ && number - first_refused_ < count_refused_;
    }

private:
    std::atomic<std::size_t> made_{0};
    std::atomic<std::size_t> first_refused_{0};
    std::atomic<std::size_t> count_refused_{0};
};

/// Counts calls from its construction on. Its destructor ends all refusals. Only one may exist at a time.
class system_calls
{
public:
    system_calls() noexcept { start_anew(); }
    system_calls(const system_calls&) = delete;
    system_calls& operator=(const system_calls&) = delete;
    ~system_calls() { start_anew(); }

    /// Effects: refuses call `number`. The next call has the number 1.
    static void refuse(system_call kind, std::size_t number) noexcept { kinds[index(kind)].refuse(number, 1); }
    /// Effects: refuses call `number` and all later calls. The next call has the number 1.
    static void refuse_from(system_call kind, std::size_t number) noexcept
    {
        kinds[index(kind)].refuse(number, std::numeric_limits<std::size_t>::max());
    }
    static void refuse_nothing() noexcept
    {
        for (call_counter& each : kinds)
            each.refuse(0, 0);
    }
    /// Effects: serves huge page requests with normal pages, as if huge pages were reserved.
    static void simulate_huge_pages() noexcept { simulates_huge_pages = true; }
    /// Effects: at the destination of a refused move, maps a page filled with `content`, as another thread might.
    static void map_refused_destinations(unsigned char content) noexcept { content_of_others = content; }
    /// Effects: calls `action` in the middle of each mremap that moves memory.
    static void call_during_moves(void (*action)()) noexcept { during_move = action; }
    /// Effects: reports each thread as a real-time thread.
    static void make_threads_real_time() noexcept { are_real_time = true; }
    /// Effects: drops MAP_NORESERVE, so that the system commits all writable memory.
    static void commit_all_memory() noexcept { commits_all_memory = true; }
    /// Effects: makes each guard a mapping of its own, as with Linux before 6.13.
    static void make_guards_mappings() noexcept { has_only_mappings = true; }

    static std::size_t made(system_call kind) noexcept { return kinds[index(kind)].made(); }
    /// Returns the number of refused calls.
    static std::size_t refused() noexcept { return refused_count; }

    // In bytes.
    static std::size_t mapped() noexcept { return mapped_bytes; } ///< At present.
    static std::size_t populated() noexcept { return populated_bytes; }
    /// Returns the number of requests for huge pages.
    static std::size_t huge_page_requests() noexcept { return huge_maps; }

    // Used by the replacements of system calls.

    static bool refuses(system_call kind) noexcept
    {
        const bool is_of_kind = kinds[index(kind)].counts_and_refuses();
        const bool is_refused = kinds[index(system_call::any)].counts_and_refuses() || is_of_kind;
        refused_count += is_refused ? 1 : 0;
        return is_refused;
    }

    static inline std::atomic<std::size_t> mapped_bytes{0};
    static inline std::atomic<std::size_t> populated_bytes{0};
    static inline std::atomic<std::size_t> huge_maps{0};
    static inline std::atomic<bool> simulates_huge_pages{false};
    static inline std::atomic<bool> has_only_mappings{false};
    static inline std::atomic<bool> are_real_time{false};
    static inline std::atomic<void (*)()> during_move{nullptr};
    static inline std::atomic<bool> commits_all_memory{false};
    static inline std::atomic<unsigned char> content_of_others{0}; ///< 0: maps nothing.

private:
    static constexpr std::size_t index(system_call kind) noexcept { return static_cast<std::size_t>(kind); }

    static void start_anew() noexcept
    {
        for (call_counter& each : kinds)
            each.start_anew();
        refused_count = mapped_bytes = populated_bytes = huge_maps = 0;
        simulates_huge_pages = has_only_mappings = are_real_time = commits_all_memory = false;
        content_of_others = 0;
        during_move = nullptr;
    }

    static inline std::array<call_counter, kinds_of_system_calls> kinds;
    static inline std::atomic<std::size_t> refused_count{0};
};

/// For its lifetime, CLOCK_MONOTONIC shows a fixed cost of the first touch of a page: the library reads the clock twice
/// before the touch and once after it, and nowhere else during that time. Only one may exist at a time.
class first_touch_costs
{
public:
    /// 0: the clock does not exist.
    explicit first_touch_costs(std::uint64_t nanoseconds) noexcept { set(nanoseconds); }
    first_touch_costs(const first_touch_costs&) = delete;
    first_touch_costs& operator=(const first_touch_costs&) = delete;
    ~first_touch_costs() { is_set = false; }

    static void set(std::uint64_t nanoseconds) noexcept
    {
        cost = nanoseconds;
        is_set = true;
    }

    // Used by the replacement of clock_gettime.
    static inline std::atomic<bool> is_set{false};
    /// Returns the time of the clock; 0: the clock does not exist.
    static std::uint64_t now() noexcept
    {
        if (cost == 0)
            return 0;
        constexpr std::uint64_t reads_of_each = 3;
        const std::uint64_t read = reads++;
        return read + 1 + (read / reads_of_each + (read % reads_of_each == 2 ? 1 : 0)) * cost;
    }

private:
    static inline std::atomic<std::uint64_t> cost{0};
    static inline std::atomic<std::uint64_t> reads{0};
};
} // namespace test
