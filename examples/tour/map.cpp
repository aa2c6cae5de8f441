// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include "map.hpp"

#include <memory_pool/report.hpp>

#include <cctype>
#include <fstream>
#include <string>
#include <string_view>

namespace tour {
std::string report_path(std::string_view directory, unsigned number, std::string_view job, std::string_view side)
{
    std::string name = std::to_string(100 + number).substr(1);
    for (const std::string_view part : {job, side}) {
        name += '-';
        for (const char each : part)
            name += std::isalnum(static_cast<unsigned char>(each)) != 0 ? each : '_';
    }
    return std::string(directory) + '/' + name + ".json";
}

bool write_report_file(const std::string& path)
{
    std::ofstream file(path);
    memory_pool::write_report(file, memory_pool::report_format::json);
    file.close();
    return file.good();
}
} // namespace tour
