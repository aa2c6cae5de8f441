// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Memory pressure of this process's control group, as the kernel reports it (cgroup v2).
///
///     /proc/self/cgroup      0::/app/worker                             the group of the process
///     /proc/self/mountinfo   ... / /sys/fs/cgroup ... - cgroup2 ...     where the hierarchy is mounted
///     memory.events          high 3                                     how often a limit was reached
///     memory.pressure        some avg10=... total=1234                  how long processes stalled on memory
///
/// If the memory controller is not enabled for the group, its nearest ancestor with the controller takes its place.
/// memory.events does not count limits of ancestors, but memory.pressure includes the stalls that these limits cause.
///
/// Descriptors have high numbers and are verified before each use, because a program may close all of its descriptors.
///
/// Thread safety: one thread at a time.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/os/descriptor.hpp>

#include "small_file.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>

#if defined(__linux__)
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// Totals of the kernel's counters.
struct pressure_counts
{
    std::uint64_t events = 0;               ///< How often memory.high or memory.max was reached, plus OOM kills.
    std::optional<std::uint64_t> waited_us; ///< Microseconds in which some process stalled on memory, if known.
};

/// The control group of a process.
class memory_cgroup : base::immovable<memory_cgroup>
{
public:
    static constexpr std::size_t max_path_length = 1024;
    using path = std::array<char, max_path_length>;

#if defined(__linux__)
    /// Effects: opens the files of the group in `directory`; nullptr: of the group of this process.
    /// Returns: whether the group has the memory controller.
    bool open(const char* directory) noexcept
    {
        return join(requested_, directory != nullptr ? directory : "") && open_again();
    }

    /// Effects: reopens the files, because the process may have moved to another group, or the group may have been
    ///   recreated.
    /// Returns: as open.
    bool open_again() noexcept
    {
        close();
        return (requested_[0] != '\0' ? join(directory_, requested_.data()) : find()) && open_files();
    }

    void close() noexcept
    {
        events_.close();
        waits_.close();
    }

    /// Returns: the totals so far; nothing if they cannot be read.
    std::optional<pressure_counts> read() noexcept
    {
        small_file content;
        if (!read_file(events_, "memory.events", content))
            return std::nullopt;
        pressure_counts counts;
        for (const char* const key : {"high ", "max ", "oom ", "oom_kill "})
            counts.events += content.number_behind(key).value_or(0);
        if (read_file(waits_, "memory.pressure", content))
            counts.waited_us = content.number_behind("total="); // In the first line, "some".
        return counts;
    }

    /// Returns: the descriptor for which poll returns POLLPRI when memory.events changes; -1 if there is none.
    int descriptor() const noexcept { return events_.is_valid() ? events_.number() : -1; }

    /// Effects: finds the group's directory from the files in `/proc/self`.
    /// Returns: whether the group is visible in the file system.
    static bool find(const char* cgroup_file, const char* mountinfo_file, path& directory) noexcept
    {
        path group{};
        return find_group(cgroup_file, group) && find_mount(mountinfo_file, group, directory);
    }
#else
    bool open(const char* /*directory*/) noexcept { return false; }
    bool open_again() noexcept { return false; }
    void close() noexcept {}
    std::optional<pressure_counts> read() noexcept { return std::nullopt; }
    int descriptor() const noexcept { return -1; }
#endif

#if defined(__linux__)
private:
    /// A file that stays open.
    class open_file : base::immovable<open_file>
    {
    public:
        bool open(const char* name) noexcept
        {
            close();
            number_ = moved_up(::open(name, O_RDONLY | O_CLOEXEC));
            identity_ = os::identity_of(number_);
            return number_ != -1;
        }

        void close() noexcept
        {
            if (is_valid())
                (void)::close(number_);
            number_ = -1;
        }

        /// Returns: whether the descriptor still refers to the file.
        bool is_valid() const noexcept { return number_ != -1 && os::identity_of(number_) == identity_; }

        int number() const noexcept { return number_; }

    private:
        int number_ = -1;
        file_identity identity_;
    };

    /// Lines of a file; long lines are truncated.
    class lines : base::immovable<lines>
    {
    public:
        explicit lines(const char* name) noexcept : file_(::open(name, O_RDONLY | O_CLOEXEC)) {}
        ~lines()
        {
            if (file_ != -1)
                (void)::close(file_);
        }

        /// Returns: the next line, valid until the next call; nullptr at the end of the file.
        const char* next() noexcept
        {
            std::size_t length = 0;
            for (;; ++at_) {
                if (at_ == end_ && !fill())
                    break;
                if (block_[at_] == '\n') {
                    ++at_;
                    return finished(length);
                }
                if (length + 1 < line_.size())
                    line_[length++] = block_[at_];
            }
            return length != 0 ? finished(length) : nullptr;
        }

