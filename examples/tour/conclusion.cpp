// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
#include "conclusion.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <iterator>

namespace tour {
namespace {
enum verdict : std::size_t
{
    gain,
    none,
    loss,
    unknown, ///< Too little to compare.
    verdict_count
};

/// Of one figure of one job: what the best pool took, as a ratio to new and delete.
struct outcome
{
    verdict found;
    double ratio;
};

/// One figure, time or memory, and how it is put into words.
struct aspect
{
    const char* of;         ///< As in: save 30 % of the time.
    const char* no_gain;    ///< What pools do if they gain nothing.
    const char* lose;       ///< What they do with more of it, or with a multiple.
    const char* noun;       ///< As in: 30 % more time.
    const char* too_little; ///< Why it cannot be compared.
};

constexpr aspect time_taken{"the time", "gain no time", "take", "time", "times are too short to compare"};
constexpr aspect memory_used{"the memory", "save no memory", "use", "memory", "memory is too little to compare"};

double smallest_telling(std::uint64_t reference, std::uint64_t least)
{
    return std::max(static_cast<double>(reference) * least_share, static_cast<double>(least));
}

outcome judge(std::uint64_t reference, std::uint64_t pool, std::uint64_t least)
{
    const double ratio = static_cast<double>(pool) / static_cast<double>(std::max<std::uint64_t>(reference, 1));
    const std::uint64_t difference = std::max(reference, pool) - std::min(reference, pool);
    if (static_cast<double>(difference) >= smallest_telling(reference, least))
        return {pool < reference ? gain : loss, ratio};
    return {static_cast<double>(reference) * least_share >= static_cast<double>(least) ? none : unknown, ratio};
}

const cost& best_of(const std::vector<cost>& pools)
{
    const auto is_faster = [](const cost& a, const cost& b) { return a.nanoseconds < b.nanoseconds; };
    const std::uint64_t fastest = std::min_element(pools.begin(), pools.end(), is_faster)->nanoseconds;
    const auto is_as_fast = [fastest](const cost& pool) {
        return static_cast<double>(pool.nanoseconds - fastest) < smallest_telling(fastest, least_nanoseconds);
    };
    return *std::min_element(pools.begin(), pools.end(), [&is_as_fast](const cost& a, const cost& b) {
        return is_as_fast(a) != is_as_fast(b) ? is_as_fast(a) : a.peak_memory < b.peak_memory;
    });
}

/// Returns: as in: 30 %, or: 20 to 30 %. The arguments are shares of one.
std::string in_percent(double low, double high)
{
    const std::string first = std::to_string(std::lround(low * 100));
    const std::string last = std::to_string(std::lround(high * 100));
    return (first == last ? last : first + " to " + last) + " %";
}

/// Returns: as in: 2.5 times, or: 1.5 to 2.5 times.
std::string in_times(double low, double high)
{
    std::array<char, 64> first{};
    std::array<char, 64> last{};
    (void)std::snprintf(first.data(), first.size(), "%.1f", low);
    (void)std::snprintf(last.data(), last.size(), "%.1f", high);
    const std::string end = last.data();
    return (first.data() == end ? end : std::string(first.data()) + " to " + end) + " times";
}

/// The jobs with one verdict on one figure.
class group
{
public:
    void add(const std::string& name, double ratio)
    {
        names_.push_back(name);
        least_ = names_.size() == 1 ? ratio : std::min(least_, ratio);
        most_ = names_.size() == 1 ? ratio : std::max(most_, ratio);
    }

    std::size_t size() const { return names_.size(); }

    /// Returns: the jobs, as in: the word index, the replay and the entities.
    std::string names() const
    {
        std::string all;
        for (std::size_t i = 0; i != names_.size(); ++i)
            all += (i == 0 ? "the " : i + 1 == names_.size() ? " and the " : ", the ") + names_[i];
        return all;
    }

    /// Returns: which share pools save, and never all of it.
    std::string saved() const
    {
        constexpr double most_shown = 0.99;
        const std::string share = in_percent(std::min(1 - most_, most_shown), std::min(1 - least_, most_shown));
        return share == "50 %" ? "half" : share;
    }

