// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include "results.hpp"

#include "process.hpp"
#include "text.hpp"

#include <sys/utsname.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <system_error>
#include <thread>
#include <utility>

#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

namespace tour {
namespace {
std::string in_json(std::string_view text)
{
    std::string quoted = "\"";
    for (const char each : text) {
        if (each == '"' || each == '\\')
            quoted.append(1, '\\').append(1, each);
        else if (static_cast<unsigned char>(each) < ' ') {
            char code[8];
            (void)std::snprintf(code, sizeof(code), "\\u%04x", static_cast<unsigned>(each));
            quoted += code;
        } else
            quoted += each;
    }
    return quoted + '"';
}

std::string in_json(std::uint64_t number)
{
    return std::to_string(number);
}

std::string in_json(const std::optional<std::uint64_t>& number)
{
    return number ? std::to_string(*number) : "null";
}

/// Returns: a JSON object. The values are JSON.
std::string object(std::initializer_list<std::pair<const char*, std::string>> members)
{
    std::string text;
    for (const auto& [name, value] : members)
        text.append(text.empty() ? "{" : ", ").append(in_json(std::string_view(name))).append(": ").append(value);
    return text + '}';
}

/// Returns: a JSON array of `write(element)` for each element.
template <class T, class Write>
std::string array(const std::vector<T>& elements, Write&& write)
{
    std::string text;
    for (const T& each : elements)
        text.append(text.empty() ? "[" : ",\n ").append(write(each));
    return text.empty() ? "[]" : text + ']';
}

std::string in_json(const std::vector<std::string>& texts)
{
    return array(texts, [](const std::string& each) { return in_json(std::string_view(each)); });
}

std::string in_json(const std::vector<term>& terms)
{
    return array(terms, [](const term& each) {
        return object({{"name", in_json(std::string_view(each.name))},
                       {"explanation", in_json(std::string_view(each.explanation))}});
    });
}

std::string in_json(const side_statistics& side)
{
    return object({{"side", in_json(std::string_view(side.side))},
                   {"is_pool", side.is_pool ? "true" : "false"},
                   {"nanoseconds", in_json(side.nanoseconds)},
                   {"peak_memory", in_json(side.peak_memory)},
                   {"heap_calls", in_json(side.heap_calls)},
                   {"wasted", in_json(side.wasted)}});
}

std::string in_json(const job_statistics& job)
{
    return object({{"name", in_json(std::string_view(job.name))},
                   {"explanation", in_json(std::string_view(job.explanation))},
                   {"sides", array(job.sides, [](const side_statistics& each) { return in_json(each); })}});
}

std::string cannot_write(const std::string& path)
{
    return "cannot write '" + printable(path) + "': " + system_error() + "; name a file that you may write";
}

std::string processor(const utsname& system)
{
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (const std::size_t colon = line.find(": "); line.rfind("model name", 0) == 0 && colon != std::string::npos)
            return printable(std::string_view(line).substr(colon + 2));
    return system.machine;
}

std::string c_library()
{
#if defined(__GLIBC__)
    return std::string("glibc ") + ::gnu_get_libc_version();
#else
    return "of the system";
#endif
}

std::string compiler()
{
#if defined(__clang__)
    return __VERSION__;
#elif defined(__GNUC__)
    return "GCC " __VERSION__;
#else
    return "unknown";
#endif
}
} // namespace

std::string as_json(const results& shown)
{
    return object({{"schema", in_json(std::string_view("memory_pool.tour"))},
                   {"version", in_json(std::uint64_t{1})},
                   {"command", in_json(shown.command)},
                   {"text", in_json(std::string_view(shown.text))},
                   {"text_notes", in_json(shown.text_notes)},
                   {"rounds", in_json(std::uint64_t{shown.rounds})},
                   {"threads", in_json(std::uint64_t{shown.threads})},
                   {"machine", in_json(shown.machine)},
                   {"sides", in_json(shown.sides)},
                   {"jobs", array(shown.jobs, [](const job_statistics& each) { return in_json(each); })},
                   {"legend", in_json(shown.legend)},
                   {"agreement", in_json(std::string_view(shown.agreement))},
                   {"conclusion", in_json(std::string_view(shown.conclusion))}}) +
           '\n';
}

std::vector<term> describe_machine()
{
    utsname system{};
    (void)::uname(&system);
    const std::string version = std::string(system.sysname) + ' ' + system.release + ", " + system.machine;
    std::vector<term> all{{"processor", processor(system)},
                          {"processors", std::to_string(std::thread::hardware_concurrency())},
                          {"system", printable(version)},
                          {"C library", c_library()},
                          {"compiler", printable(compiler())}};
    // NOLINTNEXTLINE(concurrency-mt-unsafe): no thread changes the environment.
    if (const char* const preloaded = std::getenv("LD_PRELOAD"))
        all.push_back({"LD_PRELOAD", printable(preloaded)});
    return all;
}

std::string why_not_writable(const std::string& path)
{
    std::error_code ignored;
    const bool is_there = std::filesystem::exists(path, ignored);
    std::FILE* const file = std::fopen(path.c_str(), "a");
    if (file == nullptr)
        return cannot_write(path) + ", in a folder that exists";
    (void)std::fclose(file);
    if (!is_there)
        std::filesystem::remove(path, ignored);
    return {};
}

std::string write_file(const std::string& path, std::string_view text)
{
    std::FILE* const file = std::fopen(path.c_str(), "w");
    if (file == nullptr)
        return cannot_write(path);
    const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    std::string problem = is_written ? "" : cannot_write(path);
    if (std::fclose(file) != 0 && problem.empty())
        problem = cannot_write(path);
    std::error_code ignored;
    if (!problem.empty() && std::filesystem::is_regular_file(path, ignored))
        std::filesystem::remove(path, ignored);
    return problem;
}
} // namespace tour
