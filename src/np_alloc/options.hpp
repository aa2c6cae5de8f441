// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// What a program or the user may choose, at run time.
///
///     np_set_option(option, value)   ->   | value | value | value | ...   <-   NAME=VALUE in the environment, at the start
///
/// Nothing that every call of malloc or free does asks for one of them.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/np_alloc.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memory_pool::np
{
/// What is known of an option.
struct option_facts
{
    const char* variable; ///< In the environment.
    std::size_t least;
    std::size_t most;
    std::size_t value; ///< To begin with.
};

inline constexpr std::size_t option_count = 7;

/// By the number of the option. `takes_place_of_malloc`: then pointers of another malloc are to be expected.
constexpr std::array<option_facts, option_count> facts_of_options(bool takes_place_of_malloc) noexcept
{
    constexpr std::size_t mega = std::size_t{1} << 20;
    return {{
        {"NP_DECAY_MS", 0, UINT32_MAX, 1000},
        {"NP_BYTES_AT_HAND", 0, 1024 * mega, mega},
        {"NP_REGION_BYTES", 16 * mega, mega * mega * 128, mega * mega},
        {"NP_STATISTICS", 0, 2, 0},
        {"NP_FATAL_FOREIGN", 0, 1, takes_place_of_malloc ? std::size_t{0} : 1},
        {"NP_LEAKS", 0, 2, 0},
        {"NP_LEAKS_EXIT", 0, 255, 0},
    }};
}

/// The values of all options.
class options
{
public:
    constexpr explicit options(bool takes_place_of_malloc) noexcept
        : facts_(facts_of_options(takes_place_of_malloc)),
          values_{facts_[0].value, facts_[1].value, facts_[2].value, facts_[3].value,
                  facts_[4].value, facts_[5].value, facts_[6].value}
    {
    }
    options(const options&) = delete;
    options& operator=(const options&) = delete;
    ~options() = default;

    static constexpr bool is_one(np_option option) noexcept { return static_cast<std::size_t>(option) < option_count; }

    /// Preconditions: is_one(option).
    std::size_t get(np_option option) const noexcept { return values_[option].load(std::memory_order_relaxed); }

    /// Returns: whether the option may have that value. If not, it stays as it is.
    /// Preconditions: is_one(option).
    bool set(np_option option, std::size_t value) noexcept
    {
        if (value < facts_[option].least || value > facts_[option].most)
            return false;
        values_[option].store(value, std::memory_order_relaxed);
        return true;
    }

    /// Effects: sets what `environment` has variables for, the first time that it is not nullptr. A value that cannot be is
    ///   named on the standard error.
    void read_once(const char* const* environment) noexcept;

private:
    void read(const option_facts& its, std::atomic<std::size_t>& value, const char* text) noexcept;

    const std::array<option_facts, option_count> facts_;
    std::array<std::atomic<std::size_t>, option_count> values_;
    std::atomic<bool> is_read_{false};
};

/// Those of the process.
extern __attribute__((visibility("hidden"))) options the_options;
} // namespace memory_pool::np