    /// Returns: what more pools take, as in: 30 % more time, or: 2.5 times the time.
    std::string lost(const aspect& it) const
    {
        return most_ < 2 ? in_percent(least_ - 1, most_ - 1) + " more " + it.noun
                         : in_times(least_, most_) + ' ' + it.of;
    }

private:
    std::vector<std::string> names_;
    double least_ = 0;
    double most_ = 0;
};

using groups = std::array<group, verdict_count>;

groups grouped(const std::vector<compared_job>& jobs, const std::vector<outcome>& outcomes)
{
    groups all;
    for (std::size_t job = 0; job != jobs.size(); ++job)
        all[outcomes[job].found].add(jobs[job].name, outcomes[job].ratio);
    return all;
}

/// Returns: what pools do, by verdict, as in: save 30 % of the time.
std::array<std::string, verdict_count> phrases(const groups& all, const aspect& it)
{
    return {"save " + all[gain].saved() + " of " + it.of, it.no_gain, std::string(it.lose) + ' ' + all[loss].lost(it),
            ""};
}

/// The same for jobs whose time and memory have the same verdict.
std::array<std::string, verdict_count> joint_phrases(const groups& time, const groups& memory)
{
    return {phrases(time, time_taken)[gain] + " and " + memory[gain].saved() + " of " + memory_used.of, "gain nothing",
            phrases(time, time_taken)[loss] + " and " + memory[loss].lost(memory_used), ""};
}

/// Returns: the verdict on most jobs; of verdicts on as many, the best. Unknown only if that is more than half of them.
std::size_t leading_verdict(const groups& all)
{
    const auto is_smaller = [](const group& a, const group& b) { return a.size() < b.size(); };
    const std::size_t known = all[gain].size() + all[none].size() + all[loss].size();
    if (all[unknown].size() > known)
        return unknown;
    return static_cast<std::size_t>(std::max_element(all.begin(), all.begin() + unknown, is_smaller) - all.begin());
}

/// Returns: a sentence that begins with what holds for most jobs, and names the others.
std::string sentence(const groups& all, const std::array<std::string, verdict_count>& phrase, const aspect& it,
                     const std::string& beginning, const std::string& subject)
{
    const std::size_t leading = leading_verdict(all);
    const bool most_unknown = leading == unknown;
    const std::string most = beginning.empty() ? "Most " : "most ";
    std::string text = beginning + (most_unknown ? most + it.too_little : subject + ' ' + phrase[leading]);
    const char* who = most_unknown ? " pools " : " they ";
    for (std::size_t each = 0; each != verdict_count; ++each) {
        if (each == leading || all[each].size() == 0)
            continue;
        text += "; for " + all[each].names() +
                (each == unknown ? std::string(" the ") + it.too_little : who + phrase[each]);
        who = " they ";
    }
    return text + '.';
}

bool have_same_verdicts(const std::vector<outcome>& a, const std::vector<outcome>& b)
{
    return std::equal(a.begin(), a.end(), b.begin(),
                      [](const outcome& x, const outcome& y) { return x.found == y.found && x.found != unknown; });
}

std::string on_memory(const groups& memory, std::size_t jobs, bool times_tell)
{
    if (memory[unknown].size() == jobs)
        return "The memory is too little to compare.";
    return sentence(memory, phrases(memory, memory_used), memory_used, "", times_tell ? "They" : "Pools");
}
} // namespace

std::string conclusion(const std::vector<compared_job>& jobs)
{
    std::vector<compared_job> compared;
    std::copy_if(jobs.begin(), jobs.end(), std::back_inserter(compared),
                 [](const compared_job& job) { return !job.pools.empty(); });
    if (compared.empty())
        return {};

    std::vector<outcome> time;
    std::vector<outcome> memory;
    for (const compared_job& job : compared) {
        const cost& best = best_of(job.pools);
        time.push_back(judge(job.new_delete.nanoseconds, best.nanoseconds, least_nanoseconds));
        memory.push_back(judge(job.new_delete.peak_memory, best.peak_memory, least_bytes));
    }
    const groups by_time = grouped(compared, time);
    const groups by_memory = grouped(compared, memory);
    const bool times_tell = by_time[unknown].size() != compared.size();
    if (!times_tell && by_memory[unknown].size() == compared.size())
        return "This text is too small to tell what pools save; take a larger one.";
    if (have_same_verdicts(time, memory))
        return sentence(by_time, joint_phrases(by_time, by_memory), time_taken, "For this text, ", "pools");
    const std::string on_time =
        times_tell ? sentence(by_time, phrases(by_time, time_taken), time_taken, "For this text, ", "pools")
                   : "For this text, all times are too short to compare; take a larger one.";
    return on_time + ' ' + on_memory(by_memory, compared.size(), times_tell);
}

std::string wrapped(const std::string& text, std::size_t width)
{
    std::string result = text;
    std::size_t line = 0;
    std::size_t last_space = std::string::npos;
    for (std::size_t i = 0; i != result.size(); ++i) {
        if (result[i] == ' ')
            last_space = i;
        if (i - line >= width && last_space != std::string::npos) {
            result[last_space] = '\n';
            line = last_space + 1;
            last_space = std::string::npos;
        }
    }
    return result;
}
} // namespace tour