    private:
        const char* finished(std::size_t length) noexcept
        {
            line_[length] = '\0';
            return line_.data();
        }

        bool fill() noexcept
        {
            at_ = end_ = 0;
            end_ = file_ != -1 ? bytes_of([this] { return ::read(file_, block_.data(), block_.size()); }) : 0;
            return end_ != 0;
        }

        int file_;
        std::array<char, 4096> block_{};
        std::array<char, 2 * max_path_length> line_{};
        std::size_t at_ = 0;
        std::size_t end_ = 0;
    };

    // Find the group.

    bool find() noexcept { return find("/proc/self/cgroup", "/proc/self/mountinfo", directory_); }

    /// Joins strings. Returns: whether the result fits into `to`.
    static bool join(path& to, const char* first, const char* second = "", const char* third = "") noexcept
    {
        const int length = std::snprintf(to.data(), to.size(), "%s%s%s", first, second, third);
        return length >= 0 && static_cast<std::size_t>(length) < to.size();
    }

    static bool find_group(const char* cgroup_file, path& group) noexcept
    {
        lines all(cgroup_file);
        while (const char* const line = all.next())
            if (std::strncmp(line, "0::", 3) == 0)
                return join(group, line + 3);
        return false;
    }

    /// A line: number, parent, device, root, mount point, options, optional fields, "-", type, ...
    static bool find_mount(const char* mountinfo_file, const path& group, path& directory) noexcept
    {
        lines all(mountinfo_file);
        while (const char* const line = all.next()) {
            const char* const type = std::strstr(line, " - ");
            if (type == nullptr || std::strncmp(type, " - cgroup2 ", 11) != 0)
                continue;
            path root{};
            path mount_point{};
            if (copy_field(line, 3, root) && copy_field(line, 4, mount_point) &&
                join(directory, mount_point.data(), part_below(root.data(), group.data())))
                return true;
        }
        return false;
    }

    /// Effects: copies a field of a line and decodes its octal escapes, each a backslash and three digits.
    static bool copy_field(const char* line, int number, path& to) noexcept
    {
        for (; number != 0; --number) {
            line = std::strchr(line, ' ');
            if (line == nullptr)
                return false;
            ++line;
        }
        std::size_t length = 0;
        while (*line != ' ' && *line != '\0') {
            if (length + 1 == to.size())
                return false;
            to[length++] = take_character(line);
        }
        to[length] = '\0';
        return true;
    }

    static char take_character(const char*& text) noexcept
    {
        const auto digit = [text](int place) {
            return text[place] >= '0' && text[place] <= '7' ? text[place] - '0' : 8;
        };
        if (*text == '\\' && digit(1) < 4 && digit(2) < 8 && digit(3) < 8) {
            const int code = (digit(1) * 8 + digit(2)) * 8 + digit(3);
            text += 4;
            return static_cast<char>(code);
        }
        return *text++;
    }

    /// Returns: the path of the group relative to the root of the mount; "" if the group is not below that root. (In a
    ///   container, the path may be from another namespace; the mounted directory is then the group itself.)
    static const char* part_below(const char* root, const char* group) noexcept
    {
        const std::size_t length = std::strcmp(root, "/") == 0 ? 0 : std::strlen(root);
        const bool is_below = std::strncmp(root, group, length) == 0 && (group[length] == '/' || group[length] == '\0');
        const bool is_all = group[length] == '\0' || std::strcmp(group + length, "/") == 0;
        return is_below && !is_all && std::strstr(group, "/..") == nullptr ? group + length : "";
    }

    /// Effects: opens the files in the directory, or in its nearest ancestor that has these files.
    bool open_files() noexcept
    {
        for (;;) {
            if (open_in_directory(events_, "memory.events")) {
                (void)open_in_directory(waits_, "memory.pressure");
                return true;
            }
            if (errno != ENOENT)
                return false;
            char* const last = std::strrchr(directory_.data(), '/');
            if (last == nullptr || last == directory_.data() || !go_to_parent(*last))
                return false;
        }
    }

    /// Effects: removes the last name from the directory.
    /// Returns: whether the parent directory is a group.
    bool go_to_parent(char& last_separator) noexcept
    {
        last_separator = '\0';
        path file{};
        return join(file, directory_.data(), "/cgroup.procs") && ::access(file.data(), F_OK) == 0;
    }

    bool open_in_directory(open_file& file, const char* name) noexcept
    {
        path whole{};
        return join(whole, directory_.data(), "/", name) && file.open(whole.data());
    }

    // Read the files.

    bool read_file(open_file& file, const char* name, small_file& content) noexcept
    {
        return (file.is_valid() || open_in_directory(file, name)) && content.read(file.number());
    }

    path requested_{}; ///< Empty: the group of the process.
    path directory_{};
    open_file events_;
    open_file waits_;
#endif
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
