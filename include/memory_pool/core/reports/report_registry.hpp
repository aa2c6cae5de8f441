// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The registry of named pools and resources, for reports.
///
///     pool  ->  record: kind, name, published statistics  <-  list of the registry
///       ^                    |
///       +---- source --------+       shared pools are read under their lock; others publish on their slow paths
///
/// Records are allocated one by one, so the list stays intact in the child of a fork. There, pools on the stacks of
/// lost threads are gone, but could not remove their records. In the child, the registry does not read pools created by
/// other threads until these pools are used again; their records show the most recently published statistics.
///
/// The registry does not hold its lock while it reads a pool. It pins the record, and the pool's destructor waits until
/// the record is unpinned.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/intrusive_list.hpp>
#include <memory_pool/base/lock_guard.hpp>
#include <memory_pool/base/mutex.hpp>
#include <memory_pool/core/reports/published_statistics.hpp>
#include <memory_pool/core/reports/report_source.hpp>
#include <memory_pool/core/reports/report_statistics.hpp>
#include <memory_pool/os/clock.hpp>
#include <memory_pool/os/fork.hpp>
#include <memory_pool/os/short_wait.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
#if MEMORY_POOL_HAS_WEAK_FUNCTIONS
/// Effects: registers the fork handlers of pools that threads share. Null in a program without such pools: see
///   thread_registry.hpp.
MEMORY_POOL_WEAK void prepare_forks_of_pools() noexcept;
#endif

/// Has a different address in each thread.
inline thread_local const char mark_of_this_thread = 0;

/// A pool or resource in the registry.
class report_record : base::immovable<report_record>
{
public:
    static constexpr std::size_t max_name_length = 128;

    report_record(const char* kind, const char* name, report_source source) noexcept
        : kind_(kind), source_(source), maker_(&mark_of_this_thread)
    {
        std::strncpy(name_.data(), name, name_.size() - 1);
    }

    published_statistics published;

private:
    friend class report_registry;
    friend void publish(report_record& record) noexcept;
    friend void set_kind(report_record& record, const char* kind) noexcept;
    friend void set_more_bytes(report_record& record, std::uint64_t bytes) noexcept;
    friend void enter_again(report_record& record) noexcept;
    std::atomic<const char*> kind_;
    std::array<char, max_name_length> name_{};
    report_source source_;
    std::atomic<const char*> maker_;           ///< Identifies a thread; nullptr if the thread was lost in a fork.
    std::atomic<std::uint64_t> more_bytes_{0}; ///< Reserved by a class that is built on the pool.
    std::uint64_t serial_ = 0;
    std::uint32_t pins_ = 0; ///< Threads that are reading the record without the lock.
    report_record* next_ = nullptr;
    report_record* previous_ = nullptr;
};

/// A snapshot of a record, for readers.
struct report_view
{
    std::array<char, 48> kind;
    std::array<char, report_record::max_name_length> name;
    report_statistics statistics;
    std::uint64_t age_ms;   ///< Time since the statistics were published; 0 if the pool was read.
    bool is_published;      ///< The owner published the statistics; otherwise the pool was read.
    bool is_of_lost_thread; ///< A thread lost in a fork created the pool, and no thread has used it since.
};

/// All named pools and resources.
class report_registry
{
public:
    /// Returns: the process-wide instance. It is never destroyed because pools may outlive static destructors.
    static report_registry& get() noexcept
    {
        alignas(report_registry) static std::byte memory[sizeof(report_registry)];
        static auto* const registry = ::new (static_cast<void*>(memory)) report_registry;
        return *registry;
    }

    /// As enter_in_reports.
    MEMORY_POOL_NOINLINE report_record* enter(const char* kind, const char* name, report_source source) noexcept
    {
        void* const memory = std::malloc(sizeof(report_record)); // Not `new`, which may use a named pool.
        const base::lock_guard lock(mutex_);
        if (memory == nullptr) {
            ++left_out_;
            return nullptr;
        }
        auto* const record = ::new (memory) report_record(kind, name, source);
        record->serial_ = ++last_serial_;
        records_.add_last(record);
        return record;
    }

    /// As leave_reports.
    MEMORY_POOL_NOINLINE void leave(report_record* record) noexcept
    {
        for (os::short_wait wait;; wait.once_more()) {
            const base::lock_guard lock(mutex_);
            if (record->pins_ != 0)
                continue;
            records_.remove(record);
            break;
        }
        record->~report_record();
        std::free(record);
    }

    /// Effects: calls `visit(const report_view&)` for each record, in the order of creation, without a lock or a pinned
    ///   record. While a pool is read, only its own record is pinned: the pool's lock may be held by a thread whose
    ///   upstream destroys another pool.
    /// Complexity: linear for a few records; n^2 / 32 for many, because each batch of 32 walks the list to its first
    ///   record.
    template <class Visit>
    MEMORY_POOL_NOINLINE void for_each(Visit&& visit)
    {
        std::array<report_view, batch_size> views;
        std::uint64_t last = 0;
        std::size_t count = 0;
        do {
            count = look(views, last);
            std::for_each(views.begin(), views.begin() + count, visit);
        } while (count != 0);
    }

