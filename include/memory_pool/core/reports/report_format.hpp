// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A report as JSON and as text. Neither writer allocates, because np_alloc uses them, too.
///
///     begin, entry, entry, ..., end
///
/// docs/report.schema.json describes the JSON.
///
/// Thread safety: as the output.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/core/reports/report_registry.hpp>
#include <memory_pool/core/reports/report_statistics.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// A number as text. (std::to_chars of libstdc++ has a process-wide table. Libraries that use it cannot be unloaded.)
class decimal
{
public:
    explicit decimal(std::uint64_t number) noexcept
    {
        do {
            digits_[--first_] = static_cast<char>('0' + number % 10);
            number /= 10;
        } while (number != 0);
    }

    std::string_view text() const noexcept { return {digits_.data() + first_, digits_.size() - first_}; }

private:
    std::array<char, 20> digits_{};
    std::size_t first_ = 20;
};

/// The destination of a report, written in pieces.
class report_output
{
public:
    using function = void (*)(const char* text, std::size_t length, void* argument);

    report_output(function writes, void* argument) noexcept : write_(writes), argument_(argument) {}

    report_output& operator<<(std::string_view text)
    {
        write_(text.data(), text.size(), argument_);
        return *this;
    }

    report_output& operator<<(std::uint64_t number) { return *this << decimal(number).text(); }

    /// Effects: pads a column of `used` characters to `width` with spaces.
    void fill(std::size_t used, std::size_t width)
    {
        for (; used < width; ++used)
            *this << std::string_view(" ");
    }

    function write() const noexcept { return write_; }
    void* argument() const noexcept { return argument_; }

private:
    function write_;
    void* argument_;
};

/// Returns: the length in bytes of the UTF-8 character at the beginning of `text`; 0 if the character is invalid.
inline std::size_t utf8_length(std::string_view text) noexcept
{
    const auto byte = [text](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    const unsigned first = byte(0);
    const std::size_t length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (length == 0 || first > 0xF4)
        return 0;
    for (std::size_t i = 1; i != length; ++i)
        if ((byte(i) & 0xC0) != 0x80)
            return 0;
    const bool is_overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
    const bool is_surrogate = first == 0xED && byte(1) > 0x9F;
    return is_overlong || is_surrogate || (first == 0xF4 && byte(1) > 0x8F) ? 0 : length;
}

/// Returns: whether a character is an ASCII control character.
inline bool is_control(std::string_view character) noexcept
{
    const auto number = static_cast<unsigned char>(character[0]);
    return number < 0x20 || number == 0x7F;
}

/// Effects: writes `text` as valid UTF-8. Replaces each character by the result of `escape(character)`, a
///   std::string_view. If the result is empty, writes the character unchanged.
template <class Escape>
void write_escaped(report_output& to, std::string_view text, Escape&& escape)
{
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): substr may throw, which needs libstdc++
        const std::string_view character(text.data(), length);
        const std::string_view escaped = length != 0 ? escape(character) : std::string_view();
        if (length == 0)
            to << "\xEF\xBF\xBD"; // U+FFFD, the replacement character
        else
            to << (escaped.empty() ? character : escaped);
        text.remove_prefix(length == 0 ? 1 : length);
    }
}

/// Effects: writes a text as part of a JSON string.
inline void write_json_characters(report_output& to, std::string_view text)
{
    std::array<char, 6> code{'\\', 'u', '0', '0', '0', '0'};
    write_escaped(to, text, [&code](std::string_view each) {
        constexpr std::string_view digits = "0123456789abcdef";
        const auto number = static_cast<unsigned char>(each[0]);
        if (each != "\"" && each != "\\" && !is_control(each))
            return std::string_view();
        code[4] = digits[number / 16];
        code[5] = digits[number % 16];
        return std::string_view(code.data(), code.size());
    });
}

/// Effects: writes a text as a JSON string, in quotes.
inline void write_json_string(report_output& to, std::string_view text)
{
    to << "\"";
    write_json_characters(to, text);
    to << "\"";
}

/// The JSON of a report.
class json_report
{
public:
    explicit json_report(report_output to) noexcept : to_(to) {}

    void begin(std::uint64_t unix_ms, long process)
    {
        to_ << R"({"schema": "memory_pool.report", "version": 1, "time_ms": )" << unix_ms << R"(, "process": )"
            << static_cast<std::uint64_t>(process) << R"(, "pools": [)";
    }

