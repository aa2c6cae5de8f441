// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Base class of the players on a pool: the tape, the pool and its upstream, the log, the threads, and the operations
/// of every pool. `Player` derives from it and has
///
///     operations        number of operations; the last one starts or ends a thread
///     is_shared         whether threads share the pool
///     step(operation)   performs one operation
///     verify()          compares the pool and its model
///
/// Thread safety: none.
#pragma once

#include <memory_pool/base/errors.hpp>
#include <memory_pool/pool_options.hpp>
#include <memory_pool/profiling_policy.hpp>

#include <fuzz/marked_item.hpp>
#include <fuzz/tape.hpp>
#include <fuzz/tape_threads.hpp>
#include <fuzz/watching_observer.hpp>
#include <support/upstreams.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fuzz {
/// Returns: options of a small pool; the bits of `which` select the options to set.
inline memory_pool::pool_options options_of_small_pool(tape& instructions, std::size_t which)
{
    memory_pool::pool_options options;
    if (which % 2 == 1)
        options.growth_step = 1 + instructions.byte() % 40;
    if (which / 2 % 2 == 1)
        options.max_cached_blocks = 1 + instructions.number() % 300;
    if (which / 4 % 2 == 1)
        options.max_capacity = 1 + instructions.number() % 900;
    options.initial_capacity = std::min<std::size_t>(instructions.byte() % 50, options.max_capacity);
    return options;
}

template <class Player, class Pool>
class pool_player
{
public:
    static void play(const std::uint8_t* bytes, std::size_t size)
    {
        tape instructions(bytes, size);
        test::accounting_upstream upstream;
        {
            Player player(instructions, upstream);
            while (!instructions.at_end())
                player.play_next();
            player.pool_.hand_over(); // its last thread may still run
            throw_at_none();
        }
        if (marked_item::alive() != 0)
            disagree({}, "an object outlives its pool");
        if (upstream.live_chunks() != 0 || upstream.mismatched() != 0)
            disagree({}, "the pool leaked upstream memory");
        if (!watching_observer::blocks().empty())
            disagree({}, "the observer missed a deallocation");
        memory_pool::set_profile_bytes(0);
    }

protected:
    template <class... Arguments>
    pool_player(tape& instructions, test::accounting_upstream& upstream, Arguments&&... of_pool)
        : tape_(instructions), upstream_(upstream), pool_(std::forward<Arguments>(of_pool)..., &upstream)
    {
    }
    ~pool_player() = default;

    void log(const char* operation)
    {
        player().verify();
        log_.emplace_back(operation);
    }

    void expect(bool condition, const char* otherwise)
    {
        if (!condition)
            disagree(log_, otherwise);
    }

    void fail(std::size_t call)
    {
        upstream_.fail_at(call);
        upstream_is_to_fail_ = true;
    }

    /// A call for `count` blocks failed; the planned failure is over.
    void refused(std::size_t count = 1)
    {
        expect(has_reason_to_refuse(pool_.in_use() + count), "refused without a reason");
        upstream_.never_fail();
        upstream_is_to_fail_ = false;
        throw_at_none();
    }

    void trim()
    {
        const std::size_t before = pool_.bytes_reserved();
        const std::size_t trimmed = pool_.trim();
        expect(trimmed <= before && before - trimmed == pool_.bytes_reserved(), "trim miscounted");
    }

    void reserve(std::size_t count)
    {
        const bool is_reserved = memory_pool::detail::base::succeeds([&] { pool_.reserve(count); });
        expect(!is_reserved || pool_.capacity() >= count, "reserved too little");
        expect(is_reserved || has_reason_to_refuse(count), "reserve failed without a reason");
    }

    tape& tape_;
    test::accounting_upstream& upstream_;
    Pool pool_;
    bool upstream_is_to_fail_ = false;
    std::vector<std::string> log_;

private:
    Player& player() { return static_cast<Player&>(*this); }

    void play_next()
    {
        const std::size_t operation = tape_.byte() % Player::operations;
        const std::size_t thread = Player::is_shared ? tape_.byte() : 0;
        if (operation == Player::operations - 1) {
            pool_.hand_over(); // another thread may use a single-threaded pool from now on
            return log("begin or end a thread"), threads_.begin_or_end(thread);
        }
        threads_.run(thread, [&] { player().step(operation); });
    }

    bool has_reason_to_refuse(std::size_t count) const
    {
        return upstream_is_to_fail_ || count > pool_.max_capacity() || marked_item::has_thrown() ||
               plain_item::has_thrown();
    }

    static void throw_at_none()
    {
        marked_item::throw_at(0);
        plain_item::throw_at(0);
    }

    tape_threads threads_; ///< last, because they use the pool
};
} // namespace fuzz
