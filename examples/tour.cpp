// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// The tour: does the same work on real text with new and delete and with each pool of the library, checks that the
/// results are the same, and prints the cost of each.
///
///     tour [--rounds N] [--json FILE] [PATH]
///     tour --map FOLDER [PATH]
///
/// The folder tour/ holds its parts. Start with tour/sides.hpp, tour/pmr_sides.hpp and tour/entity_sides.hpp, which use
/// the pools and resources. The work is in tour/jobs.hpp; that of several threads in tour/shared_index.hpp; that with
/// standard containers in tour/chapters.hpp; that with handles in tour/entities.hpp. The rest measures and prints, and
/// tour/conclusion.hpp says what the figures mean.
#include "tour/chapters.hpp"
#include "tour/conclusion.hpp"
#include "tour/entities.hpp"
#include "tour/entity_sides.hpp"
#include "tour/figures.hpp"
#include "tour/heap.hpp"
#include "tour/jobs.hpp"
#include "tour/map.hpp"
#include "tour/pmr_sides.hpp"
#include "tour/process.hpp"
#include "tour/report.hpp"
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

/// Bounds the memory that the tour takes: new and delete need about ten times as much for the largest structure.
constexpr std::size_t largest_text = std::size_t{32} * 1024 * 1024;
/// The same for maps, in which single blocks should be visible.
constexpr std::size_t largest_mapped_text = std::size_t{2} * 1024 * 1024;

