// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include "options.hpp"

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/arithmetic.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/os/environment.hpp>
#include <memory_pool/os/fork.hpp>
#include <memory_pool/os/process_end.hpp>
#include <memory_pool/os/standard_error.hpp>

#include "engine.hpp"
#include "mutex.hpp"
#include "output.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

/// The library that takes the place of malloc defines it to 1.
#ifndef MEMORY_POOL_TAKES_PLACE_OF_MALLOC
#define MEMORY_POOL_TAKES_PLACE_OF_MALLOC 0
#endif

namespace memory_pool::np
{
MEMORY_POOL_CONSTINIT options the_options{MEMORY_POOL_TAKES_PLACE_OF_MALLOC != 0};

namespace
{
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

/// Returns: the number that `text` is, as decimal digits with one of K, M and G behind them or not; the largest one if it is
///   larger still.
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
    const base::message complaint("np_alloc: %s=%.100s is no number from %zu to %zu%s; it stays %zu\n", its.variable,
                                  text, its.least, its.most,
                                  its.most < unit_of('K') ? "" : ", behind which K, M or G may stand", its.value);
    os::write_to_standard_error(complaint.c_str(), std::strlen(complaint.c_str()));
}

namespace
{
/// When the library is loaded, as static objects of the program may fork, and memory may have been asked for before there was an
/// environment; and when the process ends, or the library is closed.
class process_watch
{
public:
    process_watch() noexcept
    {
        (void)process::prepare_for_fork();
        the_options.read_once(os::environment());
        the_process.memory().set_patience(the_options.get(np_option_decay_ms));
        // Not before: the loader is done with us now.
        the_process.set_sample_bytes(the_options.get(np_option_sample_bytes));
        if (the_options.get(np_option_background_thread) != 0)
            (void)the_process.work_in_background(true);
        // Many programs close theirs before they end, to see whether all was written.
        if (is_anything_printed_at_end()) {
            errors_ = os::open_standard_error_again();
            file_of_errors_ = os::identity_of(errors_);
        }
    }
    process_watch(const process_watch&) = delete;
    process_watch& operator=(const process_watch&) = delete;
    ~process_watch()
    {
        if (this_thread_locks != 0) {
            say_that_nothing_is_printed();
            return;
        }
        if (const std::size_t wanted = the_options.get(np_option_statistics_at_end))
            np_print_statistics(begin(wanted), &write, this);
        (void)the_process.work_in_background(false);
        the_process.stop_watching_threads();
        the_process.stop_watching_accesses();
        list_leaks();
        the_process.memory().give_addresses_back();
    }

private:
    static bool is_anything_printed_at_end() noexcept
    {
        return the_options.get(np_option_statistics_at_end) != 0 || the_options.get(np_option_leaks_at_end) != 0 ||
               the_options.get(np_option_leaks_exit) != 0;
    }

    /// Effects: the rest of what is done at the end needs locks, one of which this thread has, and what it was about to do is half done.
    void say_that_nothing_is_printed() noexcept
    {
        if (!is_anything_printed_at_end())
            return;
        constexpr std::size_t as_text = 1;
        (void)begin(as_text);
        output(&write, this)
            .print("np_alloc: a handler of a signal ends the process in the middle of a call: "
                   "so nobody can tell what is in use\n");
    }

    void list_leaks() noexcept
    {
        const std::size_t list = the_options.get(np_option_leaks_at_end);
        const std::size_t status = the_options.get(np_option_leaks_exit);
        if (list == 0 && status == 0)
            return;
        if (np_report_leaks(begin(list), &write, this) != 0 && status != 0)
            os::end_with_status(static_cast<int>(status));
    }

    /// Effects: chooses the standard error as it is if the program has closed the other one, too, as some close all they have: another
    ///   file may have its number now.
    void find_errors() noexcept
    {
        if (!(os::identity_of(errors_) == file_of_errors_))
            errors_ = os::standard_error;
    }

    /// Effects: begins a report. As a text, it will name the process if that is the child of a fork, as the parent may have its own.
    /// Returns: its form.
    np_format begin(std::size_t wanted) noexcept
    {
        find_errors();
        names_process_ = wanted != 2 && the_process.is_forked();
        return wanted == 2 ? np_format_json : np_format_text;
    }

    void write(const char* text, std::size_t length) noexcept
    {
        if (std::exchange(names_process_, false)) {
            const base::message name("np_alloc: of process %ld, the child of a fork:\n", os::process_number());
            (void)os::write_text(errors_, name.c_str(), std::strlen(name.c_str()));
        }
        (void)os::write_text(errors_, text, length);
    }

    static void write(const char* text, std::size_t length, void* self) noexcept
    {
        static_cast<process_watch*>(self)->write(text, length);
    }

    bool names_process_ = false;
    os::descriptor errors_ = os::standard_error;
    os::file_identity file_of_errors_;
};

/// Static objects of the program may use blocks when they are constructed and destroyed, so it is constructed before and destroyed after
/// them.
MEMORY_POOL_CONSTRUCTED_FIRST process_watch watch;
} // namespace
} // namespace memory_pool::np

namespace np = memory_pool::np;
namespace os = memory_pool::os;

extern "C" {
int np_set_option(np_option option, size_t value) noexcept
{
    np::the_options.read_once(os::environment()); // What is set here is set after that.
    if (!np::options::is_one(option))
        return EINVAL;
    if (np::options::is_for_the_start(option) && np::the_process.has_started())
        return EBUSY;
    if (!np::the_options.set(option, value))
        return EINVAL;
    if (option == np_option_background_thread && !np::the_process.work_in_background(value != 0))
        return EAGAIN;
    if (option == np_option_decay_ms)
        np::the_process.set_patience(value);
    if (option == np_option_sample_bytes)
        np::the_process.set_sample_bytes(value);
    return 0;
}

size_t np_get_option(np_option option) noexcept
{
    np::the_options.read_once(os::environment());
    if (option == np_option_background_thread) // The system may have refused it, or this may be the child of a fork.
        return np::the_process.works_in_background() ? 1 : 0;
    return np::options::is_one(option) ? np::the_options.get(option) : 0;
}
}
