// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Options that the program or the user sets at run time.
///
///     np_option_set(option, value)   ->   | value | value | value | ...   <-   at start: NAME=VALUE in the program's
///                                                                              np_options, then in the environment
///
/// A process with another user's privileges, such as a setuid program, ignores the environment.
///
/// No option is read on every call of malloc or free.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/os/signal_thread.hpp>

#include "build_variant.hpp"
#include "internals.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <optional>
#include <utility>

namespace memory_pool::np {
/// The properties of an option.
struct option_info
{
    const char* variable; ///< Environment variable: NP_ and the option's name in capitals.
    std::size_t min;
    std::size_t max;
    std::size_t value;      ///< The default.
    bool has_never = false; ///< `max` is also called "never".
    bool has_zero = false;  ///< 1, 2 and 3 are also called "free", "alloc" and "free,alloc".
};

/// Options of every build are numbered from 1; options of the checked build, from 64.
inline constexpr std::size_t options_of_all = 17;
inline constexpr std::size_t options_of_checks = 8;
inline constexpr std::size_t option_count = options_of_all + (is_checked ? options_of_checks : 0);

/// All options, by number. `ignores_foreign`: foreign pointers are expected.
constexpr std::array<option_info, options_of_all + options_of_checks> info_of_options(bool ignores_foreign) noexcept
{
    constexpr std::size_t kilo = std::size_t{1} << 10;
    constexpr std::size_t mega = kilo * kilo;
    return {{
        {"NP_DECAY_MS", 0, NP_DECAY_NEVER, 1000, true},
        {"NP_THREAD_CACHE_BYTES", 0, 1024 * mega, mega},
        {"NP_REGION_BYTES", 16 * mega, mega * mega * 128, mega * mega},
        {"NP_STATISTICS_AT_END", 0, 2, 0},
        {"NP_FATAL_FOREIGN", 0, 1, ignores_foreign ? std::size_t{0} : 1},
        {"NP_LEAKS", 0, 2, 0},
        {"NP_LEAKS_EXIT", 0, 255, 0},
        {"NP_SAMPLE_BYTES", 0, mega * mega, 0},
        {"NP_BACKGROUND_THREAD", 0, 1, 0},
        {"NP_HUGE_PAGES", 0, 1, 1},
        {"NP_PRESSURE", 0, 1, 0},
        {"NP_REPORT_SIGNAL", 0, 64, std::size_t{os::signal_thread::usual_signal}},
        {"NP_REPORT_SLABS", 0, 1, 0},
        {"NP_PROFILE_BYTES", 0, mega * mega, 0},
        {"NP_LIMIT_BYTES", 0, mega * mega * 128, 0},
        {"NP_SOFT_LIMIT_BYTES", 0, mega * mega * 128, 0},
        {"NP_SAMPLES_PER_SECOND", 0, mega, 250},
        {"NP_QUARANTINE_BYTES", 0, 1024 * mega, 64 * kilo},
        {"NP_RANDOM_ORDER", 0, 1, 1},
        {"NP_POISON", 0, 2, 1},
        {"NP_GUARD_PAGES", 0, 1, 1},
        {"NP_PAIRS", 0, 1, 1},
        {"NP_ZERO", 0, NP_ZERO_FREE | NP_ZERO_ALLOC, 0, false, true},
        {"NP_REALLOC_MOVES", 0, 1, 0},
        {"NP_VERIFY_AT_END", 0, 1, 1},
    }};
}

/// The values of all options.
class options : base::immovable<options>
{
    // A separate constructor: otherwise a compiler may not see that this can run at compile time.
    template <std::size_t Count, std::size_t... Number>
    constexpr options(const std::array<option_info, Count>& all, std::index_sequence<Number...>) noexcept
        : infos_{all[Number]...}, values_{all[Number].value...}
    {
    }

public:
    constexpr explicit options(bool ignores_foreign) noexcept
        : options(info_of_options(ignores_foreign), std::make_index_sequence<option_count>())
    {
    }

    static constexpr bool is_one(np_option option) noexcept
    {
        const auto number = static_cast<std::size_t>(option);
        return number - 1 < options_of_all || (is_checked && number - first_of_checks < options_of_checks);
    }

    /// Returns: the option with that name, in lower case and without NP_; np_option_none if there is none.
    np_option find(const char* name) const noexcept;

    /// Returns: the value of `text`; nothing if the text is not valid for the option.
    /// Preconditions: is_one(option).
    std::optional<std::size_t> value_in(np_option option, const char* text) const noexcept;

    /// Returns: whether the option must be set before the first allocation.
    static constexpr bool is_for_the_start(np_option option) noexcept
    {
        return option == np_option_region_bytes || option == np_option_poison || option == np_option_guard_pages ||
               option == np_option_zero || option == np_option_report_signal;
    }

    /// Preconditions: is_one(option).
    std::size_t get(np_option option) const noexcept
    {
        return values_[index_of(option)].load(std::memory_order_relaxed);
    }

    /// Effects: sets an option if the value is valid for it.
    /// Returns: whether the value is valid.
    /// Preconditions: is_one(option).
    bool set(np_option option, std::size_t value) noexcept
    {
        const option_info& info = infos_[index_of(option)];
        if (value < info.min || value > info.max)
            return false;
        values_[index_of(option)].store(value, std::memory_order_relaxed);
        return true;
    }

    /// Effects: the first time that `environment` is not nullptr, sets the options in `embedded` (a text like
    ///   np_options, or nullptr), and then the options in `environment`. Reports invalid values and unknown names on
    ///   stderr. In the environment, considers only names that begin with NP_.
    void read_once(const char* const* environment, const char* embedded = embedded_options()) noexcept;

    /// Returns: the path in NP_REPORT in the environment; nullptr if the variable is missing or empty.
    static const char* report_path(const char* const* environment) noexcept;

    /// Returns: as report_path(), for NP_PROFILE.
    static const char* profile_path(const char* const* environment) noexcept;

private:
    static constexpr std::size_t first_of_checks = np_option_quarantine_bytes;

    /// Preconditions: is_one(option).
    static constexpr std::size_t index_of(np_option option) noexcept
    {
        const auto number = static_cast<std::size_t>(option);
        return number < first_of_checks ? number - 1 : options_of_all + number - first_of_checks;
    }

    static constexpr np_option option_at(std::size_t index) noexcept
    {
        return static_cast<np_option>(index < options_of_all ? index + 1 : index - options_of_all + first_of_checks);
    }

    static_assert(np_option_samples_per_second == options_of_all && np_option_verify_at_end == first_of_checks + 7);

    /// Returns: np_options; nullptr if the program does not define it.
    static const char* embedded_options() noexcept;

    /// Effects: sets the option in `setting`, which is NAME=VALUE. Reports name `where`.
    void read(const char* setting, const char* where) noexcept;
    const char* nearest(const char* variable, std::size_t length) const noexcept;

    const std::array<option_info, option_count> infos_;
    std::array<std::atomic<std::size_t>, option_count> values_;
    std::atomic<bool> is_read_{false};
};

/// The options of the process.
MEMORY_POOL_HIDDEN extern options the_options;
} // namespace memory_pool::np
