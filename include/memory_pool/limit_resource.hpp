// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A memory resource with a budget in bytes.
///
///     0 -------- bytes_in_use -------- soft_limit ------------ limit
///                                       on_soft_limit is called  | limit_exceeded is thrown
///
///     bytes taken from upstream and not given back <= bytes_in_use <= limit, at any moment
///
/// Thread safety: any thread, if upstream is for any thread; otherwise one thread at a time.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/failure_guard.hpp>
#include <memory_pool/base/with_member.hpp>
#include <memory_pool/core/reports/reported.hpp>
#include <memory_pool/core/resources/resource_counters.hpp>
#include <memory_pool/report/report_figures.hpp>
#include <memory_pool/resource_adaptor.hpp>

#include <atomic>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory_resource>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
class limit_resource;

/// The options of a limit_resource.
struct limit_options
{
    /// The value that means: no limit.
    static constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

    /// Maximum bytes in use, counted as requested.
    std::size_t limit = unbounded;

    /// `on_soft_limit` is called when more bytes than these are in use; at most `limit`, or `unbounded`.
    std::size_t soft_limit = unbounded;

    /// Called each time `soft_limit` is crossed upwards, once, in the thread that crosses it, when its bytes have been
    /// counted and before upstream is asked for them. It may give memory back through the resource, and allocate (which
    /// crosses the limit again only after enough was given back). If it throws, the allocation fails with that, and is
    /// not counted. It must not use a resource in front of this one, which may be in the middle of a call with its lock
    /// held.
    std::function<void(limit_resource&)> on_soft_limit;

    /// The resource's name in reports and in limit_exceeded. Not copied: it must outlive the resource.
    const char* name = "unnamed";

    /// Returns: these options with that `limit`.
    [[nodiscard]] limit_options with_limit(std::size_t value) const
    {
        return detail::base::with_member(*this, &limit_options::limit, value);
    }

    /// Returns: these options with that `soft_limit`.
    [[nodiscard]] limit_options with_soft_limit(std::size_t value) const
    {
        return detail::base::with_member(*this, &limit_options::soft_limit, value);
    }

    /// Returns: these options with that `on_soft_limit`.
    [[nodiscard]] limit_options with_on_soft_limit(std::function<void(limit_resource&)> value) const
    {
        return detail::base::with_member(*this, &limit_options::on_soft_limit, std::move(value));
    }

    /// Returns: these options with that `name`.
    [[nodiscard]] limit_options with_name(const char* value) const
    {
        return detail::base::with_member(*this, &limit_options::name, value);
    }
};

/// Hands out no more bytes than its limit.
class limit_resource : public detail::core::resource_adaptor
{
public:
    /// Effects: makes a resource with a limit of `limit` bytes in use.
    /// Preconditions: `upstream` outlives the resource.
    /// Throws: std::invalid_argument if `upstream` is nullptr.
    explicit limit_resource(std::size_t limit, std::pmr::memory_resource* upstream = std::pmr::get_default_resource())
        : limit_resource(limit_options{}.with_limit(limit), upstream)
    {
    }

    /// Effects: makes a resource as the options say.
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

    /// Returns: above how many bytes in use `on_soft_limit` is called.
    std::size_t soft_limit() const noexcept { return options_.soft_limit; }

    /// Returns: the resource's name in reports.
    const char* name() const noexcept { return options_.name; }

    /// Returns: bytes in use, including those being allocated or freed at the moment.
    /// Complexity: O(1).
    /// Thread safety: any thread.
    std::size_t bytes_in_use() const noexcept { return bytes_in_use_.load(std::memory_order_relaxed); }

    /// Returns: the most bytes in use at once, since construction or the last `reset_peak`.
    /// Complexity: O(1).
    /// Thread safety: any thread.
    std::size_t peak_bytes_in_use() const noexcept { return peak_bytes_in_use_.load(std::memory_order_relaxed); }

    /// Effects: makes the bytes in use now the peak.
    /// Complexity: O(1).
    /// Thread safety: any thread.
    void reset_peak() noexcept { peak_bytes_in_use_.store(bytes_in_use(), std::memory_order_relaxed); }

protected:
    /// Throws: limit_exceeded if the limit would be exceeded; what `on_soft_limit` and upstream throw. Nothing has
    ///   changed then.
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

    /// Effects: returns the chunk to upstream, and then counts its bytes as free, so that upstream never has more
    ///   outstanding than is counted.
    void do_deallocate(void* chunk, std::size_t bytes, std::size_t alignment) override
    {
        if (chunk == nullptr)
            return;
        resource_adaptor::do_deallocate(chunk, bytes, alignment);
        uncount(bytes);
    }

private:
    /// Returns: bytes in use before.
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

    static report_figures read_figures(const void* resource) noexcept
    {
        const auto& its = *static_cast<const limit_resource*>(resource);
        report_figures figures;
        if (its.limit() != limit_options::unbounded)
            figures.limit = its.limit();
        figures.bytes_in_use = its.bytes_in_use();
        return figures;
    }

    limit_options options_;
    std::atomic<std::size_t> bytes_in_use_{0};
    std::atomic<std::size_t> peak_bytes_in_use_{0};
    detail::core::reported entry_{"limit_resource", options_.name, {&read_figures, this, true}};
};
}} // namespace memory_pool::MEMORY_POOL_ABI