    /// Returns: the number of named pools that have no record because of OOM.
    std::size_t left_out() noexcept
    {
        const base::lock_guard lock(mutex_);
        return left_out_;
    }

private:
    static constexpr std::size_t batch_size = 32;
    using links = base::member_links<report_record, &report_record::next_, &report_record::previous_>;

    MEMORY_POOL_NOINLINE report_registry() noexcept
    {
        // The first handler acquires the lock, and one of the other two handlers releases it.
        (void)os::at_fork([]() MEMORY_POOL_ACQUIRE(get().mutex_) { get().mutex_.lock(); },
                          []() MEMORY_POOL_RELEASE(get().mutex_) { get().mutex_.unlock(); },
                          []() MEMORY_POOL_RELEASE(get().mutex_) { get().after_fork_in_child(); });
    }

    void after_fork_in_child() noexcept MEMORY_POOL_RELEASE(mutex_)
    {
        records_.for_each([](report_record* record) {
            record->pins_ = 0; // The pins belong to lost threads.
            if (record->maker_.load(std::memory_order_relaxed) != &mark_of_this_thread)
                record->maker_.store(nullptr, std::memory_order_relaxed);
        });
        mutex_.unlock();
    }

    /// Reads the first records after the serial number `last`, and advances `last`. Returns the number of records.
    std::size_t look(std::array<report_view, batch_size>& views, std::uint64_t& last) noexcept
    {
        std::size_t count = 0;
        report_record* record = pin_first_after(last);
        while (record != nullptr && count != batch_size) {
            views[count++] = view(*record);
            last = record->serial_;
            record = pin_next(*record, count != batch_size);
        }
        return count;
    }

    report_record* pin_first_after(std::uint64_t last) noexcept
    {
        const base::lock_guard lock(mutex_);
        report_record* first = records_.first();
        while (first != nullptr && first->serial_ <= last)
            first = first->next_;
        return pinned(first);
    }

    /// Unpins a record. Pins and returns the next record if more `are_wanted`.
    report_record* pin_next(report_record& record, bool are_wanted) noexcept
    {
        const base::lock_guard lock(mutex_);
        --record.pins_;
        return pinned(are_wanted ? record.next_ : nullptr);
    }

    static report_record* pinned(report_record* record) noexcept
    {
        if (record != nullptr)
            ++record->pins_;
        return record;
    }

    static report_view view(const report_record& record) noexcept
    {
        report_view snapshot{};
        std::strncpy(snapshot.kind.data(), record.kind_.load(std::memory_order_relaxed), snapshot.kind.size() - 1);
        snapshot.name = record.name_;
        snapshot.is_of_lost_thread = record.maker_.load(std::memory_order_acquire) == nullptr;
        snapshot.is_published = !record.source_.is_shared || snapshot.is_of_lost_thread;
        if (!snapshot.is_published) {
            snapshot.statistics = record.source_.read(record.source_.pool);
            snapshot.statistics.bytes_reserved += record.more_bytes_.load(std::memory_order_relaxed);
            return snapshot;
        }
        const std::uint64_t when = record.published.read(snapshot.statistics);
        snapshot.statistics.bytes_reserved += record.more_bytes_.load(std::memory_order_relaxed);
        const std::uint64_t now = os::coarse_milliseconds();
        snapshot.age_ms = now - std::min(now, when);
        return snapshot;
    }

    base::mutex mutex_;
    base::intrusive_list<links> records_ MEMORY_POOL_GUARDED_BY(mutex_);
    std::uint64_t last_serial_ MEMORY_POOL_GUARDED_BY(mutex_) = 0;
    std::size_t left_out_ MEMORY_POOL_GUARDED_BY(mutex_) = 0;
};

MEMORY_POOL_LIBRARY_FUNCTION void prepare_reports() noexcept
{
    (void)report_registry::get();
}
MEMORY_POOL_LIBRARY_FUNCTION report_record* enter_in_reports(const char* kind, const char* name,
                                                             report_source source) noexcept
{
    return report_registry::get().enter(kind, name, source);
}
MEMORY_POOL_LIBRARY_FUNCTION void leave_reports(report_record* record) noexcept
{
    report_registry::get().leave(record);
}
MEMORY_POOL_SLOW_PATH MEMORY_POOL_LIBRARY_FUNCTION void publish(report_record& record) noexcept
{
    record.published.write(record.source_.read(record.source_.pool), os::coarse_milliseconds());
    enter_again(record);
}
MEMORY_POOL_LIBRARY_FUNCTION void set_kind(report_record& record, const char* kind) noexcept
{
    record.kind_.store(kind, std::memory_order_relaxed);
}
MEMORY_POOL_LIBRARY_FUNCTION void set_more_bytes(report_record& record, std::uint64_t bytes) noexcept
{
    record.more_bytes_.store(bytes, std::memory_order_relaxed);
}
MEMORY_POOL_LIBRARY_FUNCTION void enter_again(report_record& record) noexcept
{
    record.maker_.store(&mark_of_this_thread, std::memory_order_release);
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
