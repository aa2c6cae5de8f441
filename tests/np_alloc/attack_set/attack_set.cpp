// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// np_attack_set list | KIND BYTES
//
// Attacks the process's malloc through plain calls of malloc, free, new and delete, so that the program runs under any
// malloc. `list` prints the kinds of attack. Otherwise, the program makes one attack, continues with normal use, prints
// "goes on" and returns from main. If the malloc detects the attack, the process ends earlier. An attack that reads old
// contents prints "nothing is left" if the contents are gone.
//
//     preparation          attack            normal use               return from main
//     adjacent blocks   |  the misuse     |  blocks are allocated, |  exit handlers run
//     are in use        |                 |  and all are freed     |
//
// Exits with 77 if the attack is impossible under this malloc.
#include <support/check.hpp>
#include <support/threads.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <alloca.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace {
constexpr std::size_t largest_bytes = std::size_t{256} * 1024;
constexpr unsigned char content = 0x41;

/// The bytes that attacks copy into blocks.
alignas(16) std::array<unsigned char, 2 * largest_bytes> text;

/// Returns: `address`, hidden from the optimizer.
unsigned char* hidden(void* address)
{
    void* const volatile same = address;
    return static_cast<unsigned char*>(same);
}

/// Changes every byte of the range.
void change(unsigned char* address, std::size_t bytes)
{
    volatile unsigned char* const place = hidden(address);
    for (std::size_t i = 0; i != bytes; ++i)
        place[i] = static_cast<unsigned char>(~place[i]);
}

/// Copies text with the C library's memcpy, never inlined.
void copy_text(unsigned char* to, std::size_t bytes)
{
    void* (*const volatile copy)(void*, const void*, std::size_t) = std::memcpy;
    (void)copy(hidden(to), text.data(), bytes);
}

unsigned char* filled(std::size_t bytes)
{
    auto* const block = static_cast<unsigned char*>(std::malloc(bytes));
    CHECK(block != nullptr);
    std::memset(block, content, bytes);
    return block;
}

[[noreturn]] void give_up()
{
    constexpr int cannot_be_made = 77;
    std::_Exit(cannot_be_made);
}

/// Blocks around the attacked block, which stay in use until the end.
class neighbours
{
public:
    static constexpr std::size_t max_count = std::size_t{16} * 1024;

    void add(std::size_t bytes, std::size_t count)
    {
        for (std::size_t i = 0; i != count && count_ != max_count; ++i)
            keep(filled(bytes));
    }

    void keep(unsigned char* block) { blocks_[count_++] = block; }

    unsigned char* last() const
    {
        return *std::max_element(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(count_));
    }

    void free_all()
    {
        for (std::size_t i = 0; i != count_; ++i)
            std::free(blocks_[i]);
    }

private:
    std::array<unsigned char*, max_count> blocks_{};
    std::size_t count_ = 0;
};

neighbours others;

/// Returns: the number of neighbours for blocks of that size.
constexpr std::size_t some(std::size_t bytes)
{
    return bytes < largest_bytes ? 16 : 2;
}

/// Returns: a block with blocks of the same size around it.
unsigned char* among_others(std::size_t bytes)
{
    others.add(bytes, some(bytes));
    unsigned char* const block = filled(bytes);
    others.add(bytes, some(bytes));
    return block;
}

/// Allocates and frees blocks of that size and of other sizes.
void go_on(std::size_t bytes)
{
    std::array<unsigned char*, 48> blocks{};
    const std::size_t count = 3 * some(bytes);
    for (int times = 0; times != 4; ++times) {
        for (std::size_t i = 0; i != count; ++i)
            blocks[i] = filled(i % 3 != 2 ? bytes : 64 + 8 * i);
        for (std::size_t i = 0; i != count; ++i)
            std::free(blocks[i]);
    }
}

/// The outcome of an attack that the malloc has not stopped yet.
enum class outcome
{
    made,
    nothing_read,
    made_last, ///< The program does nothing after the attack.
};

// Overflows.

