// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include "process.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>
#include <system_error>

namespace tour {
shared_memory::shared_memory(std::size_t size) noexcept : size_(size)
{
    void* const mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (mapped != MAP_FAILED)
        data_ = static_cast<char*>(mapped);
}

shared_memory::~shared_memory()
{
    if (data_ != nullptr)
        ::munmap(data_, size_);
}

std::uint64_t peak_memory() noexcept
{
#if defined(__APPLE__)
    constexpr std::uint64_t unit = 1;
#else
    constexpr std::uint64_t unit = 1024;
#endif
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_maxrss) * unit;
}

std::string failure_of(pid_t child)
{
    int status = 0;
    while (::waitpid(child, &status, 0) == -1)
        if (errno != EINTR)
            return "cannot wait for a process: " + system_error();
    if (WIFSIGNALED(status))
        return "a process ended by signal " + std::to_string(WTERMSIG(status));
    if (WEXITSTATUS(status) != 0)
        return "a process ended with status " + std::to_string(WEXITSTATUS(status));
    return {};
}

std::string system_error()
{
    return std::generic_category().message(errno);
}
} // namespace tour
