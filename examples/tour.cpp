// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The tour: does the same work on real text with new and delete and with each pool of the library, checks that the
/// results are equal, and prints the costs.
///
///     tour [--rounds N] [--json FILE] [PATH]
///     tour --map FOLDER [PATH]
///
/// The parts are in the folder tour/. Start with tour/sides.hpp, tour/pmr_sides.hpp and tour/entity_sides.hpp, which
/// use the pools and resources. The jobs for one thread are in tour/jobs.hpp, the job for several threads is in
/// tour/shared_index.hpp, the job with standard containers in tour/chapters.hpp, and the job with handles in
/// tour/entities.hpp. The other files measure and print; tour/conclusion.hpp interprets the results.
#include "tour/chapters.hpp"
#include "tour/conclusion.hpp"
#include "tour/entities.hpp"
#include "tour/entity_sides.hpp"
#include "tour/heap.hpp"
#include "tour/jobs.hpp"
#include "tour/map.hpp"
#include "tour/pmr_sides.hpp"
#include "tour/process.hpp"
#include "tour/report.hpp"
#include "tour/results.hpp"
#include "tour/shared_index.hpp"
#include "tour/sides.hpp"
#include "tour/text.hpp"
#include "tour/threads.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tour { namespace {
constexpr std::string_view usage = "usage: tour [--rounds N] [--json FILE | --map FOLDER] [PATH]";

/// Limits the memory of the tour: with new and delete, the largest structure takes about ten times the size of the
/// text.
constexpr std::size_t largest_text = std::size_t{32} * 1024 * 1024;
/// The limit for maps, in which single blocks should be visible.
constexpr std::size_t largest_mapped_text = std::size_t{2} * 1024 * 1024;

/// The result and the costs of a job in one process.
struct measurement
{
    std::uint64_t nanoseconds = 0;
    std::uint64_t checksum = 0;
    node_tally at_peak; ///< After building.
    node_tally at_end;  ///< After tearing down.
    std::uint64_t peak_memory = 0;
    std::uint64_t heap_calls = 0;
    bool has_report = false; ///< A report was written.
};

// --- measuring, in the child

class stopwatch
{
public:
    void start() { started_ = clock::now(); }
    void stop() { total_ += clock::now() - started_; }
    std::uint64_t nanoseconds() const
    {
        return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(total_).count());
    }

private:
    using clock = std::chrono::steady_clock;
    clock::time_point started_;
    clock::duration total_{};
};

/// Maps the pages of the text into this process, so that the job is not charged for page faults.
void touch(std::string_view text)
{
    std::uint64_t sum = 0;
    for (const char byte : text)
        sum += static_cast<unsigned char>(byte);
    [[maybe_unused]] const volatile std::uint64_t kept = sum;
}

/// Measures a job. The time includes building, reading, tearing down, and the pool's construction and destruction.
/// Writes a report at the peak, unless `report` is nullptr.
template <class Job>
measurement measure(std::string_view text, const std::string* report)
{
    touch(text);
    measurement result;
    const std::uint64_t memory_before = peak_memory();
    const std::uint64_t calls_before = heap_calls();

    stopwatch time;
    time.start();
    std::optional<Job> job(std::in_place, text);
    job->build();
    result.checksum = job->read();
    time.stop();

    result.at_peak = job->tally();
    result.has_report = report != nullptr && write_report_file(*report);

    time.start();
    job->tear_down();
    time.stop();

    result.at_end = job->tally();

    time.start();
    job.reset();
    time.stop();

    result.nanoseconds = time.nanoseconds();
    result.heap_calls = heap_calls() - calls_before;
    result.peak_memory = peak_memory() - memory_before;
    return result;
}

/// Measures parsing and hashing alone, which every job does in addition to its work on nodes.
measurement measure_text_alone(std::string_view text, const std::string* /*report*/)
{
    touch(text);
    measurement result;
    stopwatch time;
    time.start();
    lexer tokens(text);
    for (token found = tokens.next(); found.kind != token_kind::space; found = tokens.next())
        if (found.kind == token_kind::word)
            result.checksum += hash_of(text.substr(found.offset, found.length));
    time.stop();
    result.nanoseconds = time.nanoseconds();
    return result;
}

// --- the tables of jobs and sides

using measuring = measurement (*)(std::string_view, const std::string* report);

constexpr std::size_t job_count = 6;

