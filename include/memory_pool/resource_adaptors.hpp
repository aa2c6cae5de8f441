// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Adaptors in front of any std::pmr::memory_resource. Each does one thing; they can be stacked in any order.
///
///     container  ->  tracking_resource  ->  limit_resource  ->  synchronized_resource  ->  any resource
///
///     An adaptor passes bytes, alignment and address to its upstream unchanged.
///
/// tracking_resource counts allocations, in total and by call site:
///
///     std::pmr::vector v(&tracked)        ----------------------> [ total ] -> upstream
///     std::pmr::vector w(tracked.for_site())    -> [ call site ] -----^
///
///     in_use = allocations - deallocations          bytes_in_use >= the sum of bytes_in_use of all sites
///
/// limit_resource has a budget in bytes:
///
///     0 -------- bytes_in_use -------- soft_limit ------------ limit
///                                       on_soft_limit is called  | limit_exceeded is thrown
///
///     bytes outstanding from upstream <= bytes_in_use <= limit, at any moment
///
/// failing_resource injects failures, for tests of out-of-memory handling:
///
///     allocation   1    2    3    4   ...
///     fail_at(3)   |    |    X    |        X: std::bad_alloc, without a call of upstream
///
///     calls = failures + allocation requests to upstream
///
/// synchronized_resource calls its upstream under a lock, one call at a time.
///
/// Thread safety: synchronized_resource: any thread. Other adaptors: any thread if upstream is thread-safe, otherwise
/// one thread at a time.
#pragma once

#include <memory_pool/base/call_site.hpp>
#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/base/lock_guard.hpp>
#include <memory_pool/base/mutex.hpp>
#include <memory_pool/base/static_checks.hpp>
#include <memory_pool/base/with_member.hpp>
#include <memory_pool/core/reports/report_statistics.hpp>
#include <memory_pool/core/reports/reported.hpp>
#include <memory_pool/core/resources/resource_counters.hpp>
#include <memory_pool/core/threads/pool_locks.hpp>
#include <memory_pool/statistics.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <map>
#include <memory_resource>
#include <type_traits>
#include <utility>
namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// An adaptor that forwards every call. An adaptor holds no memory, so its destructor has nothing to release.
class resource_adaptor : public std::pmr::memory_resource, public resource_by_address
{
public:
    resource_adaptor(const resource_adaptor&) = delete;
    resource_adaptor& operator=(const resource_adaptor&) = delete;

    /// Returns: the upstream resource.
    std::pmr::memory_resource* upstream_resource() const noexcept { return upstream_; }

protected:
    /// Throws: std::invalid_argument if there is no upstream.
    explicit resource_adaptor(std::pmr::memory_resource* upstream) : upstream_(upstream)
    {
        if (upstream == nullptr)
            base::throw_invalid_argument(
                base::message("memory_pool: the upstream of a memory resource is nullptr; leave "
                              "it out for std::pmr::get_default_resource()"));
    }

    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        return upstream_->allocate(bytes, alignment);
    }

    void do_deallocate(void* chunk, std::size_t bytes, std::size_t alignment) override
    {
        if (chunk != nullptr) // Not every upstream accepts nullptr.
            upstream_->deallocate(chunk, bytes, alignment);
    }

    /// Two adaptors are never equal: memory counted by one adaptor must not be freed through another.
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

private:
    std::pmr::memory_resource* const upstream_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
namespace detail::core {
/// An adaptor that counts allocations and deallocations: the base of tracking_resource and of its views for call sites.
class counting_adaptor : public resource_adaptor
{
public:
    explicit counting_adaptor(std::pmr::memory_resource* upstream) : resource_adaptor(upstream) {}

    /// Returns: exact statistics, but not a consistent snapshot while other threads use the resource.
    /// Complexity: O(1).
    /// Thread safety: any thread.
    resource_statistics statistics() const noexcept { return counters_.read(); }

    /// Effects: resets the peaks to the chunks and bytes in use now: of the resource, or of the call site of a view.
    /// Complexity: O(1).
    /// Thread safety: any thread.
    void reset_peak() noexcept { counters_.reset_peak(); }

    /// Returns: the requested bytes of outstanding chunks.
    /// Complexity: O(1).
    /// Thread safety: any thread.
    std::size_t bytes_in_use() const noexcept { return counters_.bytes_in_use(); }

protected:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        base::failure_guard failure([this]() noexcept { counters_.count_failure(); });
        void* const chunk = resource_adaptor::do_allocate(bytes, alignment);
        failure.succeeded();
        counters_.count_allocation(bytes);
        return chunk;
    }

