// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The process: the registry of its heaps, and the actions when the library is loaded and when the program ends.
///
/// Both are in one file, so that a program linked with the archive gets the actions if it uses the registry.
///
/// Thread safety: as heap_registry.hpp.
#include "../heaps/heap_registry.hpp"
#include "../support/internals.hpp"

#include <memory_pool/np_alloc.h>

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/os/environment.hpp>
#include <memory_pool/os/fork.hpp>
#include <memory_pool/os/process_end.hpp>

#include "../diagnostics/end_verification.hpp"
#include "../diagnostics/heap_reports.hpp"
#include "../diagnostics/requested_report.hpp"
#include "../diagnostics/slabs.hpp"
#include "../engine/allocation_scopes.hpp"
#include "../engine/engine.hpp"
#include "../engine/profiling.hpp"
#include "../os/standard_error.hpp"
#include "../support/fork_mutex.hpp"
#include "../support/options.hpp"
#include "../support/output.hpp"

#include <cstddef>
#include <cstring>
#include <utility>

namespace memory_pool::np {
MEMORY_POOL_CONSTINIT heap_registry the_registry;
__thread thread_state this_thread;

thread_heap* heap_of_this_thread() noexcept
{
    return this_thread.cache.has_heap() ? &this_thread.cache.heap() : nullptr;
}

namespace {
/// Acts when the library is loaded, and when the process ends or the library is unloaded. Acts at load time because
/// static objects of the program may fork, and blocks may have been allocated before there was an environment.
class process_watch : base::immovable<process_watch>
{
public:
    process_watch() noexcept
    {
        (void)heap_registry::prepare_for_fork();
        the_options.read_once(os::trusted_environment());
        registry().pages().source().decay.set_decay_ms(the_options.get(np_option_decay_ms));
        registry().pages().source().set_limits();
        // Not earlier, because the loader has only now finished with this library.
        registry().set_sample_bytes(the_options.get(np_option_sample_bytes));
        if (the_options.get(np_option_background_thread) != 0)
            (void)registry().maintenance().work_in_background(true);
        if (the_options.get(np_option_pressure) != 0)
            (void)registry().maintenance().watch_pressure(true);
        const char* const profile_path = options::profile_path(os::trusted_environment());
        if (profile_path != nullptr && the_options.get(np_option_profile_bytes) == 0)
            (void)the_options.set(np_option_profile_bytes, default_profile_bytes);
        start_report(options::report_path(os::trusted_environment()), profile_path);
        set_profile_bytes(the_options.get(np_option_profile_bytes)); // Now: np_alloc's threads must not be samples.
        // Many programs close stderr before they end, to check that everything was written.
        if (is_anything_printed_at_end()) {
            errors_ = os::open_standard_error_again();
            file_of_errors_ = os::identity_of(errors_);
        }
    }
    ~process_watch()
    {
        if (this_thread_locks != 0) {
            say_that_nothing_is_printed();
            return;
        }
        report_.finish();
        if (const std::size_t wanted = the_options.get(np_option_statistics_at_end))
            np_statistics_print(begin(wanted), &write, this);
        (void)registry().maintenance().work_in_background(false);
        (void)registry().maintenance().watch_pressure(false);
        registry().stop_watching_threads();
        registry().stop_watching_accesses();
        verify_at_end();
        list_leaks();
        registry().pages().source().give_addresses_back();
    }

private:
    /// Effects: starts to write the report and the profile to the paths of NP_REPORT and NP_PROFILE; nullptr: none.
    void start_report(const char* path, const char* profile_path) noexcept
    {
        if (path == nullptr && profile_path == nullptr)
            return;
        report_after_fork = &report_;
        (void)os::at_fork(nullptr, nullptr, [] { report_after_fork->forget_after_fork(); });
        report_.start(path, profile_path, static_cast<int>(the_options.get(np_option_report_signal)));
    }

    // Values of the options that request a report at the end.
    static constexpr std::size_t as_text = 1;
    static constexpr std::size_t as_json = 2;

    static constexpr std::size_t default_profile_bytes = std::size_t{512} * 1024;

    static bool is_anything_printed_at_end() noexcept
    {
        return the_options.get(np_option_statistics_at_end) != 0 || the_options.get(np_option_leaks) != 0 ||
               the_options.get(np_option_leaks_exit) != 0;
    }

    /// Effects: prints why there are no reports: reports need locks, and this thread holds one of these locks in the
    ///   middle of a call.
    void say_that_nothing_is_printed() noexcept
    {
        if (!is_anything_printed_at_end())
            return;
        (void)begin(as_text);
        output(&write, this)
            .print("np_alloc: a signal handler ends the process in the middle of a call: "
                   "the blocks in use are unknown\n");
    }

