// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Ends in the given way, for leaks_test.py. One block stays in use, except for the way `clean`. At exit, a static
/// object, a thread-local object and an exit handler free other blocks.   leak_at_end WAY STATUS
#include <memory_pool/np_alloc.h>

#include <support/check.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#if defined(__unix__)
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace {
/// A block that the destructor frees. The destructor prints a message without flushing it.
class late_block
{
public:
    explicit late_block(const char* name) : name_(name), block_(np_alloc_at(10, name, 1)) {}
    late_block(const late_block&) = delete;
    late_block& operator=(const late_block&) = delete;
    ~late_block()
    {
        np_free(block_);
        std::printf("%s is freed\n", name_);
    }

private:
    const char* name_;
    void* block_;
};

const late_block of_file("static");

void leak()
{
    CHECK(np_alloc_at(64, "orders.c", 42) != nullptr);
}

[[noreturn]] void leave(int status)
{
    std::exit(status); // NOLINT(concurrency-mt-unsafe): only one thread calls exit
}

/// The child leaks another block.
[[noreturn]] void leave_after_child(int status)
{
#if defined(__unix__)
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        leak();
        leave(0);
    }
    int child_status = 0;
    CHECK(waitpid(child, &child_status, 0) == child);
    std::printf("the child ends with %d\n", WEXITSTATUS(child_status));
#endif
    leave(status);
}

/// Closes all files except the standard streams, and opens other files with the same numbers.
void replace_files()
{
#if defined(__unix__)
    constexpr int count = 256;
    for (int file = 3; file != count; ++file)
        (void)close(file);
    for (int file = 3; file != count; ++file)
        CHECK(open("/dev/null", O_WRONLY | O_CLOEXEC) == file);
#endif
}

[[noreturn]] void leave_by(const std::string& way, int status)
{
    if (way == "_Exit")
        std::_Exit(status);
    if (way == "quick_exit")
        std::quick_exit(status);
    if (way == "abort")
        std::abort();
    if (way == "thread")
        std::thread(&leave, status).join();
    if (way == "fork")
        leave_after_child(status);
    if (way == "closes_stderr")
        CHECK(std::fclose(stderr) == 0);
    if (way == "replaces_files")
        replace_files();
    if (way == "while_a_thread_reads") {
        std::atomic<bool> is_there{false};
        std::thread([&is_there] {
            is_there = true;
            (void)std::getchar();
        }).detach();
        while (!is_there)
            std::this_thread::yield();
        leave(status);
    }
    leave(status);
}
} // namespace

int main(int count, char** arguments)
{
    CHECK(count == 3);
    const std::string way = arguments[1];
    const int status = std::atoi(arguments[2]); // NOLINT(cert-err34-c): the test writes numbers
    static thread_local const late_block of_thread("thread_local");
    (void)of_thread;
    static auto* const of_handler = new late_block("handler");
    CHECK(std::atexit([] { delete of_handler; }) == 0);
    if (way != "clean")
        leak();
    if (way != "return")
        leave_by(way, status);
    return status;
}
