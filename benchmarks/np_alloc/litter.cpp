// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// A library to preload before a malloc. It litters the heap before `main`: it allocates blocks of random sizes,
// shuffles them, frees most, and keeps the others until the process ends. It reads from the environment
//
//     LITTER         <blocks> <smallest, in bytes> <largest> <per cent that are kept> <seed>
//     LITTER_REPORT  a file for one line: <wall seconds> <CPU seconds> <growth of resident memory in kilobytes>
//
// and removes these variables, and itself from LD_PRELOAD, so that child processes are not littered. Then it resets the
// peak of resident memory that the kernel reports.
#include "workload.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>
#include <utility>

namespace {
struct settings
{
    std::size_t count = 0;
    std::size_t min_bytes = 0;
    std::size_t max_bytes = 0;
    std::size_t kept_of_100 = 0;
    std::size_t seed = 0;
};

/// A kept block points to the previous one.
struct survivor
{
    survivor* before;
};
survivor* volatile survivors = nullptr;

/// The table of blocks, not allocated with malloc.
class table
{
public:
    explicit table(std::size_t count)
        : bytes_(count * sizeof(void*)),
          blocks_(static_cast<void**>(
              ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)))
    {
        if (blocks_ == MAP_FAILED)
            workload::fail("litter: there is no memory for the table of blocks");
    }
    table(const table&) = delete;
    table& operator=(const table&) = delete;
    ~table() { ::munmap(blocks_, bytes_); }

    void*& operator[](std::size_t place) noexcept { return blocks_[place]; }

private:
    std::size_t bytes_;
    void** blocks_;
};

void litter(const settings& wanted)
{
    workload::random random(wanted.seed);
    table blocks(wanted.count);
    for (std::size_t i = 0; i != wanted.count; ++i) {
        blocks[i] = workload::hide(std::malloc(random.size_between(wanted.min_bytes, wanted.max_bytes)));
        if (blocks[i] == nullptr)
            workload::fail("litter: there is no memory for the blocks");
        *static_cast<survivor*>(blocks[i]) = {nullptr};
    }
    for (std::size_t i = wanted.count; i > 1; --i)
        std::swap(blocks[i - 1], blocks[random.below(i)]);
    const std::size_t kept = wanted.count * wanted.kept_of_100 / 100;
    for (std::size_t i = kept; i != wanted.count; ++i)
        std::free(blocks[i]);
    for (std::size_t i = 0; i != kept; ++i) {
        auto* const last = static_cast<survivor*>(blocks[i]);
        *last = {survivors};
        survivors = last;
    }
}

double seconds_of(clockid_t clock)
{
    timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

/// A file that does not use malloc, unlike files of stdio.
class file
{
public:
    file(const char* path, int flags) noexcept : descriptor_(::open(path, flags | O_CLOEXEC, 0644)) {}
    file(const file&) = delete;
    file& operator=(const file&) = delete;
    ~file() { ::close(descriptor_); }

    int descriptor() const noexcept { return descriptor_; }

private:
    int descriptor_;
};

long resident_kilobytes()
{
    const file pages("/proc/self/statm", O_RDONLY);
    std::array<char, 128> text{};
    long size = 0;
    long resident = 0;
    if (::read(pages.descriptor(), text.data(), text.size() - 1) <= 0 ||
        std::sscanf(text.data(), "%ld %ld", &size, &resident) != 2)
        return 0;
    return resident * (::sysconf(_SC_PAGESIZE) / 1024);
}

void reset_peak_memory()
{
    const file references("/proc/self/clear_refs", O_WRONLY);
    (void)!::write(references.descriptor(), "5", 1); // Without that file, the peak includes the litter.
}

struct cost
{
    double seconds;
    double processor_seconds;
    long kilobytes;
};

void write_report(const char* path, const cost& total)
{
    std::array<char, 128> line{};
    const int bytes = std::snprintf(line.data(), line.size(), "%.6f %.6f %ld\n", total.seconds, total.processor_seconds,
                                    total.kilobytes);
    const file report(path, O_WRONLY | O_CREAT | O_TRUNC);
    if (::write(report.descriptor(), line.data(), static_cast<std::size_t>(bytes)) != bytes)
        workload::fail("litter: the file LITTER_REPORT cannot be written");
}

/// Effects: removes the variable from the environment, in place. Returns: its value; nullptr if there is none.
const char* take_variable(std::string_view name)
{
    for (char** each = environ; *each != nullptr; ++each) {
        if (std::strncmp(*each, name.data(), name.size()) != 0 || (*each)[name.size()] != '=')
            continue;
        const char* const value = *each + name.size() + 1;
        for (; *each != nullptr; ++each)
            each[0] = each[1];
        return value;
    }
    return nullptr;
}

/// Effects: removes this library, which is the first entry, from LD_PRELOAD.
void stop_preloading()
{
    char* const preloaded = std::getenv("LD_PRELOAD"); // NOLINT(concurrency-mt-unsafe): one thread
    char* const others = preloaded == nullptr ? nullptr : std::strpbrk(preloaded, ": ");
    if (others == nullptr)
        take_variable("LD_PRELOAD");
    else
        std::memmove(preloaded, others + 1, std::strlen(others + 1) + 1);
}

[[gnu::constructor]] void litter_before_main()
{
    const char* const variable = take_variable("LITTER");
    const char* const report = take_variable("LITTER_REPORT");
    if (variable == nullptr)
        return;
    settings wanted;
    if (std::sscanf(variable, "%zu %zu %zu %zu %zu", &wanted.count, &wanted.min_bytes, &wanted.max_bytes,
                    &wanted.kept_of_100, &wanted.seed) != 5 ||
        wanted.count == 0 || wanted.min_bytes < sizeof(survivor) || wanted.max_bytes < wanted.min_bytes ||
        wanted.kept_of_100 > 100)
        workload::fail("litter: LITTER is not <blocks> <smallest, from 8> <largest> <per cent kept> <seed>");
    stop_preloading();
    const double start = seconds_of(CLOCK_MONOTONIC);
    const double processor_start = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    const long resident = resident_kilobytes();
    litter(wanted);
    const long growth = resident_kilobytes() - resident;
    reset_peak_memory();
    if (report != nullptr)
        write_report(report, {seconds_of(CLOCK_MONOTONIC) - start,
                              seconds_of(CLOCK_PROCESS_CPUTIME_ID) - processor_start, growth});
}
} // namespace
