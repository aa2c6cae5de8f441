// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A web server whose memory grows. docs/observability.md finds the cause. The program does not refer to np_alloc.
///
///     request -> session (object_pool)
///             -> page, from the cache or rendered
///
/// Without an argument, it serves requests with and without the fault, and checks that only the fault uses memory. With
/// the argument `wait` (fault) or `fixed` (no fault), it serves requests, and then waits for the end of its input.
#include <memory_pool/object_pool.hpp>
#include <memory_pool/report.hpp>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {
/// The state of a visitor.
struct session
{
    std::size_t number;
    std::size_t requests = 0;
};

/// Returns: the text of a page.
std::string render(const std::string& path)
{
    std::string page = "<h1>" + path + "</h1>\n";
    page.reserve(2000);
    while (page.size() < 1900)
        page += "<p>some text that takes long to find</p>\n";
    return page;
}

/// Renders each page once.
class page_cache
{
public:
    const std::string& page(const std::string& address)
    {
        const std::string key = is_fixed_ ? address.substr(0, address.find('?')) : address;
        auto found = pages_.find(key);
        if (found == pages_.end())
            found = pages_.emplace(key, render(key)).first;
        return found->second;
    }

    /// Effects: ignores the visitor's part of the address, so that all visitors share a page.
    void fix() { is_fixed_ = true; }

    std::size_t size() const { return pages_.size(); }

private:
    std::map<std::string, std::string> pages_;
    bool is_fixed_ = false;
};

/// Answers requests.
class server
{
public:
    explicit server(bool is_fixed)
    {
        if (is_fixed)
            cache_.fix();
    }
    ~server()
    {
        for (session* each : visitors_)
            sessions_.destroy(each);
    }
    server(const server&) = delete;
    server& operator=(const server&) = delete;

    /// Returns: the number of bytes sent.
    std::size_t serve(std::size_t visitor, std::size_t page)
    {
        while (visitor >= visitors_.size())
            visitors_.push_back(sessions_.create(session{visitors_.size()}));
        ++visitors_[visitor]->requests;
        return cache_.page("/page/" + std::to_string(page) + "?session=" + std::to_string(visitor)).size();
    }

    std::size_t pages() const { return cache_.size(); }

private:
    memory_pool::object_pool<session> sessions_{memory_pool::pool_options{}.with_name("sessions")};
    std::vector<session*> visitors_;
    page_cache cache_;
};

/// Sends requests: each of many visitors reads ten of a hundred pages.
void serve_all(server& all)
{
    for (std::size_t visitor = 0; visitor != 4000; ++visitor)
        for (std::size_t i = 0; i != 10; ++i)
            (void)all.serve(visitor, (visitor + i) % 100);
}
} // namespace

int main(int count, char** arguments)
{
    if (count > 1) {
        server waiting(std::strcmp(arguments[1], "fixed") == 0);
        serve_all(waiting);
        std::printf("process %ld: %zu pages in the cache\n", memory_pool::snapshot().process, waiting.pages());
        (void)std::fflush(stdout);
        while (std::getchar() != EOF) {
        }
        return 0;
    }
    server with_fault(false);
    server fixed(true);
    serve_all(with_fault);
    serve_all(fixed);
    return with_fault.pages() == 40'000 && fixed.pages() == 100 ? 0 : 1;
}
