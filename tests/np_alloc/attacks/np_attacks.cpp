// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// np_attacks ending | counting [ATTACK [BYTES [OWNER]]]
//
// Commits all attacks, or only those that the arguments select, each in a process of its own. The error handler ends
// the process (`ending`) or counts the reports (`counting`). Prints a line for each attack, with fields separated by
// tabs:
//
//     attack, bytes, owner, end of the process, last stage, number of reports, stage of the first report,
//     whether a block was allocated twice, whether the heap was consistent in the end,
//     address that a report must name, bytes of a block there, text on stderr
//
// np_attacks_test.py judges the results.
#include "attacks.hpp"

#include <support/check.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {
using attacks::attack;
using attacks::notes;
using attacks::owner;
using attacks::stage;

constexpr std::size_t kibibyte = 1024;
constexpr std::array<std::size_t, 7> all_bytes{16, 48, 1000, 4096, 9 * kibibyte, 256 * kibibyte, 3072 * kibibyte};
constexpr std::array<owner, 3> all_owners{owner::attacker, owner::another, owner::ended};

const char* name(owner block_owner)
{
    constexpr std::array<const char*, 3> names{"attacker", "another", "ended"};
    return names[static_cast<std::size_t>(block_owner)];
}

const char* name(stage reached)
{
    constexpr std::array<const char*, 5> names{"prepared", "attacked", "gone on", "settled", "ended"};
    return names[static_cast<std::size_t>(reached)];
}

/// Commits the attack in this process, and ends the process.
[[noreturn]] void commit(const attack& committed, std::size_t bytes, owner block_owner, notes& written)
{
    attacks::scene(written, bytes, block_owner).play(committed);
    std::_Exit(0);
}

/// The end of a process, as its parent sees it.
struct ending
{
    int status;
    const char* text; ///< Its stderr, with bars in place of newlines and tabs; valid until the next process ends.
};

/// Commits the attack in a process of its own.
ending commit_in_child(const attack& committed, std::size_t bytes, owner block_owner, bool counts, notes& written)
{
    std::array<int, 2> errors{};
    CHECK(pipe(errors.data()) == 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        constexpr unsigned max_seconds = 20;
        alarm(max_seconds);
        CHECK(dup2(errors[1], STDERR_FILENO) == STDERR_FILENO);
        CHECK(!counts || attacks::count_reports(written));
        commit(committed, bytes, block_owner, written);
    }
    close(errors[1]);
    // Not a string: a growing string would take slabs of each size, and overflows would then reach unmapped memory.
    static std::array<char, 65'536> text;
    std::size_t length = 0;
    for (ssize_t more = 0; (more = read(errors[0], text.data() + length, text.size() - 1 - length)) > 0;)
        length += static_cast<std::size_t>(more);
    text[length] = '\0';
    close(errors[0]);
    ending seen{0, text.data()};
    CHECK(waitpid(child, &seen.status, 0) == child);
    std::replace_if(text.begin(), text.begin() + length, [](char each) { return each == '\n' || each == '\t'; }, '|');
    return seen;
}

void print(const attack& committed, std::size_t bytes, owner block_owner, const ending& seen, const notes& written)
{
    const bool exited = WIFEXITED(seen.status);
    std::printf("%s\t%zu\t%s\t%s %d\t%s\t%d\t%s\t%d\t%d\t%p\t%zu\t%s\n", committed.name.c_str(), bytes,
                name(block_owner), exited ? "exit" : "signal",
                exited ? WEXITSTATUS(seen.status) : WTERMSIG(seen.status), name(written.now), written.reports.load(),
                name(written.first_report), written.is_given_twice ? 1 : 0, written.is_in_order ? 1 : 0,
                written.address, written.block_bytes, seen.text);
    (void)std::fflush(stdout);
}

std::vector<attack> all_attacks()
{
    std::vector<attack> all;
    for (const auto& some : {attacks::misuses(), attacks::mismatches(), attacks::corruptions()})
        all.insert(all.end(), some.begin(), some.end());
    return all;
}
} // namespace

int main(int count, char** arguments)
{
    CHECK(count >= 2);
    const bool counts = std::strcmp(arguments[1], "counting") == 0;
    const auto is_wanted = [&](int position, const std::string& text) {
        return count <= position || text == arguments[position];
    };
    const rlimit no_core{0, 0};
    CHECK(setrlimit(RLIMIT_CORE, &no_core) == 0);
    void* const shared = mmap(nullptr, sizeof(notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    for (const attack& each : all_attacks())
        for (const std::size_t bytes : all_bytes)
            for (const owner block_owner : all_owners) {
                if (!each.is_for(bytes, block_owner) || !is_wanted(2, each.name) ||
                    !is_wanted(3, std::to_string(bytes)) || !is_wanted(4, name(block_owner)))
                    continue;
                auto* const written = ::new (shared) notes;
                print(each, bytes, block_owner, commit_in_child(each, bytes, block_owner, counts, *written), *written);
            }
    return 0;
}