struct job
{
    const char* name;
    const char* explanation;
    std::size_t same_result_as; ///< The job that must have the same result; possibly this one.
};

constexpr std::array<job, job_count> jobs{{
    {"word index", "a hash table of all words, each with a chain of its positions in the text", 0},
    {"parse tree", "a node for each word, sign and bracket, below the enclosing bracket", 1},
    {"replay", "each word creates a record, or destroys the one in its slot", 2},
    {"shared index", "the word index, built, read and torn down by several threads together", 0},
    {"chapters", "for every 16 KiB of the text, a word index of std::pmr containers, destroyed before the next", 4},
    {"entities", "an entity for each word, which targets others; references to destroyed entities are detected", 5},
}};

struct side
{
    const char* name;
    const char* explanation;
    std::array<measuring, job_count> measure; ///< In the order of `jobs`; nullptr for jobs that this side does not do.
    bool is_pool;                             ///< A pool or arena of this library.
};

/// A side with nodes for one thread.
template <template <class> class Nodes>
constexpr side one_thread_side(const char* name, const char* explanation)
{
    return {name,
            explanation,
            {measure<word_index<Nodes>>, measure<parse_tree<Nodes>>, measure<replay<Nodes>>, nullptr, nullptr, nullptr},
            true};
}

/// A side with nodes that threads share.
template <template <class> class Nodes>
constexpr side shared_side(const char* name, const char* explanation)
{
    return {name, explanation, {nullptr, nullptr, nullptr, measure<shared_index<Nodes>>, nullptr, nullptr}, true};
}

/// A side with memory for containers.
template <class Memory>
constexpr side container_side(const char* name, const char* explanation, bool is_pool = true)
{
    return {name, explanation, {nullptr, nullptr, nullptr, nullptr, measure<chapters<Memory>>, nullptr}, is_pool};
}

/// A side with entities that refer to each other.
template <template <class> class Entities>
constexpr side entity_side(const char* name, const char* explanation)
{
    return {name, explanation, {nullptr, nullptr, nullptr, nullptr, nullptr, measure<entity_system<Entities>>}, true};
}

/// A side that does every job, without a pool.
template <template <class> class Nodes, class Memory, template <class> class Entities>
constexpr side all_round_side(const char* name, const char* explanation)
{
    return {name,
            explanation,
            {measure<word_index<Nodes>>, measure<parse_tree<Nodes>>, measure<replay<Nodes>>,
             measure<shared_index<Nodes>>, measure<chapters<Memory>>, measure<entity_system<Entities>>},
            false};
}

/// The first side does every job. The tour compares the other sides to it.
constexpr std::array sides{
    all_round_side<new_delete_nodes, heap_memory, shared_ptr_entities>(
        "new/delete", "nodes and blocks of containers from the heap; entities by std::shared_ptr and std::weak_ptr"),
    one_thread_side<object_pool_nodes>("object_pool", "nodes from a pool of objects of their type"),
    one_thread_side<block_pool_nodes>("block_pool", "nodes in blocks from a pool of raw blocks of their size"),
    shared_side<concurrent_object_pool_nodes>("concurrent_object_pool", "nodes from an object pool shared by threads"),
    container_side<std_pool_memory>("std::pmr pool", "containers over std::pmr::unsynchronized_pool_resource", false),
    container_side<pool_memory>("pool_resource", "containers over memory_pool::unsynchronized_pool_resource"),
    container_side<arena_memory>("arena_resource", "containers over memory_pool::unsynchronized_arena_resource"),
    entity_side<handle_pool_entities>("handle_pool",
                                      "entities from a pool, with handles that detect destroyed entities"),
};

constexpr side faulty_side =
    all_round_side<faulty_nodes, faulty_memory, faulty_entities>("faulty", "nodes from the heap, some of them wrong");

// --- the command line

struct options
{
    std::size_t rounds = 5;
    std::optional<std::string> path;
    std::optional<std::string> map;   ///< The folder for reports.
    std::optional<std::string> json;  ///< The file for results.
    std::vector<std::string> command; ///< As it was typed.
    bool wants_help = false;
    bool wants_faulty_side = false;
    std::string problem; ///< An error in the command line, if any.
};

std::optional<std::size_t> as_rounds(std::string_view text)
{
    constexpr std::size_t max_digits = 3;
    const bool are_digits = std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (text.empty() || text.size() > max_digits || !are_digits)
        return std::nullopt;
    std::size_t rounds = 0;
    for (const char digit : text)
        rounds = rounds * 10 + static_cast<std::size_t>(digit - '0');
    return rounds != 0 ? std::optional(rounds) : std::nullopt;
}

