// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A memory resource that counts allocations, in total and by call site.
///
///     std::pmr::vector v(&tracked)        ------------------------> [ counts all ] -> upstream
///     std::pmr::vector w(tracked.for_site())    -> [ counts this line ] -----^
///
///     in_use = allocations - deallocations          bytes_in_use >= the sum of bytes_in_use of all sites
///
/// Thread safety: any thread, if upstream is for any thread; otherwise one thread at a time.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/base/lock_guard.hpp>
#include <memory_pool/base/mutex.hpp>
#include <memory_pool/call_site.hpp>
#include <memory_pool/core/reports/reported.hpp>
#include <memory_pool/core/resources/resource_counters.hpp>
#include <memory_pool/report/report_figures.hpp>
#include <memory_pool/resource_adaptor.hpp>
#include <memory_pool/statistics.hpp>

#include <cstddef>
#include <cstdio>
#include <map>
#include <memory_resource>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
namespace detail::core {
/// An adaptor that counts allocations and deallocations: a tracking_resource is one, and has one more for each call
/// site.
class counting_adaptor : public resource_adaptor
{
public:
    explicit counting_adaptor(std::pmr::memory_resource* upstream) : resource_adaptor(upstream) {}

    /// Returns: exact statistics so far. While other threads use the resource, the figures are of moments close
    ///   together.
    /// Complexity: O(1).
    /// Thread safety: any thread.
    resource_statistics statistics() const noexcept { return counters_.read(); }

    /// Effects: makes the chunks and bytes in use now the peaks: of all, or of this site.
    /// Complexity: O(1).
    /// Thread safety: any thread.
    void reset_peak() noexcept { counters_.reset_peak(); }

    /// Returns: outstanding bytes, as requested.
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
        // Before upstream has it: from then on, another thread may be handed the same bytes, which must not count
        // twice.
        counters_.count_deallocation(bytes);
        resource_adaptor::do_deallocate(chunk, bytes, alignment);
    }

private:
    resource_counters counters_;
};
} // namespace detail::core

/// Counts what passes through. See core::counting_adaptor for `statistics()` and `bytes_in_use()`.
///
/// An allocation costs three atomic additions more than upstream takes, and a deallocation two; twice that through a
/// site.
class tracking_resource : public detail::core::counting_adaptor
{
public:
    /// Effects: makes a resource with all counts 0.
    ///   `name` is the resource's name in reports; it is not copied.
    /// Preconditions: `upstream` and `name` outlive the resource.
    /// Throws: std::invalid_argument if `upstream` is nullptr.
    explicit tracking_resource(std::pmr::memory_resource* upstream = std::pmr::get_default_resource(),
                               const char* name = detail::core::default_name)
        : counting_adaptor(upstream), entry_("tracking_resource", name, {&read_figures, this, true})
    {
    }

    /// Effects: makes a view of this resource for `site`, if there is none yet. What passes through the view is counted
    ///   for the site, and here. Views are kept in memory of the global operator new, which is not counted, and not
    ///   asked of upstream.
    /// Returns: the view, the same one for the same site each time. It lives as long as the resource. Views are equal
    ///   neither to each other nor to the resource: memory goes back the way it came, so that each site has its own
    ///   again. A container that is moved into one of another site copies.
    /// Throws: std::bad_alloc if there is no memory for a view.
    /// Complexity: logarithmic in sites.
    /// Thread safety: any thread.
    [[nodiscard]] std::pmr::memory_resource* for_site(const call_site& site = call_site::here())
    {
        const detail::base::lock_guard lock(mutex_);
        return &sites_.try_emplace(site, this).first->second;
    }

    /// Effects: calls `visit(const call_site&, const resource_statistics&)` for each site, in the order of files and
    ///   lines. `visit` may use the resource; a site that it adds may or may not be visited.
    /// Throws: what `visit` throws.
    /// Complexity: O(n log n) for n sites.
    /// Thread safety: any thread.
    template <class Visit>
    void for_each_site(Visit&& visit) const
    {
        for (const auto* entry = first_site(); entry != nullptr; entry = site_after(*entry))
            visit(entry->first, entry->second.statistics());
    }

    /// Effects: prints a line on the whole, and one on each site.
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

    // A walk takes the lock for each step, not for the visit. Entries stay where they are until the resource ends.
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

    static report_figures read_figures(const void* resource) noexcept
    {
        const resource_statistics counted = static_cast<const tracking_resource*>(resource)->statistics();
        report_figures figures;
        figures.in_use = counted.in_use;
        figures.bytes_in_use = counted.bytes_in_use;
        figures.counts = 1;
        figures.peak_in_use = counted.peak_in_use;
        figures.allocations = counted.allocations;
        figures.failures = counted.failures;
        return figures;
    }

    mutable detail::base::mutex mutex_;
    site_map sites_ MEMORY_POOL_GUARDED_BY(mutex_); ///< The map only, not its entries.
    detail::core::reported entry_;
};
}} // namespace memory_pool::MEMORY_POOL_ABI