template <std::size_t Bytes>
outcome overflow(std::size_t bytes)
{
    unsigned char* const block = among_others(bytes);
    change(block + bytes, Bytes);
    std::free(block);
    return outcome::made;
}

outcome overflow_by_copy(std::size_t bytes)
{
    unsigned char* const block = among_others(bytes);
    copy_text(block, bytes + 24);
    std::free(block);
    return outcome::made;
}

/// An overflow of the block with the highest address among many.
outcome overflow_of_the_last(std::size_t bytes)
{
    others.add(bytes, std::max<std::size_t>(std::size_t{128} * 1024 / bytes, 2));
    change(others.last() + bytes, 64);
    return outcome::made;
}

/// Changes only the second byte past the requested size. Most mallocs have room for this byte.
outcome write_into_slack(std::size_t bytes)
{
    unsigned char* const block = among_others(bytes - 3);
    change(block + bytes - 2, 1);
    std::free(block);
    return outcome::made;
}

// Underflows.

template <std::size_t Bytes>
outcome underflow(std::size_t bytes)
{
    unsigned char* const block = among_others(bytes);
    change(block - Bytes, Bytes);
    std::free(block);
    return outcome::made;
}

outcome underflow_by_copy(std::size_t bytes)
{
    unsigned char* const block = among_others(bytes);
    copy_text(block - 16, bytes);
    std::free(block);
    return outcome::made;
}

// Invalid frees.

outcome free_of_the_stack(std::size_t bytes)
{
    std::free(hidden(alloca(bytes)));
    return outcome::made;
}

outcome free_of_a_static(std::size_t)
{
    std::free(hidden(text.data()));
    return outcome::made;
}

outcome free_of_mapped_pages(std::size_t bytes)
{
    void* const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    std::free(hidden(pages));
    return outcome::made;
}

template <std::size_t Distance>
outcome free_beside(std::size_t bytes)
{
    std::free(hidden(among_others(bytes) + Distance));
    return outcome::made;
}

outcome free_unaligned_twice(std::size_t bytes)
{
    unsigned char* const block = hidden(among_others(bytes) + 8);
    std::free(block);
    std::free(hidden(block));
    return outcome::made;
}

// Double frees.

outcome double_free(std::size_t bytes)
{
    unsigned char* const block = among_others(bytes);
    std::free(block);
    std::free(hidden(block));
    return outcome::made;
}

outcome double_free_around_another(std::size_t bytes)
{
    unsigned char* const block = among_others(bytes);
    unsigned char* const another = filled(bytes);
    std::free(block);
    std::free(another);
    std::free(hidden(block));
    return outcome::made;
}

outcome double_free_of_many(std::size_t bytes)
{
    std::array<unsigned char*, 8> blocks{};
    for (unsigned char*& each : blocks)
        each = among_others(bytes);
    for (unsigned char* each : blocks)
        std::free(each);
    std::for_each(blocks.rbegin(), blocks.rend(), [](unsigned char* each) { std::free(hidden(each)); });
    return outcome::made;
}

/// A double free after many other allocations, some of which may have reused the memory.
outcome double_free_much_later(std::size_t bytes)
{
    unsigned char* const block = among_others(bytes);
    std::free(block);
    std::array<void*, 4> blocks{};
    for (int times = 0; times != 256; ++times) {
        for (void*& each : blocks)
            each = hidden(std::malloc(bytes));
        for (void* each : blocks)
            std::free(each);
    }
    std::free(hidden(block));
    return outcome::made;
}

outcome double_free_by_another_thread(std::size_t bytes)
{
    unsigned char* const block = among_others(bytes);
    test::in_a_thread([block] { std::free(block); });
    std::free(hidden(block));
    return outcome::made;
}

/// Returns: the old address of a block that realloc has moved.
unsigned char* moved_from(std::size_t bytes)
{
    unsigned char* const block = hidden(among_others(bytes));
    for (std::size_t larger = 2 * bytes; larger <= 64 * bytes; larger *= 2) {
        auto* const resized = static_cast<unsigned char*>(std::realloc(block, larger));
        CHECK(resized != nullptr);
        if (resized != block) {
            others.keep(resized);
            return hidden(block);
        }
    }
    give_up();
}