void take_rounds(options& parsed, std::string_view text)
{
    if (const std::optional<std::size_t> rounds = as_rounds(text))
        parsed.rounds = *rounds;
    else
        parsed.problem = "--rounds takes a number from 1 to 999";
}

void take_folder(options& parsed, std::string_view folder)
{
    if (folder.empty())
        parsed.problem = "--map takes a folder";
    parsed.map = folder;
}

void take_file(options& parsed, std::string_view file)
{
    if (file.empty())
        parsed.problem = "--json takes a file";
    parsed.json = file;
}

void take_path(options& parsed, std::string_view path)
{
    if (parsed.path)
        parsed.problem = "too many arguments";
    parsed.path = path;
}

options parse(const std::vector<std::string_view>& arguments)
{
    options parsed;
    parsed.command.emplace_back("tour");
    for (const std::string_view argument : arguments)
        parsed.command.push_back(printable(argument));
    bool options_have_ended = false;
    for (std::size_t i = 0; i != arguments.size() && parsed.problem.empty(); ++i) {
        const std::string_view argument = arguments[i];
        if (options_have_ended || argument.substr(0, 1) != "-")
            take_path(parsed, argument);
        else if (argument == "--")
            options_have_ended = true;
        else if (argument == "--help" || argument == "-h")
            parsed.wants_help = true;
        else if (argument == "--faulty")
            parsed.wants_faulty_side = true;
        else if (argument == "--rounds")
            take_rounds(parsed, i + 1 != arguments.size() ? arguments[++i] : "");
        else if (argument == "--map")
            take_folder(parsed, i + 1 != arguments.size() ? arguments[++i] : "");
        else if (argument == "--json")
            take_file(parsed, i + 1 != arguments.size() ? arguments[++i] : "");
        else
            parsed.problem = "unknown option " + printable(argument);
    }
    if (parsed.problem.empty() && parsed.json && parsed.map)
        parsed.problem = "--map measures nothing, so there are no results for --json";
    return parsed;
}

void print_help()
{
    std::printf(
        "%s\n\n"
        "Does the same work on real text with new and delete and with each pool of memory_pool, in one thread and in\n"
        "several, checks that the results are equal, and prints the time and the memory of each.\n\n"
        "  PATH        the file or folder to read; by default, the compiler's own C++ headers\n"
        "  --rounds N  measure N times and print the fastest (default: 5)\n"
        "  --json FILE also write the results to a file, for tools/tour_page.py\n"
        "  --map FOLDER\n"
        "              measure nothing; write a report of each job with each side into the folder, for tools/heap_map\n"
        "  --faulty    add a side that makes mistakes, to show that the tour detects them\n"
        "  --help      show this text\n\n"
        "Exit status: 0 on success; 1 if results differ or something fails; 2 if there is no text to read.\n",
        std::string(usage).c_str());
}

// --- the tour itself

enum exit_code : int
{
    success = 0,
    failure = 1,
    wrong_usage = 2
};

int fail(exit_code code, const std::string& problem)
{
    (void)std::fflush(stdout);
    std::fprintf(stderr, "tour: %s\n", problem.c_str());
    return code;
}

/// All measurements.
struct measurements
{
    std::vector<std::vector<std::vector<measurement>>> sides; ///< By job, then by side, then by round.
    std::vector<measurement> text_alone;                      ///< By round.
};

/// Effects: measures in a child process, and adds the result to `rounds`.
/// Returns: an error message, or an empty string on success.
std::string add_measurement(measuring measure, std::string_view text, std::vector<measurement>& rounds)
{
    std::string problem;
    if (const auto result = in_child([&] { return measure(text, nullptr); }, problem))
        rounds.push_back(*result);
    return problem;
}

/// Effects: measures every job once with every side that does it. If `backwards`, begins with the last side.
/// Returns: an error message, or an empty string on success.
std::string measure_round(const std::vector<side>& measured, bool backwards, std::string_view text, progress& shown,
                          measurements& results)
{
    for (std::size_t job = 0; job != jobs.size(); ++job) {
        for (std::size_t turn = 0; turn != measured.size(); ++turn) {
            const std::size_t side = backwards ? measured.size() - 1 - turn : turn;
            if (measured[side].measure[job] == nullptr)
                continue;
            std::string step = jobs[job].name;
            step.append(" with ").append(measured[side].name);
            shown.begin_step(step);
            const std::string problem = add_measurement(measured[side].measure[job], text, results.sides[job][side]);
            if (!problem.empty())
                return step.append(": ").append(problem);
        }
    }
    return add_measurement(measure_text_alone, text, results.text_alone);
}

