// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// Prints a report of a few pools in the format of the argument: text, json or prometheus. With `wait`, waits for the
// end of stdin. For write_report_test.py.
#include <memory_pool/report.hpp>

#include <memory_pool/concurrent_object_pool.hpp>
#include <memory_pool/object_pool.hpp>
#include <memory_pool/policies.hpp>
#include <memory_pool/pool_options.hpp>
#include <memory_pool/resource_adaptors.hpp>

#include <iostream>
#include <string_view>

#ifdef USES_NP_ALLOC
#include <memory_pool/np_alloc.h>
#endif

namespace mp = memory_pool;

int main(int argc, char** argv)
{
    mp::object_pool<double> mine(mp::pool_options{}.with_name("mine \"quoted\"\t\xFF"));
    mp::concurrent_object_pool<int, mp::counting_policy> shared(mp::pool_options{}.with_name("shared"));
    const mp::limit_resource limit(mp::limit_options{}.with_name("limit").with_limit(1000));
    for (int i = 0; i != 1000; ++i) {
        (void)mine.create(1.0);
        (void)shared.create(i);
    }
#ifdef USES_NP_ALLOC
    np_free(np_alloc(1));
    np_heap* const heap = np_heap_create_named("requests"); // Until the end.
    if (np_heap_alloc(heap, 64) == nullptr)
        return 1;
#endif
    const std::string_view format = argc > 1 ? argv[1] : "text";
    if (format == "wait") {
        std::cout << "ready" << std::endl;
        std::cin.get();
        return 0;
    }
    mp::write_report(std::cout, format == "json"         ? mp::report_format::json
                                : format == "prometheus" ? mp::report_format::prometheus
                                                         : mp::report_format::text);
}
