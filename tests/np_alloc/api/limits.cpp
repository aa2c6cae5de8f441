// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// limits address_space MIB | small_blocks MIB | max_data MIB | late_limit MIB | last_addresses MIB | data MIB |
//     locked_memory KIB | locked_later KIB | locked | overcommit
//
// Sets a resource limit and executes itself again, so that the limit holds before the first allocation. Checks that
// np_alloc serves blocks up to the limit, sets errno to ENOMEM there, and serves as many bytes again after the blocks
// are freed. The limits:
//   address_space, data, locked_memory   The limit of that name.
//   small_blocks     An address space limit. Checks the share of the limit that small blocks can use, and that other
//                    users of memory can use this share after the blocks are freed.
//   max_data         A data limit. Makes the checks of small_blocks for blocks of each kind.
//   late_limit       An address space limit that the program sets after it has allocated blocks.
//   last_addresses   An address space limit of MIB more than the program has mapped.
//   locked           All memory is locked from the start.
//   locked_later     The program may lock only KIB KiB. As the documentation advises, it has an address space limit,
//                    and locks all memory after its first allocation. Exits with 77 if the program has mapped
//                    nearly that much before it uses np_alloc.
//   overcommit       No limit, on systems that do not overcommit memory. Exits with 77 on other systems.
#include <memory_pool/np_alloc.h>

#include <support/check.hpp>
#include <support/np_blocks.hpp>
#include <support/threads.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/capability.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace {
constexpr std::size_t kibibyte = 1024;
constexpr std::size_t mebibyte = 1024 * kibibyte;

test::np_resource np;

/// Allocates, fills, checks and frees `of_each` blocks of each kind.
void use_blocks(std::size_t of_each)
{
    for (std::size_t bytes : test::sizes_of_all_kinds) {
        std::array<test::filled_block, 50> blocks{};
        CHECK(of_each <= blocks.size());
        for (std::size_t i = 0; i != of_each; ++i) {
            void* const block = np_alloc(bytes);
            CHECK(block != nullptr);
            blocks[i] = {static_cast<unsigned char*>(block), bytes, 16};
            blocks[i].fill();
        }
        for (std::size_t i = 0; i != of_each; ++i)
            CHECK(test::give_back(np, blocks[i]));
    }
}

/// Effects: allocates blocks of `bytes` bytes until memory is exhausted or the blocks have `enough` bytes in total.
///   Then checks and frees the blocks.
/// Returns: the total bytes of the blocks.
std::size_t take_all(std::size_t bytes, std::size_t enough)
{
    void* last = nullptr; // Each block holds the address of the previous one: there may be no memory for a list.
    std::size_t count = 0;
    while (count * bytes < enough) {
        errno = 0;
        void* const block = np_alloc(bytes);
        if (block == nullptr) {
            CHECK(errno == ENOMEM);
            break;
        }
        std::memcpy(block, &last, sizeof last);
        static_cast<unsigned char*>(block)[bytes - 1] = 7;
        last = block;
        ++count;
    }
    std::size_t found = 0;
    while (last != nullptr) {
        ++found;
        CHECK(static_cast<unsigned char*>(last)[bytes - 1] == 7);
        void* before = nullptr;
        std::memcpy(&before, last, sizeof before);
        np_free(last);
        last = before;
    }
    CHECK(found == count);
    return count * bytes;
}

/// The mapped bytes before the first allocation, which count towards the limit.
std::size_t mapped_at_start = 0;