/// Effects: does every job once with every side, each in a child process that writes a report at the peak.
/// Returns: an error message, or an empty string on success.
std::string write_reports(const std::string& folder, std::string_view text)
{
    unsigned number = 0;
    for (std::size_t job = 0; job != jobs.size(); ++job) {
        for (const side& each : sides) {
            if (each.measure[job] == nullptr)
                continue;
            const std::string path = report_path(folder, ++number, jobs[job].name, each.name);
            std::string problem;
            const auto result = in_child([&] { return each.measure[job](text, &path); }, problem);
            if (!result)
                return std::string(path).append(": ").append(problem);
            if (!result->has_report)
                return printable(path) + " cannot be written";
            std::printf("%s\n", path.c_str());
        }
    }
    return {};
}

/// Returns: the number of measurements in a round.
std::size_t steps_in_round(const std::vector<side>& measured)
{
    std::size_t steps = 0;
    for (const side& counted : measured)
        for (const measuring measure : counted.measure)
            steps += measure != nullptr ? 1U : 0U;
    return steps;
}

/// Effects: measures everything `rounds` times. Every other round runs in reverse order, so that no side always
///   inherits the state of the machine from one other side.
/// Returns: an error message, or an empty string on success.
std::string measure_all(const std::vector<side>& measured, std::size_t rounds, std::string_view text,
                        measurements& results)
{
    results.sides.assign(jobs.size(), std::vector<std::vector<measurement>>(measured.size()));
    progress shown(rounds * steps_in_round(measured));
    std::string problem;
    for (std::size_t round = 0; round != rounds && problem.empty(); ++round)
        problem = measure_round(measured, round % 2 != 0, text, shown, results);
    return problem;
}

/// Returns: whether `a` and `b` have equal results, and both have destroyed all nodes.
bool agree(const measurement& a, const measurement& b)
{
    return a.checksum == b.checksum && a.at_peak.created == b.at_peak.created &&
           a.at_peak.destroyed == b.at_peak.destroyed && a.at_peak.bytes_asked == b.at_peak.bytes_asked &&
           a.at_end.created == b.at_end.created && a.at_end.destroyed == a.at_end.created &&
           b.at_end.destroyed == b.at_end.created;
}

/// Returns: whether all measurements of a side in a job agree with `reference`, the first side in this job, and with
///   `same_result`, the job that must have the same result.
bool all_agree(const std::vector<measurement>& rounds, const measurement& reference, const measurement& same_result)
{
    return std::all_of(rounds.begin(), rounds.end(), [&](const measurement& result) {
        return agree(result, reference) && result.checksum == same_result.checksum;
    });
}

/// Returns: a message with the jobs and sides whose results differ; empty if none do.
std::string difference(const std::vector<side>& measured, const measurements& results)
{
    std::string all;
    for (std::size_t job = 0; job != jobs.size(); ++job) {
        const measurement& reference = results.sides[job].front().front();
        const measurement& same_result = results.sides[jobs[job].same_result_as].front().front();
        for (std::size_t side = 0; side != measured.size(); ++side)
            if (!all_agree(results.sides[job][side], reference, same_result))
                all.append(all.empty() ? "" : "; ")
                    .append(jobs[job].name)
                    .append(": not the same with ")
                    .append(measured[side].name);
    }
    return all;
}

/// Returns: the fastest of `rounds`, with the largest peak memory of all rounds. Other values are equal in all rounds,
///   or nearly equal if the order of threads affects the growth of a pool.
measurement summary(const std::vector<measurement>& rounds)
{
    const auto is_faster = [](const measurement& a, const measurement& b) { return a.nanoseconds < b.nanoseconds; };
    measurement result = *std::min_element(rounds.begin(), rounds.end(), is_faster);
    for (const measurement& round : rounds)
        result.peak_memory = std::max(result.peak_memory, round.peak_memory);
    return result;
}

/// Returns: a description of the text, as in: 10.5 KiB in 1 file from README.md
std::string described(const options& chosen, const reading& read)
{
    return in_bytes(read.bytes) + " in " + in_thousands(read.files) + (read.files == 1 ? " file" : " files") +
           " from " +
           (chosen.path ? printable(*chosen.path)
                        : "the compiler's C++ headers (name another file or folder to read that)");
}