outcome free_of_what_has_moved(std::size_t bytes)
{
    std::free(hidden(moved_from(bytes)));
    return outcome::made;
}

// Other invalid pointers.

/// Frees pointers read from reused blocks, which hold old contents or the malloc's own data.
outcome free_of_what_was_never_set(std::size_t bytes)
{
    const int more_than_wait = bytes < largest_bytes ? 2048 : 8;
    for (int times = 0; times != more_than_wait; ++times)
        std::free(filled(bytes));
    for (int times = 0; times != 32; ++times) {
        unsigned char* const block = hidden(std::malloc(bytes));
        void* pointer = nullptr;
        std::memcpy(&pointer, block, sizeof pointer);
        others.keep(block);
        std::free(hidden(pointer));
    }
    return outcome::made;
}

outcome usable_size_of_a_free_block(std::size_t bytes)
{
    unsigned char* const block = among_others(bytes);
    std::free(block);
    (void)malloc_usable_size(hidden(block));
    return outcome::made;
}

outcome realloc_of_a_free_block(std::size_t bytes)
{
    unsigned char* const block = among_others(bytes);
    std::free(block);
    others.keep(static_cast<unsigned char*>(std::realloc(hidden(block), 2 * bytes)));
    return outcome::made;
}

// Use after free, and reads of uninitialized memory.

outcome write_to_the_first_bytes(std::size_t bytes)
{
    unsigned char* const block = among_others(bytes);
    std::free(block);
    change(block, 8);
    return outcome::made;
}

outcome write_to_a_byte_in_the_middle(std::size_t bytes)
{
    unsigned char* const block = among_others(bytes);
    std::free(block);
    change(block + bytes / 2, 1);
    return outcome::made;
}

outcome write_as_the_program_ends(std::size_t bytes)
{
    unsigned char* const block = among_others(bytes);
    std::free(block);
    change(block, bytes);
    return outcome::made_last;
}

outcome write_to_what_has_moved(std::size_t bytes)
{
    change(moved_from(bytes), 8);
    return outcome::made;
}

/// Returns: whether the block still holds some of its old contents.
bool has_content(void* block, std::size_t bytes)
{
    const volatile unsigned char* const place = hidden(block);
    std::size_t in_a_row = 0;
    for (std::size_t i = 0; i != bytes; ++i) {
        in_a_row = place[i] == content ? in_a_row + 1 : 0;
        if (in_a_row == 8)
            return true;
    }
    return false;
}

outcome read_after_free(std::size_t bytes)
{
    unsigned char* const block = among_others(bytes);
    std::free(block);
    return has_content(block, bytes) ? outcome::made : outcome::nothing_read;
}

outcome read_of_a_new_block(std::size_t bytes)
{
    std::array<unsigned char*, 32> blocks{};
    const std::size_t count = 2 * some(bytes);
    for (std::size_t i = 0; i != count; ++i)
        blocks[i] = among_others(bytes);
    for (std::size_t i = 0; i != count; ++i)
        std::free(blocks[i]);
    bool has_read = false;
    for (std::size_t i = 0; i != count; ++i) {
        blocks[i] = hidden(std::malloc(bytes));
        has_read = has_read || has_content(blocks[i], bytes);
    }
    for (std::size_t i = 0; i != count; ++i)
        std::free(blocks[i]);
    return has_read ? outcome::made : outcome::nothing_read;
}

// Mismatched deallocation, and wrong sizes.

outcome malloc_and_delete(std::size_t bytes)
{
    ::operator delete(hidden(among_others(bytes)));
    return outcome::made;
}

outcome array_new_and_delete(std::size_t bytes)
{
    ::operator delete(hidden(::operator new[](bytes)));
    return outcome::made;
}

outcome delete_of_another_size(std::size_t bytes)
{
    ::operator delete(hidden(::operator new(bytes)), 2 * bytes);
    return outcome::made;
}