/// What a job was seen to do and to take, in one process.
struct measurement
{
    std::uint64_t nanoseconds = 0;
    std::uint64_t checksum = 0;
    node_tally at_peak; ///< Once everything is built.
    node_tally at_end;  ///< Once everything is torn down.
    std::uint64_t peak_memory = 0;
    std::uint64_t heap_calls = 0;
    bool has_report = false; ///< Was one written?
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

/// Brings the text into this process, so that it is not the job that waits for it and is charged for it.
void touch(std::string_view text)
{
    std::uint64_t sum = 0;
    for (const char byte : text)
        sum += static_cast<unsigned char>(byte);
    [[maybe_unused]] const volatile std::uint64_t kept = sum;
}

/// The time is that of building, reading and tearing down, with all that a pool does to begin and to end. A report is
/// written at the peak, if `report` is not nullptr.
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

/// What every job does beside its nodes, so that its time can be told from that of the nodes.
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

// --- the tables: what is done, and by whom

using measuring = measurement (*)(std::string_view, const std::string* report);

constexpr std::size_t job_count = 6;

struct job
{
    const char* name;
    const char* explanation;
    std::size_t same_result_as; ///< The job that must have the same result, which may be this one.
};

constexpr std::array<job, job_count> jobs{{
    {"word index", "each word in a hash table, and from it a chain of the places where it stands", 0},
    {"parse tree", "each word, sign and bracket as a node, below the bracket that it stands in", 1},
    {"replay", "each word creates a record, or destroys the one that it finds in its slot", 2},
    {"shared index", "the word index once more, built, read and torn down by several threads together", 0},
    {"chapters", "for every 16 KiB of the text, a word index of std::pmr containers, gone before the next", 4},
    {"entities", "an entity for each word, which targets others; references to destroyed ones must detect that", 5},
}};

struct side
{
    const char* name;
    const char* explanation;
    std::array<measuring, job_count> measure; ///< In the order of `jobs`; nullptr where this side has no part.
    bool is_pool;                             ///< A pool or arena of this library.
};

/// A side whose nodes are for one thread.
template <template <class> class Nodes>
constexpr side one_thread_side(const char* name, const char* explanation)
{
    return {name,
            explanation,
            {measure<word_index<Nodes>>, measure<parse_tree<Nodes>>, measure<replay<Nodes>>, nullptr, nullptr, nullptr},
            true};
}

/// A side that is there for threads to share its nodes.
template <template <class> class Nodes>
constexpr side shared_side(const char* name, const char* explanation)
{
    return {name, explanation, {nullptr, nullptr, nullptr, measure<shared_index<Nodes>>, nullptr, nullptr}, true};
}

/// A side that has memory for containers.
template <class Memory>
constexpr side container_side(const char* name, const char* explanation, bool is_pool = true)
{
    return {name, explanation, {nullptr, nullptr, nullptr, nullptr, measure<chapters<Memory>>, nullptr}, is_pool};
}

/// A side whose entities refer to each other.
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

/// The first does every job, and is what the others are compared to.
constexpr std::array sides{
    all_round_side<new_delete_nodes, heap_memory, shared_ptr_entities>(
        "new/delete", "each node, or block of a container, from the heap; entities by std::shared_ptr, std::weak_ptr"),
    one_thread_side<object_pool_nodes>("object_pool", "each node from a pool for objects of its type"),
    one_thread_side<block_pool_nodes>("block_pool", "each node in a block from a pool of raw blocks of its size"),
    shared_side<concurrent_object_pool_nodes>("concurrent_object_pool", "the same as object_pool, for many threads"),
    container_side<std_pool_memory>("std::pmr pool", "containers over the pools by size of the standard library",
                                    false),
    container_side<pool_memory>("pool_resource", "the same containers over unsynchronized_pool_resource"),
    container_side<arena_memory>("arena_resource", "the same over unsynchronized_arena_resource"),
    entity_side<handle_pool_entities>("handle_pool",
                                      "each entity from a pool, whose handles detect that it was destroyed"),
};

constexpr side faulty_side = all_round_side<faulty_nodes, faulty_memory, faulty_entities>(
    "faulty", "each node from the heap, and some of them wrong");

// --- the command line

struct options
{
    std::size_t rounds = 5;
    std::optional<std::string> path;
    std::optional<std::string> map;   ///< The folder for reports.
    std::optional<std::string> json;  ///< The file for figures.
    std::vector<std::string> command; ///< As it was typed.
    bool wants_help = false;
    bool wants_faulty_side = false;
    std::string problem; ///< What is wrong with the command line.
};

std::optional<std::size_t> as_rounds(std::string_view text)
{
    constexpr std::size_t most_digits = 3;
    const bool are_digits = std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (text.empty() || text.size() > most_digits || !are_digits)
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
        parsed.problem = "--map measures nothing that --json could write";
    return parsed;
}

void print_help()
{
    std::printf(
        "%s\n\n"
        "Does the same work on real text with new and delete and with each pool of memory_pool, in one thread and in\n"
        "several, checks that the results are the same, and prints what each took.\n\n"
        "  PATH        a file or a folder to take the text from; without it the compiler's own C++ headers\n"
        "  --rounds N  measure N times and print the fastest (5)\n"
        "  --json FILE also write the figures to a file, for tools/tour_page.py\n"
        "  --map FOLDER\n"
        "              measure nothing; write a report of each job with each side into the folder, for tools/heap_map\n"
        "  --faulty    add a side that makes mistakes, to see that they are found\n"
        "  --help      this text\n\n"
        "Exits with 0; with 1 if results differ or something fails; with 2 if there is no text to work on.\n",
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

/// All that was measured.
struct measurements
{
    std::vector<std::vector<std::vector<measurement>>> sides; ///< By job, then by side, then by round.
    std::vector<measurement> text_alone;                      ///< By round.
};

/// Effects: measures in a process of its own, and adds the result to `rounds`.
/// Returns: what went wrong, in words; empty if nothing did.
std::string add_measurement(measuring measure, std::string_view text, std::vector<measurement>& rounds)
{
    std::string problem;
    if (const auto result = in_child([&] { return measure(text, nullptr); }, problem))
        rounds.push_back(*result);
    return problem;
}

/// Effects: measures every job with every side that does it once, the sides from the last to the first if `backwards`.
/// Returns: what went wrong, in words; empty if nothing did.
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

/// Effects: does every job with every side once, each in a process of its own, and writes a report of it at its peak.
/// Returns: what went wrong, in words; empty if nothing did.
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

/// Returns: how many measurements there are in a round.
std::size_t steps_in_round(const std::vector<side>& measured)
{
    std::size_t steps = 0;
    for (const side& counted : measured)
        for (const measuring measure : counted.measure)
            steps += measure != nullptr ? 1U : 0U;
    return steps;
}

/// Effects: measures everything `rounds` times. Every other round runs in reverse order, so that no side always
///   inherits the state of the machine from the same other side.
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

/// Returns: whether `a` and `b` are from the same work, done to its end.
bool agree(const measurement& a, const measurement& b)
{
    return a.checksum == b.checksum && a.at_peak.created == b.at_peak.created &&
           a.at_peak.destroyed == b.at_peak.destroyed && a.at_peak.bytes_asked == b.at_peak.bytes_asked &&
           a.at_end.created == b.at_end.created && a.at_end.destroyed == a.at_end.created &&
           b.at_end.destroyed == b.at_end.created;
}

/// Returns: whether every measurement of one side in one job agrees with the reference in that job, and has the same
///   result as the job that it must match.
bool all_agree(const std::vector<measurement>& rounds, const measurement& reference, const measurement& same_result)
{
    return std::all_of(rounds.begin(), rounds.end(), [&](const measurement& result) {
        return agree(result, reference) && result.checksum == same_result.checksum;
    });
}

/// Returns: what differs, in words; empty if nothing does.
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

/// Returns: the fastest of `rounds`, with the largest peak of memory of any of them. All else is the same in each; or
///   nearly so, where it depends on which thread came first how a pool grew.
measurement summary(const std::vector<measurement>& rounds)
{
    const auto is_faster = [](const measurement& a, const measurement& b) { return a.nanoseconds < b.nanoseconds; };
    measurement result = *std::min_element(rounds.begin(), rounds.end(), is_faster);
    for (const measurement& round : rounds)
        result.peak_memory = std::max(result.peak_memory, round.peak_memory);
    return result;
}

/// Returns: what was read, as in: 10.5 KiB in 1 file from README.md
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
        all.push_back("There is more, but " + in_bytes(largest_text) + " are enough for a tour.");
    if (read.skipped != 0)
        all.push_back("Files or folders that could not be read: " + in_thousands(read.skipped));
    if (read.not_text != 0)
        all.push_back("Files that are no text, and left out: " + in_thousands(read.not_text));
    return all;
}

void print_text(const figures& shown)
{
    std::printf("memory_pool tour: the same work with new and delete, and with each pool\n\nText: %s\n",
                shown.text.c_str());
    for (const std::string& note : shown.text_notes)
        std::printf("      %s\n", note.c_str());
}

void print_plan(const figures& shown)
{
    std::printf(
        "\nJobs: each builds a structure of nodes from the text, reads it, and tears it down, node by node.\n\n");
    for (const job& described : jobs)
        std::printf("  %-22s  %s\n", described.name, described.explanation);
    std::printf("\nSides: who makes the nodes, or gives the containers their memory.\n\n");
    for (const term& side : shown.sides)
        std::printf("  %-22s  %s\n", side.name.c_str(), side.explanation.c_str());
    std::printf(
        "\nEvery job and side has a process of its own, %s; the fastest time counts. Threads for the shared index:\n"
        "%s, all of which take nodes from one pool, and give back what others took.\n\n",
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

/// Returns: the figures of a job, with each side that does it.
job_figures figures_of(const job& done, const std::vector<side>& measured,
                       const std::vector<std::vector<measurement>>& rounds)
{
    job_figures all{done.name, done.explanation, {}};
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

void print_table(const figures& shown)
{
    table rows({"job", "side", "time", "speed", "peak memory", "malloc calls", "wasted"});
    for (const job_figures& job : shown.jobs) {
        rows.add_gap();
        for (const side_figures& its : job.sides)
            rows.add({&its == &job.sides.front() ? job.name : "", its.side, in_milliseconds(its.nanoseconds),
                      in_times(job.sides.front().nanoseconds, its.nanoseconds), in_bytes(its.peak_memory),
                      its.heap_calls ? in_thousands(*its.heap_calls) : "n/a",
                      its.wasted ? in_bytes(*its.wasted) : "n/a"});
    }
    rows.print();
}

std::string conclusion_of(const std::vector<job_figures>& all)
{
    std::vector<compared_job> compared;
    for (const job_figures& job : all) {
        const side_figures& new_delete = job.sides.front();
        compared.push_back({job.name, {new_delete.nanoseconds, new_delete.peak_memory}, {}});
        for (const side_figures& its : job.sides)
            if (its.is_pool)
                compared.back().pools.push_back({its.nanoseconds, its.peak_memory});
    }
    return conclusion(compared);
}

std::vector<term> legend(const measurements& results)
{
    return {{"time", "to build, read and tear down; to cut the text into words and to hash them, as all sides do, "
                     "takes one thread " +
                         in_milliseconds(summary(results.text_alone).nanoseconds) +
                         " of it; entities need only part of the text"},
            {"speed", "new/delete is 1: 2.00x does the job in half the time"},
            {"peak memory", "that the process took for the job, at most"},
            {"malloc calls", "that new and delete, or the pools, made for the job"},
            {"wasted", "bytes that were held for the nodes once all was built, beyond what the nodes asked for"},
            {"gain",
             "in the last lines: 5 % or more, and at least 1 ms or 1 MiB. For each job, the fastest pool counts; "
             "among those within 5 % or 1 ms of it, the one that uses the least memory"}};
}

std::string agreement(const measurements& results)
{
    std::uint64_t nodes = 0;
    for (const auto& job : results.sides)
        nodes += job.front().front().at_end.created;
    return "All sides agree on the " + in_thousands(nodes) +
           " nodes and blocks they made, and on every result; and so do one thread and several.";
}

void print_end(const figures& shown)
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
                "Where to go next: README.md has the first program to write, docs/ says how the pools work.\n\n%s\n",
                shown.agreement.c_str(), wrapped(shown.conclusion, line_width).c_str());
}

int write_figures(const std::string& path, const figures& shown)
{
    const std::string problem = write_file(path, as_json(shown));
    return problem.empty() ? success : fail(failure, problem);
}

/// Effects: measures and prints everything, and writes the figures to a file if that is asked for.
int compare(const options& chosen, const reading& read, const std::vector<side>& measured, std::string_view text)
{
    figures shown;
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
        shown.jobs.push_back(figures_of(jobs[job], measured, results.sides[job]));
    print_table(shown);

    shown.legend = legend(results);
    shown.agreement = agreement(results);
    shown.conclusion = conclusion_of(shown.jobs);
    print_end(shown);
    if (!chosen.json)
        return success;
    shown.command = chosen.command;
    shown.machine = describe_machine();
    return write_figures(*chosen.json, shown);
}

int run(const options& chosen)
{
    const shared_memory memory(largest_text);
    if (memory.data() == nullptr)
        return fail(failure, "no memory for the text: " + system_error());

    // A child reads, so that the heap of this process, with which all the others begin, stays as it is.
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
