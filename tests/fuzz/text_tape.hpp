// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Plays a tape of bytes on functions that take and write texts: names of pools, resources, heaps and files, which may
/// contain anything; reports as JSON, text and Prometheus; the options of np_alloc by name. Another parser reads the
/// output. Any tape is valid. Used by a seeded test and a fuzzer; prints the operations on a mismatch.
#pragma once

#include <memory_pool/arena_resource.hpp>
#include <memory_pool/concurrent_object_pool.hpp>
#include <memory_pool/np_alloc.h>
#include <memory_pool/np_alloc.hpp>
#include <memory_pool/object_pool.hpp>
#include <memory_pool/pool_resource.hpp>
#include <memory_pool/report.hpp>
#include <memory_pool/resource_adaptors.hpp>

#include <fuzz/tape.hpp>
#include <fuzz/utf8.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fuzz {
/// Writes reports. Tests override it to check that the player detects a fault.
struct report_writer
{
    report_writer() = default;
    report_writer(const report_writer&) = delete;
    report_writer& operator=(const report_writer&) = delete;
    virtual ~report_writer() = default;

    virtual std::string write(memory_pool::report_format format, const memory_pool::report_snapshot& taken)
    {
        std::ostringstream to;
        memory_pool::write_report(to, format, taken);
        return to.str();
    }
};

class text_player
{
public:
    static void play(const std::uint8_t* bytes, std::size_t size, report_writer& writer)
    {
        text_player player(bytes, size, writer);
        while (!player.tape_.at_end())
            player.step();
        player.end();
    }

private:
    /// A pool, resource or heap with a name.
    struct named
    {
        named() = default;
        named(const named&) = delete;
        named& operator=(const named&) = delete;
        virtual ~named() = default;

        std::string kind;
        std::string name;
        std::optional<std::size_t> in_use; ///< blocks, if counted
    };

    template <class Thing>
    struct named_thing : named
    {
        template <class... Arguments>
        explicit named_thing(Arguments&&... arguments) : thing(std::forward<Arguments>(arguments)...)
        {
        }
        Thing thing;
    };

    text_player(const std::uint8_t* bytes, std::size_t size, report_writer& writer)
        : tape_(bytes, size), writer_(writer), others_(memory_pool::snapshot().entries.size())
    {
        for (const np_option option : options)
            values_.push_back(np_option_get(option));
    }

    void step()
    {
        switch (tape_.byte() % 14) {
        case 0:
        case 1: return log("make a pool"), make();
        case 2: return log("drop pools"), drop(tape_.byte());
        case 3: return log("report as JSON"), report_as_json();
        case 4: return log("report made-up figures"), report_made_up();
        case 5: return log("report as text"), report_as_text();
        case 6: return log("report for Prometheus"), report_for_prometheus(memory_pool::snapshot());
        case 7: return log("allocate at a line"), allocate_at(text(), tape_.byte(), tape_.byte());
        case 8: return log("report of np_alloc"), report_np_alloc();
        case 9: return log("option by number"), set_by_number();
        case 10: return log("option by a text"), set_by_text();
        case 11: return log("copy a text"), copy(text(), tape_.byte());
        case 12: return log("track"), track(tape_.byte());
        default: return log("profile"), profile(tape_.byte());
        }
    }

    void log(const char* operation) { log_.emplace_back(operation); }

    /// Returns: a text without zero bytes.
    std::string text()
    {
        const std::size_t kind = tape_.byte();
        std::string made(kind % 4 == 0 ? kind : kind % 16, '\0');
        for (char& each : made)
            each = static_cast<char>(std::max<std::size_t>(tape_.byte(), 1));
        return made;
    }

    /// Returns: a name as reports shorten it.
    static std::string kept(const std::string& name) { return as_utf8(std::string_view(name).substr(0, 127)); }

    // Named pools.

