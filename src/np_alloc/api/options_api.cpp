// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include "../support/options.hpp"

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/os/environment.hpp>
#include <memory_pool/os/standard_error.hpp>

#include "../engine/engine.hpp"
#include "../support/build_variant.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>

/// The library that takes the place of malloc defines it to 1.
#ifndef MEMORY_POOL_TAKES_PLACE_OF_MALLOC
#define MEMORY_POOL_TAKES_PLACE_OF_MALLOC 0
#endif

namespace memory_pool::np {
namespace {
/// A program whose malloc this library replaces may have blocks of another malloc. The checked build reports them
/// anyway: it is there to find mistakes.
constexpr bool ignores_foreign = MEMORY_POOL_TAKES_PLACE_OF_MALLOC != 0 && !is_checked;
} // namespace

MEMORY_POOL_CONSTINIT options the_options{ignores_foreign};

namespace {
/// Returns: what stands behind `name` and "=" in the environment; nullptr if that is not there.
const char* value_of(const char* name, const char* const* environment) noexcept
{
    const std::size_t length = std::strlen(name);
    for (; *environment != nullptr; ++environment)
        if (std::strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return *environment + length + 1;
    return nullptr;
}

/// Returns: how much the letter behind a number stands for; 0 if that is none.
constexpr std::size_t unit_of(char letter) noexcept
{
    switch (letter) {
    case '\0': return 1;
    case 'K': return std::size_t{1} << 10;
    case 'M': return std::size_t{1} << 20;
    case 'G': return std::size_t{1} << 30;
    default: return 0;
    }
}

/// Returns: the number that `text` is, as decimal digits with one of K, M and G behind them or not; the largest one if
///   it is larger still.
std::optional<std::size_t> number_in(const char* text) noexcept
{
    std::size_t number = 0;
    const char* rest = text;
    for (; *rest >= '0' && *rest <= '9'; ++rest)
        number = base::saturating_add(base::saturating_multiply(number, 10), static_cast<std::size_t>(*rest - '0'));
    const std::size_t unit = unit_of(*rest);
    if (rest == text || unit == 0 || (unit != 1 && rest[1] != '\0'))
        return std::nullopt;
    return base::saturating_multiply(number, unit);
}
} // namespace

void options::read_once(const char* const* environment) noexcept
{
    if (environment == nullptr || is_read_.exchange(true, std::memory_order_relaxed))
        return;
    for (std::size_t option = 0; option != option_count; ++option)
        if (const char* const text = value_of(facts_[option].variable, environment))
            read(facts_[option], values_[option], text);
}

void options::read(const option_facts& its, std::atomic<std::size_t>& value, const char* text) noexcept
{
    const std::optional<std::size_t> number = number_in(text);
    if (number && *number >= its.least && *number <= its.most) {
        value.store(*number, std::memory_order_relaxed);
        return;
    }
    const base::message complaint(
        "np_alloc: %s=%.100s is ignored: it must be a number from %zu to %zu%s; it stays %zu\n", its.variable, text,
        its.least, its.most, its.most < unit_of('K') ? "" : ", or one followed by K, M or G", its.value);
    os::write_to_standard_error(complaint.c_str(), std::strlen(complaint.c_str()));
}
} // namespace memory_pool::np

namespace np = memory_pool::np;
namespace os = memory_pool::os;

extern "C" {
int np_option_set(np_option option, size_t value) noexcept
{
    np::the_options.read_once(os::environment()); // What is set here is set after that.
    if (!np::options::is_one(option))
        return EINVAL;
    if (np::options::is_for_the_start(option) && np::registry().has_started())
        return EBUSY;
    if (!np::the_options.set(option, value))
        return EINVAL;
    if (option == np_option_background_thread && !np::registry().work_in_background(value != 0))
        return EAGAIN;
    if (option == np_option_decay_ms)
        np::registry().set_decay_ms(value);
    if (option == np_option_sample_bytes)
        np::registry().set_sample_bytes(value);
    return 0;
}

size_t np_option_get(np_option option) noexcept
{
    np::the_options.read_once(os::environment());
    if (option == np_option_background_thread) // The system may have refused it, or this may be the child of a fork.
        return np::registry().background().is_running() ? 1 : 0;
    return np::options::is_one(option) ? np::the_options.get(option) : 0;
}
}
