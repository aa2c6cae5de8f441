// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The module: `import memory_pool;` instead of including the headers of the header-only part. It exports their public
/// names, and no macros.
///
/// The module exports the same entities as the headers, so some translation units of a program may import it, and
/// others include headers.
module;

#include <memory_pool/memory_pool.hpp>
#include <memory_pool/no_allocation_scope.hpp>
#include <memory_pool/pooled.hpp>
#include <memory_pool/profiling_policy.hpp>
#include <memory_pool/report.hpp>

#if __has_include(<boost/smart_ptr/intrusive_ptr.hpp>)
#include <memory_pool/intrusive_pool.hpp>
#include <memory_pool/recycling_pool.hpp>
#endif

export module memory_pool;

// NOLINTBEGIN(misc-unused-using-decls): importers use them.
export namespace memory_pool {
using memory_pool::allocate_unique;
using memory_pool::allocating;
using memory_pool::allocation_result;
using memory_pool::allocation_scope;
using memory_pool::arena_options;
using memory_pool::arena_scope;
using memory_pool::atomic_references;
using memory_pool::basic_arena_resource;
using memory_pool::basic_block_pool;
using memory_pool::basic_concurrent_block_pool;
using memory_pool::basic_handle_pool;
using memory_pool::basic_object_pool;
using memory_pool::basic_pool_resource;
using memory_pool::basic_pooled_frame;
using memory_pool::basic_recycling_shared_pool;
using memory_pool::basic_resource_frame;
using memory_pool::basic_shared_pool;
using memory_pool::basic_synchronized_arena_resource;
using memory_pool::basic_synchronized_pool_resource;
using memory_pool::basic_unsynchronized_arena_resource;
using memory_pool::basic_unsynchronized_pool_resource;
using memory_pool::block_pool;
using memory_pool::block_resource;
using memory_pool::cache_line_size;
using memory_pool::call_site;
using memory_pool::checking_policy;
using memory_pool::concurrent_block_pool;
using memory_pool::concurrent_handle_pool;
using memory_pool::concurrent_object_pool;
using memory_pool::constructing_pool_base;
using memory_pool::counting_policy;
using memory_pool::default_policy;
using memory_pool::dump_profile;
using memory_pool::erase_if;
using memory_pool::error_handler;
using memory_pool::error_kind;
using memory_pool::error_name;
using memory_pool::error_report;
using memory_pool::failing_resource;
using memory_pool::failure_chance;
using memory_pool::get_error_handler;
using memory_pool::handle_pool;
using memory_pool::huge_page_use;
using memory_pool::is_pooled;
using memory_pool::leak_fatal_policy;
using memory_pool::leak_reporting_policy;
using memory_pool::lifetime_access;
using memory_pool::limit_exceeded;
using memory_pool::limit_options;
using memory_pool::limit_resource;
using memory_pool::no_allocation_scope;
using memory_pool::nothrow_frame;
using memory_pool::object_iterator;
using memory_pool::object_pool;
using memory_pool::object_range;
using memory_pool::observing_policy;
using memory_pool::operator!=;
using memory_pool::operator<;
using memory_pool::operator==;
using memory_pool::out_of_memory;
using memory_pool::outliving;
using memory_pool::page_options;
using memory_pool::page_resource;
using memory_pool::plain_references;
using memory_pool::polymorphic_deleter;
using memory_pool::pool_exhausted;
using memory_pool::pool_handle;
using memory_pool::pool_options;
using memory_pool::pool_statistics;
using memory_pool::pooled;
using memory_pool::pooled_frame;
using memory_pool::profile_bytes;
using memory_pool::profile_format;
using memory_pool::profiling_observer;
using memory_pool::profiling_policy;
using memory_pool::recycle;
using memory_pool::recycling_pool_base;
using memory_pool::recycling_shared_pool;
using memory_pool::references_of;
using memory_pool::report_entry;
using memory_pool::report_format;
using memory_pool::report_on_signal;
using memory_pool::report_snapshot;
using memory_pool::report_statistics;
using memory_pool::report_totals;
using memory_pool::resource_allocator;
using memory_pool::resource_deleter;
using memory_pool::resource_frame;
using memory_pool::resource_statistics;
using memory_pool::set_error_handler;
using memory_pool::set_profile_bytes;
using memory_pool::shared_pool;
using memory_pool::size_overflow;
using memory_pool::snapshot;
using memory_pool::stop_report_on_signal;
using memory_pool::store_pool_base;
using memory_pool::synchronized_arena_resource;
using memory_pool::synchronized_pool_resource;
using memory_pool::synchronized_resource;
using memory_pool::tracking_resource;
using memory_pool::unsynchronized_arena_resource;
using memory_pool::unsynchronized_pool_resource;
using memory_pool::unsynchronized_recycling_shared_pool;
using memory_pool::unsynchronized_shared_pool;
using memory_pool::write_profile;
using memory_pool::write_report;

#if __has_include(<boost/smart_ptr/intrusive_ptr.hpp>)
using memory_pool::blocks_for_references;
using memory_pool::intrusive_pool;
using memory_pool::recycling_pool;
#endif
} // namespace memory_pool
// NOLINTEND(misc-unused-using-decls)