    void entry(const report_view& view)
    {
        const report_statistics& all = view.statistics;
        to_ << (count_++ == 0 ? "\n" : ",\n") << R"(  {"kind": )";
        write_json_string(to_, view.kind.data());
        to_ << R"(, "name": )";
        write_json_string(to_, view.name.data());
        member("block_size", all.block_size);
        member("capacity", all.capacity);
        member("limit", all.limit, all.limit != report_statistics::unlimited);
        member("in_use", all.in_use);
        member("peak_in_use", all.peak_in_use, all.counts != 0);
        member("allocations", all.allocations, all.counts != 0);
        member("failures", all.failures, all.counts != 0);
        member("slabs", all.slabs);
        member("bytes_reserved", all.bytes_reserved);
        member("bytes_in_use", all.bytes_in_use);
        member("bytes_cached", all.bytes_cached);
        member("bytes_of_slack", all.bytes_of_slack);
        member("age_ms", view.age_ms, view.is_published);
        to_ << R"(, "of_lost_thread": )" << (view.is_of_lost_thread ? "true}" : "false}");
    }

    /// Effects: ends the report. `write_np_alloc(report_output&)` writes the statistics of np_alloc as JSON, or null.
    ///   It may append more members to the report, each after a comma.
    template <class WriteNpAlloc>
    void end(std::size_t left_out, const report_totals& sums, WriteNpAlloc&& write_np_alloc)
    {
        to_ << R"(], "left_out": )" << left_out << R"(, "totals": {"bytes_reserved": )" << sums.bytes_reserved;
        member("bytes_in_use", sums.bytes_in_use);
        member("bytes_cached", sums.bytes_cached);
        member("bytes_of_slack", sums.bytes_of_slack);
        to_ << R"(}, "np_alloc": )";
        write_np_alloc(to_);
        to_ << "}\n";
    }

private:
    void member(std::string_view key, std::uint64_t value, bool is_known = true)
    {
        to_ << R"(, ")" << key << R"(": )";
        is_known ? to_ << value : to_ << "null";
    }

    report_output to_;
    std::size_t count_ = 0;
};

/// The report as a table.
class text_report
{
public:
    explicit text_report(report_output to) noexcept : to_(to) {}

    void begin(std::uint64_t /*unix_ms*/, long process)
    {
        to_ << "memory_pool: pools and resources of process " << static_cast<std::uint64_t>(process) << "\n";
        left("name", name_width);
        left("kind", kind_width);
        for (const std::string_view heading : {"block size", "in use", "peak", "capacity", "limit", "slabs"})
            right(heading, number_width);
        for (const std::string_view heading :
             {"bytes reserved", "bytes in use", "bytes cached", "bytes of slack", "failures", "age, ms"})
            right(heading, bytes_width);
        to_ << "\n";
    }

    void entry(const report_view& view)
    {
        const report_statistics& all = view.statistics;
        printable(view.name.data());
        left(view.kind.data(), kind_width);
        right(all.block_size, all.block_size != 0, number_width);
        right(all.in_use, true, number_width);
        right(all.peak_in_use, all.counts != 0, number_width);
        right(all.capacity, all.block_size != 0, number_width);
        right(all.limit, all.limit != report_statistics::unlimited, number_width);
        right(all.slabs, all.slabs != 0, number_width);
        for (const std::uint64_t bytes : {all.bytes_reserved, all.bytes_in_use, all.bytes_cached, all.bytes_of_slack})
            right(bytes, true, bytes_width);
        right(all.failures, all.counts != 0, bytes_width);
        right(view.age_ms, view.is_published, bytes_width);
        to_ << (view.is_of_lost_thread ? "  of a thread that was lost in a fork\n" : "\n");
    }

    template <class WriteNpAlloc>
    void end(std::size_t left_out, const report_totals& sums, WriteNpAlloc&& write_np_alloc)
    {
        left("all together", name_width);
        left("", kind_width + 6 * number_width);
        for (const std::uint64_t bytes :
             {sums.bytes_reserved, sums.bytes_in_use, sums.bytes_cached, sums.bytes_of_slack})
            right(bytes, true, bytes_width);
        to_ << "\n";
        if (left_out != 0)
            to_ << left_out << " more are not listed, for lack of memory\n";
        write_np_alloc(to_);
    }

private:
    static constexpr std::size_t name_width = 24;
    static constexpr std::size_t kind_width = 36;
    static constexpr std::size_t number_width = 12;
    static constexpr std::size_t bytes_width = 16;

    void left(std::string_view text, std::size_t width)
    {
        to_ << text;
        to_.fill(text.size(), width);
    }

    void right(std::string_view text, std::size_t width)
    {
        to_.fill(text.size(), width);
        to_ << text;
    }

    void right(std::uint64_t number, bool is_known, std::size_t width)
    {
        right(is_known ? decimal(number).text() : std::string_view("-"), width);
    }

    /// Writes a name with control characters replaced by question marks.
    void printable(std::string_view name)
    {
        write_escaped(to_, name, [](std::string_view each) {
            return is_control(each) || (each >= "\xC2\x80" && each < "\xC2\xA0") ? std::string_view("?")
                                                                                 : std::string_view();
        });
        to_ << "  ";
        const auto is_first_of_character = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80; };
        const auto width = static_cast<std::size_t>(std::count_if(name.begin(), name.end(), is_first_of_character));
        to_.fill(width + 2, name_width);
    }

    report_output to_;
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