    void do_deallocate(void* chunk, std::size_t bytes, std::size_t alignment) override
    {
        if (chunk == nullptr)
            return;
        // Before upstream frees the chunk: another thread may allocate it right after that, and its bytes must not
        // count twice.
        counters_.count_deallocation(bytes);
        resource_adaptor::do_deallocate(chunk, bytes, alignment);
    }

private:
    resource_counters counters_;
};
} // namespace detail::core

/// Counts allocations and deallocations. See core::counting_adaptor for `statistics()` and `bytes_in_use()`.
///
/// Costs three atomic additions per allocation, and two per deallocation. A view of a call site doubles these numbers.
class tracking_resource : public detail::core::counting_adaptor
{
public:
    /// Effects: creates a resource with all counts 0. `name` is its name in reports, and is not copied.
    /// Preconditions: `upstream` and `name` outlive the resource.
    /// Throws: std::invalid_argument if `upstream` is nullptr.
    explicit tracking_resource(std::pmr::memory_resource* upstream = std::pmr::get_default_resource(),
                               const char* name = detail::core::default_name)
        : counting_adaptor(upstream), entry_("tracking_resource", name, {&read_statistics, this, true})
    {
    }

    /// Effects: creates a view of this resource for the call site `site`, if there is none yet. Allocations through the
    ///   view count for the call site and for the resource. Views are allocated by the global operator new. They are
    ///   not counted, and take no memory from upstream.
    /// Returns: the view. A call site always has the same view, which lives as long as the resource. Views are equal
    ///   neither to each other nor to the resource, so memory is freed through the view that allocated it. Moving a
    ///   container into a container of another call site copies the elements.
    /// Throws: std::bad_alloc if there is no memory for a view.
    /// Complexity: logarithmic in call sites.
    /// Thread safety: any thread.
    [[nodiscard]] std::pmr::memory_resource* for_site(const call_site& site = call_site::here())
    {
        const detail::base::lock_guard lock(mutex_);
        return &sites_.try_emplace(site, this).first->second;
    }

    /// Effects: calls `visit(const call_site&, const resource_statistics&)` for each call site, in the order of files
    ///   and lines. `visit` may use the resource. A call site added during the iteration may or may not be visited.
    /// Throws: what `visit` throws.
    /// Complexity: O(n log n) for n call sites.
    /// Thread safety: any thread.
    template <class Visit>
    void for_each_site(Visit&& visit) const
    {
        for (const auto* entry = first_site(); entry != nullptr; entry = site_after(*entry))
            visit(entry->first, entry->second.statistics());
    }

    /// Effects: prints a line with the totals, and a line for each call site.
    /// Complexity: as `for_each_site`.
    /// Thread safety: any thread.
    void print(std::FILE* file = stderr) const
    {
        print_line(file, "memory_pool: tracked", statistics());
        for_each_site([file](const call_site& site, const resource_statistics& statistics) {
            print_line(file, detail::base::message("  %.300s:%u", site.file, site.line).c_str(), statistics);
        });
    }

private:
    using site_map = std::map<call_site, detail::core::counting_adaptor>;

    static void print_line(std::FILE* file, const char* subject, const resource_statistics& statistics)
    {
        (void)std::fprintf(file,
                           "%s: %zu bytes in use (peak %zu), chunks %zu (peak %zu), allocations %llu, failures %llu\n",
                           subject, statistics.bytes_in_use, statistics.peak_bytes_in_use, statistics.in_use,
                           statistics.peak_in_use, static_cast<unsigned long long>(statistics.allocations),
                           static_cast<unsigned long long>(statistics.failures));
    }

    // for_each_site takes the lock for each step, not during `visit`. Entries do not move until the resource is
    // destroyed.
    const site_map::value_type* first_site() const
    {
        const detail::base::lock_guard lock(mutex_);
        return entry_at(sites_.begin());
    }

    const site_map::value_type* site_after(const site_map::value_type& entry) const
    {
        const detail::base::lock_guard lock(mutex_);
        return entry_at(sites_.upper_bound(entry.first));
    }

    const site_map::value_type* entry_at(site_map::const_iterator position) const MEMORY_POOL_REQUIRES(mutex_)
    {
        return position != sites_.end() ? &*position : nullptr;
    }

    static report_statistics read_statistics(const void* resource) noexcept
    {
        const resource_statistics counted = static_cast<const tracking_resource*>(resource)->statistics();
        report_statistics statistics;
        statistics.in_use = counted.in_use;
        statistics.bytes_in_use = counted.bytes_in_use;
        statistics.counts = 1;
        statistics.peak_in_use = counted.peak_in_use;
        statistics.allocations = counted.allocations;
        statistics.failures = counted.failures;
        return statistics;
    }

