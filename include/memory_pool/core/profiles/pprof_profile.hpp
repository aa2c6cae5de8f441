// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A profile as pprof reads it: profile.proto of github.com/google/pprof, within gzip.
///
///     begin, sample, sample, ..., end
///
///     Profile:   sample types | mappings | locations and samples, as they come | strings, as they are needed
///
/// Samples of a pool have a label with its name.
///
/// Code is named by its addresses, and by the files that it is mapped from: pprof finds symbols there. What is written
/// is not kept: of the locations, a few are remembered, so that most stand there once.
///
/// Thread safety: as the output.
#pragma once

#include <memory_pool/base/config.hpp>
#include <memory_pool/base/immovable.hpp>
#include <memory_pool/core/profiles/gzip_output.hpp>
#include <memory_pool/core/profiles/profile_sample.hpp>
#include <memory_pool/core/profiles/protobuf_message.hpp>
#include <memory_pool/core/reports/report_format.hpp>
#include <memory_pool/os/address_space.hpp>
#include <memory_pool/os/code_mappings.hpp>
#include <memory_pool/os/pages.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail::core {
/// The numbers of mappings by address, in pages of their own.
class mapping_numbers : base::immovable<mapping_numbers>
{
public:
    mapping_numbers() noexcept : places_(static_cast<place*>(os::reserve_addresses(reserved_bytes))) {}
    ~mapping_numbers()
    {
        if (places_ != nullptr)
            (void)os::release_addresses(places_, reserved_bytes);
    }

    /// Effects: adds the next mapping, whose addresses are higher than those before.
    /// Returns: its number; 0 on OOM: then code there is of no mapping.
    std::uint64_t add(const os::code_mapping& added) noexcept
    {
        const std::size_t needed = (count_ + 1) * sizeof(place);
        if (needed > committed_ && !commit_more())
            return 0;
        places_[count_++] = {added.begin, added.end};
        return count_;
    }

    /// Returns: its number, counted from 1; 0 if the address is in none.
    std::uint64_t find(std::uint64_t address) const noexcept
    {
        const place* const first = places_;
        const place* const last = first + count_;
        const place* const found = std::upper_bound(
            first, last, address, [](std::uint64_t one, const place& other) { return one < other.end; });
        return found != last && address >= found->begin ? static_cast<std::uint64_t>(found - first) + 1 : 0;
    }

private:
    struct place
    {
        std::uint64_t begin;
        std::uint64_t end;
    };

    /// For 65,536 mappings: Linux allows 65,530 unless vm.max_map_count is raised.
    static constexpr std::size_t reserved_bytes = sizeof(place) << 16U;
    static constexpr std::size_t step_bytes = std::size_t{64} * 1024;

    bool commit_more() noexcept
    {
        if (places_ == nullptr || committed_ == reserved_bytes ||
            !os::commit_memory(reinterpret_cast<std::byte*>(places_) + committed_, step_bytes))
            return false;
        committed_ += step_bytes;
        return true;
    }

    place* places_;
    std::size_t committed_ = 0;
    std::size_t count_ = 0;
};

/// A profile being written.
class pprof_profile : base::immovable<pprof_profile>
{
public:
    explicit pprof_profile(report_output to) : to_(to) {}

    void begin(const profile_header& its)
    {
        // In the order of `values`; strings are numbered from 0, which is the empty one.
        for (const std::string_view each :
             {"", "alloc_objects", "count", "alloc_space", "bytes", "inuse_objects", "inuse_space", "space", "pool"})
            (void)string(each);
        value_type(sample_type, 1, 2);
        value_type(sample_type, 3, 4);
        value_type(sample_type, 5, 2);
        value_type(sample_type, 6, 4);
        value_type(period_type, 7, 4);
        protobuf_message<128> rest;
        rest.number(time_nanos, its.unix_ms * 1'000'000);
        rest.number(period, its.period_bytes);
        rest.number(default_sample_type, 6);
        rest.number(drop_frames, string(its.dropped_frames));
        to_.write(rest.bytes());
        os::for_each_code_mapping([this](const os::code_mapping& each) { add(each); });
    }

    void sample(const profile_sample& its)
    {
        constexpr std::size_t longest_number = 10;
        protobuf_message<profile_sample::most_frames * longest_number> locations;
        for (const void* const* frame = its.begin; frame != its.end; ++frame)
            locations.varint(location(reinterpret_cast<std::uintptr_t>(*frame)));
        protobuf_message<4 * longest_number> values;
        values.varint(its.values.allocated_blocks);
        values.varint(its.values.allocated_bytes);
        values.varint(its.values.blocks_in_use);
        values.varint(its.values.bytes_in_use);
        protobuf_message<profile_sample::most_frames * longest_number + 200> whole;
        whole.text(1, locations.bytes());
        whole.text(2, values.bytes());
        if (!its.pool.empty()) {
            protobuf_message<64> label;
            label.number(1, key_of_pool);
            label.number(2, string_of_pool(its.pool));
            whole.text(3, label.bytes());
        }
        message(sample_field, whole.bytes());
    }

    void end() { to_.finish(); }

private:
    // Fields of Profile.
    static constexpr std::uint32_t sample_type = 1;
    static constexpr std::uint32_t sample_field = 2;
    static constexpr std::uint32_t mapping_field = 3;
    static constexpr std::uint32_t location_field = 4;
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
        to_.write(head.bytes());
        to_.write(bytes);
    }

    /// Returns: the number of the string.
    std::uint64_t string(std::string_view text)
    {
        message(string_table, text);
        return strings_++;
    }

    /// Returns: the index of the name, which is written if it differs from that of the previous sample.
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
        protobuf_message<32> its;
        its.number(1, type);
        its.number(2, unit);
        message(field, its.bytes());
    }

    void add(const os::code_mapping& added)
    {
        const std::uint64_t number = mappings_.add(added);
        if (number == 0)
            return;
        protobuf_message<128> its;
        its.number(1, number);
        its.number(2, added.begin);
        its.number(3, added.end);
        its.number(4, added.file_offset);
        its.number(5, string(added.file));
        message(mapping_field, its.bytes());
    }

    /// Returns: the number of the location of that address, which is written if it is not remembered.
    std::uint64_t location(std::uint64_t address)
    {
        remembered& known = remembered_[(address * 0x9E37'79B9'7F4A'7C15U) >> 56U];
        if (known.address == address && known.number != 0)
            return known.number;
        known = {address, ++locations_};
        protobuf_message<64> its;
        its.number(1, known.number);
        its.number(2, mappings_.find(address));
        its.number(3, address);
        message(location_field, its.bytes());
        return known.number;
    }

    struct remembered
    {
        std::uint64_t address;
        std::uint64_t number;
    };

    gzip_output to_;
    mapping_numbers mappings_;
    std::uint64_t strings_ = 0;
    std::uint64_t locations_ = 0;
    std::string_view last_pool_; ///< Names are valid until the end.
    std::uint64_t number_of_last_pool_ = 0;
    std::array<remembered, 256> remembered_{};
};
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail::core