/// Changes `bytes / 16` bytes, at least one, of a block of 0 bytes.
outcome write_to_a_block_of_no_bytes(std::size_t bytes)
{
    unsigned char* const block = among_others(0);
    change(block, bytes / 16);
    std::free(block);
    return outcome::made;
}

/// The negative control: correct code, for which no malloc may report an error.
outcome nothing_wrong(std::size_t bytes)
{
    unsigned char* const block = among_others(bytes);
    std::free(std::realloc(block, 3 * bytes));
    test::in_a_thread([bytes] { std::free(filled(bytes)); });
    ::operator delete(hidden(::operator new(bytes)), bytes);
    return outcome::made;
}

struct kind
{
    const char* name;
    outcome (*attack)(std::size_t bytes);
};

constexpr std::size_t mebibyte = std::size_t{1} << 20U;
constexpr std::size_t gibibyte = std::size_t{1} << 30U;

constexpr std::array<kind, 37> kinds{{
    {"nothing wrong", nothing_wrong},
    {"overflow of 1 byte", overflow<1>},
    {"overflow of 8 bytes", overflow<8>},
    {"overflow of 32 bytes", overflow<32>},
    {"overflow by memcpy", overflow_by_copy},
    {"overflow of 1 MiB", overflow<mebibyte>},
    {"overflow of the last block", overflow_of_the_last},
    {"a byte in the slack", write_into_slack},
    {"underflow of 1 byte", underflow<1>},
    {"underflow of 32 bytes", underflow<32>},
    {"underflow by memcpy", underflow_by_copy},
    {"free of the stack", free_of_the_stack},
    {"free of a static", free_of_a_static},
    {"free of mapped pages", free_of_mapped_pages},
    {"free 1 GiB further on", free_beside<gibibyte>},
    {"free of block + 1", free_beside<1>},
    {"free of block + 16", free_beside<16>},
    {"free of block + 8, twice", free_unaligned_twice},
    {"double free", double_free},
    {"double free, another between", double_free_around_another},
    {"double free of many", double_free_of_many},
    {"double free, much later", double_free_much_later},
    {"double free by two threads", double_free_by_another_thread},
    {"free of what realloc has moved", free_of_what_has_moved},
    {"free of an uninitialized pointer", free_of_what_was_never_set},
    {"malloc_usable_size after free", usable_size_of_a_free_block},
    {"realloc after free", realloc_of_a_free_block},
    {"write after free, 8 bytes", write_to_the_first_bytes},
    {"write after free, a byte within", write_to_a_byte_in_the_middle},
    {"write after free, last of all", write_as_the_program_ends},
    {"write to what realloc has moved", write_to_what_has_moved},
    {"read after free", read_after_free},
    {"read of new memory", read_of_a_new_block},
    {"malloc, delete", malloc_and_delete},
    {"new[], delete", array_new_and_delete},
    {"delete with another size", delete_of_another_size},
    {"write to a block of 0 bytes", write_to_a_block_of_no_bytes},
}};

int list_kinds()
{
    for (const kind& each : kinds)
        std::puts(each.name);
    return 0;
}
} // namespace

int main(int count, char** arguments)
{
    CHECK(count == 2 || count == 3);
    if (count == 2)
        return list_kinds();
    const auto* const chosen = std::find_if(kinds.begin(), kinds.end(), [arguments](const kind& each) {
        return std::strcmp(each.name, arguments[1]) == 0;
    });
    const std::size_t bytes = std::strtoull(arguments[2], nullptr, 10);
    CHECK(chosen != kinds.end() && bytes >= 16 && bytes <= largest_bytes);
    const rlimit no_core{0, 0};
    CHECK(setrlimit(RLIMIT_CORE, &no_core) == 0);
    constexpr unsigned max_seconds = 20;
    alarm(max_seconds);
    text.fill(content);

    const outcome seen = chosen->attack(bytes);
    if (seen != outcome::made_last) {
        go_on(bytes);
        others.free_all();
    }
    std::puts(seen == outcome::nothing_read ? "nothing is left" : "goes on");
    return std::fflush(stdout) == 0 ? 0 : 1;
}