    void make()
    {
        using namespace memory_pool;
        const std::size_t kind = tape_.byte() % 8;
        const std::string name = "n" + text(); // pools without a name are not listed
        const char* const raw = name.c_str();
        const std::size_t count = tape_.byte();
        switch (kind) {
        case 0: add_pool<object_pool<int, counting_policy>>("object_pool", name, count); break;
        case 1: add_pool<concurrent_object_pool<int>>("concurrent_object_pool", name, count); break;
        case 2: (void)add<limit_resource>("limit_resource", name, limit_options{}.with_name(raw)); break;
        case 3: (void)add<tracking_resource>("tracking_resource", name, std::pmr::new_delete_resource(), raw); break;
        case 4:
            (void)add<unsynchronized_arena_resource>("unsynchronized_arena_resource", name,
                                                     arena_options{}.with_name(raw));
            break;
        case 5:
            (void)add<synchronized_arena_resource>("synchronized_arena_resource", name, arena_options{}.with_name(raw));
            break;
        default: (void)add<np_heap_resource>("np_heap", name, raw); break;
        }
    }

    template <class Thing, class... Arguments>
    Thing& add(const char* kind, const std::string& name, Arguments&&... arguments)
    {
        auto made = std::make_unique<named_thing<Thing>>(std::forward<Arguments>(arguments)...);
        made->kind = kind;
        made->name = name;
        Thing& thing = made->thing;
        things_.push_back(std::move(made));
        return thing;
    }

    template <class Pool>
    void add_pool(const char* kind, const std::string& name, std::size_t count)
    {
        Pool& pool = add<Pool>(kind, name, memory_pool::pool_options{}.with_name(name.c_str()));
        for (std::size_t i = 0; i != count; ++i)
            (void)pool.create(1);
        things_.back()->in_use = count;
    }

    void drop(std::size_t how)
    {
        if (how % 4 == 0)
            things_.clear();
        else if (!things_.empty())
            things_.erase(things_.begin() + static_cast<std::ptrdiff_t>(how % things_.size()));
    }

    // Reports.

    void report_as_json()
    {
        const memory_pool::report_snapshot taken = memory_pool::snapshot();
        expect(taken.entries.size() == others_ + things_.size(), "wrong pools in a snapshot");
        const json report = read(writer_.write(memory_pool::report_format::json, taken));
        const json& pools = member(report, "pools");
        expect(pools.is_array() && pools.size() == taken.entries.size(), "wrong pools in a report");
        std::multiset<std::pair<std::string, std::string>> expected; // heaps come last, in another order
        std::multiset<std::pair<std::string, std::string>> found;
        for (const auto& each : things_)
            expected.emplace(each->kind, kept(each->name));
        for (std::size_t i = 0; i != pools.size(); ++i) {
            const std::string kind = string_of(pools[i], "kind");
            const std::string name = string_of(pools[i], "name");
            expect(name == as_utf8(taken.entries[i].name), "the names in report and snapshot differ");
            if (expected.count({kind, name}) != 0)
                found.emplace(kind, name);
        }
        expect(found == expected, "a pool is missing in a report or renamed");
        expect_statistics(taken);
    }

    void expect_statistics(const memory_pool::report_snapshot& taken)
    {
        std::size_t next = 0;
        for (const auto& each : things_) {
            if (!each->in_use)
                continue;
            while (next != taken.entries.size() &&
                   (taken.entries[next].kind != each->kind || as_utf8(taken.entries[next].name) != kept(each->name)))
                ++next;
            expect(next != taken.entries.size(), "pools are not listed in creation order");
            const memory_pool::report_entry& entry = taken.entries[next++];
            // Unshared pools publish their statistics only from time to time.
            expect(entry.age.has_value() || entry.statistics.in_use == *each->in_use, "wrong statistics in a snapshot");
        }
    }

    using json = nlohmann::json;

