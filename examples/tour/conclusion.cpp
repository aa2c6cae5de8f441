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

/// The cost of a job with the best pool, relative to new and delete, in time or memory.
struct outcome
{
    verdict found;
    double ratio;
};

/// The phrases for time or for memory.
struct aspect
{
    const char* of;         ///< As in: save 30 % of the time.
    const char* no_gain;    ///< As in: pools gain no time.
    const char* lose;       ///< As in: take 30 % more time.
    const char* noun;       ///< As in: 30 % more time.
    const char* too_little; ///< As in: times are too short to compare.
};

constexpr aspect time_taken{"the time", "gain no time", "take", "time", "times are too short to compare"};
constexpr aspect memory_used{"the memory", "save no memory", "use", "memory", "memory is too little to compare"};

double significance_threshold(std::uint64_t reference, std::uint64_t min_amount)
{
    return std::max(static_cast<double>(reference) * min_share, static_cast<double>(min_amount));
}

outcome judge(std::uint64_t reference, std::uint64_t pool, std::uint64_t min_amount)
{
    const double ratio = static_cast<double>(pool) / static_cast<double>(std::max<std::uint64_t>(reference, 1));
    const std::uint64_t difference = std::max(reference, pool) - std::min(reference, pool);
    if (static_cast<double>(difference) >= significance_threshold(reference, min_amount))
        return {pool < reference ? gain : loss, ratio};
    return {static_cast<double>(reference) * min_share >= static_cast<double>(min_amount) ? none : unknown, ratio};
}

const cost& best_of(const std::vector<cost>& pools)
{
    const auto is_faster = [](const cost& a, const cost& b) { return a.nanoseconds < b.nanoseconds; };
    const std::uint64_t fastest = std::min_element(pools.begin(), pools.end(), is_faster)->nanoseconds;
    const auto is_as_fast = [fastest](const cost& pool) {
        return static_cast<double>(pool.nanoseconds - fastest) < significance_threshold(fastest, min_nanoseconds);
    };
    return *std::min_element(pools.begin(), pools.end(), [&is_as_fast](const cost& a, const cost& b) {
        return is_as_fast(a) != is_as_fast(b) ? is_as_fast(a) : a.peak_memory < b.peak_memory;
    });
}

/// Returns: a range of shares, as in: 30 %, or: 20 to 30 %.
std::string in_percent(double low, double high)
{
    const std::string first = std::to_string(std::lround(low * 100));
    const std::string last = std::to_string(std::lround(high * 100));
    return (first == last ? last : first + " to " + last) + " %";
}

/// Returns: a range of factors, as in: 2.5 times, or: 1.5 to 2.5 times.
std::string in_times(double low, double high)
{
    std::array<char, 64> first{};
    std::array<char, 64> last{};
    (void)std::snprintf(first.data(), first.size(), "%.1f", low);
    (void)std::snprintf(last.data(), last.size(), "%.1f", high);
    const std::string end = last.data();
    return (first.data() == end ? end : std::string(first.data()) + " to " + end) + " times";
}

/// The jobs with one verdict on time or memory.
class group
{
public:
    void add(const std::string& name, double ratio)
    {
        names_.push_back(name);
        min_ratio_ = names_.size() == 1 ? ratio : std::min(min_ratio_, ratio);
        max_ratio_ = names_.size() == 1 ? ratio : std::max(max_ratio_, ratio);
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

    /// Returns: the share that pools save, at most 99 %.
    std::string saved() const
    {
        constexpr double max_shown = 0.99;
        const std::string share = in_percent(std::min(1 - max_ratio_, max_shown), std::min(1 - min_ratio_, max_shown));
        return share == "50 %" ? "half" : share;
    }

    /// Returns: the additional cost of pools, as in: 30 % more time, or: 2.5 times the time.
    std::string lost(const aspect& words) const
    {
        return max_ratio_ < 2 ? in_percent(min_ratio_ - 1, max_ratio_ - 1) + " more " + words.noun
                              : in_times(min_ratio_, max_ratio_) + ' ' + words.of;
    }

private:
    std::vector<std::string> names_;
    double min_ratio_ = 0;
    double max_ratio_ = 0;
};

using groups = std::array<group, verdict_count>;

groups grouped(const std::vector<compared_job>& jobs, const std::vector<outcome>& outcomes)
{
    groups all;
    for (std::size_t job = 0; job != jobs.size(); ++job)
        all[outcomes[job].found].add(jobs[job].name, outcomes[job].ratio);
    return all;
}

/// Returns: a phrase for each verdict, as in: save 30 % of the time.
std::array<std::string, verdict_count> phrases(const groups& all, const aspect& words)
{
    return {"save " + all[gain].saved() + " of " + words.of, words.no_gain,
            std::string(words.lose) + ' ' + all[loss].lost(words), ""};
}

/// Returns: a phrase for each verdict, for jobs with equal verdicts on time and memory.
std::array<std::string, verdict_count> joint_phrases(const groups& time, const groups& memory)
{
    return {phrases(time, time_taken)[gain] + " and " + memory[gain].saved() + " of " + memory_used.of, "gain nothing",
            phrases(time, time_taken)[loss] + " and " + memory[loss].lost(memory_used), ""};
}

/// Returns: the verdict on most jobs; of equally frequent verdicts, the best. Returns unknown only if more than half of
///   the verdicts are unknown.
std::size_t leading_verdict(const groups& all)
{
    const auto is_smaller = [](const group& a, const group& b) { return a.size() < b.size(); };
    const std::size_t known = all[gain].size() + all[none].size() + all[loss].size();
    if (all[unknown].size() > known)
        return unknown;
    return static_cast<std::size_t>(std::max_element(all.begin(), all.begin() + unknown, is_smaller) - all.begin());
}

/// Returns: a sentence that begins with the verdict on most jobs, and names the other jobs.
std::string sentence(const groups& all, const std::array<std::string, verdict_count>& phrase, const aspect& words,
                     const std::string& beginning, const std::string& subject)
{
    const std::size_t leading = leading_verdict(all);
    const bool mostly_unknown = leading == unknown;
    const std::string most = beginning.empty() ? "Most " : "most ";
    std::string text = beginning + (mostly_unknown ? most + words.too_little : subject + ' ' + phrase[leading]);
    const char* who = mostly_unknown ? " pools " : " they ";
    for (std::size_t each = 0; each != verdict_count; ++each) {
        if (each == leading || all[each].size() == 0)
            continue;
        text += "; for " + all[each].names() +
                (each == unknown ? std::string(" the ") + words.too_little : who + phrase[each]);
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
        time.push_back(judge(job.new_delete.nanoseconds, best.nanoseconds, min_nanoseconds));
        memory.push_back(judge(job.new_delete.peak_memory, best.peak_memory, min_bytes));
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
