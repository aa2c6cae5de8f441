// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Whole pages, mapped and unmapped directly: an upstream for pools and arenas.
///
///     allocate(5000)  ->  | page | page |        deallocate  ->  unmapped
///                         5000 bytes, and unused bytes up to the end of the second page
///
///     bytes_in_use = sum of the bytes mapped for all chunks >= bytes_in_huge_pages
///
/// The pages of each chunk are recorded in memory from the global operator new, so that foreign pointers are detected,
/// and the destructor can release the remaining chunks.
///
/// Thread safety: any thread.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/errors.hpp>
#include <memory_pool/base/lock_guard.hpp>
#include <memory_pool/base/mutex.hpp>
#include <memory_pool/base/poisoning.hpp>
#include <memory_pool/base/static_checks.hpp>
#include <memory_pool/base/with_member.hpp>
#include <memory_pool/core/blocks/pool_arguments.hpp>
#include <memory_pool/core/reports/report_statistics.hpp>
#include <memory_pool/core/reports/reported.hpp>
#include <memory_pool/os/huge_pages.hpp>
#include <memory_pool/os/page_mapping.hpp>
#include <memory_pool/os/pages.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <utility>

namespace memory_pool { inline namespace MEMORY_POOL_ABI {
/// The huge page policy of a page_resource. Huge pages cause fewer TLB misses, but use memory in larger units.
enum class huge_page_use
{
    as_the_system_does, ///< No request: the setting of the OS decides.
    transparent,        ///< Aligns chunks of at least a huge page, and advises the OS to use huge pages for them.
    /// Uses reserved huge pages, at least one even for a small chunk. If the OS has too few, acts as `transparent`.
    reserved,
};

/// The options of a page_resource.
struct page_options
{
    /// The use of huge pages. `bytes_in_huge_pages` shows the result.
    huge_page_use huge_pages = huge_page_use::as_the_system_does;

    /// Makes every page resident at once, to avoid later page faults. If the OS is out of memory, the allocation fails
    /// on Linux 5.14 and later; on other systems, the OS may end the process instead.
    bool prefault = false;

    /// The resource's name in reports. Not copied: it must outlive the resource.
    const char* name = "unnamed";

    /// Returns: a copy of these options with another `huge_pages`.
    [[nodiscard]] constexpr page_options with_huge_pages(huge_page_use value) const noexcept
    {
        return detail::base::with_member(*this, &page_options::huge_pages, value);
    }

    /// Returns: a copy of these options with another `prefault`.
    [[nodiscard]] constexpr page_options with_prefault(bool value) const noexcept
    {
        return detail::base::with_member(*this, &page_options::prefault, value);
    }

    /// Returns: a copy of these options with another `name`.
    [[nodiscard]] constexpr page_options with_name(const char* value) const noexcept
    {
        return detail::base::with_member(*this, &page_options::name, value);
    }
};

/// Allocates whole pages from the operating system.
class page_resource : public std::pmr::memory_resource, public detail::core::resource_by_address
{
public:
    /// Effects: creates a resource without pages.
    explicit page_resource(const page_options& options = {}) : options_(options)
    {
        if (options_.name == nullptr)
            options_.name = page_options{}.name;
    }

    page_resource(const page_resource&) = delete;
    page_resource& operator=(const page_resource&) = delete;

    /// Effects: returns all pages to the OS, including those of chunks still in use.
    ~page_resource() override
    {
        while (!chunks_.empty())
            give_back(forget(chunks_.begin()->first));
        retry_what_the_system_refused();
    }

    /// Returns: the resource's name in reports.
    const char* name() const noexcept { return options_.name; }

    /// Returns: the bytes mapped for the chunks in use, in whole pages.
    /// Complexity: O(1).
    /// Thread safety: any thread.
    std::size_t bytes_in_use() const noexcept { return bytes_in_use_.load(std::memory_order_relaxed); }

    /// Returns: the part of `bytes_in_use` that is in huge pages now, as reported by the OS. Transparent huge pages
    ///   count, too; the OS may provide them at the first write. The result is a lower bound: where the OS counts huge
    ///   pages of other memory together with those of the chunks, all of the other memory is assumed to be in huge
    ///   pages, and is subtracted.
    /// Complexity: linear in all mappings of the process, and for each mapping with huge pages, linear in chunks. Reads
    ///   a file of the OS.
    /// Thread safety: any thread; other threads that use the resource wait during the call.
    std::size_t bytes_in_huge_pages() const
    {
        const detail::base::lock_guard lock(mutex_);
        std::size_t bytes = 0;
        for (const auto& [memory, mapping] : chunks_)
            bytes += mapping.kind == detail::os::page_kind::huge ? mapping.bytes : 0;
        detail::os::for_each_stretch([&](std::uintptr_t begin, std::uintptr_t end, std::size_t huge_bytes) {
            if (huge_bytes == 0)
                return;
            mutex_.assume_held();
            const std::size_t of_others = (end - begin) - normal_bytes_within(begin, end);
            bytes += huge_bytes > of_others ? huge_bytes - of_others : 0;
        });
        return bytes;
    }

protected:
    /// Throws: std::invalid_argument if `alignment` is not a power of two; out_of_memory if the OS cannot map the
    ///   pages; std::bad_alloc if there is no memory for their record. On failure nothing has changed.
    void* do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        detail::core::check_alignment(alignment, options_.name);
        void* chunk = nullptr;
        if (options_.huge_pages == huge_page_use::reserved)
            chunk = try_allocate(bytes, alignment, detail::os::page_kind::huge);
        if (chunk == nullptr)
            chunk = try_allocate(bytes, alignment, detail::os::page_kind::normal);
        if (chunk == nullptr)
            detail::base::throw_out_of_memory(
                detail::base::message("memory_pool: resource '%.100s': the OS cannot map %zu bytes aligned to %zu",
                                      options_.name, bytes, alignment));
        return chunk;
    }