    /// Returns: the parsed output, which must be JSON without duplicate members.
    json read(const std::string& written)
    {
        std::vector<std::set<std::string>> members; // member names by depth
        bool are_unique = true;
        const auto look = [&](int depth, json::parse_event_t event, const json& parsed) {
            members.resize(static_cast<std::size_t>(depth) + 2);
            if (event == json::parse_event_t::object_start)
                members.back().clear();
            else if (event == json::parse_event_t::key)
                are_unique =
                    members[static_cast<std::size_t>(depth)].insert(parsed.get<std::string>()).second && are_unique;
            return true;
        };
        json value = json::parse(written, look, false);
        const bool is_valid = !value.is_discarded() && are_unique;
        if (!is_valid)
            std::fprintf(stderr, "%s\n", written.c_str());
        expect(is_valid, "the output is not valid JSON");
        return value;
    }

    const json& member(const json& of, const char* name)
    {
        expect(of.contains(name), "a member is missing");
        return of[name];
    }

    std::string string_of(const json& of, const char* name)
    {
        const json& value = member(of, name);
        expect(value.is_string(), "a member is not a string");
        return value.get<std::string>();
    }

    /// Reports arbitrary snapshot contents.
    void report_made_up()
    {
        memory_pool::report_snapshot taken;
        taken.time = std::chrono::system_clock::time_point(std::chrono::milliseconds(tape_.number()));
        taken.process = static_cast<long>(tape_.byte());
        taken.left_out = tape_.byte() % 3;
        for (std::size_t count = tape_.byte() % 6; count != 0; --count)
            taken.entries.push_back(made_up_entry());
        const json report = read(writer_.write(memory_pool::report_format::json, taken));
        const json& pools = member(report, "pools");
        expect(pools.is_array() && pools.size() == taken.entries.size(), "wrong pools in a report");
        for (std::size_t i = 0; i != pools.size(); ++i) {
            const memory_pool::report_entry& entry = taken.entries[i];
            expect(string_of(pools[i], "name") == kept(entry.name), "wrong name in a report");
            expect_number(pools[i], "in_use", entry.statistics.in_use);
            expect_number(pools[i], "bytes_reserved", entry.statistics.bytes_reserved);
            expect_number(pools[i], "limit", entry.statistics.limit,
                          entry.statistics.limit != memory_pool::report_statistics::unlimited);
            expect_number(pools[i], "peak_in_use", entry.statistics.peak_in_use, entry.statistics.counts != 0);
        }
        report_for_prometheus(taken);
        expect_lines(taken);
    }

    memory_pool::report_entry made_up_entry()
    {
        memory_pool::report_entry entry;
        entry.kind = tape_.byte() % 2 == 0 ? "object_pool" : "limit_resource";
        entry.name = text();
        memory_pool::report_statistics& all = entry.statistics;
        for (std::uint64_t* const figure : {&all.block_size, &all.capacity, &all.limit, &all.in_use, &all.slabs,
                                            &all.bytes_reserved, &all.bytes_in_use, &all.bytes_cached,
                                            &all.bytes_of_slack, &all.peak_in_use, &all.allocations, &all.failures})
            *figure = figure_from_tape();
        all.counts = tape_.byte() % 2;
        if (tape_.byte() % 2 == 0)
            entry.age = std::chrono::milliseconds(tape_.number());
        entry.is_of_lost_thread = tape_.byte() % 4 == 0;
        return entry;
    }

    std::uint64_t figure_from_tape()
    {
        const std::size_t kind = tape_.byte();
        if (kind % 8 == 0)
            return std::numeric_limits<std::uint64_t>::max() - kind / 8;
        return kind % 8 == 1 ? std::uint64_t{tape_.number()} << (kind / 8) : kind;
    }

    void expect_number(const json& of, const char* name, std::uint64_t number, bool is_known = true)
    {
        const json& value = member(of, name);
        expect(is_known ? value.is_number_unsigned() && value.get<std::uint64_t>() == number : value.is_null(),
               "wrong value of a member");
    }

