// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Reads a pprof profile strictly: throws an exception for any error in it.
///
/// Thread safety: one per thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace test {
/// Reads bytes from the front.
class byte_reader
{
public:
    explicit byte_reader(std::string_view bytes) : bytes_(bytes) {}

    bool is_at_end() const { return bytes_.empty(); }

    std::string_view take(std::size_t count)
    {
        if (count > bytes_.size())
            throw std::runtime_error("unexpected end of the profile");
        const std::string_view taken = bytes_.substr(0, count);
        bytes_.remove_prefix(count);
        return taken;
    }

    std::uint32_t little_endian(std::size_t count)
    {
        std::uint32_t number = 0;
        unsigned shift = 0;
        for (const char each : take(count)) {
            number |= std::uint32_t{static_cast<unsigned char>(each)} << shift;
            shift += 8;
        }
        return number;
    }

    std::uint64_t varint()
    {
        std::uint64_t number = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const auto byte = static_cast<unsigned char>(take(1)[0]);
            number |= std::uint64_t{byte & 0x7FU} << shift;
            if (byte < 0x80)
                return number;
        }
        throw std::runtime_error("a varint has more than 64 bits");
    }

private:
    std::string_view bytes_;
};

/// A parsed profile.
class pprof_reader
{
public:
    struct mapping
    {
        std::uint64_t begin;
        std::uint64_t end;
        std::uint64_t file_offset;
        std::string file;
        std::string build_id;
    };
    struct location
    {
        std::uint64_t mapping;
        std::uint64_t address;
        std::string function;
    };
    struct sample
    {
        std::vector<std::uint64_t> addresses;
        std::vector<location> locations;
        std::vector<std::uint64_t> values;
        std::map<std::string, std::string> labels;
    };

    explicit pprof_reader(const std::string& file)
    {
        const std::string content(file);
        for (const auto& [number, each] : fields_of(content)) {
            if (number == 6)
                strings_.emplace_back(each.bytes);
            else
                all_[number].push_back(each);
        }
        if (strings_.empty() || !strings_[0].empty())
            throw std::runtime_error("the first string is not empty");
        read_tables();
        read_samples();
    }

    std::vector<std::string> sample_types;
    std::map<std::uint64_t, mapping> mappings;
    std::map<std::uint64_t, location> locations;
    std::vector<sample> samples;

    std::uint64_t number(std::uint32_t which) const
    {
        return all_.count(which) != 0 ? all_.at(which).back().number : 0;
    }
    const std::string& text(std::uint64_t index) const { return strings_.at(index); }

private:
    struct field
    {
        std::uint64_t number;
        std::string_view bytes;
    };
    using fields = std::vector<std::pair<std::uint32_t, field>>;

    static fields fields_of(std::string_view bytes)
    {
        byte_reader reader(bytes);
        fields found;
        while (!reader.is_at_end()) {
            const std::uint64_t tag = reader.varint();
            field read{};
            if ((tag & 7U) == 0)
                read.number = reader.varint();
            else if ((tag & 7U) == 2)
                read.bytes = reader.take(reader.varint());
            else
                throw std::runtime_error("a field of an unknown type");
            found.emplace_back(static_cast<std::uint32_t>(tag >> 3U), read);
        }
        return found;
    }

    static std::map<std::uint32_t, std::uint64_t> numbers_of(std::string_view bytes)
    {
        std::map<std::uint32_t, std::uint64_t> numbers;
        for (const auto& [number, read] : fields_of(bytes))
            if (!read.bytes.empty() || !numbers.emplace(number, read.number).second)
                throw std::runtime_error("a field that is not a single number");
        return numbers;
    }

    static std::vector<std::uint64_t> packed(std::string_view bytes)
    {
        std::vector<std::uint64_t> numbers;
        for (byte_reader reader(bytes); !reader.is_at_end();)
            numbers.push_back(reader.varint());
        return numbers;
    }

    template <class Value>
    static void add(std::map<std::uint64_t, Value>& to, std::uint64_t number, const Value& added)
    {
        if (number == 0 || !to.emplace(number, added).second)
            throw std::runtime_error("a number that is 0 or a duplicate");
    }

    void read_tables()
    {
        for (const field& each : all_[1]) {
            auto numbers = numbers_of(each.bytes);
            sample_types.push_back(text(numbers[1]) + "/" + text(numbers[2]));
        }
        for (const field& each : all_[3]) {
            auto numbers = numbers_of(each.bytes);
            add(mappings, numbers[1], mapping{numbers[2], numbers[3], numbers[4], text(numbers[5]), text(numbers[6])});
        }
        std::map<std::uint64_t, std::string> functions;
        for (const field& each : all_[5]) {
            auto numbers = numbers_of(each.bytes);
            add(functions, numbers[1], text(numbers[2]));
        }
        for (const field& each : all_[4]) {
            std::map<std::uint32_t, std::uint64_t> numbers;
            std::string function;
            for (const auto& [number, part] : fields_of(each.bytes)) {
                if (number == 4)
                    function = functions.at(numbers_of(part.bytes)[1]);
                else if (!numbers.emplace(number, part.number).second)
                    throw std::runtime_error("a duplicate number");
            }
            add(locations, numbers[1], location{numbers[2], numbers[3], function});
            if (numbers[2] != 0 &&
                (numbers[3] < mappings.at(numbers[2]).begin || numbers[3] >= mappings.at(numbers[2]).end))
                throw std::runtime_error("a location outside of its mapping");
        }
    }

    void read_samples()
    {
        for (const field& each : all_[2]) {
            sample read;
            for (const auto& [number, part] : fields_of(each.bytes)) {
                if (number == 2)
                    read.values = packed(part.bytes);
                else if (number == 3)
                    add_label(read, numbers_of(part.bytes));
                else if (number != 1)
                    throw std::runtime_error("an unknown field of a sample");
                else
                    for (const std::uint64_t place : packed(part.bytes)) {
                        read.locations.push_back(locations.at(place));
                        read.addresses.push_back(locations.at(place).address);
                    }
            }
            if (read.values.size() != sample_types.size())
                throw std::runtime_error("wrong number of values");
            samples.push_back(read);
        }
    }

    void add_label(sample& to, std::map<std::uint32_t, std::uint64_t> numbers) const
    {
        if (!to.labels.emplace(text(numbers[1]), text(numbers[2])).second)
            throw std::runtime_error("a duplicate label");
    }

    std::vector<std::string> strings_;
    std::map<std::uint32_t, std::vector<field>> all_;
};
} // namespace test