    /// A chunk of another resource is reported as a foreign pointer, and ignored.
    void do_deallocate(void* chunk, std::size_t bytes, std::size_t) override
    {
        if (chunk == nullptr)
            return;
        chunk_map::node_type record = forget(chunk);
        if (record.empty()) {
            detail::base::report_misuse(error_kind::foreign_pointer, chunk, bytes, options_.name);
            return;
        }
        give_back(std::move(record));
        retry_what_the_system_refused();
    }

    /// Returns: whether `other` is this resource: each resource has its own chunks.
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

private:
    using chunk_map = std::map<void*, detail::os::page_mapping>;

    /// Creates an entry that is in no map yet.
    static chunk_map::node_type make_record()
    {
        chunk_map map;
        return map.extract(map.try_emplace(nullptr).first);
    }

    /// Returns: the chunk, or nullptr if the OS cannot map pages of that kind.
    void* try_allocate(std::size_t bytes, std::size_t alignment, detail::os::page_kind kind)
    {
        chunk_map::node_type record = make_record(); // First, because make_record() may throw.
        detail::os::page_mapping& mapping = record.mapped();
        mapping = detail::os::map_pages(bytes, alignment_for(bytes, alignment, kind), kind);
        record.key() = mapping.memory;
        if (mapping.memory == nullptr)
            return nullptr;
        if (uses_transparent_pages(bytes, kind))
            (void)detail::os::advise_huge_pages(mapping.memory, mapping.bytes);
        if (options_.prefault && !detail::os::populate_pages(mapping)) {
            give_back(std::move(record));
            return nullptr;
        }
        detail::base::search_for_pointers(mapping.memory, mapping.bytes);
        return remember(std::move(record));
    }

    bool uses_transparent_pages(std::size_t bytes, detail::os::page_kind kind) const noexcept
    {
        return kind == detail::os::page_kind::normal && options_.huge_pages != huge_page_use::as_the_system_does &&
               detail::os::huge_page_size() != 0 && bytes >= detail::os::huge_page_size();
    }

    std::size_t alignment_for(std::size_t bytes, std::size_t alignment, detail::os::page_kind kind) const noexcept
    {
        return uses_transparent_pages(bytes, kind) ? std::max(alignment, detail::os::huge_page_size()) : alignment;
    }

    void* remember(chunk_map::node_type record) noexcept
    {
        const detail::base::lock_guard lock(mutex_);
        bytes_in_use_.fetch_add(record.mapped().reserved_bytes, std::memory_order_relaxed);
        return chunks_.insert(std::move(record)).position->first;
    }

    /// Removes and returns the entry of the chunk; empty if there is none. Must precede unmapping, because another
    /// thread may map the same addresses right after that.
    chunk_map::node_type forget(void* chunk) noexcept
    {
        const detail::base::lock_guard lock(mutex_);
        chunk_map::node_type record = chunks_.extract(chunk);
        if (!record.empty()) {
            const detail::os::page_mapping& mapping = record.mapped();
            bytes_in_use_.fetch_sub(mapping.reserved_bytes, std::memory_order_relaxed);
            detail::base::stop_searching_for_pointers(mapping.memory, mapping.bytes);
            detail::base::permit_access(mapping.memory, mapping.bytes); // For the next owner of these addresses.
        }
        return record;
    }

    /// Unmaps pages, or records that this failed. No-op for an empty record.
    void give_back(chunk_map::node_type record) noexcept
    {
        if (record.empty() || detail::os::unmap_pages(record.mapped()))
            return;
        const detail::base::lock_guard lock(mutex_);
        refused_.insert(std::move(record));
    }

    void retry_what_the_system_refused() noexcept
    {
        const detail::base::lock_guard lock(mutex_);
        while (!refused_.empty() && detail::os::unmap_pages(refused_.begin()->second))
            refused_.erase(refused_.begin());
    }

    /// The bytes from `begin` to `end` that belong to chunks in normal pages.
    std::size_t normal_bytes_within(std::uintptr_t begin, std::uintptr_t end) const noexcept
        MEMORY_POOL_REQUIRES(mutex_)
    {
        std::size_t bytes = 0;
        for (const auto& [memory, mapping] : chunks_) {
            const std::uintptr_t first = std::max(begin, reinterpret_cast<std::uintptr_t>(mapping.memory));
            const std::uintptr_t last = std::min(end, reinterpret_cast<std::uintptr_t>(mapping.memory) + mapping.bytes);
            if (mapping.kind == detail::os::page_kind::normal && first < last)
                bytes += last - first;
        }
        return bytes;
    }

    static report_statistics read_statistics(const void* resource) noexcept
    {
        report_statistics statistics;
        statistics.bytes_in_use = static_cast<const page_resource*>(resource)->bytes_in_use();
        return statistics;
    }

    page_options options_;
    mutable detail::base::mutex mutex_;
    chunk_map chunks_ MEMORY_POOL_GUARDED_BY(mutex_);  ///< Chunks in use.
    chunk_map refused_ MEMORY_POOL_GUARDED_BY(mutex_); ///< Free chunks that could not be unmapped.
    std::atomic<std::size_t> bytes_in_use_{0}; ///< Written with the lock held. Reports read it without the lock.
    detail::core::reported entry_{"page_resource", options_.name, {&read_statistics, this, true}};
};
}} // namespace memory_pool::MEMORY_POOL_ABI
