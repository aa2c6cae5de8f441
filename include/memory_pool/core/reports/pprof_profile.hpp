// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A profile in pprof's format: profile.proto of github.com/google/pprof, uncompressed.
///
///     begin, sample, sample, ...
///
///     Profile:   sample types | mappings | locations and samples, as they come | strings, as they are needed
///
/// Samples of a pool have a label with the pool's name.
///
/// The profile contains code addresses, and the files and build IDs of modules. pprof finds the symbols in these files.
/// Each module is a mapping, even an unloaded one, so mappings may overlap. The writer keeps no output and remembers
/// only some locations, so it writes a few locations more than once.
///
/// Thread safety: as the output.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/core/reports/code_modules.hpp>
#include <memory_pool/core/reports/profile_sample.hpp>
#include <memory_pool/core/reports/protobuf_message.hpp>
#include <memory_pool/core/reports/report_format.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// A profile being written.
class pprof_profile : base::immovable<pprof_profile>
{
public:
    explicit pprof_profile(report_output to) : to_(to) {}

    void begin(const profile_header& header)
    {
        // In the order of `values`. Strings are numbered from 0, the empty string.
        for (const std::string_view each :
             {"", "alloc_objects", "count", "alloc_space", "bytes", "inuse_objects", "inuse_space", "space", "pool"})
            (void)string(each);
        value_type(sample_type, 1, 2);
        value_type(sample_type, 3, 4);
        value_type(sample_type, 5, 2);
        value_type(sample_type, 6, 4);
        value_type(period_type, 7, 4);
        protobuf_message<128> rest;
        rest.number(time_nanos, header.unix_ms * 1'000'000);
        rest.number(period, header.period_bytes);
        rest.number(default_sample_type, 6);
        rest.number(drop_frames, string(header.dropped_frames));
        to_ << rest.bytes();
        for (const code_module* each = header.modules; each != nullptr;
             each = each->next.load(std::memory_order_acquire))
            add(*each);
    }

    void sample(const profile_sample& taken)
    {
        constexpr std::size_t max_bytes_of_number = 10;
        protobuf_message<profile_sample::max_frames * max_bytes_of_number> locations;
        for (const code_frame* frame = taken.begin; frame != taken.end; ++frame)
            locations.varint(location(*frame));
        protobuf_message<4 * max_bytes_of_number> values;
        values.varint(taken.values.allocated_blocks);
        values.varint(taken.values.allocated_bytes);
        values.varint(taken.values.blocks_in_use);
        values.varint(taken.values.bytes_in_use);
        protobuf_message<profile_sample::max_frames * max_bytes_of_number + 200> whole;
        whole.text(1, locations.bytes());
        whole.text(2, values.bytes());
        if (!taken.pool.empty()) {
            protobuf_message<64> label;
            label.number(1, key_of_pool);
            label.number(2, string_of_pool(taken.pool));
            whole.text(3, label.bytes());
        }
        message(sample_field, whole.bytes());
    }

private:
    // Fields of Profile.
    static constexpr std::uint32_t sample_type = 1;
    static constexpr std::uint32_t sample_field = 2;
    static constexpr std::uint32_t mapping_field = 3;
    static constexpr std::uint32_t location_field = 4;
    static constexpr std::uint32_t function_field = 5;
    static constexpr std::uint32_t string_table = 6;
    static constexpr std::uint32_t drop_frames = 7;
    static constexpr std::uint32_t time_nanos = 9;
    static constexpr std::uint32_t period_type = 11;
    static constexpr std::uint32_t period = 12;
    static constexpr std::uint32_t default_sample_type = 14;

    static constexpr std::uint64_t key_of_pool = 8; ///< The index of the string "pool".

    void message(std::uint32_t field, std::string_view bytes)
    {
        protobuf_message<32> head;
        head.begin(field, bytes.size());
        to_ << head.bytes() << bytes;
    }

    /// Writes a string and returns its number.
    std::uint64_t string(std::string_view text)
    {
        message(string_table, text);
        return strings_++;
    }

    /// Returns the number of the name. Writes the name if it differs from the previous sample's.
    std::uint64_t string_of_pool(std::string_view name)
    {
        if (name != last_pool_) {
            number_of_last_pool_ = string(name);
            last_pool_ = name;
        }
        return number_of_last_pool_;
    }

    void value_type(std::uint32_t field, std::uint64_t type, std::uint64_t unit)
    {
        protobuf_message<32> value;
        value.number(1, type);
        value.number(2, unit);
        message(field, value.bytes());
    }

    void add(const code_module& added)
    {
        constexpr std::string_view digits = "0123456789abcdef";
        std::array<char, 2 * code_module::max_build_id_bytes> build_id{};
        std::size_t length = 0;
        for (const char byte : added.build_id) {
            build_id[length++] = digits[static_cast<unsigned char>(byte) / 16U];
            build_id[length++] = digits[static_cast<unsigned char>(byte) % 16U];
        }
        const std::uint64_t begin = added.base.load(std::memory_order_relaxed) + added.begin;
        protobuf_message<128> mapping;
        mapping.number(1, added.number);
        mapping.number(2, begin);
        mapping.number(3, begin + added.bytes);
        mapping.number(4, added.file_offset);
        mapping.number(5, string(added.path));
        mapping.number(6, string({build_id.data(), length}));
        message(mapping_field, mapping.bytes());
    }

    /// Returns the number of a frame's location. Writes the location unless it is remembered.
    std::uint64_t location(const code_frame& frame)
    {
        const std::uint64_t address = frame.address();
        remembered& known = remembered_[(address * 0x9E37'79B9'7F4A'7C15U) >> 56U];
        if (known.number != 0 && known.frame == frame)
            return known.number;
        known = {frame, ++locations_};
        protobuf_message<128> written;
        written.number(1, known.number);
        written.number(2, frame.module != nullptr ? frame.module->number : 0);
        written.number(3, address);
        if (frame.is_truncation()) {
            protobuf_message<32> line;
            line.number(1, function_of_truncation(frame.place().function));
            written.text(4, line.bytes());
        }
        message(location_field, written.bytes());
        return known.number;
    }

    /// Returns the number of the only function. Writes the function at the first call.
    std::uint64_t function_of_truncation(std::string_view name)
    {
        if (!has_function_) {
            has_function_ = true;
            protobuf_message<32> function;
            function.number(1, 1);
            function.number(2, string(name));
            message(function_field, function.bytes());
        }
        return 1;
    }

    struct remembered
    {
        code_frame frame;
        std::uint64_t number;
    };

    report_output to_;
    bool has_function_ = false;
    std::uint64_t strings_ = 0;
    std::uint64_t locations_ = 0;
    std::string_view last_pool_; ///< Names are valid until the end.
    std::uint64_t number_of_last_pool_ = 0;
    std::array<remembered, 256> remembered_{};
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