    void report_as_text()
    {
        const memory_pool::report_snapshot taken = memory_pool::snapshot();
        expect_lines(taken);
    }

    /// A text report must have one line per pool, whatever its name.
    void expect_lines(memory_pool::report_snapshot taken)
    {
        const std::string with_pools = writer_.write(memory_pool::report_format::text, taken);
        const std::size_t pools = taken.entries.size();
        taken.entries.clear();
        const std::string without = writer_.write(memory_pool::report_format::text, taken);
        expect(lines_in(with_pools) == lines_in(without) + pools, "not one line per pool");
        expect(as_utf8(with_pools) == with_pools, "a report is not in UTF-8");
    }

    static std::size_t lines_in(const std::string& written)
    {
        return static_cast<std::size_t>(std::count(written.begin(), written.end(), '\n'));
    }

    /// Each line must be a comment or a number with a metric and a unique set of labels.
    void report_for_prometheus(const memory_pool::report_snapshot& taken)
    {
        const std::string written = writer_.write(memory_pool::report_format::prometheus, taken);
        expect(as_utf8(written) == written, "a report is not in UTF-8");
        std::set<std::string> series;
        std::istringstream lines(written);
        for (std::string line; std::getline(lines, line);) {
            if (line.rfind("# HELP ", 0) == 0 || line.rfind("# TYPE ", 0) == 0)
                continue;
            const std::size_t end_of_series = end_of_labels(line);
            expect(end_of_series != 0 && line.size() > end_of_series + 1 && line[end_of_series] == ' ' &&
                       line.find_first_not_of("0123456789", end_of_series + 1) == std::string::npos,
                   "malformed line for Prometheus");
            expect(series.insert(line.substr(0, end_of_series)).second, "a series occurs twice");
        }
    }

