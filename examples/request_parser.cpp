// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A parser of requests: a path, and lines of the form "name: value". All memory of a request is from an arena, which
/// is reused for the next request. A request that exceeds its memory limit is rejected.
/// See docs/tasks/requests.md.
#include <memory_pool/arena_resource.hpp>
#include <memory_pool/resource_adaptors.hpp>

#include <cstddef>
#include <cstdio>
#include <map>
#include <memory_resource>
#include <string>
#include <string_view>

namespace {
using text = std::pmr::string;

/// Returns: whether `input` is a request. The strings in the map use the memory resource of the map.
bool parse(std::string_view input, std::pmr::map<text, text>& fields)
{
    while (!input.empty()) {
        const std::string_view line = input.substr(0, input.find('\n'));
        input.remove_prefix(line.size() == input.size() ? line.size() : line.size() + 1);
        const std::size_t colon = line.find(": ");
        if (fields.empty() && line.substr(0, 4) == "GET ")
            fields.emplace("path", line.substr(4));
        else if (!fields.empty() && colon != std::string_view::npos)
            fields.emplace(line.substr(0, colon), line.substr(colon + 2));
        else
            return false;
    }
    return fields.count("Host") == 1;
}

/// Returns: the status of the answer. Each request has its own limit; all requests share the arenas.
int answer(std::string_view input, std::pmr::memory_resource& arenas)
{
    memory_pool::limit_resource memory(memory_pool::limit_options{}.with_name("a request").with_limit(8'000), &arenas);
    try {
        std::pmr::map<text, text> fields(&memory);
        return parse(input, fields) ? 200 : 400;
    } catch (const memory_pool::limit_exceeded&) { // The parsed fields are destroyed, and the arena is free again.
        return 413;
    }
}
} // namespace

int main()
{
    memory_pool::tracking_resource upstream;                      // Counts the allocated arenas.
    memory_pool::unsynchronized_arena_resource arenas(&upstream); // One per thread, without a lock.
    const std::string good = "GET /orders/of/the/last/month\nHost: example.com\nUser-Agent: a program with a long name";
    std::map<int, int> answers;
    for (int i = 0; i != 10'000; ++i) {
        ++answers[answer(good, arenas)];
        ++answers[answer("GET /orders/of/the/last/month\nno colon", arenas)];
        ++answers[answer(good + "\nCookie: " + std::string(10'000, 'x'), arenas)];
    }
    for (const auto& [status, count] : answers)
        std::printf("%d: %d requests\n", status, count);
    const auto allocated = static_cast<std::size_t>(upstream.statistics().allocations);
    std::printf("arenas allocated: %zu, bytes: %zu, bytes in use: %zu\n", allocated, arenas.bytes_reserved(),
                arenas.bytes_in_use());
    if (answers == std::map<int, int>{{200, 10'000}, {400, 10'000}, {413, 10'000}} && allocated == 1 &&
        arenas.bytes_in_use() == 0)
        return 0;
    std::fprintf(stderr, "request_parser: wrong answers, or arenas were not reused\n");
    return 1;
}
