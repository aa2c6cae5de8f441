// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The fallible system calls, as the library makes them: counted, and refused on request.
///
///     the library -> mmap, by the linker:  __wrap_mmap in system_calls.cpp -> the real mmap, or ENOMEM
///
/// So the library contains nothing for it, and the tested archive is the shipped one. A program with this is linked
/// with memory_pool_system_calls. Calls that the C library makes itself are not seen here, and never refused.
///
/// Thread safety: any thread may call the system; one at a time says what is refused.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace test {
/// What can be refused, each with the error that the system would give.
enum class system_call : std::size_t
{
    map,               ///< mmap, as when more memory is locked than may be: not with the error that programs are told
    unmap,             ///< munmap, as when a process has as many mappings as it may
    protect,           ///< mprotect
    advise,            ///< madvise, as where memory is locked
    advise_huge_pages, ///< madvise, about those
    advise_dumps,      ///< madvise, about core dumps
    guard,             ///< madvise or mprotect, to make pages inaccessible
    move,              ///< mremap; what was at the destination is gone by then, as with Linux 6.1
    create_key,        ///< pthread_key_create
    set_key,           ///< pthread_setspecific
    register_fork,     ///< pthread_atfork
    make_thread,       ///< pthread_create, by the library; not by std::thread
    barrier,           ///< membarrier
    random,            ///< getrandom, by its number
    write,             ///< write
    duplicate,         ///< fcntl that opens a file once more
    open_file,         ///< fopen
    inherit,           ///< futex that gives the holder of a lock the priority of the caller, as in an emulator
    read_clock,        ///< clock_gettime of CLOCK_MONOTONIC, as where system calls are filtered, and it is one
    any,               ///< Each of them.
};
inline constexpr std::size_t kinds_of_system_calls = static_cast<std::size_t>(system_call::any) + 1;

/// How many calls of a kind there were, and which are refused.
class call_counter
{
public:
    /// Effects: forgets what was, and refuses none.
    void start_anew() noexcept { made_ = first_refused_ = count_refused_ = 0; }
    /// Effects: has `count` calls be refused from that number on, counted from now on, from 1.
    void refuse(std::size_t number, std::size_t count) noexcept
    {
        first_refused_ = made_ + number;
        count_refused_ = count;
    }
    std::size_t made() const noexcept { return made_; }

    /// Effects: counts a call.
    /// Returns: whether it is refused.
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

/// Calls are counted from when it is made. When it goes, none is refused any more. One at a time.
class system_calls
{
public:
    system_calls() noexcept { start_anew(); }
    system_calls(const system_calls&) = delete;
    system_calls& operator=(const system_calls&) = delete;
    ~system_calls() { start_anew(); }

    /// Effects: has the call of that number be refused, counted from now on, from 1.
    static void refuse(system_call kind, std::size_t number) noexcept { kinds[index(kind)].refuse(number, 1); }
    /// Effects: has that call be refused, and all that follow.
    static void refuse_from(system_call kind, std::size_t number) noexcept
    {
        kinds[index(kind)].refuse(number, std::numeric_limits<std::size_t>::max());
    }
    static void refuse_nothing() noexcept
    {
        for (call_counter& each : kinds)
            each.refuse(0, 0);
    }
    /// Effects: has normal pages be given for huge ones, as if some were set aside.
    static void give_reserved_pages() noexcept { has_reserved_pages = true; }
    /// Effects: makes another thread map a page, filled with `content`, at the destination of a move that is refused.
    static void have_others_map_destinations(unsigned char content) noexcept { content_of_others = content; }
    /// Effects: has `action` be called in the middle of each mremap that moves.
    static void do_during_moves(void (*action)()) noexcept { during_move = action; }
    /// Effects: has the system say that each thread is a real-time thread.
    static void make_threads_real_time() noexcept { are_real_time = true; }
    /// Effects: has memory be promised for all that is writable, as where MAP_NORESERVE is ignored.
    static void have_memory_promised() noexcept { is_memory_promised = true; }
    /// Effects: has each guard be a mapping of its own, as with Linux before 6.13.
    static void make_guards_mappings() noexcept { has_only_mappings = true; }

    static std::size_t made(system_call kind) noexcept { return kinds[index(kind)].made(); }
    /// Returns: how many calls were refused.
    static std::size_t refused() noexcept { return refused_count; }

    // Bytes.
    static std::size_t mapped() noexcept { return mapped_bytes; } ///< Now.
    static std::size_t populated() noexcept { return populated_bytes; }
    /// Returns: how often huge pages were asked for.
    static std::size_t maps_of_huge_pages() noexcept { return huge_maps; }

    // For the functions in the places of the system's.

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
    static inline std::atomic<bool> has_reserved_pages{false};
    static inline std::atomic<bool> has_only_mappings{false};
    static inline std::atomic<bool> are_real_time{false};
    static inline std::atomic<void (*)()> during_move{nullptr};
    static inline std::atomic<bool> is_memory_promised{false};
    static inline std::atomic<unsigned char> content_of_others{0}; ///< 0: they map nothing.

private:
    static constexpr std::size_t index(system_call kind) noexcept { return static_cast<std::size_t>(kind); }

    static void start_anew() noexcept
    {
        for (call_counter& each : kinds)
            each.start_anew();
        refused_count = mapped_bytes = populated_bytes = huge_maps = 0;
        has_reserved_pages = has_only_mappings = are_real_time = is_memory_promised = false;
        content_of_others = 0;
        during_move = nullptr;
    }

    static inline std::array<call_counter, kinds_of_system_calls> kinds;
    static inline std::atomic<std::size_t> refused_count{0};
};

/// Sets the cost of a page's first touch by CLOCK_MONOTONIC, independent of the real one, for its lifetime: the library
/// reads the clock twice before, and once after the touch, and nowhere else meanwhile. One at a time.
class first_touch_costs
{
public:
    /// 0: no such clock.
    explicit first_touch_costs(std::uint64_t nanoseconds) noexcept { set(nanoseconds); }
    first_touch_costs(const first_touch_costs&) = delete;
    first_touch_costs& operator=(const first_touch_costs&) = delete;
    ~first_touch_costs() { is_set = false; }

    static void set(std::uint64_t nanoseconds) noexcept
    {
        cost = nanoseconds;
        is_set = true;
    }

    // For the replacement of the system's function.
    static inline std::atomic<bool> is_set{false};
    /// Returns: the clock's time; 0: no such clock.
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