    mutable detail::base::mutex mutex_;
    site_map sites_ MEMORY_POOL_GUARDED_BY(mutex_); ///< The lock protects the map, not its entries.
    detail::core::reported entry_;
};

class limit_resource;

/// The options of a limit_resource.
struct limit_options
{
    /// No limit.
    static constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

    /// The maximum number of bytes in use. Requested bytes are counted.
    std::size_t limit = unbounded;

    /// The bytes in use above which `on_soft_limit` is called; at most `limit`, or `unbounded`.
    std::size_t soft_limit = unbounded;

    /// The allocating thread calls this function once each time the bytes in use rise above `soft_limit`, after its
    /// bytes were counted and before upstream is called. The function may free memory through the resource. It may also
    /// allocate, which causes another call only after enough was freed. If it throws, the allocation fails with that
    /// exception, and does not count. It must not use a resource in front of this one: that resource may be in the
    /// middle of a call with its lock held.
    std::function<void(limit_resource&)> on_soft_limit;

    /// The resource's name in reports and in limit_exceeded. Not copied: it must outlive the resource.
    const char* name = "unnamed";

    /// Returns: a copy of these options with another `limit`.
    [[nodiscard]] limit_options with_limit(std::size_t value) const
    {
        return detail::base::with_member(*this, &limit_options::limit, value);
    }

    /// Returns: a copy of these options with another `soft_limit`.
    [[nodiscard]] limit_options with_soft_limit(std::size_t value) const
    {
        return detail::base::with_member(*this, &limit_options::soft_limit, value);
    }

    /// Returns: a copy of these options with another `on_soft_limit`.
    [[nodiscard]] limit_options with_on_soft_limit(std::function<void(limit_resource&)> value) const
    {
        return detail::base::with_member(*this, &limit_options::on_soft_limit, std::move(value));
    }

    /// Returns: a copy of these options with another `name`.
    [[nodiscard]] limit_options with_name(const char* value) const
    {
        return detail::base::with_member(*this, &limit_options::name, value);
    }
};