std::size_t mapped_bytes()
{
    std::array<char, 100> text{};
    const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    CHECK(file != -1 && read(file, text.data(), text.size() - 1) > 0);
    close(file);
    return std::strtoull(text.data(), nullptr, 10) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/// Sets only the soft limit, which the program can raise again.
void set_limit(__rlimit_resource which, std::size_t bytes)
{
    rlimit limit{};
    CHECK(getrlimit(which, &limit) == 0);
    limit.rlim_cur = bytes;
    CHECK(setrlimit(which, &limit) == 0);
}

/// A linked list of small blocks.
class chain
{
public:
    explicit chain(std::size_t bytes) : bytes_(bytes) {}
    chain(const chain&) = delete;
    chain& operator=(const chain&) = delete;
    ~chain()
    {
        while (last_ != nullptr)
            np_free(std::exchange(last_, before(last_)));
    }

    /// Allocates until `enough` bytes are usable, or memory is exhausted. Returns: the usable bytes.
    std::size_t grow(std::size_t enough)
    {
        while (usable_ < enough) {
            void* const block = np_alloc(bytes_);
            if (block == nullptr)
                break;
            CHECK(np_usable_size(block) >= bytes_);
            std::memcpy(block, &last_, sizeof last_);
            last_ = block;
            // A block with its own mapping fills whole pages: count at most 1/8 more than the requested size.
            usable_ += std::min(np_usable_size(block), bytes_ + bytes_ / 8);
        }
        return usable_;
    }

private:
    static void* before(const void* block)
    {
        void* found = nullptr;
        std::memcpy(&found, block, sizeof found);
        return found;
    }

    std::size_t bytes_;
    std::size_t usable_ = 0;
    void* last_ = nullptr;
};

void small_blocks_are_served(std::size_t limit)
{
    const std::size_t left = limit - mapped_at_start;
    // In the checked build, block states take space, and the guard table has a byte for each slice of the region.
    const std::size_t min_usable = left / 100 * (test::blocks_are_checked() ? 55 : 85);
    for (std::size_t bytes : {std::size_t{100}, std::size_t{1000}}) {
        chain all(bytes);
        const std::size_t usable = all.grow(limit);
        std::printf("blocks of %zu bytes: %zu KiB usable of %zu\n", bytes, usable / kibibyte, left / kibibyte);
        CHECK(usable >= min_usable);
        errno = 0;
        CHECK(np_alloc(bytes) == nullptr && errno == ENOMEM);
    }
    // Other users of memory can map unused addresses: each thread needs a contiguous stack of 8 MiB.
    (void)np_trim();
    chain half(100);
    CHECK(half.grow(min_usable / 2) >= min_usable / 2);
    test::in_threads_at_the_same_time(3, [] { use_blocks(1); });
    CHECK(mmap(nullptr, left / (test::blocks_are_checked() ? 10 : 5), PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    set_limit(RLIMIT_AS, 2 * limit);
    CHECK(half.grow(left) >= left);
}

void data_limit_is_used_up(std::size_t limit)
{
    const std::size_t min_usable = limit / 100 * (test::blocks_are_checked() ? 60 : 82);
    const std::size_t of_two_slices = (test::blocks_are_checked() ? 100 : 120) * kibibyte;
    for (std::size_t bytes : {std::size_t{100}, std::size_t{1000}, std::size_t{30'000}, of_two_slices, mebibyte}) {
        std::size_t usable = 0;
        {
            chain all(bytes);
            usable = all.grow(limit);
        }
        std::printf("blocks of %zu bytes: %zu KiB usable of %zu\n", bytes, usable / kibibyte, limit / kibibyte);
        CHECK(usable >= min_usable);
        // Other users of memory can use the freed memory.
        (void)np_trim();
        void* const others = mmap(nullptr, limit / 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(others != MAP_FAILED);
        test::in_a_thread([] { use_blocks(1); });
        munmap(others, limit / 2);
    }
}

/// The library recognizes the address of a block that it has unmapped.
void ends_at_a_double_free_of_a_block_behind_all_others()
{
    const pid_t child = fork();
    CHECK(child != -1);
    if (child == 0) {
        (void)close(STDERR_FILENO);
        void* const block = np_alloc(8 * mebibyte);
        np_free(block);
        (void)np_trim();
        np_free(block);
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

/// Reserved addresses count towards the limit, so the program can map nothing more. It can still allocate blocks.
void is_served_in_spite_of_a_late_limit(std::size_t limit)
{
    use_blocks(10);
    set_limit(RLIMIT_AS, limit);
    CHECK(mmap(nullptr, mebibyte, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    use_blocks(10);
    chain small(100);
    CHECK(small.grow(32 * mebibyte) >= 32 * mebibyte);
}

/// Grows a block, with another block behind it, until memory is exhausted or the block has `enough` bytes.
void grow_a_block(std::size_t enough)
{
    std::size_t bytes = 100;
    auto* block = static_cast<unsigned char*>(np_alloc(bytes));
    CHECK(block != nullptr);
    block[0] = block[bytes - 1] = 7;
    while (bytes < enough) {
        void* const behind = np_alloc(100 * kibibyte);
        const std::size_t larger = bytes + bytes / 2;
        errno = 0;
        auto* const grown = static_cast<unsigned char*>(np_realloc(block, larger));
        np_free(behind);
        CHECK((grown != nullptr ? grown : block)[0] == 7);
        CHECK((grown != nullptr ? grown : block)[bytes - 1] == 7);
        if (grown == nullptr) {
            CHECK(errno == ENOMEM);
            break;
        }
        block = grown;
        bytes = larger;
        block[bytes - 1] = 7;
    }
    std::printf("a block grown to %zu KiB of %zu\n", bytes / kibibyte, enough / kibibyte);
    np_free(block);
}

/// Under any address space limit, np_alloc reserves only the addresses that it needs.
int lets_memory_be_locked(std::size_t limit)
{
    if (mapped_at_start + mebibyte > limit)
        return 77;
    np_free(np_alloc(100));
    CHECK(mlockall(MCL_CURRENT | MCL_FUTURE) == 0);
    chain small(100);
    CHECK(small.grow(100 * kibibyte) >= 100 * kibibyte);
    return 0;
}

/// An array of int that repeatedly grows by half can use at least a quarter of `left` bytes. While it grows, no other
/// block of its size is in use.
void lets_an_array_grow(std::size_t left)
{
    set_limit(RLIMIT_AS, mapped_bytes() + left);
    std::size_t count = 1;
    auto* array = static_cast<int*>(np_alloc(sizeof(int)));
    CHECK(array != nullptr);
    array[0] = 0;
    for (;;) {
        const std::size_t larger = count + count / 2 + 1;
        errno = 0;
        auto* const grown = static_cast<int*>(np_realloc(array, larger * sizeof(int)));
        if (grown == nullptr)
            break;
        array = grown;
        for (; count != larger; ++count)
            array[count] = static_cast<int>(count);
    }
    CHECK(errno == ENOMEM);
    for (std::size_t i = 0; i != count; ++i)
        CHECK(array[i] == static_cast<int>(i));
    std::printf("an array grown to %zu elements\n", count);
    CHECK(count * sizeof(int) >= left / 4);
    np_free(array);
}

void is_served(std::size_t limit)
{
    use_blocks(10);
    test::in_a_thread([] { use_blocks(10); });
    // Other users of memory need addresses, too.
    void* const others = mmap(nullptr, limit / 3, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(others != MAP_FAILED);
    munmap(others, limit / 3);
    for (std::size_t bytes : {mebibyte, 100 * kibibyte, std::size_t{30'000}}) {
        const std::size_t taken = take_all(bytes, limit);
        std::printf("blocks of %zu bytes: %zu KiB of %zu\n", bytes, taken / kibibyte, limit / kibibyte);
        CHECK(taken >= limit / 3);
        CHECK(taken < limit);
        use_blocks(10);
    }
    grow_a_block(std::min(limit, 512 * mebibyte));
    test::in_a_thread([] { use_blocks(10); });
    CHECK(np_alloc(limit) == nullptr);
}

/// If every reserved byte counts towards the limit, there may be no room for any block. np_alloc must fail cleanly.
void is_served_or_refused()
{
    for (std::size_t bytes : test::sizes_of_all_kinds)
        std::printf("blocks of %zu bytes: %zu\n", bytes, take_all(bytes, 4 * mebibyte) / bytes);
}

void is_served_as_usual()
{
    use_blocks(50);
    test::in_a_thread([] { use_blocks(50); });
    CHECK(take_all(mebibyte, 64 * mebibyte) == 64 * mebibyte);
    (void)np_trim();
    use_blocks(50);
}

bool promises_only_what_there_is()
{
    char answer = 0;
    const int file = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
    const bool is_read = file != -1 && read(file, &answer, 1) == 1;
    if (file != -1)
        close(file);
    return is_read && answer == '2';
}

constexpr const char* with_limit = "with-limit";

bool is_with_limit(int count, char** arguments, const char* name)
{
    return count >= 3 && std::strcmp(arguments[1], with_limit) == 0 && std::strcmp(arguments[2], name) == 0;
}

/// Runs as early as the code of a program can, before its first allocation.
void prepare_process(int count, char** arguments, char**)
{
    mapped_at_start = mapped_bytes();
    if (!is_with_limit(count, arguments, "locked") && !is_with_limit(count, arguments, "locked_memory"))
        return;
    CHECK(mlockall(MCL_FUTURE) == 0 || errno == EPERM);
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const prepare_before_all)(int, char**, char**) = &prepare_process;

/// Sets the limit for the program that this process executes next.
void prepare(const std::string& name, std::size_t number)
{
    if (name == "address_space" || name == "small_blocks") {
        set_limit(RLIMIT_AS, number * mebibyte);
    } else if (name == "locked_later") {
        set_limit(RLIMIT_AS, 1024 * 1024 * mebibyte);
        set_limit(RLIMIT_MEMLOCK, number * kibibyte);
        (void)prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0);
    } else if (name == "data" || name == "max_data") {
        set_limit(RLIMIT_DATA, number * mebibyte);
    } else if (name == "locked_memory") {
        set_limit(RLIMIT_MEMLOCK, number * kibibyte);
        (void)prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0); // The limit does not apply with this capability.
    }
}

int run(const std::string& name, std::size_t number)
{
    if (name == "address_space" || name == "data")
        is_served(number * mebibyte);
    else if (name == "small_blocks") {
        ends_at_a_double_free_of_a_block_behind_all_others();
        small_blocks_are_served(number * mebibyte);
    } else if (name == "max_data")
        data_limit_is_used_up(number * mebibyte);
    else if (name == "late_limit")
        is_served_in_spite_of_a_late_limit(number * mebibyte);
    else if (name == "last_addresses")
        lets_an_array_grow(number * mebibyte);
    else if (name == "locked_memory")
        is_served_or_refused();
    else if (name == "locked_later")
        return lets_memory_be_locked(number * kibibyte);
    else if (name == "locked" || promises_only_what_there_is())
        is_served_as_usual();
    else
        return 77;
    std::puts("served");
    return 0;
}
} // namespace

int main(int count, char** arguments)
{
    CHECK(count >= 2);
    const bool has_limit = std::strcmp(arguments[1], with_limit) == 0;
    const int first = has_limit ? 2 : 1;
    CHECK(count > first);
    const std::string name = arguments[first];
    const std::size_t number = count > first + 1 ? std::strtoull(arguments[first + 1], nullptr, 10) : 0;
    if (has_limit)
        return run(name, number);
    prepare(name, number);
    std::string inner = with_limit;
    std::string number_text = std::to_string(number);
    std::string name_text = name;
    std::array<char*, 5> inner_arguments{arguments[0], inner.data(), name_text.data(), number_text.data(), nullptr};
    execv("/proc/self/exe", inner_arguments.data());
    std::perror("execv");
    return 1;
}
