// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include "../support/internals.hpp"
#include "../support/options.hpp"

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/os/environment.hpp>

#include "../engine/engine.hpp"
#include "../engine/guarded_samples.hpp"
#include "../engine/memory_limits.hpp"
#include "../engine/profiling.hpp"
#include "../os/standard_error.hpp"
#include "../support/build_variant.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>

#if MEMORY_POOL_HAS_WEAK_FUNCTIONS
/// Options embedded in the program, if any: see np_alloc.h.
extern "C" MEMORY_POOL_VISIBLE MEMORY_POOL_WEAK const char* np_options;
#endif

/// 1 in libnp_malloc, which replaces malloc.
#ifndef MEMORY_POOL_TAKES_PLACE_OF_MALLOC
#define MEMORY_POOL_TAKES_PLACE_OF_MALLOC 0
#endif

namespace memory_pool::np {
namespace {
/// A program whose malloc this library replaces may have blocks of another malloc. The checked build reports such
/// blocks anyway, because its purpose is to find mistakes.
constexpr bool ignores_foreign = MEMORY_POOL_TAKES_PLACE_OF_MALLOC != 0 && !is_checked;
} // namespace

MEMORY_POOL_CONSTINIT options the_options{ignores_foreign};

namespace {
/// Returns: the path in an environment variable; nullptr if the variable is missing or empty.
const char* path_in(const char* variable, const char* const* environment) noexcept
{
    const char* const path = os::value_in(environment, variable);
    return path != nullptr && *path != '\0' ? path : nullptr;
}

constexpr const char* report_variable = "NP_REPORT";
constexpr const char* profile_variable = "NP_PROFILE";
constexpr const char* prefix = "NP_";
constexpr std::size_t prefix_length = 3;
constexpr std::size_t max_characters = 100; ///< In a name, and in a value.

void print(const base::message& text) noexcept
{
    os::write_to_standard_error(text.c_str(), std::strlen(text.c_str()));
}

/// Returns: `letter` in lower case. Variables have upper-case names, options lower-case names.
constexpr char small(char letter) noexcept
{
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool is_name_of(const char* name, const option_info& option) noexcept
{
    const char* const rest = option.variable + prefix_length;
    const std::size_t length = std::strlen(rest);
    return std::strlen(name) == length &&
           std::equal(rest, rest + length, name, [](char one, char other) { return small(one) == other; });
}

/// Returns: how many letters must be deleted from the two words to make them equal.
std::size_t difference(const char* one, std::size_t length, const char* other) noexcept
{
    std::array<std::size_t, 32> row{}; // For each prefix of `other`.
    const std::size_t width = std::min(std::strlen(other), row.size() - 1);
    for (std::size_t column = 0; column <= width; ++column)
        row[column] = column;
    for (std::size_t line = 1; line <= length; ++line) {
        std::size_t diagonal = row[0];
        row[0] = line;
        for (std::size_t column = 1; column <= width; ++column) {
            const bool is_same = one[line - 1] == other[column - 1];
            const std::size_t here = is_same ? diagonal : 1 + std::min(row[column], row[column - 1]);
            diagonal = row[column];
            row[column] = here;
        }
    }
    return row[width];
}

/// Returns: whether `name` consists of the first `length` of `letters`.
bool is_word(const char* name, const char* letters, std::size_t length) noexcept
{
    return std::strlen(name) == length && std::strncmp(name, letters, length) == 0;
}

/// Returns: whether a variable sets an option, in this build or in the other one.
bool is_known(const char* variable, std::size_t length) noexcept
{
    constexpr auto all = info_of_options(false);
    return std::any_of(all.begin(), all.end(),
                       [=](const option_info& each) { return is_word(each.variable, variable, length); });
}

/// Returns: the value of NP_ZERO for a comma-separated list of names; nothing if a name is unknown.
std::optional<std::size_t> zero_value_in(const char* names) noexcept
{
    std::size_t value = 0;
    for (;;) {
        const char* const end = std::strchr(names, ',');
        const std::size_t length = end != nullptr ? static_cast<std::size_t>(end - names) : std::strlen(names);
        if (is_word("free", names, length))
            value |= NP_ZERO_FREE;
        else if (is_word("alloc", names, length))
            value |= NP_ZERO_ALLOC;
        else
            return std::nullopt;
        if (end == nullptr)
            return value;
        names = end + 1;
    }
}
} // namespace

const char* options::embedded_options() noexcept
{
#if MEMORY_POOL_HAS_WEAK_FUNCTIONS
    return &np_options != nullptr ? np_options : nullptr;
#else
    return nullptr;
#endif
}

void options::read_once(const char* const* environment, const char* embedded) noexcept
{
    if (environment == nullptr || is_read_.exchange(true, std::memory_order_relaxed))
        return;
    constexpr const char* spaces = " \t\n";
    for (const char* word = embedded != nullptr ? embedded : ""; *word != '\0';) {
        const std::size_t length = std::strcspn(word, spaces);
        std::array<char, 2 * max_characters> setting{}; // Of a longer setting, which is invalid, keeps the name.
        std::memcpy(setting.data(), word, std::min(length, setting.size() - 1));
        if (length >= setting.size())
            setting[std::strcspn(setting.data(), "=")] = '\0';
        if (length != 0)
            read(setting.data(), " of np_options");
        word += length;
        word += std::strspn(word, spaces);
    }
    for (; *environment != nullptr; ++environment)
        if (std::strncmp(*environment, prefix, prefix_length) == 0 && std::strchr(*environment, '=') != nullptr)
            read(*environment, "");
}

const char* options::report_path(const char* const* environment) noexcept
{
    return path_in(report_variable, environment);
}

const char* options::profile_path(const char* const* environment) noexcept
{
    return path_in(profile_variable, environment);
}

void options::read(const char* setting, const char* where) noexcept
{
    const std::size_t length = std::strcspn(setting, "=");
    const char* const text = setting + length + (setting[length] != '\0' ? 1 : 0);
    const auto* const found = std::find_if(
        infos_.begin(), infos_.end(), [=](const option_info& each) { return is_word(each.variable, setting, length); });
    const int shown = static_cast<int>(std::min(length, max_characters));
    if (found == infos_.end()) {
        const bool is_path = is_word(report_variable, setting, length) || is_word(profile_variable, setting, length);
        if (is_path ? *where != '\0' : !is_known(setting, length))
            print(base::message("np_alloc: %.*s%s is ignored: %s%s\n", shown, setting, where,
                                is_path ? "paths are read from the environment only"
                                        : "there is no such option; the nearest is ",
                                is_path ? "" : nearest(setting, static_cast<std::size_t>(shown))));
        return;
    }
    const auto index = static_cast<std::size_t>(found - infos_.begin());
    if (const std::optional<std::size_t> value = value_in(option_at(index), text)) {
        values_[index].store(*value, std::memory_order_relaxed);
        return;
    }
    print(base::message("np_alloc: %s=%.100s%s is ignored: it must be a number from %zu to %zu%s%s; it stays %zu\n",
                        found->variable, text, where, found->min, found->max,
                        found->max < os::unit_of('K') ? "" : ", or one followed by K, M or G",
                        found->has_never  ? ", or never"
                        : found->has_zero ? ", or free, or alloc, or free,alloc"
                                          : "",
                        values_[index].load(std::memory_order_relaxed)));
}

const char* options::nearest(const char* variable, std::size_t length) const noexcept
{
    const auto* const found =
        std::min_element(infos_.begin(), infos_.end(), [=](const option_info& one, const option_info& other) {
            return difference(variable, length, one.variable) < difference(variable, length, other.variable);
        });
    const char* name = found->variable;
    for (const char* const path : {report_variable, profile_variable})
        if (difference(variable, length, path) < difference(variable, length, name))
            name = path;
    return name;
}

np_option options::find(const char* name) const noexcept
{
    for (std::size_t index = 0; index != option_count; ++index)
        if (is_name_of(name, infos_[index]))
            return option_at(index);
    return np_option_none;
}

std::optional<std::size_t> options::value_in(np_option option, const char* text) const noexcept
{
    const option_info& info = infos_[index_of(option)];
    if (info.has_never && std::strcmp(text, "never") == 0)
        return info.max;
    if (info.has_zero)
        if (const std::optional<std::size_t> value = zero_value_in(text))
            return value;
    const std::optional<std::size_t> number = os::number_in(text);
    return number && *number >= info.min && *number <= info.max ? number : std::nullopt;
}

namespace {
/// Returns: false if the system cannot start a thread for the option.
bool apply(np_option option, std::size_t value) noexcept
{
    switch (option) {
    case np_option_background_thread: return registry().maintenance().work_in_background(value != 0);
    case np_option_pressure: return registry().maintenance().watch_pressure(value != 0);
    case np_option_decay_ms: registry().maintenance().set_decay_ms(value); return true;
    case np_option_sample_bytes: set_sample_bytes(value); return true;
    case np_option_profile_bytes: set_profile_bytes(value); return true;
    case np_option_limit_bytes:
    case np_option_soft_limit_bytes:
        pages().source().set_limits();
        answer_if_crossed();
        return true;
    default: return true; // Read where it is used.
    }
}
} // namespace
} // namespace memory_pool::np

namespace np = memory_pool::np;
namespace os = memory_pool::detail::os;

extern "C" {
MEMORY_POOL_VISIBLE int np_option_set(np_option option, size_t value) noexcept
{
    np::the_options.read_once(os::trusted_environment()); // First, so that `value` takes precedence.
    if (!np::options::is_one(option))
        return EINVAL;
    if (np::options::is_for_the_start(option) && np::registry().heaps().has_started())
        return EBUSY;
    const size_t before = np::the_options.get(option);
    if (!np::the_options.set(option, value))
        return EINVAL;
    if (!np::apply(option, value)) {
        np::the_options.set(option, before);
        return EAGAIN;
    }
    return 0;
}

MEMORY_POOL_VISIBLE np_option np_option_by_name(const char* name) noexcept
{
    return name != nullptr ? np::the_options.find(name) : np_option_none;
}

MEMORY_POOL_VISIBLE int np_option_set_by_name(const char* name, const char* value) noexcept
{
    const np_option option = np_option_by_name(name);
    const bool is_known = option != np_option_none && value != nullptr;
    const auto number = is_known ? np::the_options.value_in(option, value) : std::nullopt;
    return number ? np_option_set(option, *number) : EINVAL;
}

MEMORY_POOL_VISIBLE size_t np_option_get(np_option option) noexcept
{
    np::the_options.read_once(os::trusted_environment());
    if (option == np_option_background_thread) // The system may have refused it, or this may be the child of a fork.
        return np::registry().maintenance().works_in_background() ? 1 : 0;
    if (option == np_option_pressure)
        return np::registry().maintenance().pressure().state() != np_pressure_off ? 1 : 0;
    return np::options::is_one(option) ? np::the_options.get(option) : 0;
}
}