std::vector<std::string> notes(const reading& read)
{
    std::vector<std::string> all;
    if (read.is_cut)
        all.push_back("Only the first " + in_bytes(largest_text) + " are read.");
    if (read.skipped != 0)
        all.push_back("Files or folders that could not be read: " + in_thousands(read.skipped));
    if (read.not_text != 0)
        all.push_back("Files that are not text, and left out: " + in_thousands(read.not_text));
    return all;
}

void print_text(const results& shown)
{
    std::printf("memory_pool tour: the same work with new and delete, and with each pool\n\nText: %s\n",
                shown.text.c_str());
    for (const std::string& note : shown.text_notes)
        std::printf("      %s\n", note.c_str());
}

void print_plan(const results& shown)
{
    std::printf(
        "\nJobs: each builds a structure of nodes from the text, reads it, and tears it down node by node.\n\n");
    for (const job& described : jobs)
        std::printf("  %-22s  %s\n", described.name, described.explanation);
    std::printf("\nSides: the allocators of the nodes, or of the containers' memory.\n\n");
    for (const term& side : shown.sides)
        std::printf("  %-22s  %s\n", side.name.c_str(), side.explanation.c_str());
    std::printf(
        "\nEach side does each job in a separate process, %s; the fastest time counts. Threads for the shared index:\n"
        "%s. They allocate nodes from one pool, and free nodes of other threads.\n\n",
        shown.rounds == 1 ? "once" : (in_thousands(shown.rounds) + " times").c_str(),
        in_thousands(shown.threads).c_str());
    (void)std::fflush(stdout);
}

std::optional<std::uint64_t> wasted(const node_tally& tally)
{
    if (!tally.bytes_held)
        return std::nullopt;
    return *tally.bytes_held - std::min(*tally.bytes_held, tally.bytes_asked);
}

/// Returns: the statistics of a job, for each side that does it.
job_statistics statistics_of(const job& done, const std::vector<side>& measured,
                             const std::vector<std::vector<measurement>>& rounds)
{
    job_statistics all{done.name, done.explanation, {}};
    for (std::size_t side = 0; side != measured.size(); ++side) {
        if (rounds[side].empty())
            continue;
        const measurement result = summary(rounds[side]);
        all.sides.push_back({measured[side].name, measured[side].is_pool, result.nanoseconds, result.peak_memory,
                             heap_counts_calls ? std::optional(result.heap_calls) : std::nullopt,
                             wasted(result.at_peak)});
    }
    return all;
}

void print_table(const results& shown)
{
    table rows({"job", "side", "time", "speed", "peak memory", "malloc calls", "wasted"});
    for (const job_statistics& job : shown.jobs) {
        rows.add_gap();
        for (const side_statistics& each : job.sides)
            rows.add({&each == &job.sides.front() ? job.name : "", each.side, in_milliseconds(each.nanoseconds),
                      in_times(job.sides.front().nanoseconds, each.nanoseconds), in_bytes(each.peak_memory),
                      each.heap_calls ? in_thousands(*each.heap_calls) : "n/a",
                      each.wasted ? in_bytes(*each.wasted) : "n/a"});
    }
    rows.print();
}

std::string conclusion_of(const std::vector<job_statistics>& all)
{
    std::vector<compared_job> compared;
    for (const job_statistics& job : all) {
        const side_statistics& new_delete = job.sides.front();
        compared.push_back({job.name, {new_delete.nanoseconds, new_delete.peak_memory}, {}});
        for (const side_statistics& each : job.sides)
            if (each.is_pool)
                compared.back().pools.push_back({each.nanoseconds, each.peak_memory});
    }
    return conclusion(compared);
}

std::vector<term> legend(const measurements& results)
{
    return {{"time", "to build, read and tear down. Parsing and hashing, the same for all sides, take " +
                         in_milliseconds(summary(results.text_alone).nanoseconds) +
                         " in one thread; entities use only part of the text"},
            {"speed", "relative to new/delete: 2.00x does the job in half the time"},
            {"peak memory", "the growth of the process's peak memory during the job"},
            {"malloc calls", "calls of malloc during the job, by new or by the pools"},
            {"wasted", "memory held beyond what the nodes requested, after building"},
            {"gain",
             "in the last lines: 5 % or more, and at least 1 ms or 1 MiB. For each job, the fastest pool counts; "
             "of pools within 5 % or 1 ms of it, the one that uses the least memory"}};
}

