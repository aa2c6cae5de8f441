// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include "text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <system_error>

// The build defines this as the folders of the compiler's headers, separated by colons.
#ifndef TOUR_HEADER_FOLDERS
#define TOUR_HEADER_FOLDERS "/usr/local/include"
#endif

namespace tour {
namespace {
namespace fs = std::filesystem;

struct file_closer
{
    void operator()(std::FILE* file) const noexcept { (void)std::fclose(file); }
};

using open_file = std::unique_ptr<std::FILE, file_closer>;

/// Fills memory with the content of files.
class reader
{
public:
    explicit reader(const shared_memory& memory) noexcept : memory_(memory) {}

    /// Reads a file. If `is_text_wanted`, leaves out files that are not text.
    /// Returns: the system's error, if any.
    std::error_code read_file(const fs::path& path, bool is_text_wanted = false)
    {
        const std::size_t before = size_;
        const open_file file(std::fopen(path.c_str(), "rb"));
        if (file == nullptr)
            return skipped(errno);
        size_ += std::fread(memory_.data() + size_, 1, memory_.size() - size_, file.get());
        if (std::ferror(file.get()) != 0)
            return skipped(errno);
        if (is_text_wanted && !is_text(std::string_view(memory_.data() + before, size_ - before))) {
            ++result_.not_text;
            size_ = before;
            return {};
        }
        result_.is_cut = result_.is_cut || std::fgetc(file.get()) != EOF;
        if (size_ != before)
            end_file();
        return {};
    }

    /// Reads all files below `folder`, sorted by name. Does not follow links to folders, which could be circular.
    /// Returns: the system's error, if any.
    std::error_code read_folder(const fs::path& folder) // NOLINT(misc-no-recursion): limited by the depth of folders
    {
        std::error_code problem;
        if (!seen_.insert(fs::weakly_canonical(folder, problem)).second)
            return {};
        const std::vector<fs::directory_entry> entries = sorted_entries(folder, problem);
        if (problem)
            ++result_.skipped;
        for (const fs::directory_entry& entry : entries) {
            if (result_.is_cut)
                break;
            read_entry(entry);
        }
        return problem;
    }

    reading result() const noexcept
    {
        reading result = result_;
        result.bytes = size_;
        return result;
    }

private:
    static std::vector<fs::directory_entry> sorted_entries(const fs::path& folder, std::error_code& problem)
    {
        std::vector<fs::directory_entry> entries;
        fs::directory_iterator entry(folder, problem);
        while (!problem && entry != fs::directory_iterator()) {
            entries.push_back(*entry);
            entry.increment(problem);
        }
        std::sort(entries.begin(), entries.end());
        return entries;
    }

    void read_entry(const fs::directory_entry& entry) // NOLINT(misc-no-recursion)
    {
        std::error_code ignored;
        // Kernel files, which may block forever, have the size 0.
        if (entry.is_regular_file(ignored) && entry.file_size(ignored) != 0)
            ignored = read_file(entry.path(), true);
        else if (entry.is_directory(ignored) && !entry.is_symlink(ignored))
            ignored = read_folder(entry.path());
    }

    std::error_code skipped(int error) noexcept
    {
        ++result_.skipped;
        return {error, std::generic_category()};
    }

    /// Returns: whether the beginning of a file has no zero byte, unlike most programs, pictures and archives.
    static bool is_text(std::string_view content) noexcept
    {
        constexpr std::size_t checked_bytes = 8192;
        return content.substr(0, checked_bytes).find('\0') == std::string_view::npos;
    }

    /// Separates files, so that words do not continue in the next file.
    void end_file() noexcept
    {
        ++result_.files;
        if (size_ != memory_.size())
            memory_.data()[size_++] = '\n';
    }

    const shared_memory& memory_;
    std::size_t size_ = 0;
    reading result_;
    std::set<fs::path> seen_;
};

reading with_problem(reading result, const std::string& problem) noexcept
{
    problem.copy(result.problem.data(), result.problem.size() - 1);
    return result;
}
} // namespace

reading read_path(const std::string& path, const shared_memory& memory)
{
    reader reader(memory);
    std::error_code problem;
    const fs::file_status status = fs::status(path, problem);
    const bool is_folder = fs::is_directory(status);
    if (!problem && !is_folder && !fs::is_regular_file(status))
        return with_problem({}, "is neither a file nor a folder");
    if (!problem)
        problem = is_folder ? reader.read_folder(path) : reader.read_file(path);
    if (problem == std::errc::no_such_file_or_directory)
        return with_problem({}, problem.message() + "; name a file or folder that exists, or none to read C++ headers");
    if (problem)
        return with_problem({}, problem.message());
    if (reader.result().files == 0)
        return with_problem({}, is_folder ? "holds no file of text that can be read and is not empty" : "is empty");
    return reader.result();
}

reading read_folders(const std::vector<std::string>& folders, const shared_memory& memory)
{
    reader reader(memory);
    for (const std::string& folder : folders) {
        std::error_code problem;
        if (fs::is_directory(folder, problem))
            problem = reader.read_folder(folder);
    }
    return reader.result().files != 0 ? reader.result() : with_problem({}, "no C++ headers found");
}

std::vector<std::string> header_folders()
{
    std::vector<std::string> folders;
    std::string_view rest(TOUR_HEADER_FOLDERS);
    while (!rest.empty()) {
        const std::size_t length = std::min(rest.find(':'), rest.size());
        folders.emplace_back(rest.substr(0, length));
        rest.remove_prefix(std::min(length + 1, rest.size()));
    }
    folders.emplace_back("/usr/include");
    return folders;
}

std::string printable(std::string_view name)
{
    std::string result(name);
    std::replace_if(result.begin(), result.end(), [](char letter) { return letter < ' ' || letter > '~'; }, '?');
    return result;
}
} // namespace tour
