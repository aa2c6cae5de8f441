// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Misuse of np_alloc by a program. Each attack is a function that runs in a scene with several threads:
///
///     prepared            attacked            gone on                    settled
///     blocks are       |  the misuse       |  threads allocate and    |  every block returns to
///     allocated        |                   |  free as usual           |  its slab or the page heap
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
/// The progress of an attack.
enum class stage
{
    prepared,
    attacked,
    gone_on,
    settled,
    ended,
};

/// The results of an attack. Its process writes them to shared memory, because the process may end at any time.
struct notes
{
    std::atomic<stage> now{stage::prepared};
    std::atomic<int> reports{0};                   ///< The number of reports, if the error handler counts them.
    std::atomic<stage> first_report{stage::ended}; ///< The stage at the first report.
    bool is_given_twice = false;                   ///< Two users had the same block at the same time.
    bool is_in_order = false;                      ///< No damage at the end; always true without np_verify.
    const void* address = nullptr;                 ///< The address that a report must name.
    std::size_t block_bytes = 0;                   ///< The block size that a report must name.
};

/// The thread that allocates the blocks.
enum class owner
{
    attacker,
    another, ///< Another thread, which lives on.
    ended,   ///< Another thread, which ends before the attack.
};

/// The size of a batch of remote frees, in bytes: see heap.hpp.
inline constexpr std::size_t batch_bytes = 512;

/// Returns: whether blocks of that size are in slabs.
inline bool may_be_in_slab(std::size_t bytes)
{
    return bytes <= std::size_t{32} * 1024;
}

struct attack;

/// New threads that have not used np_alloc before, and blocks of one size.
class scene
{
public:
    scene(notes& written, std::size_t bytes, owner block_owner);
    scene(const scene&) = delete;
    scene& operator=(const scene&) = delete;
    ~scene() = default;

    /// Commits an attack in a thread of its own, and goes through all stages.
    void play(const attack& committed);

    // For attacks.

    std::size_t bytes() const { return bytes_; }

    /// Returns: the distance between adjacent blocks in a slab, including the library's own bytes, such as canaries.
    std::size_t stride() const { return stride_; }

    /// Returns: a new block of `bytes()` or `bytes` bytes, allocated by the owner.
    std::byte* block() { return block(bytes_); }
    std::byte* block(std::size_t bytes);

    /// Returns: a block that stays in use until the stage `settled`.
    std::byte* block_that_stays() { return blocks_that_stay(1).front(); }
    std::vector<std::byte*> blocks_that_stay(std::size_t count);

    /// Keeps the block until the stage `settled`, which frees it.
    void keep(void* block) { kept_.push_back(block); }

    /// Notes the block size that reports must name.
    void is_about(const void* block) { is_about_bytes(np_usable_size(block)); }
    void is_about_bytes(std::size_t bytes) { notes_.block_bytes = bytes; }

    /// Calls `action()` in the owner's thread, before that thread ends.
    void by_owner(const std::function<void()>& action);
    /// Calls `action()` in a third thread, which lives on.
    void by_third(const std::function<void()>& action) { third_.does(action); }

    /// Ends the owner if it is `owner::ended`, and starts the stage `attacked`. Reports must name `address`.
    void begin_attack(const void* address);

    /// Returns all free blocks to their slabs, also from quarantine.
    void drain_all();

private:
    static constexpr std::size_t many = 24;
    using some_blocks = std::array<void*, many>;

    /// Allocates and frees blocks in all threads. The small blocks exceed the capacity of the thread caches.
    void go_on();
    /// Frees all blocks, and returns them to their slabs.
    void settle();

    template <class Action>
    void by_all(Action&& action);

    notes& notes_;
    const std::size_t bytes_;
    const owner block_owner_;
    std::size_t stride_ = 0;
    std::vector<void*> kept_;
    test::lasting_thread third_;
    std::unique_ptr<test::lasting_thread> owner_;
};

struct attack
{
    std::string name;
    std::function<bool(std::size_t bytes, owner block_owner)> is_for; ///< Returns true if the attack is possible.
    std::function<void(scene&)> commit;
};

/// Calls of each function that takes a block, with each invalid pointer, and sequences of double frees.
std::vector<attack> misuses();
/// Mismatched deallocation, and deallocation with a wrong size.
std::vector<attack> mismatches();
/// Invalid writes and reads.
std::vector<attack> corruptions();

/// For attacks that are possible for all blocks.
inline bool always(std::size_t, owner)
{
    return true;
}

// The parts that depend on the library: see as_np_alloc.cpp and as_malloc.cpp.

/// Makes the error handler count reports in `written` instead of calling abort.
/// Returns: whether the library exports its error handler.
bool count_reports(notes& written);

/// Returns: whether np_verify finds no damage; true if the library does not export np_verify.
bool is_in_order();

/// The form of operator new or delete.
struct form_of_new
{
    std::size_t alignment = 0;
    bool is_array = false;
    std::size_t bytes = 0; ///< For sized delete.
};

/// The operators new and delete of a program that implements them with the library.
void* by_new(std::size_t bytes, form_of_new form);
void by_delete(void* block, form_of_new form);
} // namespace attacks