/// Limits the bytes in use.
class limit_resource : public detail::core::resource_adaptor
{
public:
    /// Effects: creates a resource with a limit of `limit` bytes in use.
    /// Preconditions: `upstream` outlives the resource.
    /// Throws: std::invalid_argument if `upstream` is nullptr.
    explicit limit_resource(std::size_t limit, std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : limit_resource(limit_options{}.with_limit(limit), upstream)
    {
    }

    /// Effects: creates a resource with these options.
    /// Preconditions: `upstream` outlives the resource.
    /// Throws: std::invalid_argument if `upstream` is nullptr, or `soft_limit` is above `limit` and not `unbounded`.
    explicit limit_resource(limit_options options,
                            std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : resource_adaptor(upstream), options_(std::move(options))
    {
        if (options_.name == nullptr)
            options_.name = limit_options{}.name;
        if (options_.soft_limit > options_.limit && options_.soft_limit != limit_options::unbounded)
            detail::base::throw_invalid_argument(
                detail::base::message("memory_pool: resource '%.100s': soft_limit is %zu, above limit, which "
                                      "is %zu; it would never be reached",
                                      options_.name, options_.soft_limit, options_.limit));
    }

    /// Returns: the maximum number of bytes in use.
    std::size_t limit() const noexcept { return options_.limit; }

    /// Returns: the bytes in use above which `on_soft_limit` is called.
    std::size_t soft_limit() const noexcept { return options_.soft_limit; }

    /// Returns: the resource's name in reports.
    const char* name() const noexcept { return options_.name; }

    /// Returns: bytes in use, including allocations and deallocations in progress.
    /// Complexity: O(1).
    /// Thread safety: any thread.
    std::size_t bytes_in_use() const noexcept { return bytes_in_use_.load(std::memory_order_relaxed); }

    /// Returns: the peak of bytes in use since construction or the last `reset_peak`.
    /// Complexity: O(1).
    /// Thread safety: any thread.
    std::size_t peak_bytes_in_use() const noexcept { return peak_bytes_in_use_.load(std::memory_order_relaxed); }

    /// Effects: resets the peak to the bytes in use now.
    /// Complexity: O(1).
    /// Thread safety: any thread.
    void reset_peak() noexcept { peak_bytes_in_use_.store(bytes_in_use(), std::memory_order_relaxed); }

protected:
    /// Throws: limit_exceeded if the limit would be exceeded; what `on_soft_limit` and upstream throw. On failure
    ///   nothing has changed.
    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        const std::size_t before = count(bytes);
        detail::base::failure_guard failure([&]() noexcept { uncount(bytes); });
        if (before <= options_.soft_limit && before + bytes > options_.soft_limit && options_.on_soft_limit)
            options_.on_soft_limit(*this);
        void* const chunk = resource_adaptor::do_allocate(bytes, alignment);
        failure.succeeded();
        detail::core::raise(peak_bytes_in_use_, before + bytes);
        return chunk;
    }

    /// Effects: returns the chunk to upstream, and then subtracts its bytes, so that the bytes outstanding from
    ///   upstream never exceed the counted bytes.
    void do_deallocate(void* chunk, std::size_t bytes, std::size_t alignment) override
    {
        if (chunk == nullptr)
            return;
        resource_adaptor::do_deallocate(chunk, bytes, alignment);
        uncount(bytes);
    }

private:
    /// Adds `bytes`. Returns the bytes in use before.
    std::size_t count(std::size_t bytes)
    {
        std::size_t before = bytes_in_use();
        do {
            if (bytes > options_.limit - before)
                detail::base::throw_limit_exceeded(options_.name, options_.limit, before, bytes);
        } while (!bytes_in_use_.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
        return before;
    }

    void uncount(std::size_t bytes) noexcept { bytes_in_use_.fetch_sub(bytes, std::memory_order_relaxed); }

    static report_statistics read_statistics(const void* resource) noexcept
    {
        const auto& self = *static_cast<const limit_resource*>(resource);
        report_statistics statistics;
        if (self.limit() != limit_options::unbounded)
            statistics.limit = self.limit();
        statistics.bytes_in_use = self.bytes_in_use();
        return statistics;
    }

    limit_options options_;
    std::atomic<std::size_t> bytes_in_use_{0};
    std::atomic<std::size_t> peak_bytes_in_use_{0};
    detail::core::reported entry_{"limit_resource", options_.name, {&read_statistics, this, true}};
};

/// The probability that an allocation fails.
struct failure_chance
{
    /// From 0 (never) to 1 (always).
    double probability = 0;

    /// The random seed. On every platform, `probability`, `seed` and n alone decide whether the n-th allocation fails.
    std::uint64_t seed = 0;
};

/// Makes chosen allocations fail. Forwards deallocations.
class failing_resource : public detail::core::resource_adaptor
{
public:
    /// Effects: creates a resource whose allocation number `call`, counted from 1, fails. 0: no allocation fails.
    /// Preconditions: `upstream` outlives the resource.
    /// Throws: std::invalid_argument if `upstream` is nullptr.
    explicit failing_resource(std::uint64_t call,
                              std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : resource_adaptor(upstream), calls_until_failure_(call)
    {
    }

    /// Rejects a probability, which is not the number of a call: pass a failure_chance.
    template <class Number, std::enable_if_t<std::is_floating_point_v<Number>, bool> = true>
    explicit failing_resource(Number, std::pmr::memory_resource* = nullptr) = delete;

    /// Effects: creates a resource whose allocations fail by chance: `failing_resource(failure_chance{0.01, seed})`.
    /// Preconditions: `upstream` outlives the resource.
    /// Throws: std::invalid_argument if `upstream` is nullptr, or the probability is not between 0 and 1.
    explicit failing_resource(const failure_chance& chance,
                              std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : resource_adaptor(upstream), chance_(checked(chance))
    {
    }

    /// Effects: makes only allocation number `call` fail, counted from 1 at the next allocation. 0: no allocation
    ///   fails.
    /// Thread safety: any thread.
    void fail_at(std::uint64_t call) noexcept
    {
        const detail::base::lock_guard lock(mutex_);
        calls_until_failure_ = call;
        chance_ = {};
    }

    /// Effects: makes allocations fail only by chance from now on.
    /// Throws: std::invalid_argument if the probability is not between 0 and 1.
    /// Thread safety: any thread.
    void fail_by_chance(const failure_chance& chance)
    {
        const failure_chance accepted = checked(chance);
        const detail::base::lock_guard lock(mutex_);
        calls_until_failure_ = 0;
        chance_ = accepted;
        calls_since_chance_ = 0;
    }

    /// Effects: makes no allocation fail from now on.
    /// Thread safety: any thread.
    void never_fail() noexcept { fail_at(0); }

    /// Returns: the number of allocations requested.
    /// Thread safety: any thread.
    std::uint64_t calls() const noexcept
    {
        const detail::base::lock_guard lock(mutex_);
        return calls_;
    }

    /// Returns: the number of allocations that this resource made fail.
    /// Thread safety: any thread.
    std::uint64_t failures() const noexcept
    {
        const detail::base::lock_guard lock(mutex_);
        return failures_;
    }

protected:
    /// Throws: out_of_memory, which is a std::bad_alloc, if this allocation is chosen; what upstream throws.
    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        if (const std::uint64_t failed_call = count_call())
            detail::base::throw_out_of_memory(
                detail::base::message("memory_pool: failing_resource: allocation %llu, of %zu bytes, fails on request",
                                      static_cast<unsigned long long>(failed_call), bytes));
        return resource_adaptor::do_allocate(bytes, alignment);
    }

private:
    static failure_chance checked(const failure_chance& chance)
    {
        const bool is_probability = chance.probability >= 0 && chance.probability <= 1; // False for NaN.
        if (!is_probability)
            detail::base::throw_invalid_argument(detail::base::message(
                "memory_pool: failing_resource: the probability %f is not between 0 and 1", chance.probability));
        return chance;
    }

    /// Counts a call. Returns the number of the call if the call must fail, otherwise 0.
    std::uint64_t count_call()
    {
        const detail::base::lock_guard lock(mutex_);
        ++calls_;
        ++calls_since_chance_;
        if (!is_due() && fraction(chance_.seed, calls_since_chance_) >= chance_.probability)
            return 0;
        ++failures_;
        return calls_;
    }

    /// Counts down to the call that must fail. Returns whether the current call must fail.
    bool is_due() noexcept MEMORY_POOL_REQUIRES(mutex_)
    {
        if (calls_until_failure_ == 0)
            return false;
        --calls_until_failure_;
        return calls_until_failure_ == 0;
    }

    /// The n-th pseudo-random number in [0, 1) of the generator SplitMix64 with that seed.
    static double fraction(std::uint64_t seed, std::uint64_t n) noexcept
    {
        std::uint64_t bits = seed + n * 0x9E37'79B9'7F4A'7C15;
        bits = (bits ^ (bits >> 30)) * 0xBF58'476D'1CE4'E5B9;
        bits = (bits ^ (bits >> 27)) * 0x94D0'49BB'1331'11EB;
        bits ^= bits >> 31;
        return static_cast<double>(bits >> 11) * 0x1p-53; // A double holds 53 bits.
    }

    mutable detail::base::mutex mutex_; ///< Not held while upstream is called.
    std::uint64_t calls_ MEMORY_POOL_GUARDED_BY(mutex_) = 0;
    std::uint64_t failures_ MEMORY_POOL_GUARDED_BY(mutex_) = 0;
    std::uint64_t calls_until_failure_ MEMORY_POOL_GUARDED_BY(mutex_) = 0; ///< 0: no call fails by number.
    failure_chance chance_ MEMORY_POOL_GUARDED_BY(mutex_);
    std::uint64_t calls_since_chance_ MEMORY_POOL_GUARDED_BY(mutex_) = 0; ///< Since chance_ was set.
};

/// Makes a single-threaded resource thread-safe, if all threads use it through this adaptor. Upstream must not call the
/// adaptor. As with any std::mutex, the lock stays held in the child if the process forks while another thread is in a
/// call.
class synchronized_resource : public detail::core::resource_adaptor
{
public:
    /// Effects: creates a resource that calls `upstream` under a lock.
    /// Preconditions: `upstream` outlives the resource.
    /// Throws: std::invalid_argument if `upstream` is nullptr.
    explicit synchronized_resource(std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : resource_adaptor(upstream)
    {
    }

private:
    /// Tells upstream that a lock is held: see pool_use.
    struct lock_count : detail::base::immovable<lock_count>
    {
        lock_count() noexcept { ++detail::core::pool_locks_of_this_thread; }
        ~lock_count() { --detail::core::pool_locks_of_this_thread; }
    };

    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        const detail::base::lock_guard lock(mutex_);
        const lock_count counted;
        return resource_adaptor::do_allocate(bytes, alignment);
    }

    void do_deallocate(void* chunk, std::size_t bytes, std::size_t alignment) override
    {
        const detail::base::lock_guard lock(mutex_);
        const lock_count counted;
        resource_adaptor::do_deallocate(chunk, bytes, alignment);
    }

    detail::base::mutex mutex_;
};
}} // namespace memory_pool::MEMORY_POOL_ABI
