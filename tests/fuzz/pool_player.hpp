// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// What all players of tapes on a pool have in common: the tape, the pool and its upstream, the log, threads, and the
/// operations that every pool has. `Player` derives from it, and has
///
///     operations        how many it has; the last one begins or ends a thread
///     is_shared         whether threads share the pool
///     step(operation)   does one
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
/// Returns: options of a pool with room for few objects; bits of `which` say which of them are set.
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
            player.pool_.hand_over(); // Its last thread may not have ended.
            throw_at_none();
        }
        if (marked_item::alive() != 0)
            disagree({}, "an object is alive without a pool");
        if (upstream.live_chunks() != 0 || upstream.mismatched() != 0)
            disagree({}, "the pool kept something from upstream");
        if (!watching_observer::blocks().empty())
            disagree({}, "the observer was not told of the end of a block");
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

    /// A call for `count` has got nothing, for the reason that there was.
    void refused(std::size_t count = 1)
    {
        expect(has_reason_to_refuse(pool_.in_use() + count), "refused for no reason");
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
        expect(is_reserved || has_reason_to_refuse(count), "reserved nothing, for no reason");
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
            pool_.hand_over(); // A pool for one thread is used by another one from now on.
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

    tape_threads threads_; ///< Last, as they use the pool.
};
} // namespace fuzz