    /// Returns: the end of metric{label="text",label="text"} in the line; 0 if malformed.
    static std::size_t end_of_labels(const std::string& line)
    {
        const auto skip_word = [&line](std::size_t at) {
            return std::min(line.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", at), line.size());
        };
        std::size_t at = skip_word(0);
        if (at == 0 || at == line.size() || line[at] == ' ')
            return at;
        do {
            const std::size_t label = at + 1;
            at = skip_word(label);
            if (at == label || line.compare(at, 2, "=\"") != 0)
                return 0;
            for (at += 2; at < line.size() && line[at] != '"'; ++at) {
                if (line[at] != '\\')
                    continue;
                ++at;
                if (std::strchr("\\\"n", line[at]) == nullptr)
                    return 0;
            }
            ++at;
        } while (at < line.size() && line[at] == ',');
        return at < line.size() && line[at] == '}' ? at + 1 : 0;
    }

    // Reports of np_alloc.

    void allocate_at(std::string file, std::size_t line, std::size_t bytes)
    {
        files_.push_back(std::move(file));
        const np_block block{np_alloc_at(bytes, files_.back().c_str(), static_cast<int>(line)), bytes};
        expect(block.address != nullptr, "out of memory");
        blocks_of_sites_[{as_utf8(files_.back()), std::to_string(line)}].push_back(block);
    }

    template <class Write>
    static std::string written_by(Write&& write)
    {
        std::ostringstream to;
        write(to);
        return to.str();
    }

    void report_np_alloc()
    {
        (void)read(written_by([](std::ostream& to) { np_statistics_print(np_format_json, to); }));
        const std::string slabs = written_by([](std::ostream& to) {
            np_slabs_print(
                [](const char* text, std::size_t length, void* stream) {
                    static_cast<std::ostream*>(stream)->write(text, static_cast<std::streamsize>(length));
                },
                &to);
        });
        expect(slabs.empty() || read(slabs).is_array(), "slabs are not an array");
        const json report = read(written_by([](std::ostream& to) { (void)np_leak_report(np_format_json, to); }));
        sizes found;
        for (const json& each : member(report, "sites"))
            found[{string_of(each, "file"), member(each, "line").dump()}] += member(each, "blocks").get<std::size_t>();
        sizes expected;
        for (const auto& each : blocks_of_sites_)
            expected[each.first] += each.second.size();
        expect(found == expected, "wrong outstanding blocks of a call site");
        const std::string as_text = written_by([](std::ostream& to) { (void)np_leak_report(np_format_text, to); });
        expect(blocks_of_sites_.empty() == as_text.empty(), "the text report does not fit the outstanding blocks");
    }

    void copy(const std::string& original, std::size_t most)
    {
        char* const whole = np_strdup(original.c_str());
        char* const part = np_strndup(original.c_str(), most);
        expect(whole != nullptr && part != nullptr, "out of memory");
        expect(whole == original && part == original.substr(0, most), "a copy differs");
        np_free(whole);
        np_free(part);
    }

    /// Each line of a folded profile must be a call stack and a number.
    void profile(std::size_t mean)
    {
        expect(np_option_set(np_option_profile_bytes, mean * 16) == 0, "sampling was rejected");
        const auto append = [](const char* text, std::size_t length, void* whole) {
            static_cast<std::string*>(whole)->append(text, length);
        };
        std::string folded;
        std::string as_text;
        expect(np_profile_write(np_profile_folded, append, &folded) == 0 &&
                   np_profile_write(np_profile_text, append, &as_text) == 0,
               "no profile was written");
        expect(np_profile_write(np_profile_folded, nullptr, nullptr) == EINVAL, "a profile without a writer");
        std::istringstream lines(folded);
        for (std::string line; std::getline(lines, line);) {
            const std::size_t number = line.rfind(' ') + 1;
            expect(number > 1 && number != line.size() &&
                       line.find_first_not_of("0123456789", number) == std::string::npos,
                   "malformed line of a profile");
        }
    }

    void track(std::size_t sites)
    {
        memory_pool::tracking_resource tracked;
        std::set<std::pair<std::string, std::size_t>> expected;
        for (sites %= 6; sites != 0; --sites) {
            files_.push_back(text());
            const std::size_t line = tape_.byte() % 3;
            expected.emplace(files_.back(), line);
            std::pmr::memory_resource* const resource =
                tracked.for_site({files_.back().c_str(), static_cast<unsigned>(line)});
            resource->deallocate(resource->allocate(line + 1), line + 1);
        }
        std::set<std::pair<std::string, std::size_t>> found;
        tracked.for_each_site([&](const memory_pool::call_site& at, const memory_pool::resource_statistics& used) {
            expect(used.in_use == 0 && used.allocations != 0, "wrong statistics of a call site");
            found.emplace(at.file, at.line);
        });
        expect(found == expected, "wrong call sites");
    }

    // Options.

    /// Options that start no thread and handle no signal.
    static constexpr std::array<np_option, 9> options{
        np_option_decay_ms,          np_option_thread_cache_bytes, np_option_region_bytes,
        np_option_statistics_at_end, np_option_fatal_foreign,      np_option_leaks,
        np_option_leaks_exit,        np_option_huge_pages,         np_option_report_slabs};
    static constexpr std::array<const char*, 9> names{"decay_ms",          "thread_cache_bytes", "region_bytes",
                                                      "statistics_at_end", "fatal_foreign",      "leaks",
                                                      "leaks_exit",        "huge_pages",         "report_slabs"};

    void set_by_number()
    {
        const std::size_t which = tape_.byte() % options.size();
        const std::size_t value = figure_from_tape();
        const std::size_t before = np_option_get(options[which]);
        expect(np_option_by_name(names[which]) == options[which], "wrong name of an option");
        const int result = np_option_set(options[which], value);
        expect(result == 0 || result == EINVAL || (result == EBUSY && options[which] == np_option_region_bytes),
               "unexpected error");
        expect(np_option_get(options[which]) == (result == 0 ? value : before), "wrong value of an option");
        expect(np_option_set(np_option_none, value) == EINVAL && np_option_get(np_option_none) == 0,
               "an unknown option can be set");
    }

    void set_by_text()
    {
        const std::size_t how = tape_.byte();
        if (how % 4 == 0)
            return set_unknown();
        const std::size_t which = tape_.byte() % options.size();
        std::string value = how % 4 == 1 ? text() : std::to_string(figure_from_tape() % 100'000);
        if (how % 4 == 2)
            value += "KMGTkb x"[how / 4 % 8];
        if (how == 255)
            value = "never";
        const np_option option = options[which];
        const std::size_t before = np_option_get(option);
        const std::optional<std::size_t> number = number_in(value, option);
        const int expected = number ? np_option_set(option, *number) : EINVAL;
        const std::size_t set = np_option_get(option);
        (void)np_option_set(option, before);
        const int result = np_option_set_by_name(names[which], value.c_str());
        // If it is too late to set the option, the value may also be invalid.
        expect(result == expected || (expected == EBUSY && result == EINVAL), "an option text was parsed differently");
        expect(np_option_get(option) == (expected == 0 ? set : before), "wrong value of an option");
    }

    void set_unknown()
    {
        const std::string unknown = text();
        const np_option option = np_option_by_name(unknown.c_str());
        if (option == np_option_none)
            expect(np_option_set_by_name(unknown.c_str(), "1") == EINVAL, "an unknown option can be set");
        else
            expect(unknown.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos,
                   "malformed name of an option");
        expect(np_option_by_name(nullptr) == np_option_none && np_option_set_by_name(nullptr, nullptr) == EINVAL,
               "a null name is an option");
    }

    /// Returns: the number that the text means.
    static std::optional<std::size_t> number_in(const std::string& value, np_option option)
    {
        if (option == np_option_decay_ms && value == "never")
            return NP_DECAY_NEVER;
        const std::size_t digits = std::min(value.find_first_not_of("0123456789"), value.size());
        const std::string unit = value.substr(digits);
        if (digits == 0 || (!unit.empty() && unit != "K" && unit != "M" && unit != "G"))
            return std::nullopt;
        constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
        std::size_t number = 0;
        for (const char digit : value.substr(0, digits))
            number = number > (most - 9) / 10 ? most : number * 10 + static_cast<std::size_t>(digit - '0');
        const unsigned shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : 30;
        return number > (most >> shift) ? most : number << shift;
    }

    void end()
    {
        for (const auto& each : blocks_of_sites_)
            for (const np_block& block : each.second)
                np_free_sized(block.address, block.bytes);
        for (std::size_t i = 0; i != options.size(); ++i)
            (void)np_option_set(options[i], values_[i]);
        (void)np_option_set(np_option_profile_bytes, 0);
        things_.clear();
        expect(memory_pool::snapshot().entries.size() == others_, "a destroyed pool is in a snapshot");
        expect(np_verify() == 1, "np_verify failed");
    }

    void expect(bool condition, const char* otherwise)
    {
        if (!condition)
            disagree(log_, otherwise);
    }

    struct np_block
    {
        void* address;
        std::size_t bytes;
    };
    using site = std::pair<std::string, std::string>; ///< file as shown in reports, and line
    using sizes = std::map<site, std::size_t>;

    tape tape_;
    report_writer& writer_;
    const std::size_t others_; ///< pools outside of this player
    std::list<std::string> files_;
    std::map<site, std::vector<np_block>> blocks_of_sites_;
    std::vector<std::unique_ptr<named>> things_;
    std::vector<std::size_t> values_; ///< initial values of the options
    std::vector<std::string> log_;
};

/// Plays the tape on the report writer.
inline void play_text(const std::uint8_t* bytes, std::size_t size)
{
    report_writer writer;
    text_player::play(bytes, size, writer);
}
} // namespace fuzz
