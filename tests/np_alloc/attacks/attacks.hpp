// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// What a program can do to np_alloc that it must not: each is a function, which does it in a scene of some threads.
///
///     prepared            attacked            gone on                    settled
///     blocks are made  |  what is wrong    |  threads allocate and    |  every block goes back
///                      |  is done          |  free as ever            |  to where it is from
///
/// Thread safety: one thread at a time.
#pragma once

#include <memory_pool/np_alloc.h>

#include <support/threads.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace attacks {
/// How far an attack has come.
enum class stage
{
    prepared,
    attacked,
    gone_on,
    settled,
    ended,
};

/// What is seen of an attack from inside. It is in memory that processes share, as this one may end at any time.
struct notes
{
    std::atomic<stage> now{stage::prepared};
    std::atomic<int> reports{0};                   ///< To the error handler, if that counts them.
    std::atomic<stage> first_report{stage::ended}; ///< When that came.
    bool is_given_twice = false;                   ///< One block to two who had not given it back.
    bool is_in_order = false;                      ///< In the end, as far as the library can tell.
    const void* address = nullptr;                 ///< What a report has to name.
    std::size_t block_bytes = 0;                   ///< In the block that it has to name.
};

/// Who has allocated the blocks.
enum class owner
{
    attacker,
    another, ///< A thread that lives on.
    ended,   ///< A thread that ends before something is done to them.
};

/// What batches are made of: see heap.hpp.
inline constexpr std::size_t batch_bytes = 512;

/// Returns: whether blocks of that size are in slabs.
inline bool may_be_in_slab(std::size_t bytes)
{
    return bytes <= std::size_t{32} * 1024;
}

struct attack;

/// The threads that take part, and blocks of one size. All of them are none that had to do with np_alloc before.
class scene
{
public:
    scene(notes& written, std::size_t bytes, owner whose);
    scene(const scene&) = delete;
    scene& operator=(const scene&) = delete;
    ~scene() = default;

    /// Effects: commits an attack, in a thread of its own, and lets things go their way until everything has settled.
    void play(const attack& committed);

    // For attacks.

    std::size_t bytes() const { return bytes_; }

    /// Returns: bytes from one block to the next, if they are in a slab; those that the program may use, and what the
    ///   library has there for itself.
    std::size_t stride() const { return stride_; }

    /// Returns: a block of the owner, with room for `bytes()` or that many.
    std::byte* block() { return block(bytes_); }
    std::byte* block(std::size_t bytes);

    /// Returns: the same; it is in use until everything settles.
    std::byte* block_that_stays() { return blocks_that_stay(1).front(); }
    std::vector<std::byte*> blocks_that_stay(std::size_t count);

    /// Effects: has a block be freed when everything settles.
    void keep(void* block) { kept_.push_back(block); }

    /// Effects: notes how large a block is that reports will name.
    void is_about(const void* block) { is_about_bytes(np_usable_size(block)); }
    void is_about_bytes(std::size_t bytes) { notes_.block_bytes = bytes; }

    /// Effects: does something in the thread of the owner, before that ends.
    void by_owner(const std::function<void()>& action);
    /// Effects: does something in a third thread, which lives on.
    void by_third(const std::function<void()>& action) { third_.does(action); }

    /// Effects: has the owner end, if it is one that does, and notes that something wrong is done from now on with what
    ///   is at `address`.
    void begins(const void* address);

    /// Effects: has all blocks that are free go back to where they are from; also those in quarantine.
    void send_all_home();

private:
    static constexpr std::size_t many = 24;
    using some_blocks = std::array<void*, many>;

    /// Effects: has all threads allocate and free as if nothing were wrong: more blocks than they cache, if they are
    ///   small.
    void go_on();
    /// Effects: has all blocks go back to where they are from.
    void settle();

    template <class Action>
    void by_all(Action&& action);

    notes& notes_;
    const std::size_t bytes_;
    const owner whose_;
    std::size_t stride_ = 0;
    std::vector<void*> kept_;
    test::lasting_thread third_;
    std::unique_ptr<test::lasting_thread> owner_;
};

/// Something that is wrong.
struct attack
{
    std::string name;
    std::function<bool(std::size_t bytes, owner whose)> is_for; ///< Is there such a thing?
    std::function<void(scene&)> commit;
};

/// Each pointer that must not be given back, and each function that it can be given to.
std::vector<attack> misuses();
/// Blocks that are given back by a function that does not fit, or with a size that does not.
std::vector<attack> mismatches();
/// Writes to where the program has no business.
std::vector<attack> corruptions();

/// What an attack is for.
inline bool always(std::size_t, owner)
{
    return true;
}

// What differs between the libraries that are attacked: see as_np_alloc.cpp and as_malloc.cpp.

/// Effects: has the error handler count, in `written`, instead of abort.
/// Returns: whether that can be.
bool count_reports(notes& written);

/// Returns: whether everything is in order; true if the library cannot tell.
bool is_in_order();

/// What a new or delete has beside the plain one.
struct form_of_new
{
    std::size_t alignment = 0;
    bool is_array = false;
    std::size_t bytes = 0; ///< Of delete.
};

/// What new and delete do in a program that has the library for them.
void* by_new(std::size_t bytes, form_of_new form);
void by_delete(void* block, form_of_new form);
} // namespace attacks