    void list_leaks() noexcept
    {
        const std::size_t list = the_options.get(np_option_leaks);
        const std::size_t status = the_options.get(np_option_leaks_exit);
        if (list == 0 && status == 0)
            return;
        const np_format format = begin(list);
        const std::size_t leaked_blocks = np_leak_report(format, &write, this);
        const std::size_t untracked = leaked_blocks == 0 ? untracked_bytes() : 0;
        if (format == np_format_text && untracked != 0)
            output(&write, this)
                .print(base::message(
                    "np_alloc: leaks are not tracked: %zu bytes are in use, none with a call site\n"
                    "  remedy: allocate by np_alloc_at(bytes, __FILE__, __LINE__), or set NP_PROFILE_BYTES=1\n",
                    untracked));
        if (leaked_blocks != 0 && status != 0)
            os::end_with_status(static_cast<int>(status));
    }

    /// Returns: the bytes in use, which may be leaks, if the program has never called np_alloc_at and the profile is
    ///   off; otherwise 0.
    static std::size_t untracked_bytes() noexcept
    {
        if (registry().has_call_sites() || the_profile.mean_bytes() != 0)
            return 0;
        np_statistics statistics;
        np_get_statistics(&statistics);
        return statistics.bytes_in_use;
    }

    /// Effects: falls back to the current stderr if the program has closed our descriptor, too. Some programs close all
    ///   descriptors, so another file may now have its number.
    void find_errors() noexcept
    {
        if (!(os::identity_of(errors_) == file_of_errors_))
            errors_ = os::standard_error;
    }

    /// Effects: begins a report. In the child of a fork, a text report names the process, because the parent may print
    ///   a report, too.
    /// Returns: the format.
    np_format begin(std::size_t wanted) noexcept
    {
        find_errors();
        names_process_ = wanted != as_json && registry().forks().is_forked();
        return wanted == as_json ? np_format_json : np_format_text;
    }

    void write(const char* text, std::size_t length) noexcept
    {
        if (std::exchange(names_process_, false)) {
            const base::message name("np_alloc: of process %ld, the child of a fork:\n", os::process_number());
            (void)os::write_all(errors_, name.c_str(), std::strlen(name.c_str()));
        }
        (void)os::write_all(errors_, text, length);
    }

    static void write(const char* text, std::size_t length, void* self) noexcept
    {
        static_cast<process_watch*>(self)->write(text, length);
    }

    bool names_process_ = false;
    os::descriptor errors_ = os::standard_error;
    os::file_identity file_of_errors_;
    requested_report report_;
    static inline requested_report* report_after_fork = nullptr;
};

} // namespace
} // namespace memory_pool::np

// Pools and reports refer to these functions by weak symbols, so the functions are in this file, which every program
// that links the library has.
extern "C" {
MEMORY_POOL_VISIBLE void memory_pool_np_add_pools(memory_pool::np::trim_function* trim) noexcept
{
    memory_pool::np::registry().maintenance().pools().add(trim);
}

MEMORY_POOL_VISIBLE void memory_pool_np_remove_pools(memory_pool::np::trim_function* trim) noexcept
{
    memory_pool::np::registry().maintenance().pools().remove(trim);
}

MEMORY_POOL_VISIBLE void memory_pool_np_add_reports(memory_pool::np::visit_function* visit) noexcept
{
    memory_pool::np::registry().maintenance().reports().add(visit);
}

MEMORY_POOL_VISIBLE void memory_pool_np_remove_reports(memory_pool::np::visit_function* visit) noexcept
{
    memory_pool::np::registry().maintenance().reports().remove(visit);
}

MEMORY_POOL_VISIBLE np_no_allocation_scope* memory_pool_np_set_no_allocation_scope(
    np_no_allocation_scope* scope) noexcept
{
    return memory_pool::np::set_no_allocation_scope(scope);
}

MEMORY_POOL_VISIBLE void memory_pool_np_visit_heaps(void (*each)(const void* view, std::size_t bytes, void* argument),
                                                    void* argument)
{
    memory_pool::np::visit_named_heaps(each, argument);
}

MEMORY_POOL_VISIBLE void memory_pool_np_get_statistics(np_statistics* statistics, std::size_t bytes) noexcept
{
    np_get_statistics_sized(statistics, bytes);
}

MEMORY_POOL_VISIBLE void memory_pool_np_print_statistics(
    np_format format, void (*write)(const char* text, std::size_t length, void* argument), void* argument)
{
    np_statistics_print(format, write, argument);
}

MEMORY_POOL_VISIBLE void memory_pool_np_print_slabs(void (*write)(const char* text, std::size_t length, void* argument),
                                                    void* argument)
{
    memory_pool::np::print_slabs_of_report(write, argument);
}
}

namespace memory_pool::np { namespace {
/// Static objects of the program may use blocks in their constructors and destructors, so this object is constructed
/// before them and destroyed after them.
MEMORY_POOL_CONSTRUCTED_FIRST process_watch watch;
}} // namespace memory_pool::np
