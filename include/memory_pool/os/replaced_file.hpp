// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A file that is written beside the old file and then replaces it, so that readers never see a partial file.
///
///     report.json.tmp, written piece by piece  ->  rename  ->  report.json
///
/// Does not allocate. (POSIX: open, write, rename. Windows: not supported.)
///
/// Thread safety: one thread at a time. Two objects must not write the same path at the same time, because both would
/// use one temporary file.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/os/descriptor.hpp>
#include <memory_pool/os/fork.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <utility>

#if !defined(_WIN32)
#include <fcntl.h>
#include <unistd.h>
#endif

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::os {
/// Effects: copies `pattern` to `to`, which has `bytes` bytes. Replaces each `%p` with the process ID, and `%%` with
///   `%`.
/// Returns: whether the result fits.
inline bool expand_path(const char* pattern, char* to, std::size_t bytes) noexcept
{
    std::array<char, 24> process{};
    (void)std::snprintf(process.data(), process.size(), "%ld", process_number());
    std::size_t length = 0;
    for (; *pattern != '\0'; ++pattern) {
        const bool is_escape = pattern[0] == '%' && (pattern[1] == 'p' || pattern[1] == '%');
        const std::array<char, 2> itself{pattern[0], '\0'};
        const char* const piece = is_escape && pattern[1] == 'p' ? process.data() : itself.data();
        const std::size_t added = std::strlen(piece);
        if (length + added >= bytes)
            return false;
        std::memcpy(to + length, piece, added);
        length += added;
        pattern += is_escape ? 1 : 0;
    }
    to[length] = '\0';
    return true;
}

/// A file being written.
class replaced_file : base::immovable<replaced_file>
{
public:
    static constexpr std::size_t max_path_length = 1024;

#if defined(_WIN32)
    explicit replaced_file(const char* /*pattern*/) noexcept {}
    void write(const char* /*text*/, std::size_t /*length*/) noexcept {}
    static void write_to(const char* /*text*/, std::size_t /*length*/, void* /*file*/) noexcept {}
    bool finish() noexcept { return false; }
#else
    /// Effects: expands the path by expand_path, and opens a temporary file beside it.
    explicit replaced_file(const char* pattern) noexcept
    {
        constexpr std::array<char, 5> ending{".tmp"};
        if (!expand_path(pattern, path_.data(), path_.size() - ending.size()))
            return;
        temporary_ = path_;
        std::memcpy(temporary_.data() + std::strlen(path_.data()), ending.data(), ending.size());
        file_ = ::open(temporary_.data(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
        error_ = file_ != no_descriptor ? 0 : errno;
    }

    /// Effects: removes the temporary file, unless `finish` was called.
    ~replaced_file()
    {
        if (file_ == no_descriptor)
            return;
        (void)::close(file_);
        (void)::unlink(temporary_.data());
    }

    void write(const char* text, std::size_t length) noexcept
    {
        while (length != 0) {
            const std::size_t part = std::min(length, buffer_.size() - used_);
            std::memcpy(buffer_.data() + used_, text, part);
            used_ += part;
            text += part;
            length -= part;
            if (used_ == buffer_.size())
                flush();
        }
    }

    /// Effects: writes to the replaced_file at `file`. For interfaces that take a function and its argument.
    static void write_to(const char* text, std::size_t length, void* file) noexcept
    {
        static_cast<replaced_file*>(file)->write(text, length);
    }

    /// Effects: replaces the old file with the temporary file.
    /// Returns: whether everything was written; if not, sets errno.
    bool finish() noexcept
    {
        flush();
        if (error_ != 0) {
            errno = error_;
            return false;
        }
        // close is not retried: the descriptor is free even if close fails.
        if (::close(std::exchange(file_, no_descriptor)) == 0 && ::rename(temporary_.data(), path_.data()) == 0)
            return true;
        const int error = errno;
        (void)::unlink(temporary_.data());
        errno = error;
        return false;
    }

private:
    void flush() noexcept
    {
        const std::size_t bytes = std::exchange(used_, 0);
        if (error_ == 0)
            error_ = write_all(file_, buffer_.data(), bytes);
    }

    std::array<char, max_path_length> path_{};
    std::array<char, max_path_length> temporary_{};
    std::array<char, 4096> buffer_{};
    std::size_t used_ = 0;
    descriptor file_ = no_descriptor;
    int error_ = ENAMETOOLONG; ///< The first error; 0: none so far.
#endif
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::os
