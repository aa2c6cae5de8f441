// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A directory with the files of a control group.
#pragma once

#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <utility>

namespace test {
/// Creates the directory, and removes it on destruction.
class simulated_cgroup
{
public:
    simulated_cgroup()
        : simulated_cgroup(
              (std::filesystem::temp_directory_path() / ("simulated_cgroup." + std::to_string(std::random_device()())))
                  .string())
    {
    }
    explicit simulated_cgroup(std::string directory) : directory_(std::move(directory))
    {
        std::filesystem::create_directory(directory_);
    }
    ~simulated_cgroup() { std::filesystem::remove_all(directory_); }
    simulated_cgroup(const simulated_cgroup&) = delete;
    simulated_cgroup& operator=(const simulated_cgroup&) = delete;

    const std::string& directory() const { return directory_; }
    std::string file(const std::string& name) const { return directory_ + "/" + name; }

    /// Effects: creates a file, or overwrites the beginning of its text in place, so a reader never sees an empty file.
    void write(const std::string& name, const std::string& text) const
    {
        std::ofstream(file(name), std::ios::app).close();
        std::fstream(file(name), std::ios::in | std::ios::out) << text;
    }

    /// Effects: sets the number of times that memory.high was reached.
    void reach_high(int times) const { write("memory.events", "low 0\nhigh " + std::to_string(times) + "\nmax 0\n"); }

private:
    std::string directory_;
};
} // namespace test