std::string agreement(const measurements& results)
{
    std::uint64_t nodes = 0;
    for (const auto& job : results.sides)
        nodes += job.front().front().at_end.created;
    return "All sides agree on the " + in_thousands(nodes) +
           " nodes and blocks that they created, and on all results, with one thread and with several.";
}

void print_end(const results& shown)
{
    constexpr std::size_t name_width = 14;
    constexpr std::size_t line_width = 112;
    std::printf("\n");
    for (const term& each : shown.legend) {
        std::string lines = wrapped(each.explanation, line_width - name_width);
        for (std::size_t end = lines.find('\n'); end != std::string::npos; end = lines.find('\n', end + 1))
            lines.insert(end + 1, name_width, ' ');
        std::printf("%-*s%s\n", static_cast<int>(name_width), each.name.c_str(), lines.c_str());
    }
    std::printf("\n%s\n"
                "Where to go next: README.md has a first program, docs/ explains how the pools work.\n\n%s\n",
                shown.agreement.c_str(), wrapped(shown.conclusion, line_width).c_str());
}

int write_statistics(const std::string& path, const results& shown)
{
    const std::string problem = write_file(path, as_json(shown));
    return problem.empty() ? success : fail(failure, problem);
}

/// Effects: measures and prints everything, and writes the results to a file if requested.
int compare(const options& chosen, const reading& read, const std::vector<side>& measured, std::string_view text)
{
    results shown;
    shown.text = described(chosen, read);
    shown.text_notes = notes(read);
    shown.rounds = chosen.rounds;
    shown.threads = thread_count();
    for (const side& each : measured)
        shown.sides.push_back({each.name, each.explanation});
    print_text(shown);
    print_plan(shown);

    measurements results;
    const std::string problem = measure_all(measured, chosen.rounds, text, results);
    if (!problem.empty())
        return fail(failure, problem);
    const std::string differing = difference(measured, results);
    if (!differing.empty())
        return fail(failure, "RESULTS DIFFER: " + differing);
    for (std::size_t job = 0; job != jobs.size(); ++job)
        shown.jobs.push_back(statistics_of(jobs[job], measured, results.sides[job]));
    print_table(shown);

    shown.legend = legend(results);
    shown.agreement = agreement(results);
    shown.conclusion = conclusion_of(shown.jobs);
    print_end(shown);
    if (!chosen.json)
        return success;
    shown.command = chosen.command;
    shown.machine = describe_machine();
    return write_statistics(*chosen.json, shown);
}

int run(const options& chosen)
{
    const shared_memory memory(largest_text);
    if (memory.data() == nullptr)
        return fail(failure, "no memory for the text: " + system_error());

    // A child process reads, so that the heap of this process, which all children inherit, stays unchanged.
    std::string problem;
    const auto read =
        in_child([&] { return chosen.path ? read_path(*chosen.path, memory) : read_folders(header_folders(), memory); },
                 problem);
    if (!read)
        return fail(failure, "reading the text: " + problem);
    if (read->bytes == 0)
        return fail(wrong_usage, (chosen.path ? '\'' + printable(*chosen.path) + "': " : "") + read->problem.data());

    const std::string_view text(memory.data(), static_cast<std::size_t>(read->bytes));
    std::vector<side> measured(sides.begin(), sides.end());
    if (chosen.wants_faulty_side)
        measured.push_back(faulty_side);
    if (chosen.map) {
        problem = write_reports(*chosen.map, text.substr(0, largest_mapped_text));
        return problem.empty() ? success : fail(failure, problem);
    }
    if (chosen.json)
        problem = why_not_writable(*chosen.json);
    if (!problem.empty())
        return fail(failure, problem);
    return compare(chosen, *read, measured, text);
}
}} // namespace tour

int main(int argument_count, char** arguments)
{
    const tour::options chosen = tour::parse({arguments + 1, arguments + argument_count});
    if (!chosen.problem.empty())
        return tour::fail(tour::wrong_usage, chosen.problem + "; " + std::string(tour::usage));
    if (chosen.wants_help)
        tour::print_help();
    const int code = chosen.wants_help ? tour::success : tour::run(chosen);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
        return tour::fail(tour::failure, "cannot write the results: " + tour::system_error());
    return code;
}
